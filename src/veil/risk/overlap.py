"""What several releases tell together: who is in all of them has a value that all of them show.

Each release may keep its promise, and their classes still have a single value in common. Somebody who knows a person's
class in each, or the values that make it up, learns that value.

A cell that is missing or withheld is no value, and leaves nobody a further one: {flu, missing} and {flu, missing} have flu in
common. Where classes show no value in common, somebody can still be in both if cells are blank: what is left then are the
values of the classes without a blank. A class that shows no value tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import InputError, PlanError, did_you_mean
from veil.hierarchies import Hierarchy
from veil.outcome.outcome import Outcome, outcome_of
from veil.published.blank import shows_no_value
from veil.published.table import Published
from veil.risk.labels import compatible
from veil.tables import read
from veil.tables.spelling import encode_people, read_person
from veil.tables.text import canonical_text

_MOST_OVERLAPS = 100


class Overlap(NamedTuple):
    """Classes, one of each release, that a person can be in at once."""

    classes: tuple[dict[str, str | None], ...]
    """The labels of each."""
    candidates: tuple[str, ...]
    """The sensitive values that are left: those that all of them show; a missing cell is none."""
    people: int | None
    """How many people are in them, if that is known."""

    def __str__(self) -> str:
        labels = " and ".join(
            "(" + ", ".join(f"{name} {label}" for name, label in each.items()) + ")" for each in self.classes
        )
        return f"{labels}: {', '.join(map(str, self.candidates))}"


@dataclass(frozen=True)
class Intersection:
    """What is left of the sensitive values of everybody who is in all releases.

    Attributes
    ----------
    worst
        The least number of values that is left for anybody; 0 if nobody can be in all releases, or none shows a value.
    people
        How many people are in all releases; None if only their tables are known.
    counts
        How many people have so many values left; without people, how many overlaps of classes.
    overlaps
        The overlaps with the fewest values first, at most 100.
    """

    worst: int
    people: int | None
    counts: Mapping[int, int]
    overlaps: tuple[Overlap, ...]

    def __str__(self) -> str:
        who = "overlaps of classes" if self.people is None else f"of {self.people} people"
        lines = [f"{count} {who} have {number} left" for number, count in self.counts.items()]
        return "\n".join([*lines, *map(str, self.overlaps[:5])]) or "nobody can be in all of them"


def intersection(
    first: Any,
    second: Any,
    *more: Any,
    sensitive: str,
    quasi_identifiers: Sequence[str] | None = None,
    person: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Intersection:
    """Intersect the sensitive values of the classes that somebody can be in, in several releases.

    Missing and withheld cells are no values: they leave nobody a further one.

    Parameters
    ----------
    first, second, more
        Releases, or their tables. They may have different columns and generalizations.
    sensitive
        The column whose values are at stake.
    quasi_identifiers
        What an attacker knows; by default what the releases say, and of tables all columns but the sensitive one.
    person
        Of releases whose inputs have it: the column that tells who is who. Releases of one table need none.
    hierarchies
        What labels cover, by column. Without them labels are read: see `veil.risk.labels`.

    >>> first = pa.table({"age": ["<30", "<30", "3*", "3*"], "ill": ["flu", "gout", "cold", "flu"]})
    >>> second = pa.table({"age": ["<40", "<40"], "ill": ["flu", "flu"]})
    >>> found = intersection(first, second, sensitive="ill")
    >>> found.worst, [overlap.candidates for overlap in found.overlaps]
    (1, [('flu',), ('flu',)])
    """
    releases = [cells_of_release(each, sensitive, quasi_identifiers) for each in (first, second, *more)]
    values = sorted({value for each in releases for _, value, _ in each.cells if value is not None})
    place = {value: at for at, value in enumerate(values)}
    matrices = [_value_matrix(each, place) for each in releases]
    same = _people(releases, read_person(person))
    if same is not None:
        classes, people = np.unique(same, axis=0, return_counts=True)
    else:
        classes, people = _overlapping(releases, hierarchies or {}), None
    return _summarize(releases, matrices, values, classes, people)


class ReleaseCells(NamedTuple):
    """A release as everybody can see it."""

    published: Published
    outcome: Outcome | None
    cells: list[tuple[int, str | None, int]]
    """Class, value (None of cells that are missing or withheld) and number of records, for each value of each class."""


def cells_of_release(release: Any, sensitive: str, names: Sequence[str] | None) -> ReleaseCells:
    """Look at a release, or at its table, as everybody can."""
    outcome = outcome_of(release)
    if outcome is not None:
        published = outcome.published
        if names is not None:
            columns = [name for name in names if name in outcome.table.column_names]
            published = Published(outcome.table, columns, marker=outcome.marker, flag=outcome.flag)
    else:
        table = read(release).table
        columns = [
            name for name in (names or table.column_names) if name in table.column_names and name != sensitive
        ]
        published = Published(table, columns)
    if sensitive not in published.table.column_names:
        raise PlanError(
            f"a release has no column {sensitive!r}.{did_you_mean(sensitive, published.table.column_names)}"
        )
    number, values, count = published.histograms(sensitive)
    blank = shows_no_value(values, published.marker)
    texts = [None if none else text for text, none in zip(canonical_text(values), blank, strict=True)]
    return ReleaseCells(published, outcome, list(zip(number.tolist(), texts, count.tolist(), strict=True)))


def _value_matrix(
    release: ReleaseCells, place: Mapping[str, int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which values each class shows, and which values its people may have, as far as it tells."""
    visible = np.zeros((release.published.sizes.size, len(place)), np.bool_)
    possible = visible.copy()
    for number, value, _ in release.cells:
        if value is None:
            possible[number] = True
        else:
            visible[number, place[value]] = True
    possible |= visible
    return np.where(visible.any(axis=1, keepdims=True), visible, possible), possible


