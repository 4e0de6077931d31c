"""Unchanged columns that single people out: alone, two or three together, or with the quasi-identifiers.

A class of five protects against an attacker who knows the quasi-identifiers only. One who also knows a nearly
unique column, such as a survey weight, an amount to the cent or a day and hour, picks one of the five.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase
from veil.risk.concerns.concern import Concern, percent, quoted
from veil.risk.concerns.context import ReleaseContext, ReleasedColumn, count_alone, whole_groups
from veil.tables.columns import number_rows

NEARLY_UNIQUE = 0.05
"""Share of records with a unique combination of values from which on a set of columns singles people out.

The threshold is Veil's own: categorical columns are far below it (those of adult under 0.1 %), keys, survey
weights and amounts far above.
"""

_MOST_COLUMNS = 6
"""Number of columns that are combined in pairs and triples: those with the most different values."""

# A record that is unique in the table is unique in a sample: with few in the sample, few of the table are.
_IN_A_SAMPLE = NEARLY_UNIQUE / 2


def unique_columns(context: ReleaseContext) -> Iterator[Concern]:
    """Find columns in which many records have a unique value."""
    for name in context.unchanged:
        if context.weights.are_one and context.sampled(name).alone < _IN_A_SAMPLE * context.sample.size:
            continue
        share = context.alone(name) / context.records
        if share >= NEARLY_UNIQUE:
            yield Concern(
                "nearly unique",
                (name,),
                Phrase(
                    "{share} of the records have a value of {column!r} that no other record has, and no model covers it.",
                    share=percent(share),
                    column=name,
                ),
                context.remedy(repr(name), "it"),
            )


def unique_together(context: ReleaseContext, unique: set[str]) -> Iterator[Concern]:
    """Find pairs and triples of columns, without `unique`, in which many records are unique.

    Of sets with a column in common only the worst is returned, as fixing it may fix the others.
    """
    names = [name for name in context.unchanged if name not in unique and context.sampled(name).different > 1]
    names = sorted(names, key=lambda name: -context.sampled(name).different)[:_MOST_COLUMNS]
    free = names
    for size in (2, 3):
        shares = {each: share_together(context, each) for each in combinations(free, size)}
        for each in sorted(shares, key=lambda each: -shares[each]):
            if shares[each] < NEARLY_UNIQUE or not set(each) <= set(free):
                continue
            free = [name for name in free if name not in each]
            yield Concern(
                "nearly unique",
                each,
                Phrase(
                    "{share} of the records have a combination of {columns} that no other record has, and no model "
                    "covers them.",
                    share=percent(shares[each]),
                    columns=quoted(each),
                ),
                context.remedy(quoted(each, last="or"), "both" if len(each) == 2 else "all of them"),
            )


def share_together(context: ReleaseContext, names: Sequence[str]) -> float:
    """Return the share of records with a unique combination of values, or 0 if it is small.

    A record is unique among those with the same value in the first column: in large tables, all records of
    some of its values are examined.
    """
    if not context.weights.are_one:
        numbers = number_rows(combined([context.column(name) for name in names]))
        return int(np.count_nonzero(context.weights.count_by(numbers) == 1)) / context.records
    if count_alone(combined([context.sampled(name) for name in names])) < _IN_A_SAMPLE * context.sample.size:
        return 0.0
    rows = context.whole_values(names[0])
    return count_alone(combined([context.beside(names[0], name) for name in names])) / rows.size


def unique_in_classes(context: ReleaseContext, unique: set[str]) -> Iterator[Concern]:
    """Find columns, without `unique`, in which many records are unique in their class.

    In large tables, all records of some classes are examined.
    """
    if not context.published.names or not context.weights.are_one:
        return
    classes, sizes = context.published.classes, context.published.sizes
    rows = whole_groups(classes, sizes)
    before = ReleasedColumn(pa.nulls(sizes.size), classes[rows], sizes)
    alone = count_alone(combined([before]))
    shares = {
        name: (count_alone(combined([before, context.cells(name, rows)])) - alone) / rows.size
        for name in context.insensitive
        if name not in unique
    }
    names = [name for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] >= NEARLY_UNIQUE]
    if not names:
        return
    any_of, for_one = ("one of ", " (for {first!r})") if len(names) > 1 else ("", "")
    yield Concern(
        "unique with quasi-identifiers",
        tuple(names),
        Phrase(
            f"Anyone who knows {any_of}{{columns}} in addition to the published quasi-identifiers can single out up to "
            f"{{share}} of the records{for_one}, however large their classes are.",
            columns=quoted(names),
            share=percent(shares[names[0]]),
            first=names[0],
        ),
        context.remedy(repr(names[0]), "it", ", unless nobody else can know it"),
    )


def combined(columns: Sequence[ReleasedColumn]) -> NDArray[np.int64]:
    """Number the combinations of values.

    >>> column = ReleasedColumn(pa.nulls(2), np.array([0, 1, 1], np.int32), np.array([1, 2]))
    >>> combined([column, column]).tolist()
    [0, 3, 3]
    """
    keys, possible = columns[0].codes.astype(np.int64), len(columns[0].values)
    for column in columns[1:]:
        if possible * len(column.values) >= 2**62:
            keys, possible = number_rows(keys).astype(np.int64), keys.size
        keys = keys * len(column.values) + column.codes
        possible *= len(column.values)
    return keys
