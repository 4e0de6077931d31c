"""Two or three hierarchies that suit a column, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from veil.hierarchies._auto import Auto
from veil.hierarchies._basic import Identity, Suppression
from veil.hierarchies._builders import Builder
from veil.hierarchies._common import present
from veil.hierarchies._dates import Dates
from veil.hierarchies._intervals import Bounds, Intervals
from veil.hierarchies._ordering import ordering
from veil.hierarchies._priority import Priority
from veil.hierarchies._redaction import Redaction

REASONS = {
    "calendar": "dates become coarser as a calendar does",
    "years": "begins with years: fewer levels, and no month to know somebody by",
    "round widths": "about twenty round intervals, then twice as wide on each level",
    "wide": "wider from the start: fewer levels, and a quicker search",
    "ages": "ages by 5, 10 and 20 years, 90 and more together, as HIPAA's Safe Harbor asks",
    "neighbours": "neighbours in their order, as many values in each group",
    "from the right": "character by character from the right, as codes of places and things are made",
    "rarest first": "the rarest values go first, and frequent ones stay exact",
    "value or nothing": "shown or not: the fewest levels",
    "as it is": "never coarser, so that other columns have to be",
}
"""Reasons why a hierarchy suits a column, by a short name."""

_MANY_NEIGHBOURS = 20
_OLDEST = 125
"""Upper bound of ages in years."""


@dataclass(frozen=True)
class ProposedHierarchy:
    """A hierarchy for a column, and the name of its reason in `REASONS`."""

    builder: Builder
    name: str

    @property
    def reason(self) -> str:
        """The reason in words."""
        return REASONS[self.name]


def proposals(values: pa.Array, column: str = "", *, most: int = 3) -> tuple[ProposedHierarchy, ...]:
    """Propose hierarchies for the distinct values of a column: first that of `propose`, then others.

    >>> for each in proposals(pa.array(range(17, 91)), "age"):
    ...     print(type(each.builder).__name__, "-", each.reason)
    Intervals - about twenty round intervals, then twice as wide on each level
    Intervals - ages by 5, 10 and 20 years, 90 and more together, as HIPAA's Safe Harbor asks
    Intervals - wider from the start: fewer levels, and a quicker search
    """
    result: list[ProposedHierarchy] = []
    for each in _suitable(values, column):
        if all(each.builder != other.builder for other in result):
            result.append(each)
    return tuple(result[:most])


def _suitable(values: pa.Array, column: str) -> Iterator[ProposedHierarchy]:
    present_values = present(values, column)
    first = Auto().propose(values, column)
    if isinstance(first, Dates):
        yield ProposedHierarchy(first, "calendar")
        yield ProposedHierarchy(Dates(("year", "decade"), format=first.format, root=True), "years")
    elif isinstance(first, Intervals):
        yield ProposedHierarchy(first, "round widths")
        if pa.types.is_integer(present_values.type) and _are_ages(present_values):
            yield ProposedHierarchy(Intervals((5, 10, 20), upper=Bounds(coding=90)), "ages")
        if len(first.widths) > 2:
            yield ProposedHierarchy(Intervals(first.widths[2::2]), "wide")
        if len(present_values) >= _MANY_NEIGHBOURS:
            yield ProposedHierarchy(
                ordering(max(2, len(present_values) // _MANY_NEIGHBOURS), 2, 2), "neighbours"
            )
    elif isinstance(first, Redaction):
        yield ProposedHierarchy(first, "from the right")
        yield ProposedHierarchy(Priority(), "rarest first")
    elif isinstance(first, Priority):
        yield ProposedHierarchy(first, "rarest first")
    else:
        yield ProposedHierarchy(first, "value or nothing")
        yield ProposedHierarchy(Identity(), "as it is")
        if len(present_values) > 2:
            yield ProposedHierarchy(Priority(), "rarest first")
    yield ProposedHierarchy(Suppression(), "value or nothing")


def _are_ages(values: pa.Array) -> bool:
    least, most = pc.min(values).as_py(), pc.max(values).as_py()
    return bool(least >= 0 and 60 <= most <= _OLDEST)
