"""Untrusted documents in XML, JSON and YAML, with limits that are checked before anything is built.

Policies, recipes, certificates and budgets come from other people. So document types, entities and all else
that makes a parser fetch or multiply text are refused, and so are documents that are too large or too deep,
have endless numbers or repeat a key. Nothing is ever fetched.

An element of XML becomes a mapping of its attributes and children by name, without prefixes of namespaces;
several children with one name become a list. Text is kept under `TEXT`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn
from xml.parsers import expat

import yaml

from veil.errors import InputError

MOST_BYTES = 10_000_000
"""A policy has some thousand; no larger document is written by hand."""

DEEPEST = 100
MOST_DIGITS = 1_000
"""No meaningful number has more digits, and the time to read one grows faster than its length."""
MOST_REPEATED = 10_000
"""Values that aliases of YAML may repeat; without a limit, a few lines can expand to billions."""

TEXT = "#text"

DUMP = "root"
"""The root element of a dump of other data; its attributes `type`, the types of values, are left out."""

_TYPES = ("str", "int", "float", "bool", "list", "dict", "null", "number")


def check_size(content: bytes, name: str) -> None:
    """Refuse a document that is too large.

    >>> check_size(b"{}", "policy.json")
    """
    if len(content) > MOST_BYTES:
        raise InputError(
            f"{name}: has {len(content):,} bytes, and a document may have at most {MOST_BYTES:,}. Split it"
        )


def check_digits(text: str, name: str) -> None:
    """Refuse text with a number of too many digits.

    >>> check_digits("9" * 5000, "recipe.yaml")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: recipe.yaml: has a number of more than 1,000 digits. Write a shorter one
    """
    if _ENDLESS.search(text):
        raise InputError(f"{name}: has a number of more than {MOST_DIGITS:,} digits. Write a shorter one")


_ENDLESS = re.compile(f"[0-9]{{{MOST_DIGITS + 1}}}")


def check_json(text: str, name: str) -> None:
    """Refuse JSON text that is nested too deeply or has a number of too many digits."""
    check_digits(text, name)
    check_depth(text, name)


# JSON


def parse_json(content: bytes, name: str) -> Any:
    """Read JSON.

    >>> parse_json(b'{"a": [1, null]}', "policy.json")
    {'a': [1, None]}
    >>> parse_json(b'{"k": 3, "k": 2}', "policy.json")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.json: 'k' appears twice in one object. Write it once
    """
    check_size(content, name)
    try:
        text = content.decode("utf-8-sig")
        check_json(text, name)
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, name), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text at byte {error.start}. Save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        ) from None
    except RecursionError:
        too_deep(name)
    except ValueError as error:
        raise InputError(f"{name}: not JSON: {error}") from None


def check_depth(text: str, name: str) -> None:
    """Refuse JSON that is nested too deeply, before it is parsed.

    >>> check_depth("[" * 1000, "policy.json")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.json: is nested more than 100 deep. Write it flat
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text))
    for _ in range(DEEPEST):
        left = brackets.replace("[]", "").replace("{}", "")  # the innermost level goes
        if len(left) == len(brackets):
            break
        brackets = left
    if len(brackets) > DEEPEST:
        too_deep(name)


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NO_BRACKET = re.compile(r"[^\[\]{}]+")


