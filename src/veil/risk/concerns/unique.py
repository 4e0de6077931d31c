"""Columns that are published as they are and single people out: alone, two or three together, or beside the others.

A class of five is one in which an attacker knows the quasi-identifiers and nothing else. Whoever also knows a kept column
that few others share, such as a survey weight, an amount to the cent or a day and hour, picks one of the five.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.risk.concerns.concern import Concern, either, percent, quoted
from veil.risk.concerns.context import ReleasedColumn, View, count_alone, whole_groups
from veil.tables.columns import number_rows

NEARLY_UNIQUE = 0.05
"""Share of records with a combination of values of their own from which on a set of columns singles people out.

A threshold of our own: columns of categories stay far below it (those of adult under 0.1 %), keys, survey weights and
amounts lie far above.
"""

_MOST_COLUMNS = 6
"""Columns that are put together by twos and threes: those with the most different values."""

# A record that is alone among all is alone among some. So where few records of a sample are alone, few are among all, and
# nothing else needs counting.
_IN_A_SAMPLE = NEARLY_UNIQUE / 2


def unique_columns(view: View) -> list[Concern]:
    """Find columns of which many records have a value of their own."""
    made = []
    for name in view.kept:
        if view.weights is None and view.glance(name).alone < _IN_A_SAMPLE * view.sample.size:
            continue
        share = view.alone(name) / view.records
        if share >= NEARLY_UNIQUE:
            made.append(
                Concern(
                    "nearly unique",
                    (name,),
                    f"{percent(share)} of the records have a value of {name!r} that no other record has, and no model "
                    "covers it.",
                    view.remedy(f"Remove {name!r}", "it"),
                )
            )
    return made


def unique_together(view: View, known: set[str]) -> list[Concern]:
    """Find two or three columns, none of them `known` to be unique, of which many records have values of their own.

    Of sets that have a column in common the worst is named, as the others may be gone when it is mended.
    """
    names = [name for name in view.kept if name not in known and view.glance(name).different > 1]
    names = sorted(names, key=lambda name: -view.glance(name).different)[:_MOST_COLUMNS]
    made, free = [], names
    for size in (2, 3):
        shares = {each: share_together(view, each) for each in combinations(free, size)}
        for each in sorted(shares, key=lambda each: -shares[each]):
            if shares[each] < NEARLY_UNIQUE or not set(each) <= set(free):
                continue
            free = [name for name in free if name not in each]
            made.append(
                Concern(
                    "nearly unique",
                    each,
                    f"{percent(shares[each])} of the records have a combination of {quoted(each)} that no other record "
                    "has, and no model covers them.",
                    view.remedy(f"Remove {either(each)}", "both" if len(each) == 2 else "all of them"),
                )
            )
    return made


def share_together(view: View, names: Sequence[str]) -> float:
    """Return the share of records that have a combination of values of their own, or 0 where it is small.

    Whether a record is alone is a matter of those with the same value in the first column: of large tables, all records of
    some of its values are looked at.
    """
    if view.weights is not None:
        columns = [view.column(name) for name in names]
        return count_alone(combined(columns), view.weights) / view.records
    if count_alone(combined([view.glance(name) for name in names])) < _IN_A_SAMPLE * view.sample.size:
        return 0.0
    rows = view.whole_values(names[0])
    return count_alone(combined([view.beside(names[0], name) for name in names])) / rows.size


def unique_beside(view: View, known: set[str]) -> list[Concern]:
    """Find columns, none of them `known` to be unique, by which many records can be told from others of their class.

    Of large tables, all records of some classes are looked at.
    """
    if not view.published.names or view.weights is not None:
        return []
    classes, sizes = view.published.classes, view.published.sizes
    rows = whole_groups(classes, sizes)
    before = ReleasedColumn(pa.nulls(sizes.size), classes[rows], sizes)
    alone = count_alone(combined([before]))
    shares = {
        name: (count_alone(combined([before, view.cells(name, rows)])) - alone) / rows.size
        for name in view.insensitive
        if name not in known
    }
    names = [name for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] >= NEARLY_UNIQUE]
    if not names:
        return []
    for_one = f" (for {names[0]!r})" if len(names) > 1 else ""
    any_of = "one of " if len(names) > 1 else ""
    return [
        Concern(
            "unique with quasi-identifiers",
            tuple(names),
            f"Anyone who knows {any_of}{quoted(names)} in addition to the published quasi-identifiers can single out up to "
            f"{percent(shares[names[0]])} of the records{for_one}, however large their classes are.",
            f"{view.remedy(f'Remove {names[0]!r}', 'it').rstrip('.')}, unless nobody else can know it.",
        )
    ]


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
