"""Documents of linked data (Turtle, JSON-LD) as plain statements, of which none is lost.

They are read by rdflib, an optional dependency. It would fetch contexts and evaluate literals of any size. So
contexts are written out before, literals are kept as written, and deeply nested documents are refused.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from veil.base.untrusted import DEEPEST, check_size, too_deep
from veil.errors import InputError, MissingDependencyError
from veil.policy.linked.contexts import UNKNOWN, resolve
from veil.policy.linked.terms import local, short

_TURTLE = re.compile(
    rb"\s*(?:#[^\n]*\n\s*)*(?:@prefix|@base|prefix\b|base\b|<[a-z][a-z0-9+.-]*:[^>\s]*>\s)", re.IGNORECASE
)
_NOT_NESTING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'|<[^>\s]*>|#[^\n]*|[^\[\]()\"'<#]+",
    re.DOTALL,
)


class Term(NamedTuple):
    """The subject or object of a statement: a name, a blank node, or a literal with its data type."""

    text: str
    kind: str
    datatype: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it is a literal."""
        return self.kind == "literal"


class Statement(NamedTuple):
    """One statement. Names of known vocabularies are short: `dpv:hasPurpose`."""

    subject: Term
    predicate: str
    object: Term


TYPE = "rdf:type"
_HERE = "https://here.invalid/"
"""The base of relative names."""
_NAMES = (
    *("dct:title", "rdfs:label", "skos:prefLabel", "dpv:hasName", "foaf:name", "vcard:fn", "dct:identifier"),
    "dpv:hasIdentifier",
)


class Graph:
    """The statements of a document, and which of them have been read."""

    def __init__(self, statements: list[Statement]) -> None:
        self.statements = sorted(set(statements))
        self._unread = set(self.statements)
        self._about: dict[Term, list[Statement]] = {}
        for each in self.statements:
            self._about.setdefault(each.subject, []).append(each)

    def peek(self, subject: Term, *predicates: str) -> list[Term]:
        """Return the objects of statements about a node, without marking them as read."""
        return [each.object for each in self._about.get(subject, ()) if each.predicate in predicates]

    def take(self, subject: Term, *predicates: str) -> list[Term]:
        """Return the objects of statements about a node, and mark these as read."""
        statements = [each for each in self._about.get(subject, ()) if each.predicate in predicates]
        self._unread.difference_update(statements)
        return [each.object for each in statements]

    def take_one(self, subject: Term, predicate: str, value: Term) -> None:
        """Mark one statement as read."""
        self._unread.discard(Statement(subject, predicate, value))

    def members(self, node: Term) -> list[Term]:
        """Return the members of a list; any other node is its only member."""
        terms = []
        nodes: set[Term] = set()
        while self.peek(node, "rdf:first") and node not in nodes:
            nodes.add(node)
            terms += self.take(node, "rdf:first")
            node = next(iter(self.take(node, "rdf:rest")), node)
        return terms if nodes else [node]

    def of_type(self, *types: str) -> list[Term]:
        """Return the nodes of some types, in order."""
        return [
            each.subject for each in self.statements if each.predicate == TYPE and each.object.text in types
        ]

    def name(self, node: Term) -> str:
        """Return the title of a node, or the last part of its name; empty if it has neither."""
        if node.is_text:
            return node.text
        for predicate in _NAMES:
            names = self.take(node, predicate)
            if names:
                return names[0].text
        return "" if node.kind == "blank" else local(node.text)

    def unread(self) -> list[Statement]:
        """Return the statements that have not been read."""
        return [each for each in self.statements if each in self._unread]


def is_turtle(content: bytes) -> bool:
    """Return whether a text begins as Turtle does.

    >>> is_turtle(b"@prefix dpv: <https://w3id.org/dpv#> ."), is_turtle(b"<layeredPrivacyPolicy/>")
    (True, False)
    """
    return _TURTLE.match(content.removeprefix(b"\xef\xbb\xbf")) is not None


def is_linked(tree: Any) -> bool:
    """Return whether a tree of JSON is one of JSON-LD."""
    if isinstance(tree, list):
        return any(is_linked(each) for each in tree)
    return isinstance(tree, dict) and any(key in tree for key in ("@context", "@graph", "@id", "@type"))


def parse_turtle(content: bytes, name: str) -> Graph:
    """Read Turtle."""
    check_size(content, name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text at byte {error.start}. Save it as UTF-8") from None
    depth = 0
    for sign in _NOT_NESTING.sub("", text):
        depth += 1 if sign in "[(" else -1 if sign in "])" else 0
        if depth > DEEPEST:
            too_deep(name)
    return _graph(text, "turtle", name)


def parse_json_ld(tree: Any, name: str) -> Graph:
    """Read JSON-LD from a tree that `veil.base.untrusted` has parsed."""
    return _graph(json.dumps(resolve(tree, name)), "json-ld", name, context={"@vocab": UNKNOWN})


def _graph(text: str, form: str, name: str, **options: Any) -> Graph:
    rdflib = _rdflib()
    dataset = rdflib.Dataset(default_union=True)
    try:
        with _values_as_written(rdflib):
            dataset.parse(data=text, format=form, publicID=_HERE, **options)
            triples = list(dataset.triples((None, None, None)))
    except RecursionError:
        too_deep(name)
    except Exception as error:  # rdflib raises errors of any kind
        # Without the excerpt of the document, which may show part of a password that is no longer recognized.
        message = " ".join(str(error).split()).partition(" at ^ in:")[0]
        raise InputError(
            f"{name}: cannot be read as {form}: {message[:200] or type(error).__name__}"
        ) from None
    return Graph(
        [
            Statement(_as_term(rdflib, one), short(str(by)), _as_term(rdflib, other))
            for one, by, other in triples
        ]
    )


def to_turtle(tree: dict[str, Any]) -> str:
    """Write a tree of JSON-LD as Turtle."""
    rdflib = _rdflib()
    graph = rdflib.Graph()
    for prefix, place in tree["@context"].items():
        graph.bind(prefix, place)
    with _values_as_written(rdflib):
        graph.parse(data=json.dumps(tree), format="json-ld")
    return str(graph.serialize(format="turtle"))


def _as_term(rdflib: Any, node: Any) -> Term:
    if isinstance(node, rdflib.Literal):
        return Term(str(node), "literal", short(str(node.datatype or "")))
    if isinstance(node, rdflib.BNode):
        return Term(str(node), "blank")
    return Term(short(str(node)), "name")


def _rdflib() -> Any:
    try:
        import rdflib
    except ImportError:
        raise MissingDependencyError(
            "Policies as linked data (DPV, ODRL) need rdflib. Install it with: pip install 'veil-anonymizer[policy]'"
        ) from None
    return rdflib


_one_at_a_time = threading.Lock()


@contextmanager
def _values_as_written(rdflib: Any) -> Iterator[None]:
    """Keep literals as written, as 1e99999999 has that many digits in full; silence warnings about literals
    and about deprecated calls inside rdflib.
    """
    logger = logging.getLogger("rdflib.term")
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        before = rdflib.NORMALIZE_LITERALS, logger.disabled
        rdflib.NORMALIZE_LITERALS, logger.disabled = False, True
        try:
            yield
        finally:
            rdflib.NORMALIZE_LITERALS, logger.disabled = before