def _once(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError(f"{name}: {key!r} appears twice in one object. Write it once")
        result[key] = value
    return result


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def too_deep(name: str) -> NoReturn:
    """Refuse a document that is nested too deeply."""
    raise InputError(f"{name}: is nested more than {DEEPEST} deep. Write it flat")


# YAML

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # not every build has the loader in C


def compose_yaml(text: str, name: str) -> yaml.Node | None:
    """Read YAML as nodes whose scalars are text; None if it is empty. Raises `yaml.YAMLError`.

    Aliases lead to the same node again, as in `yaml.compose`, which recurses without a limit until the
    process dies.

    >>> compose_yaml("a: [1, 2]", "recipe.yaml").value[0][1].value[0].value
    '1'
    """
    check_size(text.encode("utf-8", "surrogatepass"), name)
    check_digits(text, name)
    return _Composer(name).compose(text)


class _Composer:
    """A builder of nodes from events, with a stack of open nodes instead of recursion."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.root: yaml.Node | None = None
        self.open: list[yaml.CollectionNode] = []
        self.keys: list[yaml.Node | None] = []
        self.anchors: dict[str, yaml.Node] = {}
        self.weights: dict[int, int] = {}
        """The number of values in a node, including itself."""
        self.repeated = 0

    def compose(self, text: str) -> yaml.Node | None:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.DocumentStartEvent):
                self._document(event)
            elif isinstance(event, yaml.AliasEvent):
                self._repeat(event)
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
        return self.root

    def _document(self, event: Any) -> None:
        if self.root is not None:
            line = event.start_mark.line + 1
            raise InputError(
                f"{self.name}, line {line}: a second document begins. Put it into a separate file"
            )

    def _scalar(self, event: Any) -> None:
        if "\0" in event.value:
            line = event.start_mark.line + 1
            raise InputError(f"{self.name}, line {line}: contains a NUL character. Remove it")
        tag = event.tag if event.tag not in (None, "!") else _TEXT_TAG
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark, style=event.style)
        self._name(node, event.anchor)
        self._add(node, 1)

    def _begin(self, event: Any) -> None:
        if len(self.open) >= DEEPEST:
            too_deep(self.name)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        kind = yaml.MappingNode if is_mapping else yaml.SequenceNode
        tag = event.tag or f"tag:yaml.org,2002:{'map' if is_mapping else 'seq'}"
        node = kind(tag, [], event.start_mark, None, flow_style=event.flow_style)
        self._name(node, event.anchor)
        self.weights[id(node)] = 1
        self.open.append(node)
        self.keys.append(None)

    def _end(self, event: Any) -> None:
        self.keys.pop()
        node = self.open.pop()
        node.end_mark = event.end_mark
        self._add(node, self.weights[id(node)])

    def _name(self, node: yaml.Node, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node

    def _repeat(self, event: Any) -> None:
        node = self.anchors.get(event.anchor)
        if node is None:
            raise yaml.composer.ComposerError(None, None, "found undefined alias", event.start_mark)
        weight = self.weights.get(id(node), 1)
        self.repeated += weight
        if self.repeated > MOST_REPEATED:
            raise InputError(
                f"{self.name}, line {event.start_mark.line + 1}: its aliases expand to more than {MOST_REPEATED:,} values. "
                "Write the values out"
            )
        self._add(node, weight)

    def _add(self, node: yaml.Node, weight: int) -> None:
        """Append a node to the innermost open one."""
        if not self.open:
            self.root = node
            return
        above = self.open[-1]
        self.weights[id(above)] += weight
        if isinstance(above, yaml.SequenceNode):
            above.value.append(node)
        elif self.keys[-1] is None:
            self.keys[-1] = node
        else:
            above.value.append((self.keys[-1], node))
            self.keys[-1] = None


_TEXT_TAG = "tag:yaml.org,2002:str"
_TAGS = (_TEXT_TAG, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def parse_yaml(content: bytes, name: str) -> Any:
    """Read YAML as a tree in which each scalar is text.

    >>> parse_yaml(b"a: [1, yes]", "data.yaml")
    {'a': ['1', 'yes']}
    """
    try:
        return _tree(compose_yaml(content.decode("utf-8-sig"), name), name, ())
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text at byte {error.start}. Save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise InputError(f"{name}: not a YAML file: {' '.join(str(error).split())}") from None


def _tree(node: Any, name: str, above: tuple[int, ...]) -> Any:
    if node is None:
        return None
    if node.tag not in _TAGS:
        line = node.start_mark.line + 1
        raise InputError(f"{name}, line {line}: has the YAML tag {node.tag!r}. Write the value without it")
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if id(node) in above:
        raise InputError(f"{name}, line {node.start_mark.line + 1}: refers to itself. Write the values out")
    above = (*above, id(node))
    if isinstance(node, yaml.SequenceNode):
        return [_tree(each, name, above) for each in node.value]
    mapping: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise InputError(f"{name}, line {line}: a name should be a word, not a list or mapping")
        if key.value in mapping:
            raise InputError(f"{name}, line {line}: {key.value!r} appears twice. Write it once")
        mapping[key.value] = _tree(value, name, above)
    return mapping


# XML


def parse_xml(content: bytes, name: str) -> tuple[str, dict[str, Any]]:
    """Read XML and return the name of the root, and the root as a mapping.

    >>> parse_xml(b'<a x="1"><b>two</b><b/><c y="3"/></a>', "policy.xml")
    ('a', {'x': '1', 'b': [{'#text': 'two'}, {}], 'c': {'y': '3'}})
    >>> parse_xml(b'<!DOCTYPE a><a/>', "policy.xml")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.xml, line 1: has a document type (DOCTYPE), by which text can be fetched and multiplied...
    """
    check_size(content, name)
    check_digits(content.decode("latin-1"), name)
    return _Reader(name).read(content)


class _Reader:
    """A builder of the tree while expat reads; every limit is checked as early as possible."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.root = ""
        self.open: list[tuple[str, dict[str, Any]]] = []
        self.top: dict[str, Any] = {}
        self.pieces: list[str] = []
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.pieces.append
        parser.StartDoctypeDeclHandler = self._refuse_type
        parser.EntityDeclHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._refuse_entity
        parser.UnparsedEntityDeclHandler = self._refuse_entity

    def read(self, content: bytes) -> tuple[str, dict[str, Any]]:
        try:
            self.parser.Parse(content, True)
        except expat.ExpatError as error:
            raise InputError(
                f"{self.name}, line {error.lineno}, column {error.offset}: not XML: {expat.ErrorString(error.code)}"
            ) from None
        except (LookupError, UnicodeDecodeError, ValueError) as error:
            raise InputError(f"{self.name}: not XML: {error}. Save it as UTF-8") from None
        return self.root, self.top

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= DEEPEST:
            too_deep(self.name)
        self._take_text()
        element: dict[str, Any] = {}
        for key, value in attributes.items():
            is_type = key == "type" and value in _TYPES and self.open and self.open[0][0] == DUMP
            if key != "xmlns" and not key.startswith("xmlns:") and not is_type:
                element[key.rpartition(":")[2]] = value
        self.open.append((tag.rpartition(":")[2], element))

    def _end(self, tag: str) -> None:
        self._take_text()
        name, element = self.open.pop()
        if not self.open:
            self.root, self.top = name, element
            return
        above = self.open[-1][1]
        if name not in above:
            above[name] = element
            return
        before = above[name]
        if isinstance(before, list):
            before.append(element)
        elif isinstance(before, dict):
            above[name] = [before, element]
        else:
            self._refuse(f"{name!r} is an attribute and an element of the same element", "Say it once")

    def _take_text(self) -> None:
        if self.pieces:
            text = "".join(self.pieces).strip()
            self.pieces.clear()
            if text and self.open:
                above = self.open[-1][1]
                above[TEXT] = above[TEXT] + text if TEXT in above else text

    def _refuse_type(self, *_: Any) -> NoReturn:
        self._refuse(
            "has a document type (DOCTYPE), by which text can be fetched and multiplied", "Leave it out"
        )

    def _refuse_entity(self, *_: Any) -> NoReturn:
        self._refuse("has an entity, by which text can be fetched and multiplied", "Write its text instead")

    def _refuse(self, what: str, way: str) -> NoReturn:
        raise InputError(f"{self.name}, line {self.parser.CurrentLineNumber}: {what}. {way}")


def write_xml(name: str, tree: dict[str, Any]) -> str:
    """Write a tree as XML: scalars as attributes, mappings and lists as elements.

    >>> print(write_xml("a", {"x": True, "b": [{"#text": "two"}, {}]}), end="")
    <?xml version="1.0" encoding="UTF-8"?>
    <a x="true">
      <b>two</b>
      <b/>
    </a>
    """
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "".join(_element(name, tree, ""))


def _element(name: str, tree: dict[str, Any], indent: str) -> Iterable[str]:
    attributes, children = "", []
    for key, value in tree.items():
        if isinstance(value, dict):
            children.append((key, value))
        elif isinstance(value, list):
            children += [
                (key, each if isinstance(each, dict) else {TEXT: scalar_text(each)}) for each in value
            ]
        elif key != TEXT and value is not None:
            attributes += f' {key}="{_escape(scalar_text(value))}"'
    text = _escape(str(tree.get(TEXT, "")))
    if not children:
        yield f"{indent}<{name}{attributes}>{text}</{name}>\n" if text else f"{indent}<{name}{attributes}/>\n"
        return
    yield f"{indent}<{name}{attributes}>{text}\n"
    for key, value in children:
        yield from _element(key, value, indent + "  ")
    yield f"{indent}</{name}>\n"


_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
_ESCAPES = str.maketrans(_SIGNS)


def _escape(text: str) -> str:
    for sign in text:
        if sign < " " and sign not in "\n\t\r":
            raise InputError(f"{text!r}: XML has no way to write the character {sign!r}. Write JSON instead")
    return text.translate(_ESCAPES)


def scalar_text(value: Any) -> str:
    """Return a scalar of JSON as text in XML.

    >>> scalar_text(True), scalar_text(3), scalar_text("a")
    ('true', '3', 'a')
    """
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
