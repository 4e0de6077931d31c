"""Preview of a hierarchy on a column: labels of each level, their frequencies, share of unique ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.base.arrays import Codes, Integers
from veil.hierarchies._builders import Builder
from veil.hierarchies.hierarchy import Hierarchy

MOST_BARS = 24
"""Labels with their own bar; if there are more, the most frequent ones."""

MOST_ROWS = 40
"""Rows of the table that are shown, at equal distances."""


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy on a column.

    Attributes
    ----------
    name : str
        The name of the level.
    labels : int
        Labels that occur in the column.
    singled_out : float
        Share of the records, or of the people, with a unique label.
    bars : tuple
        The most frequent labels with their numbers of records; in the order of values if these are all.
    """

    name: str
    labels: int
    singled_out: float
    bars: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Preview:
    """A hierarchy on a column: its levels, and some rows of its table. It names original values."""

    levels: tuple[Level, ...]
    rows: tuple[tuple[str, ...], ...]
    values: int

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON-compatible values."""
        return asdict(self)


Holders = tuple[Integers, Integers]
"""Pairs of values and owners, each once: the positions of the values, and the codes of the owners."""


def preview(
    builder: Builder | Hierarchy,
    values: pa.Array,
    counts: npt.ArrayLike,
    column: str = "",
    holders: Holders | None = None,
) -> Preview:
    """Build a hierarchy for the different values of a column, and return a preview of it.

    With `holders`, the owners of each value, unique people are counted instead of unique records.

    >>> from veil import hierarchies as h
    >>> ages = preview(h.intervals(10), pa.array([23, 27, 34]), [1, 1, 2], "age")
    >>> [(level.labels, level.singled_out) for level in ages.levels]
    [(3, 0.5), (2, 0.0), (1, 0.0)]
    >>> ages.rows[0]
    ('23', '[20, 30[', '*')
    """
    hierarchy = builder if isinstance(builder, Hierarchy) else builder.build(values, counts, column)
    codes, times = hierarchy.encode(values, column), np.asarray(counts, np.int64)
    records = max(1, int(times.sum()))
    levels = []
    for level, name in enumerate(hierarchy.level_names):
        at = hierarchy.label_map(level)[codes]
        sizes = np.bincount(at, weights=times, minlength=len(hierarchy.labels[level])).astype(np.int64)
        used = np.flatnonzero(sizes)
        # In the order of the hierarchy if all fit, else the most frequent.
        label_codes = (
            used if used.size <= MOST_BARS else used[np.argsort(-sizes[used], kind="stable")][:MOST_BARS]
        )
        bars = tuple((hierarchy.labels[level][code] or "", int(sizes[code])) for code in label_codes)
        share = int(np.count_nonzero(sizes == 1)) / records if holders is None else _alone(at, *holders)
        levels.append(Level(name, int(used.size), share, bars))
    present = np.unique(codes)
    example_codes = (
        present[np.unique(np.linspace(0, present.size - 1, MOST_ROWS).astype(np.int64))]
        if present.size
        else present
    )
    rows = tuple(
        tuple(
            hierarchy.labels[level][hierarchy.label_map(level)[code]] or ""
            for level in range(len(hierarchy.labels))
        )
        for code in example_codes
    )
    return Preview(tuple(levels), rows, int(present.size))


def _alone(labels: Codes, places: Integers, people: Integers) -> float:
    """Return the share of the people with a label of their own."""
    least = np.full(int(labels.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    greatest = np.full(least.size, -1)
    np.minimum.at(least, labels[places], people)
    np.maximum.at(greatest, labels[places], people)
    return float(np.unique(least[least == greatest]).size / max(1, np.unique(people).size))
