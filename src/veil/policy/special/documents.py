"""Usage policies as documents: OWL functional syntax and RDF/XML.

Published policies differ in spelling: http and https, a `#` that is missing, `Analyse`, `has_data`, the
location and the duration in `hasStorage` or directly in the policy. All are read alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from veil.base.untrusted import DEEPEST, TEXT, check_size, parse_xml, too_deep
from veil.errors import InputError
from veil.policy.special.concepts import And, Concept, EmptyClass, NamedClass, Or, SomeValuesFrom, Within

_TOKEN = re.compile(
    r'\s*(?:(#[^\n]*)|([()])|("(?:[^"\\]|\\.)*"(?:(?:\^\^|/)[^\s()]+)?)|(<[^>\s]*>)|([^\s()"<>]+))'
)
_VOCABULARIES = ("data", "processing", "purposes", "recipients", "locations", "duration", "durations")
_SAME = {"Analyse": "Analyze", "AnyPurposes": "AnyPurpose", "AnyDatum": "AnyData"}
_STORAGE = ("hasLocation", "hasDuration", "durationInDays")
_BOUNDS = {"minInclusive": (0, 0), "maxInclusive": (1, 0), "minExclusive": (0, 1), "maxExclusive": (1, -1)}


def parse(content: str | bytes, name: str = "usage policy") -> Concept:
    """Read a usage policy.

    >>> parse("ObjectSomeValuesFrom(spl:hasData svd:Location)")
    SomeValuesFrom(role='hasData', of=NamedClass(name='Location'))
    """
    content = content.encode() if isinstance(content, str) else content
    check_size(content, name)
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<" and b"rdf" in content[:4000].lower():
        _, tree = parse_xml(content, name)
        return usage_policy(_from_rdf(tree, name))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text at byte {error.start}. Save it as UTF-8") from None
    reader = _Functional(text, name)
    return usage_policy(reader.read())


def local_name(text: str) -> str:
    """Return the local name of an IRI.

    >>> local_name("https://www.specialprivacy.eu/vocabs/data#AnyData"), local_name("spl:has_data")
    ('AnyData', 'hasData')
    >>> local_name("<http://www.specialprivacy.eu/vocabs/recipientsOurs>")
    'Ours'
    """
    text = text.strip().strip("<>")
    name = re.split(r"[#/]", text)[-1] if "://" in text else text.rpartition(":")[2]
    if "://" in text and "#" not in text:
        for each in _VOCABULARIES:
            if name.startswith(each) and name[len(each) : len(each) + 1].isupper():
                name = name[len(each) :]
                break
    if name.startswith("has_"):
        name = "has_k" if name == "has_k" else "has" + name[4:].title().replace("_", "")
    return _SAME.get(name, name)


# OWL functional syntax


class _Functional:
    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens = list(self._split(text))
        self.at = 0

    def _split(self, text: str) -> Iterator[str]:
        at, text = 0, text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                line = text.count("\n", 0, at) + 1
                column = at - text.rfind("\n", 0, at)
                raise InputError(f"{self.name}: cannot be read from line {line}, column {column}, on")
            at = match.end()
            token = next((each for each in match.groups()[1:] if each is not None), None)
            if token is not None:
                yield token

    def read(self) -> Concept:
        """Read the first class expression; skip declarations and prefixes before it."""
        skipped = ("Prefix", "Ontology", "EquivalentClasses", "SubClassOf")
        while self.at < len(self.tokens):
            word = local_name(self.tokens[self.at])
            if word == "Prefix" or word == "Declaration":
                self._skip()
            elif word in skipped or self.tokens[self.at] in ("(", ")") or word not in _WORDS:
                self.at += 1
            else:
                break
        if self.at >= len(self.tokens):
            if len(self.tokens) == 1:
                return NamedClass(local_name(self.tokens[0]))
            raise InputError(f"{self.name}: has no class expression, such as ObjectIntersectionOf(…)")
        return self._expression(0)

    def _skip(self) -> None:
        depth = 0
        self.at += 1
        while self.at < len(self.tokens):
            depth += {"(": 1, ")": -1}.get(self.tokens[self.at], 0)
            self.at += 1
            if depth == 0:
                return

    def _next(self) -> str:
        if self.at >= len(self.tokens):
            raise InputError(f"{self.name}: ends in the middle of an expression")
        self.at += 1
        return self.tokens[self.at - 1]

    def _expression(self, depth: int) -> Concept:
        if depth > DEEPEST:
            too_deep(self.name)
        word = local_name(self._next())
        if self.at >= len(self.tokens) or self.tokens[self.at] != "(":
            return _class_of_name(word)
        self._next()
        if word in ("ObjectIntersectionOf", "ObjectUnionOf"):
            parts = []
            while self.tokens[self.at : self.at + 1] not in ([")"], []):
                parts.append(self._expression(depth + 1))
            self._next()
            return And(tuple(parts)) if word == "ObjectIntersectionOf" else Or(tuple(parts))
        role = local_name(self._next())
        if word == "ObjectSomeValuesFrom":
            concept: Concept = SomeValuesFrom(role, self._expression(depth + 1))
        elif word in ("DataSomeValuesFrom", "DataSomeValueFrom", "DataHasValue"):
            concept = Within(role, *self._interval())
        else:
            raise InputError(f"{self.name}: {word!r} is not part of usage policies")
        if self._next() != ")":
            raise InputError(f"{self.name}: {word} has too many parts")
        return concept

    def _interval(self) -> tuple[float, float]:
        word = self._next()
        if local_name(word) != "DatatypeRestriction":
            number = _number(word, self.name)
            return number, number
        bounds = [-math.inf, math.inf]
        self._next()
        self._next()
        while (facet := self._next()) != ")":
            kind = local_name(facet)
            if kind not in _BOUNDS:
                raise InputError(f"{self.name}: {kind!r} is not a bound of an interval")
            _bound(bounds, kind, _number(self._next(), self.name))
        return bounds[0], bounds[1]


_WORDS = (
    *("ObjectIntersectionOf", "ObjectUnionOf", "ObjectSomeValuesFrom", "DataSomeValuesFrom"),
    *("DataSomeValueFrom", "DataHasValue"),
)


def _class_of_name(word: str) -> Concept:
    return EmptyClass() if word == "Nothing" else And(()) if word == "Thing" else NamedClass(word)


def _bound(bounds: list[float], kind: str, number: float) -> None:
    side, more = _BOUNDS[kind]
    bounds[side] = number + more


def _number(text: str, name: str) -> float:
    match = re.fullmatch(r'"?(-?[0-9]{1,15})"?(?:(?:\^\^|/).*)?', text.strip())
    if match is None:
        raise InputError(f"{name}: {text!r} is not a whole number")
    return float(match[1])


# RDF/XML


def _from_rdf(tree: dict[str, Any], name: str) -> Concept:
    """Read the first class that is a union, an intersection or a restriction."""
    concept = _find(tree, name)
    if concept is None:
        raise InputError(f"{name}: has no class with owl:unionOf, owl:intersectionOf or owl:Restriction")
    return concept


def _find(tree: Any, name: str) -> Concept | None:
    if isinstance(tree, list):
        return next((concept for each in tree if (concept := _find(each, name)) is not None), None)
    if not isinstance(tree, dict):
        return None
    if {"unionOf", "intersectionOf", "onProperty"} & set(tree):
        return _class(tree, name)
    return next((concept for each in tree.values() if (concept := _find(each, name)) is not None), None)


def _class(tree: Any, name: str) -> Concept:
    if isinstance(tree, str):
        return _class_of_name(local_name(tree))
    if "onProperty" in tree:
        return _restriction(tree, name)
    for key, kind in (("unionOf", Or), ("intersectionOf", And)):
        if key in tree:
            return kind(tuple(_class(each, name) for each in _members(tree[key])))
    for key in ("Class", "Restriction", "Description", "equivalentClass"):
        if key in tree:
            inner = tree[key]
            return _class(inner[0] if isinstance(inner, list) else inner, name)
    for key in ("resource", "about"):
        if key in tree:
            return _class_of_name(local_name(str(tree[key])))
    raise InputError(f"{name}: a class is neither named nor described")


def _members(tree: Any) -> Iterator[Any]:
    """Return the members of a collection, or of a list of first and rest."""
    for key, value in tree.items():
        if key == "parseType":
            continue
        if key == "Description" and isinstance(value, dict) and "first" in value:
            yield value["first"]
            if isinstance(value.get("rest"), dict):
                yield from _members(value["rest"])
            continue
        yield from value if isinstance(value, list) else [value]


def _restriction(tree: dict[str, Any], name: str) -> Concept:
    role = local_name(str(_reference(tree["onProperty"])))
    if "hasValue" in tree:
        number = _number(str(tree["hasValue"].get(TEXT, "")), name)
        return Within(role, number, number)
    filler = tree.get("someValuesFrom")
    if filler is None:
        raise InputError(f"{name}: the restriction of {role!r} has no owl:someValuesFrom")
    bounds = _facets(filler, name)
    return Within(role, *bounds) if bounds is not None else SomeValuesFrom(role, _class(filler, name))


def _reference(tree: Any) -> Any:
    while isinstance(tree, dict):
        tree = tree.get("resource") or tree.get("about") or next(iter(tree.values()))
    return tree


def _facets(tree: Any, name: str) -> tuple[float, float] | None:
    """Return the bounds of a restricted data type; None for any other."""
    facets = _find_key(tree, "withRestrictions")
    if facets is None:
        return None
    bounds = [-math.inf, math.inf]
    open_ = [facets]
    while open_:
        here = open_.pop()
        if isinstance(here, list):
            open_ += here
        elif isinstance(here, dict):
            for key, value in here.items():
                if key in _BOUNDS:
                    _bound(
                        bounds,
                        key,
                        _number(str(value.get(TEXT, "") if isinstance(value, dict) else value), name),
                    )
                else:
                    open_.append(value)
    return bounds[0], bounds[1]


def _find_key(tree: Any, key: str) -> Any:
    """Find a key inside data types only, not inside classes."""
    if isinstance(tree, dict):
        if key in tree:
            return tree[key]
        for inner in ("Datatype", "DataRange", "Description"):
            if inner in tree:
                return _find_key(tree[inner], key)
    return None


# The canonical shape


def usage_policy(concept: Concept) -> Concept:
    """Return a policy in the canonical shape: location and duration in the storage, days as a number of it.

    >>> usage_policy(SomeValuesFrom("hasLocation", NamedClass("EU")))
    SomeValuesFrom(role='hasStorage', of=SomeValuesFrom(role='hasLocation', of=NamedClass(name='EU')))
    """
    match concept:
        case Or(parts):
            return Or(tuple(usage_policy(each) for each in parts))
        case And(parts):
            return And(tuple(usage_policy(each) for each in parts))
        case SomeValuesFrom(role, of):
            if role in _STORAGE:
                return SomeValuesFrom("hasStorage", _storage(concept))
            return SomeValuesFrom(role, _storage(of)) if role == "hasStorage" else concept
        case Within(feature, _, _):
            return SomeValuesFrom("hasStorage", _storage(concept)) if feature in _STORAGE else concept
    return concept


def _storage(concept: Concept) -> Concept:
    match concept:
        case Or(parts):
            return Or(tuple(_storage(each) for each in parts))
        case And(parts):
            return And(tuple(_storage(each) for each in parts))
        case SomeValuesFrom("hasDuration", of):
            return _days(of)
        case Within("hasDuration", low, high):
            return Within("durationInDays", low, high)
    return concept


def _days(of: Concept) -> Concept:
    """Move a number of days out of the duration; its other classes stay there."""
    match of:
        case Within():
            return Within("durationInDays", of.low, of.high)
        case And(parts) if any(isinstance(each, Within) for each in parts):
            return And(tuple(_days(each) for each in parts))
        case Or(parts):
            return Or(tuple(_days(each) for each in parts))
    return SomeValuesFrom("hasDuration", of)
