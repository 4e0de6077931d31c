"""The intersection attack on several releases: a person in all of them has a value that all of them show.

Each release may keep its promise while their classes have a single value in common. An attacker who knows the
class of a person in each, or the quasi-identifiers that form it, learns that value.

A cell that is missing or withheld is no further value: {flu, missing} and {flu, missing} have flu in common.
If classes show no value in common, a person can still be in both if cells are blank: the candidates are then
the values of the classes without a blank. A class that shows no value reveals nothing.
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
from veil.tables.rows import Rows
from veil.tables.spelling import encode_people, read_person
from veil.tables.text import canonical_text

_MOST_OVERLAPS = 100


class Overlap(NamedTuple):
    """Classes, one of each release, that a person can be in at once."""

    classes: tuple[dict[str, str | None], ...]
    """The labels of each."""
    candidates: tuple[str, ...]
    """The sensitive values that all of them show; a missing cell is none."""
    people: int | None
    """Number of people in them, if known."""

    def __str__(self) -> str:
        labels = " and ".join(
            "(" + ", ".join(f"{name} {label}" for name, label in each.items()) + ")" for each in self.classes
        )
        return f"{labels}: {', '.join(map(str, self.candidates))}"


@dataclass(frozen=True)
class Intersection:
    """The candidate values of the people who are in all releases.

    Attributes
    ----------
    worst
        The least number of candidates of a person; 0 if no one can be in all releases, or none shows a value.
    people
        Number of people in all releases; None if only their tables are known.
    counts
        Number of people by number of candidates; if people are unknown, of overlaps of classes.
    overlaps
        The overlaps with the fewest candidates first, at most 100.
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
    """Intersect the sensitive values of the classes that a person can be in, in several releases.

    Missing and withheld cells are no values. Of a person with several rows, the worst one counts.

    Parameters
    ----------
    first, second, more
        Releases, or their tables. They may have different columns and generalizations.
    sensitive
        The column whose values are inferred.
    quasi_identifiers
        Columns that an attacker knows; by default those of a release, or all other columns of a table.
    person
        The column of the inputs that identifies people. Releases of one table need none.
    hierarchies
        Hierarchies that define what labels cover. Without them labels are parsed: see `veil.risk.labels`.

    >>> first = pa.table({"age": ["<30", "<30", "3*", "3*"], "ill": ["flu", "gout", "cold", "flu"]})
    >>> second = pa.table({"age": ["<40", "<40"], "ill": ["flu", "flu"]})
    >>> result = intersection(first, second, sensitive="ill")
    >>> result.worst, [overlap.candidates for overlap in result.overlaps]
    (1, [('flu',), ('flu',)])
    """
    releases = [cells_of_release(each, sensitive, quasi_identifiers) for each in (first, second, *more)]
    values = sorted({value for each in releases for _, value, _ in each.cells if value is not None})
    place = {value: at for at, value in enumerate(values)}
    matrices = [_value_matrix(each, place) for each in releases]
    together = _classes_of_people(releases, read_person(person)) or _overlapping(releases, hierarchies or {})
    return _summarize(releases, matrices, values, together)


class ReleaseCells(NamedTuple):
    """A release and the sensitive values of its classes."""

    published: Published
    outcome: Outcome | None
    cells: list[tuple[int, str | None, int]]
    """Class, value (None if missing or withheld) and number of records, for each value of each class."""


def cells_of_release(release: Any, sensitive: str, names: Sequence[str] | None) -> ReleaseCells:
    """Return a release, or its table, with the sensitive values of its classes."""
    outcome = outcome_of(release)
    if outcome is not None:
        columns = [name for name in names or outcome.quasi_identifiers if name in outcome.table.column_names]
        published = outcome.seen_by(columns).by_records()
    else:
        table = read(release).table
        columns = [
            name for name in (names or table.column_names) if name in table.column_names and name != sensitive
        ]
        published = Published(Rows.of(table), columns)
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
    """Return which values each class shows, and which its members may have if blank cells may be any."""
    visible = np.zeros((release.published.sizes.size, len(place)), np.bool_)
    possible = visible.copy()
    for number, value, _ in release.cells:
        if value is None:
            possible[number] = True
        else:
            visible[number, place[value]] = True
    possible |= visible
    return np.where(visible.any(axis=1, keepdims=True), visible, possible), possible


class _Together(NamedTuple):
    """Classes, one of each release, that a person is in at once, and the person; without people, one for each."""

    classes: NDArray[np.int64]
    people: NDArray[np.int64]
    are_known: bool


