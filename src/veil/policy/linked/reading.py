"""The common parts of DPV and ODRL: people, data, legal bases, measures and times, as elements of a policy.

A term may be used itself (`pd:Age`), or by a narrower term of the document (`ex:age skos:broader pd:Age`). Of
two possible readings, the one that allows less is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta

from veil.errors import VeilError
from veil.policy.documents.elements import (
    Attribute,
    Data,
    Entity,
    PolicyModel,
    PseudonymizationMethod,
    Retention,
)
from veil.policy.documents.unmapped_parts import Unmapped
from veil.policy.linked.graphs import TYPE, Graph, Term
from veil.policy.linked.terms import (
    ANONYMISATION,
    DEIDENTIFICATION,
    DIFFERENTIAL_PRIVACY,
    KINDS_OF_ENTITY,
    LEGAL_BASES,
    OTHER_PSEUDONYMS,
    PERSONAL_DATA,
    broader_in,
    group_of_category,
    local,
    with_broader,
)
from veil.policy.rules.consent import is_limiting
from veil.policy.rules.names import title_of
from veil.policy.rules.retention import day, duration

BROADER = (TYPE, "skos:broader", "rdfs:subClassOf", "dpv:isSubTypeOf", "skos:broaderTransitive")
_SENSITIVE = ("SensitivePersonalData", "SpecialCategoryPersonalData")
_UNITS = {"unitYear": "Y", "unitMonth": "M", "unitWeek": "W", "unitDay": "D"}


@dataclass
class Measures:
    """Measures that data need before they are used."""

    models: list[PolicyModel] = field(default_factory=list)
    pseudonyms: bool = False
    vague: list[str] = field(default_factory=list)
    """Measures that name no guarantee."""

    def copy(self) -> Measures:
        """Return an independent copy."""
        return Measures(list(self.models), self.pseudonyms, list(self.vague))


@dataclass
class Reading:
    """A document while it is read: its statements, and those that have no place in a policy."""

    graph: Graph
    unmapped: list[Unmapped] = field(default_factory=list)

    def add_unmapped(self, path: str, text: str, *, narrows: bool = True) -> None:
        """List a statement that has no place in a policy, which most often narrows it."""
        self.unmapped.append(Unmapped(path, text, narrows))

    # Terms

    def kinds(self, node: Term) -> list[str]:
        """Return the name of a node and of all broader terms in the document, the nearest first."""
        if node.is_text:
            return [_without_prefix(node.text)]
        nodes = {node.text: node}

        def above(name: str) -> list[str]:
            broader = self.graph.take(nodes[name], *BROADER) if name in nodes else []
            nodes.update({each.text: each for each in broader if not each.is_text})
            return [each.text for each in broader]

        broader = [local(name) for name in with_broader([node.text], above)]
        return broader if node.kind != "blank" else broader[1:] or [""]

    def name(self, node: Term) -> str:
        """Return the name of a node; for a blank node, that of its type."""
        return self.graph.name(node) or self.kinds(node)[0]

    # People

    def entity(self, node: Term, role: str) -> Entity:
        """Return a person or body."""
        kinds = self.kinds(node)
        kind = next((KINDS_OF_ENTITY[each] for each in kinds if each in KINDS_OF_ENTITY), None)
        places = (
            [] if node.is_text else [local(each.text) for each in self.graph.peek(node, "dpv:hasLocation")]
        )
        country = next((each for each in places if re.fullmatch("[A-Z]{2}", each)), None)
        if country is not None and len(places) == 1:
            self.graph.take(node, "dpv:hasLocation")
        elif places and role == "DataRecipient":
            self.add_unmapped(
                self.name(node),
                f"whether {', '.join(places)} is a third country cannot be told. Name one country",
            )
        return Entity(self.graph.name(node), kind, type=role, country=country)

    def entities(self, nodes: Iterable[Term], role: str) -> tuple[Entity, ...]:
        """Return people and bodies in order, each name once."""
        by_name = {str(each.name): each for each in (self.entity(node, role) for node in nodes) if each.name}
        return tuple(by_name[name] for name in sorted(by_name))

    # Data

    def data(self, node: Term) -> Data:
        """Return a datum; its privacy group is the strictest that its categories propose, or missing."""
        kinds = self.kinds(node)
        proposed = {group_of_category([each]) for each in kinds if each not in _SENSITIVE}
        is_marked = any(each in _SENSITIVE for each in kinds)
        order = ("EI", "SD", "QID", "NSD") if is_marked else ("EI", "QID", "SD", "NSD")
        group = next((each for each in order if each in proposed or (is_marked and each == "SD")), None)
        general = ("PersonalData", "Data", "Purpose", "Concept")
        categories = [each for each in kinds if each not in general and each != self.name(node)]
        return Data(self.name(node), privacy_group=group, categories=tuple(categories) or (kinds[0],))

    # Legal bases

    def legal_basis(self, node: Term, path: str) -> str | None:
        """Return the name of a legal basis in LPL."""
        kinds = self.kinds(node)
        basis = next((LEGAL_BASES[each] for each in kinds if each in LEGAL_BASES), None)
        if basis is None:
            self.add_unmapped(path, f"the legal basis {kinds[0]!r} has no name in LPL", narrows=False)
        return basis

    # Measures

    def is_measure(self, node: Term) -> bool:
        """Return whether a node is a measure that Veil carries out."""
        return any(each in DEIDENTIFICATION for each in self.kinds(node))

    def measure(self, node: Term, path: str, into: Measures) -> None:
        """Add a measure to others."""
        kinds = self.kinds(node)
        kind = next(each for each in kinds if each in DEIDENTIFICATION)
        if kind in OTHER_PSEUDONYMS:
            self.add_unmapped(
                path,
                f"{kind} is not what Veil makes: ask for dpv:Pseudonymisation (random), or use LPL and keyRef",
            )
        elif kind in ANONYMISATION or kind in DIFFERENTIAL_PRIVACY:
            model = model_of_text(self.name(node))
            if model is None:
                into.vague.append(kind)
            else:
                into.models.append(model)
        else:
            into.pseudonyms = True

    def models(self, measures: Measures, path: str) -> tuple[PolicyModel, ...]:
        """Return the models of measures; measures without a guarantee are listed, if there is no model."""
        result = tuple(dict.fromkeys(measures.models))
        private = [each for each in result if title_of(str(each.name)) == title_of("Differential Privacy")]
        for kind in dict.fromkeys(measures.vague):
            is_private = kind in DIFFERENTIAL_PRIVACY
            if not (private if is_private else result):
                example = (
                    "(e,d)-Differential Privacy (e = 1, d = 1e-6)" if is_private else "k-Anonymity (k = 5)"
                )
                self.add_unmapped(
                    path, f"{kind} does not say which guarantee is meant: give it a title such as {example!r}"
                )
        return result

    def pseudonymization(
        self, measures: Measures, data: Iterable[Data], path: str
    ) -> tuple[PseudonymizationMethod, ...]:
        """Return pseudonyms of the identifying data."""
        if not measures.pseudonyms:
            return ()
        names = tuple(str(each.name) for each in data if each.privacy_group == "EI")
        if not names:
            text = "pseudonyms are asked for, and no datum names people"
            self.add_unmapped(path, text, narrows=False)
        return tuple(PseudonymizationMethod("PID", None, (), (name,)) for name in names)

    # Times

    def day(self, node: Term, path: str) -> date | None:
        """Return a day."""
        try:
            return day(node.text)
        except VeilError as error:
            self.add_unmapped(path, str(error))
            return None

    def end(self, node: Term, start: date | None, path: str) -> Retention | None:
        """Return the end of a duration, as a retention; it counts from a start that must be known."""
        kinds = self.kinds(node) if not node.is_text else []
        if any(each in ("EndlessDuration", "IndeterminateDuration") for each in kinds):
            return Retention("indefinite")
        if "UntilTimeDuration" in kinds:
            until = self.graph.take(
                node, "rdf:value", "dct:valid", "dct:date", "time:hasEnd", "time:inXSDDate"
            )
            last = self.day(until[0], path) if until else None
            if last is not None:
                return Retention("fixedDate", last.isoformat())
        length = self._length(node)
        if length is None:
            self.add_unmapped(
                path, f"how long {self._text_of(node)!r} lasts cannot be told. Say a duration (P2Y) or a date"
            )
            return None
        if start is None:
            self.add_unmapped(
                path,
                f"{length} counts from a day that is not said. Say it (dpv:isIndicatedAtTime, dct:issued)",
            )
            return None
        return Retention("fixedDate", duration(length).after(start).isoformat())

    def _text_of(self, node: Term) -> str:
        return node.text if node.kind != "blank" else "the duration"

    def _length(self, node: Term) -> str | None:
        """Return a duration in the form P2Y; seconds become whole days."""
        if not node.is_text:
            number = next(iter(self.graph.take(node, "time:numericDuration")), None)
            unit = next((local(each.text) for each in self.graph.take(node, "time:unitType")), "")
            if (
                number is not None
                and unit in _UNITS
                and (whole := re.match(r"[0-9]{1,6}(?![0-9])", number.text))
            ):
                return f"P{whole[0]}{_UNITS[unit]}"
            inner = next(
                iter(self.graph.take(node, "time:hasXSDDuration", "rdf:value", "dpv:hasDuration")), None
            )
            return None if inner is None or not inner.is_text else self._length(inner)
        if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]+)?", node.text):
            return f"P{int(node.text.partition('.')[0]) // 86_400}D"
        try:
            duration(node.text)
        except VeilError:
            return None
        return node.text

    # Unread statements

    def list_unread(self, narrowing: Iterable[str]) -> list[Unmapped]:
        """List all unread statements; those with a narrowing predicate or limiting name narrow the policy."""
        above: dict[Term, tuple[Term, str]] = {}
        for each in self.graph.statements:
            above.setdefault(each.object, (each.subject, each.predicate))

        def path(node: Term, path_nodes: frozenset[Term] = frozenset()) -> str:
            if node.kind != "blank" or node not in above or node in path_nodes:
                return node.text if node.kind != "blank" else "(no name)"
            parent, predicate = above[node]
            return f"{path(parent, path_nodes | {node})} {predicate}"

        narrow = tuple(narrowing)
        for subject, predicate, value in self.graph.unread():
            text = f"{predicate} {value.text if value.kind != 'blank' else '…'} has no place in a policy"
            narrows = predicate in narrow or is_limiting(local(predicate))
            self.add_unmapped(path(subject), text, narrows=narrows)
        return self.unmapped


def names_below(data: Iterable[Data], category: str) -> set[str]:
    """Return the names of data that fall under a category."""
    return {
        str(each.name)
        for each in data
        if category in with_broader([str(each.name), *each.categories], broader_in(PERSONAL_DATA))
    }


def earliest(*retentions: Retention | None) -> Retention | None:
    """Return the retention that ends first."""
    ends = [each for each in retentions if each is not None]
    dated = [each for each in ends if each.point_in_time is not None]
    return min(dated, key=lambda each: str(each.point_in_time)) if dated else next(iter(ends), None)


def day_after(day: date) -> date:
    """Return the next day."""
    return day + timedelta(days=1)


def _without_prefix(text: str) -> str:
    return (
        local(text)
        if re.fullmatch(r"\S+", text) and re.match(r"(?:dpv|pd|odrl|gdpr|https?|urn):", text)
        else text
    )


# Models as titles of measures

_MODEL = re.compile(r"(?P<name>.+?)(?: of (?P<columns>.+))? \((?P<parameters>[^()]*=[^()]*)\)")


def text_of_model(model: PolicyModel) -> str:
    """Write a model as the title of a measure.

    >>> text_of_model(PolicyModel("l-Diversity", (Attribute("l", "3"),), ("disease",)))
    'l-Diversity of disease (l = 3)'
    """
    of = f" of {'; '.join(map(str, model.data))}" if model.data else ""
    parameters = ", ".join(f"{each.key} = {each.value}" for each in model.attributes)
    return f"{model.name}{of} ({parameters})"


def model_of_text(text: str) -> PolicyModel | None:
    """Read a model from the title of a measure; None if it names none.

    >>> model_of_text("k-Anonymity (k = 5)").attributes
    (Attribute(key='k', value='5'),)
    >>> model_of_text("Anonymisation")
    """
    match = _MODEL.fullmatch(text.strip())
    if match is None or title_of(match["name"]) is None:
        return None
    pairs = [each.partition("=") for each in match["parameters"].split(",")]
    attributes = tuple(Attribute(key.strip(), value.strip()) for key, _, value in pairs)
    columns = tuple(each.strip() for each in (match["columns"] or "").split(";") if each.strip())
    return PolicyModel(match["name"], attributes, columns)
