"""Policies in ODRL 2.2 with terms of DPV: permissions, prohibitions and duties.

A permission to use, read, distribute, derive or anonymize becomes one purpose for each that its constraints
name. A duty to anonymize is a guarantee, one to delete is the end of retention. A prohibition wins over a
permission. Constraints that Veil cannot carry out are listed, and a policy with such constraints is refused.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from datetime import date

from veil.errors import InputError
from veil.policy.documents.elements import (
    Attribute,
    Data,
    Policy,
    PolicyModel,
    Purpose,
    Retention,
    SubPurpose,
)
from veil.policy.documents.unmapped_parts import with_unmapped
from veil.policy.linked.graphs import Graph, Term
from veil.policy.linked.reading import Measures, Reading, day_after, earliest, model_of_text, names_below
from veil.policy.linked.terms import (
    DEIDENTIFICATION,
    PERSONAL_DATA,
    PURPOSES,
    broader_in,
    category_of_purpose,
    short,
    with_broader,
)
from veil.policy.rules.names import needed_parameters, title_of

_POLICIES = tuple(
    f"odrl:{each}"
    for each in ("Agreement", "Assertion", "Offer", "Policy", "Privacy", "Request", "Set", "Ticket")
)
_NOT_AGREED = ("odrl:Offer", "odrl:Request")
_RELEASING = (
    *("use", "Use", "distribute", "read", "transfer", "Share", "Disclose", "Transfer", "derive", "Derive"),
    *("anonymize", "Anonymise"),
)
"""Actions that include the release of a table."""
_NAMING = ("eq", "isA", "isAnyOf", "isPartOf")
_LIMIT_OF = {
    **dict.fromkeys(("purpose", "Purpose", "hasPurpose"), "purposes"),
    **dict.fromkeys(("recipient", "Recipient", "hasRecipient"), "recipients"),
    **dict.fromkeys(("hasPersonalData", "PersonalData", "hasData"), "data"),
}
"""What constraints list by naming it, and the field of the limits."""
_HARMLESS = (
    *("odrl:profile", "odrl:uid", "odrl:assigner", "odrl:dataType", "odrl:unit", "odrl:relation"),
    "odrl:conflict",
)
_RULES = ("odrl:permission", "odrl:prohibition", "odrl:obligation", "odrl:duty")


def is_odrl(graph: Graph) -> bool:
    """Return whether a document has rules of ODRL."""
    return any(each.predicate in _RULES for each in graph.statements)


def from_odrl(graph: Graph) -> Policy:
    """Return the policy that an ODRL document holds."""
    policies = list(dict.fromkeys([*graph.of_type(*_POLICIES), *_holders(graph)]))
    if len(policies) != 1:
        raise InputError(
            f"the document holds {len(policies)} ODRL policies, but a policy is what one person allows. Put "
            "each into a separate file"
        )
    return _Document(Reading(graph), policies[0]).policy()


def _holders(graph: Graph) -> list[Term]:
    """Return the nodes with a permission, a prohibition or an obligation."""
    return [each.subject for each in graph.statements if each.predicate in _RULES[:3]]


@dataclass
class _Limits:
    """The limits that the constraints of a rule set."""

    purposes: list[Term] = field(default_factory=list)
    recipients: list[Term] | None = None
    data: list[Term] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    since: date | None = None
    end: Retention | None = None
    others: int = 0
    """The number of constraints that have no place in a policy."""


@dataclass
class _Allowed:
    """A purpose with the actions by which it was allowed."""

    purpose: Purpose
    kinds: list[str]
    actions: list[str]


class _Document:
    def __init__(self, reading: Reading, node: Term) -> None:
        self.reading, self.graph, self.node = reading, reading.graph, node
        self.types = {each.text for each in self.graph.take(node, "rdf:type")}
        self.issued = next(
            (
                reading.day(each, "dct:issued")
                for each in self.graph.take(node, "dct:issued", "dct:created", "dct:date")
            ),
            None,
        )

    def policy(self) -> Policy:
        duties = self._rules("odrl:obligation")
        allowed = [each for rule in self._rules("odrl:permission") for each in self._permission(rule, duties)]
        for each in self._rules("odrl:prohibition"):
            allowed = self._prohibit(each, allowed)
        if not allowed and duties:
            text = "nothing is permitted that it could be a condition of"
            self.reading.add_unmapped("odrl:obligation", text, narrows=False)
        source = self.reading.entities(self._objects(self.node, "odrl:assigner"), "DataSource")
        purposes = _with_distinct_names(allowed)
        return Policy(
            self.graph.name(self.node) or None,
            uri=self.node.text if self.node.kind == "name" else None,
            source=source[0] if len(source) == 1 else None,
            purposes=tuple(each.purpose for each in purposes),
            hierarchy=tuple(
                SubPurpose(category_of_purpose(each.kinds), str(each.purpose.name)) for each in purposes
            ),
            extra=with_unmapped(self.reading.list_unread(self._narrowing())),
        )

    def _narrowing(self) -> list[str]:
        predicates = {each.predicate for each in self.graph.statements}
        return [each for each in predicates if each.startswith("odrl:") and each not in _HARMLESS]

    def _rules(self, kind: str) -> list[Term]:
        return self.graph.take(self.node, kind)

    def _objects(self, rule: Term, *predicates: str) -> list[Term]:
        """Return the objects of a rule, or those of the policy, which hold for all of its rules."""
        return self.graph.take(rule, *predicates) or self.graph.take(self.node, *predicates)

    # Actions

    def _actions(self, rule: Term, path: str) -> list[tuple[str, Term]]:
        """Return the actions of a rule, each with the node that refines it."""
        self.graph.take(rule, "rdf:type")
        actions = []
        for each in self._objects(rule, "odrl:action"):
            inner = self.graph.take(each, "rdf:value", "odrl:action") if each.kind == "blank" else []
            actions.append((self.reading.kinds(inner[0] if inner else each)[0], each))
        if not actions:
            self.reading.add_unmapped(path, "the rule has no action")
        return actions

    # Permissions

    def _permission(self, rule: Term, duties: list[Term]) -> list[_Allowed]:
        path = "odrl:permission"
        actions = self._actions(rule, path)
        names = [name for name, _ in actions]
        for name, node in actions:
            if name not in _RELEASING:
                text = f"the permission to {name} has no place in a policy"
                self.reading.add_unmapped(path, text, narrows=False)
            elif self.graph.peek(node, "odrl:refinement"):
                self._refined_permission(node, name, path)
        if not any(name in _RELEASING for name in names):
            return []
        limits = self._limits(rule, path)
        measures = Measures()
        if all(name in DEIDENTIFICATION for name in names if name in _RELEASING):
            for name, node in actions:
                self._anonymize(node, name, path, measures)
        for duty in (*self.graph.take(rule, "odrl:duty"), *duties):
            self._duty(duty, limits, measures)
        nodes: list[Term | None] = [*limits.purposes] or [None]
        return [self._purpose(rule, each, names, limits, measures, path) for each in nodes]

    def _refined_permission(self, node: Term, name: str, path: str) -> None:
        if name not in DEIDENTIFICATION:
            self.graph.take(node, "odrl:refinement")
            self.reading.add_unmapped(path, f"how the action {name!r} is refined has no place in a policy")

    def _purpose(
        self, rule: Term, node: Term | None, names: list[str], limits: _Limits, measures: Measures, path: str
    ) -> _Allowed:
        kinds = [] if node is None else self.reading.kinds(node)
        name = next(each for each in names if each in _RELEASING) if node is None else self.reading.name(node)
        data = self._data(rule, limits)
        recipients = self._objects(rule, "odrl:assignee") if limits.recipients is None else limits.recipients
        if limits.recipients is not None:
            self._objects(rule, "odrl:assignee")
        if not recipients:
            text = "no recipient is named, so that nobody gets anything"
            self.reading.add_unmapped(path, text, narrows=False)
        agreed = not self.types & set(_NOT_AGREED)
        since = limits.since
        purpose = Purpose(
            name,
            accepted=True if agreed and since is None else None,
            point_of_acceptance=since.isoformat() if agreed and since is not None else None,
            recipients=self.reading.entities(map(_as_name, recipients), "DataRecipient"),
            retention=limits.end or Retention("indefinite"),
            legal_bases=tuple(limits.bases),
            models=self.reading.models(measures, path),
            pseudonymization=self.reading.pseudonymization(measures, data, path),
            data=data,
            extra={"processing": [{"name": each} for each in names]},
        )
        return _Allowed(purpose, kinds, names)

    def _data(self, rule: Term, limits: _Limits) -> tuple[Data, ...]:
        """Return the data that the constraints of a rule name, or those of its targets."""
        nodes = list(limits.data)
        if not nodes:
            for target in self._objects(rule, "odrl:target"):
                inside = self.graph.take(target, "dpv:hasPersonalData", "dpv:hasData")
                is_datum = any(
                    each in PERSONAL_DATA or each == "PersonalData" for each in self.reading.kinds(target)
                )
                nodes += inside or ([target] if is_datum else [])
        else:
            self._objects(rule, "odrl:target")
        data = {str(each.name): each for each in map(self.reading.data, nodes)}
        return tuple(data[name] for name in sorted(data))

    # Duties

    def _duty(self, duty: Term, limits: _Limits, measures: Measures) -> None:
        path = "odrl:duty"
        for name, node in self._actions_of_duty(duty, path):
            if name in DEIDENTIFICATION:
                self._anonymize(node, name, path, measures)
                if self.graph.peek(duty, "odrl:constraint"):
                    self.reading.add_unmapped(path, f"when to {name} has no place in a policy")
                    self.graph.take(duty, "odrl:constraint")
            elif name in ("delete", "Delete", "Erase"):
                own_limits = self._limits(duty, path)
                if own_limits.end is None and not own_limits.others:
                    self.reading.add_unmapped(
                        path, "when data have to be deleted is not said. Say a dateTime"
                    )
                limits.end = earliest(limits.end, own_limits.end)
            else:
                self.reading.add_unmapped(path, f"the duty to {name} has no place in a policy")

    def _actions_of_duty(self, duty: Term, path: str) -> list[tuple[str, Term]]:
        """Return the actions of a duty itself; those of the policy are for its rules."""
        if self.graph.peek(duty, "odrl:action"):
            return self._actions(duty, path)
        self.reading.add_unmapped(path, "the duty has no action")
        return []

    def _anonymize(self, node: Term, name: str, path: str, measures: Measures) -> None:
        """Read how far to anonymize, from refinements that name a model or from a title."""
        refined = self.graph.take(node, "odrl:refinement") if not node.is_text else []
        models = [self._model(each, path) for each in refined]
        if not refined and node.kind == "blank":
            models = [model_of_text(self.graph.name(node))]
        measures.models += [each for each in models if each is not None]
        if not refined and models in ([], [None]):
            self.reading.measure(
                node if node.kind != "blank" else Term(f"odrl:{name}", "name"), path, measures
            )

    def _model(self, constraint: Term, path: str) -> PolicyModel | None:
        left, operator, right = self._parts(constraint)
        title = None if left is None else title_of(left)
        needed = () if title is None else needed_parameters(title)
        rising = bool(needed) and needed[0] in ("k", "l")
        if len(needed) != 1 or operator not in ("eq", "gteq" if rising else "lteq") or len(right) != 1:
            self.reading.add_unmapped(
                path, f"the refinement by {left!r} names no model with one parameter, such as k-Anonymity"
            )
            return None
        return PolicyModel(title, (Attribute(needed[0], right[0].text),))

    # Constraints

    def _parts(self, constraint: Term) -> tuple[str | None, str | None, list[Term]]:
        left = self.graph.take(constraint, "odrl:leftOperand")
        operator = self.graph.take(constraint, "odrl:operator")
        operands = self.graph.take(constraint, "odrl:rightOperand", "odrl:rightOperandReference")
        right = [each for inner in operands for each in self.graph.members(inner)]
        self.graph.take(constraint, "rdf:type")
        first = [None if len(each) != 1 else self.reading.kinds(each[0])[0] for each in (left, operator)]
        return first[0], first[1], right

    def _limits(self, rule: Term, path: str) -> _Limits:
        limits = _Limits()
        constraints = list(self.graph.take(rule, "odrl:constraint"))
        while constraints:
            constraint = constraints.pop(0)
            together = self.graph.take(constraint, "odrl:and")
            if together:
                constraints += [each for inner in together for each in self.graph.members(inner)]
            else:
                self._limit(constraint, limits, path)
        return limits

    def _limit(self, constraint: Term, limits: _Limits, path: str) -> None:
        left, operator, right = self._parts(constraint)
        names = [_as_name(each) for each in right]
        is_naming = operator in _NAMING and bool(right)  # of nothing, it would be no limit
        field = _LIMIT_OF.get(str(left))
        if field is not None and is_naming and not getattr(limits, field):
            setattr(limits, field, names)
        elif left in ("LegalBasis", "hasLegalBasis") and is_naming:
            limits.bases += [
                basis for each in names if (basis := self.reading.legal_basis(each, path)) is not None
            ]
        elif left == "dateTime" and operator in ("lt", "lteq", "gt", "gteq") and len(right) == 1:
            self._moment(right[0], str(operator), limits, path)
        elif left in ("elapsedTime", "delayPeriod") and operator in ("lt", "lteq", "eq") and len(right) == 1:
            limits.end = earliest(limits.end, self.reading.end(right[0], self.issued, path))
            limits.others += limits.end is None
        else:
            limits.others += 1
            operand = " ".join(each.text for each in right if each.kind != "blank")
            self.reading.add_unmapped(
                path,
                f"the constraint {left or '…'} {operator or '…'} {operand or '…'} has no place in a policy",
            )

    def _moment(self, node: Term, operator: str, limits: _Limits, path: str) -> None:
        """Read the first or last day; a day that is allowed in part is not allowed."""
        day = self.reading.day(node, path)
        if day is None:
            limits.others += 1
        elif operator in ("lt", "lteq"):
            limits.end = earliest(limits.end, Retention("fixedDate", day.isoformat()))
        else:
            is_whole = "T" not in node.text or "T00:00:00" in node.text
            start = day if operator == "gteq" and is_whole else day_after(day)
            limits.since = start if limits.since is None else max(limits.since, start)

    # Prohibitions

    def _prohibit(self, rule: Term, allowed: list[_Allowed]) -> list[_Allowed]:
        """Remove what a prohibition forbids; list prohibitions that cannot be mapped."""
        path = "odrl:prohibition"
        actions = [name for name, _ in self._actions(rule, path)]
        limits = self._limits(rule, path)
        whom = limits.recipients if limits.recipients is not None else self.graph.take(rule, "odrl:assignee")
        self.graph.take(rule, "odrl:target")
        forbidden = {str(each.name) for each in self.reading.entities(map(_as_name, whom), "")}
        which = [self.reading.kinds(each)[0] for each in limits.purposes]
        result = []
        for each in allowed:
            speaks = "use" in actions or any(name in each.actions for name in actions)
            about = not which or any(
                name in which
                for name in with_broader([*each.kinds, str(each.purpose.name)], broader_in(PURPOSES))
            )
            if speaks and about:
                each = dataclasses.replace(each, purpose=self._without(each.purpose, forbidden, limits, path))
            result.append(each)
        if not any("use" in actions or any(name in each.actions for name in actions) for each in allowed):
            text = f"the prohibition to {', '.join(actions)} binds the recipient: nothing that Veil does"
            self.reading.add_unmapped(path, text, narrows=False)
        return result

    def _without(self, purpose: Purpose, forbidden: set[str], limits: _Limits, path: str) -> Purpose:
        if limits.since is not None or limits.end is not None or limits.others:
            self.reading.add_unmapped(path, f"when {purpose.name!r} is prohibited has no place in a policy")
            return purpose
        if limits.data:
            gone = {
                name
                for each in limits.data
                for name in names_below(purpose.data, self.reading.kinds(each)[0])
            }
            return dataclasses.replace(
                purpose, data=tuple(each for each in purpose.data if each.name not in gone)
            )
        if forbidden:
            left = tuple(each for each in purpose.recipients if each.name not in forbidden)
            return dataclasses.replace(purpose, recipients=left)
        return dataclasses.replace(purpose, accepted=False)


def _as_name(node: Term) -> Term:
    """Return a text that is an address or has a prefix, such as "dpv:Marketing", as a name."""
    is_name = node.is_text and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", node.text)
    return Term(short(node.text), "name") if is_name else node


def _with_distinct_names(allowed: list[_Allowed]) -> list[_Allowed]:
    """Number purposes of the same name, so that none uses conditions of another."""
    counts: dict[str, int] = {}
    result = []
    for each in sorted(allowed, key=lambda one: repr(one.purpose)):
        name = str(each.purpose.name)
        counts[name] = counts.get(name, 0) + 1
        result.append(
            each
            if counts[name] == 1
            else dataclasses.replace(
                each, purpose=dataclasses.replace(each.purpose, name=f"{name} ({counts[name]})")
            )
        )
    return result
