"""Compliance: whether one usage policy allows every operation that another one allows.

Structural subsumption for the language PL (Bonatti, Kirrane, Petrova and Sauro 2020):

1. Unions are moved outwards. Each disjunct on the left is normalized: fillers of a functional role are
   joined, intervals of one number are intersected, ranges are added, and unsatisfiable disjuncts are dropped.
2. Intervals on the left are split at the ends of those on the right, so that each piece is inside or outside
   of each of them: only then `[0, 30]` is found within `[0, 10] ⊔ [11, 30]`.
3. Every piece has to be within one disjunct of the right side. That is complete, as no axiom covers a class
   by others: a piece within a union is within one of its parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from veil.errors import InputError
from veil.policy.special.concepts import (
    VOCABULARY,
    And,
    Concept,
    EmptyClass,
    NamedClass,
    Ontology,
    Or,
    SomeValuesFrom,
    Within,
)

_Choice = TypeVar("_Choice")

MOST_PIECES = 100_000
"""Largest number of pieces: the problem is hard for policies with very many intervals."""


@dataclass
class Normal:
    """A normalized intersection."""

    atoms: set[str] = field(default_factory=set)
    roles: dict[str, Normal] = field(default_factory=dict)
    numbers: dict[str, tuple[float, float]] = field(default_factory=dict)
    is_empty: bool = False


def complies(policy: Concept, consent: Concept, knowledge: Ontology = VOCABULARY) -> bool:
    """Return whether the consent allows everything that a policy allows.

    >>> complies(Within("days", 0, 30), Or((Within("days", 0, 10), Within("days", 11, 30))))
    True
    >>> complies(Within("days", 0, 30), Or((Within("days", 0, 10), Within("days", 12, 30))))
    False
    """
    return next(counterexamples(policy, consent, knowledge), None) is None


def counterexamples(policy: Concept, consent: Concept, knowledge: Ontology = VOCABULARY) -> Iterator[Normal]:
    """Yield operations that the policy allows and the consent does not."""
    right = [_conjunct(each) for each in disjuncts(consent)]
    ends: dict[str, set[float]] = {}
    for one in right:
        _collect_ends(one, ends)
    for each in disjuncts(policy):
        normal = normalize(each, knowledge)
        if normal.is_empty:
            continue
        for piece in _pieces(normal, ends):
            if not any(_within(piece, other) for other in right):
                yield piece


def disjuncts(concept: Concept) -> list[Concept]:
    """Move unions outwards.

    >>> len(disjuncts(SomeValuesFrom("hasData", Or((NamedClass("A"), NamedClass("B"))))))
    2
    """
    match concept:
        case Or(parts):
            return [inner for each in parts for inner in disjuncts(each)]
        case And(parts):
            return [And(each) for each in _product([disjuncts(each) for each in parts])]
        case SomeValuesFrom(role, of):
            return [SomeValuesFrom(role, each) for each in disjuncts(of)]
    return [concept]


def _product(choices: list[list[_Choice]]) -> Iterator[tuple[_Choice, ...]]:
    size = math.prod(map(len, choices))
    if size > MOST_PIECES:
        raise InputError(
            f"the unions or intervals of the usage policies make {size} cases, and at most {MOST_PIECES} "
            "are supported. Simplify them"
        )
    return itertools.product(*choices)


def normalize(concept: Concept, knowledge: Ontology) -> Normal:
    """Return the normal form of an intersection."""
    return _close(_conjunct(concept), knowledge)


def _conjunct(concept: Concept) -> Normal:
    """Return an intersection without unions, with the fillers of functional roles and numbers joined."""
    normal = Normal()
    _enter(concept, normal)
    return normal


def _enter(concept: Concept, into: Normal) -> None:
    match concept:
        case NamedClass(name):
            into.atoms.add(name)
        case EmptyClass():
            into.is_empty = True
        case And(parts):
            for each in parts:
                _enter(each, into)
        case SomeValuesFrom(role, of):
            _enter(of, into.roles.setdefault(role, Normal()))
        case Within(feature, low, high):
            before = into.numbers.get(feature, (low, high))
            into.numbers[feature] = (max(low, before[0]), min(high, before[1]))
        case Or(_):
            raise AssertionError("unions are moved outwards before")


def _close(normal: Normal, knowledge: Ontology) -> Normal:
    """Add ranges and superclasses, and find out whether the intersection is satisfiable."""
    atoms = set(itertools.chain.from_iterable(knowledge.all_above(each) for each in normal.atoms))
    empty = normal.is_empty or any(pair <= atoms for pair in knowledge.disjoint)
    empty = empty or any(low > high for low, high in normal.numbers.values())
    roles = {}
    for role, of in normal.roles.items():
        range_ = knowledge.ranges.get(role)
        inner = Normal(of.atoms | ({range_} if range_ else set()), of.roles, of.numbers, of.is_empty)
        roles[role] = _close(inner, knowledge)
        empty = empty or roles[role].is_empty
    return Normal(atoms, roles, dict(normal.numbers), empty)


# Splitting


def _collect_ends(normal: Normal, ends: dict[str, set[float]]) -> None:
    """Collect the ends of pieces: before the start of each interval of the right side, and at its end."""
    for feature, (low, high) in normal.numbers.items():
        ends.setdefault(feature, set()).update((low - 1, high))
    for of in normal.roles.values():
        _collect_ends(of, ends)


def _pieces(normal: Normal, ends: dict[str, set[float]]) -> Iterator[Normal]:
    choices: list[list[tuple[str, object]]] = []
    for feature, (low, high) in normal.numbers.items():
        cuts = sorted(each for each in ends.get(feature, ()) if low <= each < high)
        starts, stops = [low, *(each + 1 for each in cuts)], [*cuts, high]
        choices.append([(feature, part) for part in zip(starts, stops, strict=True)])
    for role, of in normal.roles.items():
        choices.append([(role, part) for part in _pieces(of, ends)])
    for combination in _product(choices):
        piece = Normal(normal.atoms)
        for name, part in combination:
            if isinstance(part, Normal):
                piece.roles[name] = part
            else:
                piece.numbers[name] = part  # type: ignore[assignment]
        yield piece


def _within(left: Normal, right: Normal) -> bool:
    """Return whether one intersection is within another, part by part."""
    if right.is_empty or not right.atoms <= left.atoms:
        return False
    for feature, (low, high) in right.numbers.items():
        interval = left.numbers.get(feature)
        if interval is None or interval[0] < low or interval[1] > high:
            return False
    return all(role in left.roles and _within(left.roles[role], of) for role, of in right.roles.items())
