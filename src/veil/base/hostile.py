"""Documents from strangers: XML and JSON as plain trees, with limits that hold before anything is built.

Policies come with the data of other people. So a document type, an entity and whatever else would make a parser fetch or
multiply text is refused, and so is what is too large, too deep or says the same thing twice. Nothing is ever fetched.

An element of XML becomes a mapping: attributes and children by their names, without prefixes of namespaces; of several
children with one name a list. Text is kept under `TEXT`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn
from xml.parsers import expat

from veil.errors import InputError

MOST_BYTES = 10_000_000
"""A policy has some thousand; whatever is larger is no document that somebody wrote."""

DEEPEST = 100
TEXT = "#text"

DUMP = "root"
"""The root of what is a dump of other data. There, `type` tells the type of a value, and is left out."""

_TYPES = ("str", "int", "float", "bool", "list", "dict", "null", "number")


def check_size(content: bytes, name: str) -> None:
    """Refuse a document that is too large to be read.

    >>> check_size(b"{}", "policy.json")
    """
    if len(content) > MOST_BYTES:
        raise InputError(
            f"{name}: has {len(content):,} bytes, and a document may have {MOST_BYTES:,}. Put each policy into a file of "
            "its own"
        )


def parse_json(content: bytes, name: str) -> Any:
    """Read JSON.

    >>> parse_json(b'{"a": [1, null]}', "policy.json")
    {'a': [1, None]}
    >>> parse_json(b'{"k": 3, "k": 2}', "policy.json")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.json: 'k' stands twice in one object. Say it once
    """
    check_size(content, name)
    try:
        text = content.decode("utf-8-sig")
        check_depth(text, name)
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, name), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text at byte {error.start}. Save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        ) from None
    except RecursionError:
        _too_deep(name)
    except ValueError as error:
        raise InputError(f"{name}: not JSON: {error}") from None


def check_depth(text: str, name: str) -> None:
    """Refuse JSON that is nested too deeply, before anything is built of it.

    >>> check_depth("[" * 1000, "policy.json")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.json: is nested more than 100 deep. No policy is: write it flat
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
        _too_deep(name)


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NO_BRACKET = re.compile(r"[^\[\]{}]+")


def _once(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"{name}: {twice!r} stands twice in one object. Say it once")
    return made


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _too_deep(name: str) -> NoReturn:
    raise InputError(f"{name}: is nested more than {DEEPEST} deep. No policy is: write it flat")


def parse_xml(content: bytes, name: str) -> tuple[str, dict[str, Any]]:
    """Read XML: the name of the root, and the root as a mapping.

    >>> parse_xml(b'<a x="1"><b>two</b><b/><c y="3"/></a>', "policy.xml")
    ('a', {'x': '1', 'b': [{'#text': 'two'}, {}], 'c': {'y': '3'}})
    >>> parse_xml(b'<!DOCTYPE a><a/>', "policy.xml")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.xml, line 1: has a document type (DOCTYPE), by which text can be fetched and multiplied...
    """
    check_size(content, name)
    return _Reader(name).read(content)


class _Reader:
    """Builds the tree while expat reads; each limit holds as soon as it can be broken."""

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
            _too_deep(self.name)
        self._take_text()
        made: dict[str, Any] = {}
        for key, value in attributes.items():
            is_type = key == "type" and value in _TYPES and self.open and self.open[0][0] == DUMP
            if key != "xmlns" and not key.startswith("xmlns:") and not is_type:
                made[key.rpartition(":")[2]] = value
        self.open.append((tag.rpartition(":")[2], made))

    def _end(self, tag: str) -> None:
        self._take_text()
        name, made = self.open.pop()
        if not self.open:
            self.root, self.top = name, made
            return
        above = self.open[-1][1]
        if name not in above:
            above[name] = made
            return
        before = above[name]
        if isinstance(before, list):
            before.append(made)
        elif isinstance(before, dict):
            above[name] = [before, made]
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
    """Return a scalar of JSON as XML spells it.

    >>> scalar_text(True), scalar_text(3), scalar_text("a")
    ('true', '3', 'a')
    """
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
