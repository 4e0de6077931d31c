"""Compliance: whether every operation that one usage policy allows, another one allows too.

Structural subsumption for the language PL (Bonatti, Kirrane, Petrova and Sauro 2020):

1. Unions are drawn outwards. Each disjunct on the left is normalized: what one functional role leads to is joined, intervals
   of one number are cut, ranges are added, and what nothing can be is dropped.
2. Intervals on the left are split at the ends of those on the right, so that each piece lies inside or outside of every one
   of them: `[0, 30]` is within `[0, 10] ⊔ [11, 30]` only so.
3. Every piece has to be within one disjunct of the right side. That is complete, as there are no axioms by which a class is
   covered by others: a piece within a union is within one of its parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

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

MOST_PIECES = 100_000
"""Intervals are split at most into so many pieces: the problem is hard where policies have very many of them."""


@dataclass
class Normal:
    """A normalized intersection."""

    atoms: set[str] = field(default_factory=set)
    roles: dict[str, Normal] = field(default_factory=dict)
    numbers: dict[str, tuple[float, float]] = field(default_factory=dict)
    is_empty: bool = False


def complies(policy: Concept, consent: Concept, knowledge: Ontology = VOCABULARY) -> bool:
    """Whether everything that a policy allows, the consent allows.

    >>> complies(Within("days", 0, 30), Or((Within("days", 0, 10), Within("days", 11, 30))))
    True
    >>> complies(Within("days", 0, 30), Or((Within("days", 0, 10), Within("days", 12, 30))))
    False
    """
    return next(counterexamples(policy, consent, knowledge), None) is None


def counterexamples(policy: Concept, consent: Concept, knowledge: Ontology = VOCABULARY) -> Iterator[Normal]:
    """Return what the policy allows and the consent does not."""
    right = [_conjunct(each) for each in disjuncts(consent)]
    ends: dict[str, set[float]] = {}
    for one in right:
        _collect_ends(one, ends)
    for each in disjuncts(policy):
        normal = normalize(each, knowledge)
        if normal.is_empty:
            continue
        for piece in _pieces(normal, ends):
            if not any(_within(piece, other, knowledge) for other in right):
                yield piece


def disjuncts(concept: Concept) -> list[Concept]:
    """Draw unions outwards.

    >>> len(disjuncts(SomeValuesFrom("hasData", Or((NamedClass("A"), NamedClass("B"))))))
    2
    """
    match concept:
        case Or(parts):
            return [inner for each in parts for inner in disjuncts(each)]
        case And(parts):
            made: list[Concept] = []
            for combination in _product([disjuncts(each) for each in parts]):
                made.append(And(combination))
            return made
        case SomeValuesFrom(role, of):
            return [SomeValuesFrom(role, each) for each in disjuncts(of)]
    return [concept]


def _product(choices: list[list[Concept]]) -> Iterator[tuple[Concept, ...]]:
    size = 1
    for each in choices:
        size *= len(each)
    _check_size(size)
    return itertools.product(*choices)


def _check_size(size: int) -> None:
    if size > MOST_PIECES:
        raise InputError(
            f"the unions or intervals of the usage policies make {size} cases, and at most {MOST_PIECES} "
            "are supported. Simplify them"
        )


def normalize(concept: Concept, knowledge: Ontology) -> Normal:
    """Return an intersection with everything joined that must be one."""
    return _close(_conjunct(concept), knowledge)


def _conjunct(concept: Concept) -> Normal:
    """Return an intersection without unions, joined where roles and numbers are functional."""
    made = Normal()
    _enter(concept, made)
    return made


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
            raise AssertionError("unions are drawn outwards before")


def _close(normal: Normal, knowledge: Ontology) -> Normal:
    """Add ranges and superclasses, and find out whether anything can be like that."""
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
    """Collect where a piece has to end: before each interval of the right side begins, and where it ends."""
    for feature, (low, high) in normal.numbers.items():
        ends.setdefault(feature, set()).update((low - 1, high))
    for of in normal.roles.values():
        _collect_ends(of, ends)


def _pieces(normal: Normal, ends: dict[str, set[float]]) -> Iterator[Normal]:
    choices: list[list[tuple[str, object]]] = []
    for feature, (low, high) in normal.numbers.items():
        cuts = sorted(each for each in ends.get(feature, ()) if low <= each < high)
        starts, stops = [low, *(each + 1 for each in cuts)], [*cuts, high]
        choices.append([(feature, piece) for piece in zip(starts, stops, strict=True)])
    for role, of in normal.roles.items():
        choices.append([(role, piece) for piece in _pieces(of, ends)])
    size = 1
    for each in choices:
        size *= len(each)
    _check_size(size)
    for combination in itertools.product(*choices):
        made = Normal(normal.atoms)
        for name, piece in combination:
            if isinstance(piece, Normal):
                made.roles[name] = piece
            else:
                made.numbers[name] = piece  # type: ignore[assignment]
        yield made


def _within(left: Normal, right: Normal, knowledge: Ontology) -> bool:
    """Whether one intersection is within another, part by part."""
    if right.is_empty or not right.atoms <= left.atoms:
        return False
    for feature, (low, high) in right.numbers.items():
        held = left.numbers.get(feature)
        if held is None or held[0] < low or held[1] > high:
            return False
    return all(
        role in left.roles and _within(left.roles[role], of, knowledge) for role, of in right.roles.items()
    )
