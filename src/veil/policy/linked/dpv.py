"""Policies in W3C's Data Privacy Vocabulary (DPV): processes and consent records.

Each purpose of a process becomes a purpose of the policy. A process inside another one, or inside a consent
record, is also under the conditions of that one.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from veil.errors import InputError
from veil.policy.documents.elements import Label, Policy, Purpose, Retention, SubPurpose
from veil.policy.documents.unmapped_parts import with_unmapped
from veil.policy.linked.graphs import Graph, Term
from veil.policy.linked.reading import Measures, Reading, earliest, names_below
from veil.policy.linked.terms import (
    CONSENT_GIVEN,
    CONSENT_MISSING,
    PERSONAL_DATA,
    PURPOSES,
    broader_in,
    category_of_purpose,
    with_broader,
)

_RECIPIENTS = (
    *("dpv:hasRecipient", "dpv:hasRecipientDataController", "dpv:hasRecipientThirdParty"),
    *("dpv:hasThirdPartyRecipient", "dpv:hasDataImporter"),
)
_MEASURES = (
    *("dpv:hasTechnicalOrganisationalMeasure", "dpv:hasTechnicalMeasure", "dpv:hasOrganisationalMeasure"),
    "dpv:hasObligation",
)
_NARROWING = (
    *("dpv:hasConsentStatus", "dpv:hasDuration", "dpv:hasObligation", "dpv:hasProhibition", "dpv:hasRule"),
    *("dpv:hasScope", "dpv:hasFrequency", "dpv:isBefore", "dpv:isAfter", "dpv:hasStorageCondition"),
)
_RELEASING = (
    *("Disclose", "Disseminate", "MakeAvailable", "Processing", "Share", "Transfer", "Transmit", "Use"),
)
"""Kinds of processing that include the release of a table."""


def is_dpv(graph: Graph) -> bool:
    """Return whether a document describes processes in DPV."""
    return any(each.predicate in ("dpv:hasPurpose", "dpv:hasProcess") for each in graph.statements)


@dataclass
class _Conditions:
    """The conditions of a process, including those of the processes around it."""

    accepted: bool | None = None
    since: date | None = None
    ends: tuple[Retention | None, ...] = ()
    recipients: list[Term] = field(default_factory=list)
    data: list[Term] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    measures: Measures = field(default_factory=Measures)
    prohibited: list[list[str]] = field(default_factory=list)
    processing: list[str] = field(default_factory=list)
    path: str = ""


class _CategorizedPurpose(NamedTuple):
    """A purpose with the name of its process and its category."""

    purpose: Purpose
    process: str
    category: str


def from_dpv(graph: Graph) -> Policy:
    """Return the policy that a DPV document describes."""
    return _Document(Reading(graph)).policy()


class _Document:
    def __init__(self, reading: Reading) -> None:
        self.reading, self.graph = reading, reading.graph
        self.controllers: list[Term] = []
        self.officers: list[Term] = []
        self.subjects: list[Term] = []
        self.purposes: list[_CategorizedPurpose] = []

    def policy(self) -> Policy:
        records = self.graph.of_type("dpv:ConsentRecord")
        if len(records) > 1:
            raise InputError(
                f"the document holds {len(records)} consent records, but a policy is what one person "
                "allows. Put each into a separate file"
            )
        roots = self._roots()
        for each in roots:
            self._process(each, _Conditions(), frozenset())
        root = next(iter([*records, *roots]), None)
        source = self.reading.entities(self.subjects, "DataSource")
        purposes = self._distinct_purposes()
        return Policy(
            None if root is None else self.graph.name(root) or None,
            uri=root.text if root is not None and root.kind == "name" else None,
            source=source[0] if len(source) == 1 else None,
            controllers=self.reading.entities(self.controllers, "Controller"),
            officers=self.reading.entities(self.officers, "DataProtectionOfficer"),
            purposes=tuple(each.purpose for each in purposes),
            hierarchy=tuple(SubPurpose(each.category, each.purpose.name) for each in purposes),
            extra=with_unmapped(self.reading.list_unread(_NARROWING)),
        )

    def _roots(self) -> list[Term]:
        """Return the processes and records that are inside no other."""
        inner = {each.object for each in self.graph.statements if each.predicate == "dpv:hasProcess"}
        about = dict.fromkeys(
            each.subject
            for each in self.graph.statements
            if each.predicate in ("dpv:hasPurpose", "dpv:hasProcess")
        )
        return [each for each in about if each not in inner]

    def _process(self, node: Term, around: _Conditions, above: frozenset[Term]) -> None:
        if node in above:
            raise InputError(
                f"the process {self.graph.name(node)!r} contains itself. Remove it from one of the two"
            )
        conditions = self._read_conditions(node, around)
        purposes, inside = self.graph.take(node, "dpv:hasPurpose"), self.graph.take(node, "dpv:hasProcess")
        if not purposes and not inside:
            text = "the process has no purpose, so that it allows nothing"
            self.reading.add_unmapped(conditions.path, text, narrows=False)
        for purpose in purposes:
            self._purpose(purpose, conditions, self.graph.name(node))
        for inner in inside:
            self._process(inner, conditions, above | {node})

    def _read_conditions(self, node: Term, around: _Conditions) -> _Conditions:
        """Read the conditions of a process: its limits are added, its lists replace those around it."""
        graph, reading = self.graph, self.reading
        path = f"{around.path} {graph.name(node)}".strip()
        graph.take(node, "rdf:type")
        self.controllers += graph.take(node, "dpv:hasDataController")
        self.officers += graph.take(node, "dpv:hasDataProtectionOfficer")
        self.subjects += graph.take(node, "dpv:hasDataSubject")
        conditions = dataclasses.replace(
            around,
            path=path,
            recipients=graph.take(node, *_RECIPIENTS) or around.recipients,
            data=graph.take(node, "dpv:hasPersonalData", "dpv:hasData") or around.data,
            measures=around.measures.copy(),
            prohibited=[*around.prohibited, *map(reading.kinds, graph.take(node, "dpv:hasProhibition"))],
            processing=list(around.processing),
        )
        bases = [reading.legal_basis(each, path) for each in graph.take(node, "dpv:hasLegalBasis")]
        conditions.bases = list(dict.fromkeys(each for each in bases if each is not None)) or around.bases
        self._consent(node, conditions)
        for each in graph.take(node, "dpv:hasProcessing"):
            if reading.is_measure(each):
                reading.measure(each, path, conditions.measures)
            conditions.processing.append(reading.kinds(each)[0])
        for predicate in _MEASURES:
            for each in graph.peek(node, predicate):
                if reading.is_measure(each):
                    graph.take_one(node, predicate, each)
                    reading.measure(each, path, conditions.measures)
        self._storage(node, conditions)
        return conditions

    def _consent(self, node: Term, conditions: _Conditions) -> None:
        """Read whether consent was given, and since when."""
        for about in (node, *self.graph.peek(node, "dct:hasPart", "dpv:hasLegalBasis")):
            status = [self.reading.kinds(each)[0] for each in self.graph.take(about, "dpv:hasConsentStatus")]
            if about != node:
                status += [
                    each for each in self.reading.kinds(about) if each in (*CONSENT_GIVEN, *CONSENT_MISSING)
                ]
            rules = [self.reading.kinds(each)[0] for each in self.graph.take(about, "dpv:hasRule")]
            if any(each not in CONSENT_GIVEN for each in status) or "Prohibition" in rules:
                conditions.accepted = False
            elif (status or "Permission" in rules) and conditions.accepted is None:
                conditions.accepted = True
            if "Obligation" in rules:
                self.reading.add_unmapped(
                    conditions.path, "the rule dpv:Obligation does not say what has to be done"
                )
            for each in self.graph.take(about, "dpv:isIndicatedAtTime"):
                moment = self.reading.day(each, conditions.path)
                conditions.since = (
                    moment if conditions.since is None or moment is None else max(conditions.since, moment)
                )
            if about != node:
                self.graph.take(node, "dct:hasPart")
                ends = self.graph.take(about, "dpv:hasDuration")
                conditions.ends += tuple(
                    self.reading.end(each, conditions.since, conditions.path) for each in ends
                )

    def _storage(self, node: Term, conditions: _Conditions) -> None:
        own = self.graph.take(node, "dpv:hasStorageCondition")
        lengths = [each for condition in own for each in self.graph.take(condition, "dpv:hasDuration")]
        for condition in own:
            self.graph.take(condition, "rdf:type")
        conditions.ends += tuple(
            self.reading.end(each, conditions.since, conditions.path) for each in lengths
        )

    def _purpose(self, node: Term, conditions: _Conditions, process: str) -> None:
        kinds = self.reading.kinds(node)
        all_data = [self.reading.data(each) for each in conditions.data]
        accepted, since = conditions.accepted, conditions.since
        processing = [{"name": each} for each in conditions.processing]
        allowed = {str(each.name): each for each in all_data}
        for prohibited in conditions.prohibited:
            which = names_below(all_data, prohibited[0])
            if prohibited[0] in with_broader(kinds, broader_in(PURPOSES)) or prohibited[0] in _RELEASING:
                accepted = False
            elif prohibited[0] in PERSONAL_DATA or which:
                allowed = {name: each for name, each in allowed.items() if name not in which}
            else:
                self.reading.add_unmapped(
                    conditions.path, f"the prohibition of {prohibited[0]!r} has no place in a policy"
                )
        name = self.reading.name(node)
        data = tuple(allowed[each] for each in sorted(allowed))
        purpose = Purpose(
            name,
            accepted=accepted,
            point_of_acceptance=since.isoformat() if since is not None and accepted else None,
            recipients=self.reading.entities(conditions.recipients, "DataRecipient"),
            retention=earliest(*conditions.ends),
            legal_bases=tuple(conditions.bases),
            models=self.reading.models(conditions.measures, conditions.path),
            pseudonymization=self.reading.pseudonymization(conditions.measures, data, conditions.path),
            data=data,
            header=(Label("en", process),) if process not in (name, "") else (),
            extra={"processing": processing} if processing else {},
        )
        self.purposes.append(_CategorizedPurpose(purpose, process, category_of_purpose(kinds)))

    def _distinct_purposes(self) -> list[_CategorizedPurpose]:
        """Return the purposes; add their process to repeated names, so none uses conditions of another."""
        names = [each.purpose.name for each in self.purposes]
        purposes = []
        for at, each in enumerate(self.purposes, start=1):
            purpose = each.purpose
            if names.count(purpose.name) > 1:
                purpose = dataclasses.replace(purpose, name=f"{purpose.name} ({each.process or at})")
            purposes.append(each._replace(purpose=purpose))
        return sorted(purposes, key=lambda each: str(each.purpose.name))