def _people(releases: Sequence[ReleaseCells], person: str | None) -> NDArray[np.int64] | None:
    """Return the classes of everybody who is in all releases, one row a person; None if nobody knows who is who."""
    outcomes = [each.outcome for each in releases]
    complete = [each for each in outcomes if each is not None and not each.is_condensed]
    if len(complete) < len(releases):
        if person is not None:
            raise InputError("`person` is only for releases: a table alone does not show who is who")
        return None
    if person is None:
        first = complete[0].original
        if not all(each.original is first or each.original.equals(first) for each in complete[1:]):
            return None
    rows = [
        each.origins[np.flatnonzero(~release.published.suppressed)]
        for each, release in zip(complete, releases, strict=True)
    ]
    who = rows if person is None else _number_people(complete, rows, person)
    of = [
        dict(zip(each.tolist(), release.published.classes.tolist(), strict=True))
        for each, release in zip(who, releases, strict=True)
    ]
    everywhere = [each for each in of[0] if each >= 0 and all(each in other for other in of[1:])]
    tuples = np.array([[classes[each] for classes in of] for each in everywhere], np.int64)
    return tuples.reshape(len(everywhere), len(of))


def _number_people(
    outcomes: Sequence[Outcome], rows: Sequence[NDArray[np.int64]], person: str
) -> list[NDArray[np.int64]]:
    """Number the people of some rows of the inputs of releases, the same one alike everywhere; -1 where nobody is named."""
    texts = []
    for each, some in zip(outcomes, rows, strict=True):
        if person not in each.original.column_names:
            raise PlanError(f"the input of a release has no column {person!r} that says who is who")
        texts.append(pa.array(canonical_text(each.original[person].take(pa.array(some))), pa.string()))
    values, codes = encode_people(pa.chunked_array(texts), person)
    numbers = np.where(np.array(values.is_null(), dtype=np.bool_)[codes], -1, codes)
    return np.split(numbers, np.cumsum([each.size for each in rows])[:-1])


def _overlapping(releases: Sequence[ReleaseCells], hierarchies: Mapping[str, Hierarchy]) -> NDArray[np.int64]:
    """Return the classes that somebody can be in at once, as far as their labels tell."""
    tuples = np.arange(releases[0].published.sizes.size, dtype=np.int64)[:, None]
    for at in range(1, len(releases)):
        fits = np.ones((len(tuples), releases[at].published.sizes.size), np.bool_)
        for before in range(at):
            fits &= _fitting(releases[before].published, releases[at].published, hierarchies)[
                tuples[:, before]
            ]
        old, new = np.nonzero(fits)
        tuples = np.column_stack([tuples[old], new])
    return tuples


def _fitting(one: Published, other: Published, hierarchies: Mapping[str, Hierarchy]) -> NDArray[np.bool_]:
    fits = np.ones((one.sizes.size, other.sizes.size), np.bool_)
    for name in one.names:
        if name in other.names:
            labels = [canonical_text(each.labels[name], column=name) for each in (one, other)]
            kinds = [list(dict.fromkeys(each)) for each in labels]
            table = compatible(kinds[0], kinds[1], hierarchies.get(name))
            places = [
                np.array([{label: at for at, label in enumerate(kind)}[text] for text in each], np.int64)
                for kind, each in zip(kinds, labels, strict=True)
            ]
            fits &= table[np.ix_(places[0], places[1])]
    return fits


def _summarize(
    releases: Sequence[ReleaseCells],
    matrices: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    values: Sequence[str],
    classes: NDArray[np.int64],
    people: NDArray[np.int64] | None,
) -> Intersection:
    left, possible_values = (
        np.logical_and.reduce([each[which][classes[:, at]] for at, each in enumerate(matrices)])
        for which in (0, 1)
    )
    left = np.where(left.any(axis=1, keepdims=True), left, possible_values)
    numbers = left.sum(axis=1)
    possible = np.flatnonzero(numbers)  # those who have nothing in common are different people
    weights = np.ones(len(classes), np.int64) if people is None else people
    counts = {
        int(number): int(weights[possible][numbers[possible] == number].sum())
        for number in np.unique(numbers[possible])
    }
    order = possible[np.argsort(numbers[possible], kind="stable")][:_MOST_OVERLAPS]
    labels = [each.published.labels for each in releases]
    overlaps = tuple(
        Overlap(
            tuple(
                {name: canonical_text(each[name].slice(int(row), 1))[0] for name in each.column_names}
                for each, row in zip(labels, classes[at], strict=True)
            ),
            tuple(value for value, there in zip(values, left[at], strict=True) if there),
            None if people is None else int(people[at]),
        )
        for at in order
    )
    total = None if people is None else int(people.sum())
    return Intersection(min(counts, default=0), total, counts, overlaps)
