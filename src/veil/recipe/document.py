"""Recipe files as text: YAML in and out, with the line of every value, and without YAML's implicit types.

Only numbers as in JSON and `null` are not text. So `no`, `on` and `12:30` are column names and labels, and
`02139` keeps its zero. `true` and `false` are text, too: they are read as a boolean where one is expected,
and refused where a number is expected, instead of becoming 1 and 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic
import yaml

from veil.base.declare import Place, either, follow_location, problems, rule
from veil.base.keywords import hint
from veil.base.paths import usable
from veil.base.untrusted import check_digits, compose_yaml
from veil.errors import InputError, PlanError, Say, did_you_mean, in_quotes
from veil.tables import atomic

_NULL = re.compile(r"~|null|Null|NULL|")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TEXT_TAG = "tag:yaml.org,2002:str"
_LONGEST = 60
_BY_COLUMN = (
    *("quasi_identifiers", "items", "identifying", "microaggregated", "minimum_levels", "maximum_levels"),
    *("bounds", "domains", "missing", "keys"),
)
"""Fields of steps and questions that map columns to something."""
_WIDE = 90
"""Largest length of a mapping, as Python writes it, that is written in one line."""


def scalar(text: str) -> int | float | str | None:
    """Read an unquoted word.

    >>> [scalar(word) for word in ("5", "0.5", "1e-3", "~", "02139", "no", "1_000")]
    [5, 0.5, 0.001, None, '02139', 'no', '1_000']
    """
    if _NULL.fullmatch(text):
        return None
    check_digits(text, f"{text[:20]}…")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


@dataclass(frozen=True)
class Document:
    """The contents of a file, with the line of each value."""

    name: str
    data: Any
    lines: dict[Place, int] = field(default_factory=dict)

    def at(self, place: Place) -> str:
        """Return the file and line of a value, or of the closest parent with one, to begin a message."""
        for end in range(len(place), -1, -1):
            if place[:end] in self.lines:
                return f"{self.name}, line {self.lines[place[:end]]}: "
        return f"{self.name}: " if self.name else ""

    def explain(self, error: pydantic.ValidationError, fields: Mapping[str, Sequence[str]]) -> str:
        """Describe the problems, one line for each place. `fields` lists the names in a mapping of each kind,
        and those at the top under an empty name, for hints.
        """
        rules_by_place: dict[Place, list[str]] = {}
        ends: dict[Place, str] = {}
        for problem in problems(error):
            kind = problem["type"]
            place, owner = follow_location(problem["loc"], self.data)
            if kind == "missing":
                place, text = (*place, problem["loc"][-1]), "is required"
            elif kind in ("extra_forbidden", "unexpected_keyword_argument"):
                text = _unknown(str(place[-1]), owner, fields)
            elif kind == "value_error":
                text = f": {problem['ctx']['error']}"
            elif kind in ("too_short", "too_long"):
                text = f": the list {rule(problem)}"
            elif kind in ("union_tag_invalid", "union_tag_not_found"):
                text = f": {rule(problem)}"
            else:
                text = rule(problem) if kind != "dataclass_type" else "should be a mapping of names to values"
                ends[place] = f", not {_write_value(problem['input'], kind)}"
            rules_by_place.setdefault(place, []).append(text if text.startswith(":") else f" {text}")
        return "\n".join(
            f"{self.at(place)}{_show_place(place)}{either(rules)}{ends.get(place, '')}"
            for place, rules in rules_by_place.items()
        )


def _unknown(name: str, owner: str, fields: Mapping[str, Sequence[str]]) -> str:
    """Say of a field that is not known where it is that it belongs in a step, or which name is similar."""
    names = fields.get(owner, ())
    if not owner and name in fields.get("Generalize", ()):
        return f"is a field of a step: put it under `steps: [{{kind: Generalize, {name}: …}}]`"
    looks_alike = hint(name, names) if owner in ("", "Generalize") else did_you_mean(name, names)
    return f"is not known here.{looks_alike}"


def spell_field(way: Say) -> str:
    """Write a way out as a recipe does.

    >>> print(*map(spell_field, (Say("others", "keep"), Say("quasi_identifiers", "dates", format="%Y"))))
    others: keep {kind: dates, …, format: "%Y"}
    """
    if way.parameters:
        parameters = [f"{name}: {in_quotes(each)}" for name, each in way.parameters.items()]
        return f"{{{', '.join([f'kind: {way.value}', *way.beside, *parameters])}}}"
    return f"`{way.field}`" if way.value is None else f"{way.field}: {way.value}"


def read_document(path: Path) -> Document:
    """Read a recipe file."""
    try:
        text = usable(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path of the recipe") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory. Give the path of a recipe file in it") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text at byte {error.start}. Save the recipe as UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    return parse(text, str(path))


def parse(text: str, name: str) -> Document:
    r"""Read the text of a recipe; `name` begins the messages.

    >>> parse("age: 5\nno: [yes, 02139]\n", "recipe.yaml").data
    {'age': 5, 'no': ['yes', '02139']}
    """
    try:
        root = compose_yaml(text, name)
    except yaml.MarkedYAMLError as error:
        raise PlanError(_syntax(error, name, text)) from None
    except yaml.YAMLError as error:
        raise PlanError(f"{name}: not a YAML file: {' '.join(str(error).split())}") from None
    if not isinstance(root, yaml.MappingNode):
        problem = "it is empty" if root is None else "it begins with something else"
        raise PlanError(
            f"{name}: a recipe is a list of names with values, such as `input: data.csv`; {problem}"
        )
    document = Document(name, {})
    document.data.update(_value(root, (), document, ()))
    return document


def document_text(data: dict[str, Any]) -> str:
    """Return a recipe as text, to be shown."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )
    return text


