"""Differencing: what two releases of one table reveal together.

If a person withdraws, or joins, and the table is anonymized again, the sensitive values of a class differ by
the value of that person. Such a class is safe only if at least m records differ.

A cell that is missing or withheld is no value and protects no other: only records that show a value count for
m, and a class that differs in other records only reveals no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from veil.base.wording import plural
from veil.errors import ParameterError
from veil.risk.overlap import ReleaseCells, cells_of_release
from veil.tables.text import canonical_text


class Changed(NamedTuple):
    """A class whose sensitive values are not the same in both releases."""

    labels: dict[str, str | None]
    gone: dict[str, int]
    new: dict[str, int]

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
        Classes that differ by fewer records than this are exposed: see `exposed`.
    changed
        Classes that differ, the fewest records first.
    unmatched
        Number of classes that only one release has.
    """

    m: int
    changed: tuple[Changed, ...]
    unmatched: int

    @property
    def exposed(self) -> tuple[Changed, ...]:
        """Classes that differ by fewer than m records."""
        return tuple(each for each in self.changed if each.records < self.m)

    def __str__(self) -> str:
        return (
            f"{len(self.exposed)} of {len(self.changed)} classes that differ do so by fewer than {self.m} records; "
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
        Classes that differ by fewer records than this reveal who left or joined.
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
    before, after = (
        _counts(cells_of_release(each, sensitive, quasi_identifiers)) for each in (first, second)
    )
    changed = []
    for labels, values in before.items():
        if labels in after and values != after[labels]:
            changed.append(Changed(dict(labels), dict(values - after[labels]), dict(after[labels] - values)))
    return Differencing(
        m, tuple(sorted(changed, key=lambda each: each.records)), len(before.keys() ^ after.keys())
    )


def _counts(release: ReleaseCells) -> dict[tuple[tuple[str, str | None], ...], Counter[str]]:
    labels = release.published.labels
    columns = {name: canonical_text(labels[name]) for name in sorted(release.published.names)}
    counters: dict[int, Counter[str]] = {}
    for at, value, count in release.cells:
        counter = counters.setdefault(at, Counter())
        if value is not None:
            counter[value] += count
    return {
        tuple((name, texts[at]) for name, texts in columns.items()): each for at, each in counters.items()
    }
