"""Distinction and separation: how well subsets of the quasi-identifiers distinguish records."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from veil.errors import ParameterError
from veil.plan.plan import ASK
from veil.risk.grouping import Grouped, group_records, published_of
from veil.risk.projections import Projection, projections, subset_count

MOST_SUBSETS = 2**20 - 1
"""Maximum number of subsets to examine: all those of 20 columns."""


@dataclass(frozen=True)
class AttributeRisk:
    """Distinction and separation of a subset of the quasi-identifiers.

    Attributes
    ----------
    columns
        The quasi-identifiers.
    distinction
        Number of different combinations of their values, divided by the number of records.
    separation
        Share of all pairs of records that differ in them.
    """

    columns: tuple[str, ...]
    distinction: float
    separation: float


def attribute_risks(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None = None,
    *,
    largest: int | None = None,
    marker: str | None = "*",
    untouched: bool = False,
    person: str | None = ASK,
) -> tuple[AttributeRisk, ...]:
    """Compute distinction and separation of every subset of the quasi-identifiers.

    Records that are blank in all columns of a subset do not count for it. Both measures are 0 where they are
    undefined. Sorted by number of columns, then distinction, separation and name. Motwani and Xu (2007).

    Parameters
    ----------
    source, quasi_identifiers, marker, untouched, person
        As for `analyze`.
    largest
        Maximum number of columns of a subset.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 30, 30], "sex": ["f", "m", "f", "f"]})
    >>> for each in attribute_risks(table, ["age", "sex"]):
    ...     print(each.columns, each.distinction, round(each.separation, 3))
    ('sex',) 0.5 0.5
    ('age',) 0.5 0.667
    ('age', 'sex') 0.75 0.833
    """
    published = published_of(source, quasi_identifiers, marker=marker, untouched=untouched, person=person)
    grouped = group_records(published, untouched=untouched)
    counted = untouched or published.flag is not None
    limit = check_size(largest, len(grouped.names))
    return rank_subsets(attribute_risk(grouped, each, counted) for each in projections(grouped, limit))


def attribute_risk(grouped: Grouped, projection: Projection, counted: bool = False) -> AttributeRisk:
    """Compute both measures from the classes of a subset; with `counted`, blank records count, too."""
    sizes = projection.sizes
    classes, records, pairs = sizes.size, int(sizes.sum()), int((sizes * (sizes - 1)).sum())
    if projection.blank >= 0 and not counted:
        hidden = int(sizes[projection.blank])
        classes, records, pairs = classes - 1, records - hidden, pairs - hidden * (hidden - 1)
    every = records * (records - 1)
    return AttributeRisk(
        tuple(grouped.names[j] for j in projection.columns),
        classes / records if records else 0.0,
        (every - pairs) / every if every else 0.0,
    )


def rank_subsets(risks: Iterable[AttributeRisk]) -> tuple[AttributeRisk, ...]:
    """Sort subsets: small ones first, then by distinction and separation."""
    return tuple(
        sorted(risks, key=lambda each: (len(each.columns), each.distinction, each.separation, each.columns))
    )


def check_size(largest: int | None, columns: int, most: int = MOST_SUBSETS) -> int:
    """Return the size of the largest subset to examine; refuse if there are too many.

    >>> check_size(None, 8), check_size(3, 40)
    (8, 3)
    >>> check_size(None, 30)
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: 30 columns have 1,073,741,823 subsets of up to 30, too many to examine. Give `largest`,
    the largest size of subsets, of at most 6
    """
    if largest is not None and largest < 1:
        raise ParameterError(f"`largest` should be at least 1, not {largest}")
    size = columns if largest is None else min(largest, columns)
    if size > 1 and subset_count(columns, size) > most:
        raise ParameterError(
            f"{columns} columns have {subset_count(columns, size):,} subsets of up to {size}, too many to "
            "examine. Give `largest`, the largest size of subsets, of at most "
            f"{affordable_size(columns, most)}"
        )
    return size


def affordable_size(columns: int, most: int) -> int:
    """Return the largest size up to which there are no more than `most` subsets.

    >>> affordable_size(10, 1023), affordable_size(20, 1500)
    (10, 3)
    """
    total = 0
    for size in range(1, columns + 1):
        total += math.comb(columns, size)
        if total > most:
            return max(1, size - 1)
    return columns