def file_text(data: dict[str, Any], name: object) -> str:
    """Return the text of a recipe file; refuse one that could not be read again. `name` begins the message."""
    if _has_nul(data):
        raise PlanError(
            f"{name}: a text of the plan contains a NUL character, which a recipe cannot hold. Remove it"
        )
    return document_text(data)


def write_document(path: Path, data: dict[str, Any]) -> None:
    """Write a recipe file: whole, or not at all."""
    text = file_text(data, path)
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _has_nul(data: Any) -> bool:
    if isinstance(data, Mapping):
        return any(map(_has_nul, data)) or any(map(_has_nul, data.values()))
    if isinstance(data, list | tuple):
        return any(map(_has_nul, data))
    return isinstance(data, str) and "\0" in data


class _Dumper(yaml.SafeDumper):
    """A writer that quotes all text which `scalar` or any other reader of YAML might not read as text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        """Write a mapping in one line if it fits, otherwise with a line for each name."""
        node = super().represent_mapping(tag, mapping, flow_style)
        if node.flow_style and len(str(mapping)) > _WIDE:
            node.flow_style = False
        return node

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Unusual line ends and unprintable characters are escaped only in double quotes.
        return self.represent_scalar(_TEXT_TAG, data, style=None if data.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.represent_str)

_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9.][0-9a-fA-FxXoO_.:+-]*$"), list("-+.0123456789")
)


def _value(node: yaml.Node, place: Place, document: Document, above: tuple[int, ...]) -> Any:
    document.lines[place] = node.start_mark.line + 1
    if id(node) in above:
        raise PlanError(f"{document.at(place)}{_show_place(place)} refers to itself")
    above = (*above, id(node))
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place, document, above)
    if isinstance(node, yaml.SequenceNode):
        return [_value(each, (*place, at), document, above) for at, each in enumerate(node.value)]
    assert isinstance(node, yaml.ScalarNode)
    if node.tag != _TEXT_TAG:
        raise PlanError(
            f"{document.at(place)}{_show_place(place)} has the YAML tag {node.tag!r}: write the value "
            "without it"
        )
    return node.value if node.style else scalar(node.value)


def _mapping(
    node: yaml.MappingNode, place: Place, document: Document, above: tuple[int, ...]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = f"{document.name}, line {key_node.start_mark.line + 1}: "
        if not isinstance(key_node, yaml.ScalarNode):
            raise PlanError(f"{line}a name should be a word, not a list or mapping")
        key = key_node.value if key_node.style else scalar(key_node.value)
        # The values of a column, in its hierarchy, may be numbers; its name is always text.
        is_name = len(place) < 2 or (len(place) <= 3 and place[-1] in _BY_COLUMN)
        if not isinstance(key, str) and (is_name or key is None):
            raise PlanError(
                f"{line}the name {key_node.value!r} is read as {'nothing' if key is None else 'a number'}: "
                f"put it in quotes, '{key_node.value}'"
            )
        name = str(key)
        if name in result:
            raise PlanError(
                f"{line}{name!r} appears again here; it is first in line {document.lines[(*place, name)]}"
            )
        result[name] = _value(value_node, (*place, name), document, above)
        document.lines[(*place, name)] = key_node.start_mark.line + 1
    return result


def _syntax(error: yaml.MarkedYAMLError, name: str, text: str) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"{name}, line {mark.line + 1}, column {mark.column + 1}" if mark else name
    problem = ", ".join(each for each in (error.context, error.problem) if each)
    hint = ""
    if mark and text.splitlines()[mark.line : mark.line + 1] and "\t" in text.splitlines()[mark.line]:
        hint = ". Indent with spaces, not tabs"
    elif "mapping values are not allowed" in problem:
        hint = ". Put text that holds a colon in quotes, and indent names of one mapping alike"
    elif "alias" in problem:
        hint = ". Put text that begins with * in quotes"
    return f"{where}: not YAML: {problem}{hint}"


def _show_place(place: Place) -> str:
    """Write a place as an expression.

    >>> _show_place(("models", 0, "k"))
    '`models[0].k`'
    """
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return f"`{text}`" if text else "the recipe"


def _write_value(value: Any, kind: str) -> str:
    text = repr(value)
    excerpt = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    is_number = kind == "string_type" and isinstance(value, int | float)
    return f"{excerpt}; put it in quotes: '{value}'" if is_number else excerpt
