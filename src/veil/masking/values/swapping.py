"""Swapping: records exchange values, so every value remains but may belong to another person."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from veil.base.arrays import Floats, Integers, Mask
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.masking.parameters import Columns, Names, in_random_order
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.columns import column_of, groups, ranks, refuse_constant, replace_column
from veil.tables.rows import Rows


@declared(kind_of=Method)
class DataSwapping(ColumnMethod):
    """Pairs of records, drawn at random, exchange their values in some columns.

    Partners come from the same stratum: they agree in the columns of `within`, so that every statistic of the
    swapped columns within a stratum stays. The swapped columns move together. Dalenius and Reiss (1982).

    >>> table = pa.table({"age": [26, 31, 39, 79]})
    >>> sorted(DataSwapping("age", 1.0).mask(Rows.of(table), Randomness()).table["age"].to_pylist())
    [26, 31, 39, 79]
    """

    columns: Annotated[Columns, Field(description="columns whose values are exchanged")]
    share: Annotated[float, Field(gt=0, le=1, description="share of the records that get a partner")]
    within: Annotated[Names, Field(description="columns in which swapped records must agree")] = ()
    kind: Literal["DataSwapping"] = Field(default="DataSwapping", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        for name in set(self.columns) & set(self.within):
            raise PlanError(f"{self}: column {name!r} cannot be both swapped and in `within`")
        refuse_constant(groups(table, self.columns, self), ", ".join(self.columns), self)
        strata = groups(table, self.within, self)
        sizes = np.bincount(strata)
        share = decimal_fraction(self.share)
        # Half the share of each stratum, rounded, in Python integers, which do not overflow.
        exact = (sizes.astype(object) * share.numerator + share.denominator) // (2 * share.denominator)
        pairs = np.minimum(exact.astype(np.int64), sizes // 2)
        # In a random order sorted by stratum, neighbours are random partners.
        order = in_random_order(strata, randomness)
        place = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        swapped = place < 2 * pairs[strata[order]]
        partner = np.where(place % 2 == 0, 1, -1)
        source = np.arange(table.num_rows)
        source[order[swapped]] = order[np.flatnonzero(swapped) + partner[swapped]]
        for name in self.columns:
            table = replace_column(table, name, column_of(table, name, self).take(pa.array(source)))
        return MaskedTable(table, facts={"records with a partner": int(2 * pairs.sum())})


@declared(kind_of=Method)
class RankSwapping(ColumnMethod):
    """Each value is exchanged with one whose rank differs by at most p percent of the records.

    Column by column: records are ranked, equal values in random order; from the lowest rank on, each record
    that has no partner yet gets one, drawn from the next p percent of the ranks among those that have none.
    Moore, Controlled Data-Swapping Techniques for Masking Public Use Microdata Sets (1996). Missing values
    stay where they are.

    With `by`, the ranks are those of another column, and all columns move together between records that are
    close in it. With `keep_extremes`, the smallest and the largest value stay in place; an attacker who knows
    who has them then learns nothing new, but is right.

    >>> table = pa.table({"income": [100, 10_000, 120, 90]})
    >>> sorted(RankSwapping("income", 50).mask(Rows.of(table), Randomness()).table["income"].to_pylist())
    [90, 100, 120, 10000]
    """

    columns: Annotated[Columns, Field(description="columns whose values are exchanged")]
    p: Annotated[
        float, Field(ge=0, le=100, description="largest difference of ranks, in percent of the records")
    ]
    by: Annotated[str | None, Field(description="column that ranks the records; by default each its own")] = (
        None
    )
    keep_extremes: Annotated[bool, Field(description="whether smallest and largest value stay in place")] = (
        False
    )
    kind: Literal["RankSwapping"] = Field(default="RankSwapping", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        window = int(decimal_fraction(self.p) * table.num_rows // 100)
        if window < 1:
            raise PlanError(
                f"{self}: {self.p:g} percent of {table.num_rows} records is less than one rank, so nothing "
                f"would change. Choose a `p` of at least {100 / table.num_rows:.6g}"
            )
        masked, facts = table, {"largest difference of ranks allowed": window}
        for name in self.columns:
            refuse_constant(groups(table, (name,), self), name, self)
        for name in self.columns if self.by is None else (self.by,):
            column_of(table, name, self)  # raises if it is missing
            source = self._sources(table[name], window, randomness)
            for column in self.columns if self.by is not None else (name,):
                masked = replace_column(masked, column, column_of(table, column, self).take(pa.array(source)))
        return MaskedTable(masked, facts=facts)

    def _sources(self, column: pa.ChunkedArray, window: int, randomness: Randomness) -> Integers:
        """Return for each row the row that its value comes from."""
        place, missing = ranks(column)
        fixed = missing.copy()
        if self.keep_extremes and not missing.all():
            present = place[~missing]
            fixed |= (place == present.min()) | (place == present.max())
        order = in_random_order(place, randomness)
        partner = np.arange(place.size)
        _pair(fixed[order], window, randomness.uniform(place.size), partner)
        source = np.empty(place.size, np.int64)
        source[order] = order[partner]
        return source


@kernel
def _pair(fixed: Mask, window: int, draws: Floats, partner: NDArray[Any]) -> None:
    """Pair each rank without a partner with a random free one of the next `window` ranks, if there is any.

    A Fenwick tree counts the free ranks, so that one of them can be selected by its number.
    """
    # Build the tree.
    size = fixed.size
    tree = np.zeros(size + 1, np.int64)
    for i in range(size):
        if not fixed[i]:
            j = i + 1
            while j <= size:
                tree[j] += 1
                j += j & -j
    top = 1
    while top * 2 <= size:
        top *= 2
    paired = fixed.copy()
    for i in range(size):
        if paired[i]:
            continue
        paired[i] = True
        j = i + 1
        while j <= size:
            tree[j] -= 1
            j += j & -j
        # All free ranks are after i, so count them to the end of the window.
        free = 0
        j = min(size, i + 1 + window)
        while j > 0:
            free += tree[j]
            j -= j & -j
        if free == 0:
            continue
        # Find the drawn one by descending the tree, and pair it.
        remaining = min(int(draws[i] * free), free - 1) + 1
        at = 0
        step = top
        while step > 0:
            if at + step <= size and tree[at + step] < remaining:
                at += step
                remaining -= tree[at]
            step //= 2
        paired[at] = True
        j = at + 1
        while j <= size:
            tree[j] -= 1
            j += j & -j
        partner[i] = at
        partner[at] = i
