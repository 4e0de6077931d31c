"""Differencing: what two releases of one table reveal together.

If a person withdraws, or joins, and the table is anonymized again, the sensitive values of a class differ by
the values of that person. Such a class is safe only if those of at least m people differ.

A cell that is missing or withheld is no value and protects no other: only records that show a value count for
m, and a class that differs in other records only reveals no value.

People with several rows are followed by the column that distinguishes them. If only one release knows them,
all records by which a class differs may be those of one person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from veil.base.wording import plural
from veil.errors import ParameterError
from veil.published.blank import shows_no_value
from veil.risk.overlap import ReleaseCells, cells_of_release, number_people_alike
from veil.tables.columns import encode_values
from veil.tables.text import canonical_text

Labels = tuple[tuple[str, str | None], ...]
"""The quasi-identifiers of a class, with their names."""


class Changed(NamedTuple):
    """A class whose sensitive values are not the same in both releases."""

    labels: dict[str, str | None]
    gone: dict[str, int]
    new: dict[str, int]
    people: int
    """Number of people with other values."""

    @property
    def records(self) -> int:
        """Number of records with a value by which it differs."""
        return sum(self.gone.values()) + sum(self.new.values())


@dataclass(frozen=True)
class Differencing:
    """The classes that differ.

    Attributes
    ----------
    m
        Classes that differ by fewer people than this are exposed: see `exposed`.
    changed
        Classes that differ, the fewest people first.
    unmatched
        Number of classes that only one release has.
    """

    m: int
    changed: tuple[Changed, ...]
    unmatched: int

    @property
    def exposed(self) -> tuple[Changed, ...]:
        """Classes that differ by fewer than m people."""
        return tuple(each for each in self.changed if each.people < self.m)

    def __str__(self) -> str:
        return (
            f"{len(self.exposed)} of {len(self.changed)} classes that differ do so by fewer than {self.m} people; "
            f"{plural(self.unmatched, 'class is', 'classes are')} in one release only"
        )


def differencing(
    first: Any, second: Any, *, sensitive: str, m: int = 2, quasi_identifiers: Sequence[str] | None = None
) -> Differencing:
    """Compare the sensitive values of each class in two releases of one table.

    Parameters
    ----------
    first, second
        Releases, or their tables.
    sensitive
        The column whose values are compared.
    m
        Classes that differ by fewer people than this reveal the values of those who left or joined.
    quasi_identifiers
        As for `intersection`.

    >>> import pyarrow as pa
    >>> first = pa.table({"age": ["2*", "2*", "2*"], "ill": ["flu", "gout", "cold"]})
    >>> difference = differencing(first, first.slice(1), sensitive="ill")
    >>> difference.exposed[0].gone
    {'flu': 1}
    """
    if m < 1:
        raise ParameterError(f"`m` should be at least 1, not {m}")
    releases = [cells_of_release(each, sensitive, quasi_identifiers) for each in (first, second)]
    before, after = map(_counts, releases)
    people = _people_who_changed(releases, sensitive)
    changed = []
    for labels, values in before.items():
        if labels in after and values != after[labels]:
            gone, new = values - after[labels], after[labels] - values
            records = gone.total() + new.total()
            # Changes that cancel out show in no figure, and hide nobody.
            fewest = records if people is None else min(records, people.get(labels, 1))
            changed.append(Changed(dict(labels), dict(gone), dict(new), fewest))
    changed.sort(key=lambda each: (each.people, each.records))
    return Differencing(m, tuple(changed), len(before.keys() ^ after.keys()))


def _people_who_changed(releases: Sequence[ReleaseCells], sensitive: str) -> dict[Labels, int] | None:
    """Count the people with other values in each class; None if every record is a person."""
    outcomes = [each.outcome for each in releases if each.outcome is not None]
    names = [each.person_column for each in outcomes if each.person_column]
    if not names:
        return None
    if len(names) < len(releases) or any(
        name not in each.original.column_names for name, each in zip(names, outcomes, strict=True)
    ):
        return {}
    visible = [np.flatnonzero(~each.published.suppressed) for each in releases]
    rows = [each.origins[some] for each, some in zip(outcomes, visible, strict=True)]
    people = np.concatenate(number_people_alike(outcomes, rows, names))
    numbers: dict[Labels, int] = {}
    classes, texts, changes = [], [], []
    for each, some, sign in zip(releases, visible, (-1, 1), strict=True):
        places = [numbers.setdefault(labels, len(numbers)) for labels in _labels_of_classes(each)]
        classes.append(np.array(places, np.int64)[each.published.classes])
        values, codes = each.published.compare(sensitive)
        blank_mask = shows_no_value(values, each.published.marker)
        texts.append(
            pa.array(canonical_text(values), pa.string(), mask=blank_mask).take(pa.array(codes[some]))
        )
        changes.append(sign * each.published.rows.weights.take(some).array)
    values, codes = encode_values(pa.chunked_array(texts))
    valid_mask = np.array(values.is_valid(), np.bool_)[codes]
    cells = np.stack([np.concatenate(classes), people, codes])[:, valid_mask]
    different, place = np.unique(cells, axis=1, return_inverse=True)
    sums = np.bincount(place.ravel(), np.concatenate(changes)[valid_mask], different.shape[1])
    pairs = np.unique(different[:2, sums != 0], axis=1)
    counts = np.bincount(pairs[0], minlength=len(numbers))
    return {labels: int(counts[number]) for labels, number in numbers.items()}


def _counts(release: ReleaseCells) -> dict[Labels, Counter[str]]:
    labels = _labels_of_classes(release)
    counters: dict[Labels, Counter[str]] = {}
    for at, value, count in release.cells:
        counter = counters.setdefault(labels[at], Counter())
        if value is not None:
            counter[value] += count
    return counters


def _labels_of_classes(release: ReleaseCells) -> list[Labels]:
    labels = release.published.labels
    columns = {name: canonical_text(labels[name]) for name in sorted(release.published.names)}
    return [tuple((name, texts[at]) for name, texts in columns.items()) for at in range(labels.num_rows)]
