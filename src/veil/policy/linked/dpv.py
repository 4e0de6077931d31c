"""Policies in W3C's Data Privacy Vocabulary (DPV): processes and consent records.

A process becomes one purpose for each that it has. A process that lies in another one, or in a consent record, is under what
that says, too.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from veil.errors import InputError
from veil.policy.elements import Label, Policy, Purpose, Retention, SubPurpose
from veil.policy.linked.graphs import Graph, Term
from veil.policy.linked.reading import Measures, Reading, earliest, names_below
from veil.policy.linked.terms import (
    CONSENT_GIVEN,
    CONSENT_MISSING,
    PERSONAL_DATA,
    PURPOSES,
    ancestors,
    category_of_purpose,
    known_above,
)
from veil.policy.unmapped_parts import Unmapped, with_unmapped

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
    "Disclose",
    "Disseminate",
    "MakeAvailable",
    "Processing",
    "Share",
    "Transfer",
    "Transmit",
    "Use",
)
"""Processing that handing out a table is."""


def is_dpv(graph: Graph) -> bool:
    """Whether a document describes processes in DPV."""
    return any(each.predicate in ("dpv:hasPurpose", "dpv:hasProcess") for each in graph.statements)


@dataclass
class _Said:
    """What a process says, and what those around it say."""

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


class _Found(NamedTuple):
    """A purpose, the process that it is one of, and the category that it falls under."""

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
        self.purposes: list[_Found] = []

    def policy(self) -> Policy:
        records = self.graph.of_type("dpv:ConsentRecord")
        if len(records) > 1:
            raise InputError(
                f"the document holds {len(records)} consent records, but a policy is what one person "
                "allows. Put each into a separate file"
            )
        roots = self._roots()
        for each in roots:
            self._process(each, _Said(), frozenset())
        root = next(iter([*records, *roots]), None)
        source = self.reading.entities(self.subjects, "DataSource")
        purposes = self._named()
        return Policy(
            None if root is None else self.graph.name(root) or None,
            uri=root.text if root is not None and root.kind == "name" else None,
            source=source[0] if len(source) == 1 else None,
            controllers=self.reading.entities(self.controllers, "Controller"),
            officers=self.reading.entities(self.officers, "DataProtectionOfficer"),
            purposes=tuple(each.purpose for each in purposes),
            hierarchy=tuple(SubPurpose(each.category, each.purpose.name) for each in purposes),
            extra=with_unmapped(self.reading.list_left(_NARROWING)),
        )

    def _roots(self) -> list[Term]:
        """Return the processes and records that lie in no other."""
        inner = {each.object for each in self.graph.statements if each.predicate == "dpv:hasProcess"}
        about = dict.fromkeys(
            each.subject
            for each in self.graph.statements
            if each.predicate in ("dpv:hasPurpose", "dpv:hasProcess")
        )
        return [each for each in about if each not in inner]

    def _process(self, node: Term, around: _Said, above: frozenset[Term]) -> None:
        if node in above:
            raise InputError(
                f"the process {self.graph.name(node)!r} contains itself. Remove it from one of the two"
            )
        said = self._said(node, around)
        purposes, inside = self.graph.take(node, "dpv:hasPurpose"), self.graph.take(node, "dpv:hasProcess")
        if not purposes and not inside:
            self.reading.found.append(
                Unmapped(said.path, "the process has no purpose, so that it allows nothing", False)
            )
        for purpose in purposes:
            self._purpose(purpose, said, self.graph.name(node))
        for inner in inside:
            self._process(inner, said, above | {node})

    def _said(self, node: Term, around: _Said) -> _Said:
        """Read what a process says: it adds to limits, and replaces what is listed."""
        graph, reading = self.graph, self.reading
        path = f"{around.path} {graph.name(node)}".strip()
        graph.take(node, "rdf:type")
        self.controllers += graph.take(node, "dpv:hasDataController")
        self.officers += graph.take(node, "dpv:hasDataProtectionOfficer")
        self.subjects += graph.take(node, "dpv:hasDataSubject")
        said = dataclasses.replace(
            around,
            path=path,
            recipients=graph.take(node, *_RECIPIENTS) or around.recipients,
            data=graph.take(node, "dpv:hasPersonalData", "dpv:hasData") or around.data,
            measures=around.measures.copy(),
            prohibited=[*around.prohibited, *map(reading.kinds, graph.take(node, "dpv:hasProhibition"))],
            processing=list(around.processing),
        )
        bases = [reading.legal_basis(each, path) for each in graph.take(node, "dpv:hasLegalBasis")]
        said.bases = list(dict.fromkeys(each for each in bases if each is not None)) or around.bases
        self._consent(node, said)
        for each in graph.take(node, "dpv:hasProcessing"):
            if reading.is_measure(each):
                reading.measure(each, path, said.measures)
            said.processing.append(reading.kinds(each)[0])
        for predicate in _MEASURES:
            for each in graph.peek(node, predicate):
                if reading.is_measure(each):
                    graph.take_one(node, predicate, each)
                    reading.measure(each, path, said.measures)
        self._storage(node, said)
        return said

    def _consent(self, node: Term, said: _Said) -> None:
        """Read whether somebody has agreed, and since when."""
        for about in (node, *self.graph.peek(node, "dct:hasPart", "dpv:hasLegalBasis")):
            status = [self.reading.kinds(each)[0] for each in self.graph.take(about, "dpv:hasConsentStatus")]
            if about != node:
                status += [
                    each for each in self.reading.kinds(about) if each in (*CONSENT_GIVEN, *CONSENT_MISSING)
                ]
            rules = [self.reading.kinds(each)[0] for each in self.graph.take(about, "dpv:hasRule")]
            if any(each not in CONSENT_GIVEN for each in status) or "Prohibition" in rules:
                said.accepted = False
            elif (status or "Permission" in rules) and said.accepted is None:
                said.accepted = True
            if "Obligation" in rules:
                self.reading.cannot(said.path, "the rule dpv:Obligation does not say what has to be done")
            for each in self.graph.take(about, "dpv:isIndicatedAtTime"):
                moment = self.reading.day(each, said.path)
                said.since = moment if said.since is None or moment is None else max(said.since, moment)
            if about != node:
                self.graph.take(node, "dct:hasPart")
                ends = self.graph.take(about, "dpv:hasDuration")
                said.ends += tuple(self.reading.end(each, said.since, said.path) for each in ends)

    def _storage(self, node: Term, said: _Said) -> None:
        own = self.graph.take(node, "dpv:hasStorageCondition")
        lengths = [each for condition in own for each in self.graph.take(condition, "dpv:hasDuration")]
        for condition in own:
            self.graph.take(condition, "rdf:type")
        said.ends += tuple(self.reading.end(each, said.since, said.path) for each in lengths)

    def _purpose(self, node: Term, said: _Said, process: str) -> None:
        kinds = self.reading.kinds(node)
        data = [self.reading.data(each) for each in said.data]
        accepted = said.accepted
        allowed = {str(each.name): each for each in data}
        for prohibited in said.prohibited:
            which = names_below(data, prohibited[0])
            if prohibited[0] in ancestors(kinds, known_above(PURPOSES)) or prohibited[0] in _RELEASING:
                accepted = False
            elif prohibited[0] in PERSONAL_DATA or which:
                allowed = {name: each for name, each in allowed.items() if name not in which}
            else:
                self.reading.cannot(
                    said.path, f"the prohibition of {prohibited[0]!r} has no place in a policy"
                )
        name = self.reading.name(node)
        chosen = tuple(allowed[each] for each in sorted(allowed))
        made = Purpose(
            name,
            accepted=accepted,
            point_of_acceptance=said.since.isoformat() if said.since is not None and accepted else None,
            recipients=self.reading.entities(said.recipients, "DataRecipient"),
            retention=earliest(*said.ends),
            legal_bases=tuple(said.bases),
            models=self.reading.models(said.measures, said.path),
            pseudonymization=self.reading.pseudonymization(said.measures, chosen, said.path),
            data=chosen,
            header=(Label("en", process),) if process not in (name, "") else (),
            extra={"processing": [{"name": each} for each in said.processing]} if said.processing else {},
        )
        self.purposes.append(_Found(made, process, category_of_purpose(kinds)))

    def _named(self) -> list[_Found]:
        """Return the purposes; those of one name are told apart by their process, as none may borrow from another."""
        names = [each.purpose.name for each in self.purposes]
        made = []
        for at, each in enumerate(self.purposes, start=1):
            purpose = each.purpose
            if names.count(purpose.name) > 1:
                purpose = dataclasses.replace(purpose, name=f"{purpose.name} ({each.process or at})")
            made.append(each._replace(purpose=purpose))
        return sorted(made, key=lambda each: str(each.purpose.name))