def _classes_of_people(releases: Sequence[ReleaseCells], person: str | None) -> _Together | None:
    """Return the classes of the people in all releases, of each of their rows; None if people are unknown."""
    outcomes = [
        each.outcome for each in releases if each.outcome is not None and not each.outcome.is_condensed
    ]
    if len(outcomes) < len(releases):
        if person is not None:
            raise InputError("`person` is only for releases: a table alone does not show who is who")
        return None
    rows = [
        each.origins[~release.published.suppressed] for each, release in zip(outcomes, releases, strict=True)
    ]
    before = outcomes[0].before
    same = all(each.original is before.table or each.original.equals(before.table) for each in outcomes)
    if person is None and not same:
        return None
    # Rows of one table follow a row; those of different tables any row of the person.
    keys = rows if same or person is None else number_people_alike(outcomes, rows, [person] * len(outcomes))
    links = [
        np.unique(np.stack([key, release.published.classes])[:, key >= 0], axis=1)
        for key, release in zip(keys, releases, strict=True)
    ]
    key, classes = links[0][0], links[0][1:].T
    for other in links[1:]:
        here, there = _pairs_of_equal(key, other[0])
        key, classes = key[here], np.column_stack([classes[here], other[1][there]])
    people = key
    if same:
        # A release that takes every row for a person does not know better than another one.
        numbers = min((each.before for each in outcomes), key=lambda rows: rows.people).owners.array.astype(
            np.int64
        )
        if person is not None:
            numbers = number_people_alike(outcomes[:1], [np.arange(before.table.num_rows)], [person])[0]
        people = numbers[key]
    return _Together(classes[people >= 0], people[people >= 0], True)


def _pairs_of_equal(
    one: NDArray[np.int64], other: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of all pairs of equal numbers.

    >>> [each.tolist() for each in _pairs_of_equal(np.array([7, 8]), np.array([8, 7, 8]))]
    [[0, 1, 1], [1, 0, 2]]
    """
    order = np.argsort(other, kind="stable")
    start, end = (np.searchsorted(other[order], one, side) for side in ("left", "right"))
    times = end - start
    skipped = np.repeat(np.cumsum(times) - times - start, times)
    return np.repeat(np.arange(one.size), times), order[np.arange(times.sum()) - skipped]


def number_people_alike(
    outcomes: Sequence[Outcome], rows: Sequence[NDArray[np.int64]], names: Sequence[str]
) -> list[NDArray[np.int64]]:
    """Number the people of rows of the inputs, alike in all releases; -1 for rows without a person."""
    texts = []
    for each, some, name in zip(outcomes, rows, names, strict=True):
        if name not in each.original.column_names:
            raise PlanError(f"the input of a release has no column {name!r} that says who is who")
        texts.append(pa.array(canonical_text(each.original[name].take(pa.array(some))), pa.string()))
    values, codes = encode_people(pa.chunked_array(texts), names[0])
    numbers = np.where(np.array(values.is_null(), dtype=np.bool_)[codes], -1, codes).astype(np.int64)
    return np.split(numbers, np.cumsum([each.size for each in rows])[:-1])


def _overlapping(releases: Sequence[ReleaseCells], hierarchies: Mapping[str, Hierarchy]) -> _Together:
    """Return the classes that a person can be in at once, according to their labels."""
    tuples = np.arange(releases[0].published.sizes.size, dtype=np.int64)[:, None]
    for at in range(1, len(releases)):
        fits = np.ones((len(tuples), releases[at].published.sizes.size), np.bool_)
        for before in range(at):
            fits &= _fitting(releases[before].published, releases[at].published, hierarchies)[
                tuples[:, before]
            ]
        old, new = np.nonzero(fits)
        tuples = np.column_stack([tuples[old], new])
    return _Together(tuples, np.arange(len(tuples)), False)


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
    together: _Together,
) -> Intersection:
    classes, place = np.unique(together.classes, axis=0, return_inverse=True)
    place = place.ravel()
    left, possible_values = (
        np.logical_and.reduce([each[which][classes[:, at]] for at, each in enumerate(matrices)])
        for which in (0, 1)
    )
    left = np.where(left.any(axis=1, keepdims=True), left, possible_values)
    numbers = left.sum(axis=1)
    pairs = np.unique(np.stack([place, together.people]), axis=1)  # each person once in the same classes
    crowd = np.bincount(pairs[0], minlength=len(classes))
    # Classes without a common value have no person in common. Of several rows, the worst one counts.
    fewest = np.full(int(together.people.max(initial=-1)) + 1, len(values) + 1)
    here = pairs[:, numbers[pairs[0]] > 0]
    np.minimum.at(fewest, here[1], numbers[here[0]])
    different, people = np.unique(fewest[fewest <= len(values)], return_counts=True)
    counts = dict(zip(different.tolist(), people.tolist(), strict=True))
    possible = np.flatnonzero(numbers)
    order = possible[np.argsort(numbers[possible], kind="stable")][:_MOST_OVERLAPS]
    labels = [each.published.labels for each in releases]
    overlaps = tuple(
        Overlap(
            tuple(
                {name: canonical_text(each[name].slice(int(row), 1))[0] for name in each.column_names}
                for each, row in zip(labels, classes[at], strict=True)
            ),
            tuple(value for value, there in zip(values, left[at], strict=True) if there),
            int(crowd[at]) if together.are_known else None,
        )
        for at in order
    )
    total = np.unique(together.people).size if together.are_known else None
    return Intersection(min(counts, default=0), total, counts, overlaps)
