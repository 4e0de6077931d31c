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

    Missing and withheld cells are no values.

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
    same = _people(releases, read_person(person))
    if same is not None:
        classes, people = np.unique(same, axis=0, return_counts=True)
    else:
        classes, people = _overlapping(releases, hierarchies or {}), None
    return _summarize(releases, matrices, values, classes, people)


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
        published = outcome.by_records
        if names is not None:
            columns = [name for name in names if name in outcome.table.column_names]
            published = Published(Rows.of(outcome.table), columns, marker=outcome.marker, flag=outcome.flag)
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


def _people(releases: Sequence[ReleaseCells], person: str | None) -> NDArray[np.int64] | None:
    """Return the classes of the people in all releases, one row a person; None if they are unknown."""
    outcomes = [each.outcome for each in releases]
    row_outcomes = [each for each in outcomes if each is not None and not each.is_condensed]
    if len(row_outcomes) < len(releases):
        if person is not None:
            raise InputError("`person` is only for releases: a table alone does not show who is who")
        return None
    if person is None:
        first = row_outcomes[0].original
        if not all(each.original is first or each.original.equals(first) for each in row_outcomes[1:]):
            return None
    rows = [
        each.origins[np.flatnonzero(~release.published.suppressed)]
        for each, release in zip(row_outcomes, releases, strict=True)
    ]
    who = rows if person is None else _number_people(row_outcomes, rows, person)
    of = [
        dict(zip(each.tolist(), release.published.classes.tolist(), strict=True))
        for each, release in zip(who, releases, strict=True)
    ]
    common = [each for each in of[0] if each >= 0 and all(each in other for other in of[1:])]
    tuples = np.array([[classes[each] for classes in of] for each in common], np.int64)
    return tuples.reshape(len(common), len(of))


def _number_people(
    outcomes: Sequence[Outcome], rows: Sequence[NDArray[np.int64]], person: str
) -> list[NDArray[np.int64]]:
    """Number the people of rows of the inputs, alike in all releases; -1 for rows without a person."""
    texts = []
    for each, some in zip(outcomes, rows, strict=True):
        if person not in each.original.column_names:
            raise PlanError(f"the input of a release has no column {person!r} that says who is who")
        texts.append(pa.array(canonical_text(each.original[person].take(pa.array(some))), pa.string()))
    values, codes = encode_people(pa.chunked_array(texts), person)
    numbers = np.where(np.array(values.is_null(), dtype=np.bool_)[codes], -1, codes)
    return np.split(numbers, np.cumsum([each.size for each in rows])[:-1])


def _overlapping(releases: Sequence[ReleaseCells], hierarchies: Mapping[str, Hierarchy]) -> NDArray[np.int64]:
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
    possible = np.flatnonzero(numbers)  # classes without a common value have no person in common
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
