"""Usage policies of SPECIAL as concepts: classes of operations.

A policy is a union of authorizations, each an intersection of classes of data, purposes, processing, storage
and recipients: `∃hasData.Location ⊓ ∃hasStorage.(∃hasLocation.EU ⊓ ∃durationInDays.[0, 30])`.
"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Union


class NamedClass(NamedTuple):
    """A class, by its name."""

    name: str


class EmptyClass(NamedTuple):
    """The class without members."""


class And(NamedTuple):
    """The intersection of classes; without any, the class of everything."""

    parts: tuple[Concept, ...]


class Or(NamedTuple):
    """The union of classes."""

    parts: tuple[Concept, ...]


class SomeValuesFrom(NamedTuple):
    """The class of all things whose role is filled by a member of a class."""

    role: str
    of: Concept


class Within(NamedTuple):
    """The class of all things whose feature is a whole number in an interval."""

    feature: str
    low: float
    high: float


Concept = Union[NamedClass, EmptyClass, And, Or, SomeValuesFrom, Within]  # noqa: UP007 (it refers to itself)


@dataclass(frozen=True)
class Ontology:
    """Axioms about names: subclasses, disjoint classes, and the ranges of roles.

    Every role and every number is functional: an operation has one purpose, one recipient and so on, each of
    which may belong to any number of classes.
    """

    above: dict[str, frozenset[str]] = field(default_factory=dict)
    """The direct superclasses of each class."""
    disjoint: frozenset[frozenset[str]] = frozenset()
    ranges: dict[str, str] = field(default_factory=dict)

    def all_above(self, name: str) -> frozenset[str]:
        """Return a class and all its superclasses."""
        classes, open_ = {name}, [name]
        while open_:
            for each in self.above.get(open_.pop(), ()):
                if each not in classes:
                    classes.add(each)
                    open_.append(each)
        return frozenset(classes)


_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_BELOW: dict[str, list[str]] = {name: below.split() for name, below in _NAMES["below"].items()}

VOCABULARY = Ontology(
    above={each: frozenset({name}) for name, below in _BELOW.items() for each in below},
    disjoint=frozenset(map(frozenset, itertools.combinations(_BELOW["AnyDuration"], 2))),
    ranges=_NAMES["ranges"],
)
"""The names of SPECIAL's vocabularies, as far as policies need them."""
