"""The riskiest combinations of values, and sensitive values that can be inferred for certain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.errors import ParameterError
from veil.plan.plan import ASK
from veil.published.blank import shows_no_value
from veil.risk.column_sets import affordable_size
from veil.risk.grouping import check_columns, group_records, published_of
from veil.risk.projections import projections
from veil.risk.special_uniques import UniqueSearch, most_subsets
from veil.tables.columns import encode_values

SUBSETS = 2**9 - 1
"""Maximum number of subsets of the quasi-identifiers to search for uniques: all those of nine."""


@dataclass(frozen=True)
class Combination:
    """A combination of quasi-identifying values, and its risk.

    Attributes
    ----------
    records : int
        Records with this combination; people, if these are counted.
    risk : float
        Probability of picking the right one of them: 1 / `records`.
    columns : tuple of str
        The fewest columns that single it out, if it is unique; otherwise empty.
    score : float
        SUDA score: the higher, the fewer columns are needed and the more such sets there are.
    values : dict
        The values themselves. They are personal data: show them only to people who may see the table.
    """

    records: int
    risk: float
    columns: tuple[str, ...]
    score: float
    values: dict[str, Any]


def riskiest(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None = None,
    *,
    number: int = 10,
    person: str | None = ASK,
    marker: str | None = "*",
    untouched: bool = False,
) -> tuple[Combination, ...]:
    """Return the rarest combinations; among unique ones, those that the fewest columns single out come first.

    The parameters are those of `veil.risk.analyze`. Ties are broken by the order of the table.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 20, 60], "sex": ["f", "f", "m", "m"]})
    >>> [(each.columns, each.records) for each in riskiest(table, ["age", "sex"])]
    [(('age',), 1), (('age', 'sex'), 1), ((), 2)]
    """
    if number < 1:
        raise ParameterError(f"`number` should be at least 1, not {number}")
    published = published_of(
        source, quasi_identifiers, marker=marker, untouched=untouched, person=person
    ).by_one_row()
    grouped = group_records(published, untouched=untouched)
    largest = min(affordable_size(len(grouped.names), SUBSETS), most_subsets(grouped))
    search = UniqueSearch(grouped, largest)
    for each in projections(grouped, largest):
        search.add(each)
    suda = search.score()
    first = np.full(grouped.sizes.size, grouped.of_record.size, np.int64)
    visible_rows = np.flatnonzero(grouped.of_record >= 0)
    np.minimum.at(first, grouped.of_record[visible_rows], visible_rows)
    by_row = {int(row): columns for columns, there in reversed(suda.minimal.items()) for row in there}
    needed = np.array([len(by_row.get(int(row), grouped.names)) for row in first])
    ranking = np.lexsort((first, -suda.scores[first], needed, grouped.sizes))[:number]
    rows = published.table.select(list(grouped.names)).take(first[ranking]).to_pylist()
    return tuple(
        Combination(
            int(grouped.sizes[at]),
            1 / int(grouped.sizes[at]),
            tuple(by_row.get(int(first[at]), ())),
            float(suda.scores[first[at]]),
            values,
        )
        for at, values in zip(ranking, rows, strict=True)
    )


@dataclass(frozen=True)
class Certain:
    """Records whose sensitive value can be inferred for certain from their class."""

    column: str
    records: int
    share: float


def certain_values(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None,
    sensitive: str | Iterable[str],
    *,
    person: str | None = ASK,
    marker: str | None = "*",
    untouched: bool = False,
) -> tuple[Certain, ...]:
    """Count the records in classes that show a single sensitive value; missing and withheld cells are no
    values.

    The share is of the records that are not suppressed. An attacker need not find the right row for this.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 30, 30], "ill": ["flu", "flu", "flu", "gout"]})
    >>> certain_values(table, "age", "ill")
    (Certain(column='ill', records=2, share=0.5),)
    """
    names = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    published = published_of(
        source, quasi_identifiers, marker=marker, untouched=untouched, person=person
    ).by_one_row()
    grouped = group_records(published, untouched=untouched)
    check_columns(published.table, names)
    visible_rows = np.flatnonzero(grouped.of_record >= 0)
    classes = grouped.of_record[visible_rows]
    certain = []
    for name in names:
        values, codes = encode_values(published.table[name])
        is_value = ~shows_no_value(values, published.marker)[codes[visible_rows]]
        pairs = np.unique((classes.astype(np.int64) * max(1, len(values)) + codes[visible_rows])[is_value])
        number = np.bincount(pairs // max(1, len(values)), minlength=grouped.sizes.size)
        alone = int(grouped.sizes[number == 1].sum())
        certain.append(Certain(name, alone, alone / max(1, grouped.records)))
    return tuple(certain)
