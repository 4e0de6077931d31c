"""Compliance of usage policies, against an enumeration of all models."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import InputError
from veil.policy.special import complies, parse
from veil.policy.special.compliance import counterexamples
from veil.policy.special.concepts import (
    And,
    Concept,
    EmptyClass,
    NamedClass,
    Ontology,
    Or,
    SomeValuesFrom,
    Within,
)


def storage(place: str) -> Concept:
    return SomeValuesFrom("hasStorage", SomeValuesFrom("hasLocation", NamedClass(place)))


def data(name: str) -> Concept:
    return SomeValuesFrom("hasData", NamedClass(name))


def test_intervals_are_split() -> None:
    assert complies(Within("d", 0, 30), Or((Within("d", 0, 10), Within("d", 11, 30))))
    assert not complies(Within("d", 0, 30), Or((Within("d", 0, 10), Within("d", 12, 30))))
    (left,) = counterexamples(Within("d", 0, 30), Or((Within("d", 0, 10), Within("d", 12, 30))))
    assert left.numbers == {"d": (11, 11)}


def test_the_controller_and_the_subject() -> None:
    subject = Or((And((data("Anonymized"), storage("AnyLocation"))), And((data("AnyData"), storage("EU")))))
    assert complies(And((data("Anonymized"), storage("EULike"))), subject)
    assert not complies(And((data("Health"), storage("EULike"))), subject)
    assert complies(And((data("Health"), storage("EU"))), subject)


def test_a_larger_k_complies_with_at_least_and_not_with_exactly() -> None:
    def anonymous(low: float, high: float) -> Concept:
        return SomeValuesFrom(
            "hasData", And((NamedClass("Demographic"), NamedClass("kAnonymous"), Within("has_k", low, high)))
        )

    assert complies(anonymous(20, 20), anonymous(10, math.inf))
    assert not complies(anonymous(20, 20), anonymous(10, 10))


def test_the_example_of_the_digest() -> None:
    def policy(what: str, days: int) -> str:
        return (
            f"ObjectIntersectionOf(ObjectSomeValuesFrom(spl:hasData svd:{what}) ObjectSomeValuesFrom(spl:hasStorage "
            "ObjectIntersectionOf(ObjectSomeValuesFrom(spl:hasLocation svl:EU) DataSomeValuesFrom(spl:durationInDays "
            f'DatatypeRestriction(xsd:integer xsd:minInclusive "0"^^xsd:integer xsd:maxInclusive "{days}"^^xsd:integer)))))'
        )

    assert complies(parse(policy("Location", 30)), parse(policy("AnyData", 365)))
    assert not complies(parse(policy("Location", 30)), parse(policy("AnyData", 14)))


def test_what_is_missing_on_the_left_fails_and_what_is_empty_complies() -> None:
    assert not complies(
        data("Health"), And((data("Health"), SomeValuesFrom("hasPurpose", NamedClass("AnyPurpose"))))
    )
    assert complies(
        And((data("Health"), SomeValuesFrom("hasPurpose", And(())))),
        SomeValuesFrom("hasPurpose", NamedClass("AnyPurpose")),
    )
    both = SomeValuesFrom(
        "hasStorage",
        SomeValuesFrom("hasDuration", And((NamedClass("StatedPurpose"), NamedClass("Indefinitely")))),
    )
    assert complies(both, EmptyClass())
    assert not complies(data("Health"), EmptyClass())


# All models of a small world

KNOWN = Ontology({"A": frozenset({"B"})}, frozenset({frozenset({"B", "C"})}), {"R": "B"})
NUMBERS = (None, 0, 1, 2, 3)


class Node(NamedTuple):
    atoms: frozenset[str]
    number: int | None
    successor: Any


def atom_sets() -> list[frozenset[str]]:
    every = (frozenset(each) for size in range(4) for each in itertools.combinations("ABC", size))
    return [each for each in every if not ({"A"} <= each and "B" not in each) and not {"B", "C"} <= each]


LEAVES = [Node(atoms, number, None) for atoms in atom_sets() for number in NUMBERS]
# What the role leads to is a B.
WORLD = LEAVES + [
    Node(atoms, number, leaf)
    for atoms in atom_sets()
    for number in NUMBERS
    for leaf in LEAVES
    if "B" in leaf.atoms
]


def member(node: Node, concept: Concept) -> bool:
    match concept:
        case NamedClass(name):
            return name in node.atoms
        case EmptyClass():
            return False
        case And(parts):
            return all(member(node, each) for each in parts)
        case Or(parts):
            return any(member(node, each) for each in parts)
        case SomeValuesFrom(_, of):
            return node.successor is not None and member(node.successor, of)
        case Within(_, low, high):
            return node.number is not None and low <= node.number <= high
    raise AssertionError


def concepts(depth: int) -> st.SearchStrategy[Concept]:
    ends = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda each: Within("f", each[0], each[1]))
    simple: st.SearchStrategy[Any] = (
        st.sampled_from([NamedClass("A"), NamedClass("B"), NamedClass("C")]) | ends | st.just(EmptyClass())
    )
    parts = st.lists(concepts(depth - 1) if depth else simple, min_size=1, max_size=3).map(tuple)
    inner = [simple, parts.map(And), parts.map(Or)]
    if depth:
        inner.append(st.recursive(simple, lambda each: st.lists(each, min_size=1, max_size=2).map(lambda p: And(tuple(p))), max_leaves=3).map(lambda each: SomeValuesFrom("R", each)))  # fmt: skip
        inner.append(
            st.lists(simple, min_size=2, max_size=3).map(lambda each: SomeValuesFrom("R", Or(tuple(each))))
        )
    return st.one_of(inner)


@settings(max_examples=250, deadline=None)
@given(concepts(2), concepts(2))
def test_compliance_agrees_with_all_models(left: Concept, right: Concept) -> None:
    expected = all(member(node, right) for node in WORLD if member(node, left))
    assert complies(left, right, KNOWN) == expected


# Documents


def test_too_many_cases_are_refused() -> None:
    union = Or(tuple(NamedClass(f"N{at}") for at in range(10)))
    with refused(InputError, "1000000 cases"):
        complies(And((union,) * 6), NamedClass("A"))
