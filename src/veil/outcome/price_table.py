"""The prices of a lower bound as a secret table: by the distinct cells of the input, which it gives away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.distinct import distinct_rows
from veil.errors import InputError
from veil.outcome.lower_bound import LowerBound
from veil.outcome.result import Apart
from veil.plan.class_size import ForcedSize
from veil.tables.columns import encode_values
from veil.tables.rows import Rows
from veil.tables.text import canonical_array, canonical_text

NAME = "lower bound"
"""Name of the table."""

PRICE, SUPPRESSION_PRICE, BOUND = f"{NAME}: price", f"{NAME}: price of suppression", f"{NAME}: total"
NUMBERS = (PRICE, SUPPRESSION_PRICE, BOUND)
"""Columns: the price of each record with the cells, and in all rows alike that of a suppressed record, and the bound."""


def price_table(proof: LowerBound, table: pa.Table, quasi_identifiers: Sequence[str]) -> Apart:
    """Return the prices by distinct cells of an input, as a table for a file that is kept apart."""
    names = columns_of_cells(quasi_identifiers, proof.attribute)
    columns = [_texts(table[name]) for name in names]
    first, groups = _distinct(columns)
    if (proof.prices[first][groups] != proof.prices).any():
        raise InputError("rows with the same cells have different prices")
    numbers = {
        PRICE: proof.prices[first].tolist(),
        SUPPRESSION_PRICE: [proof.suppression_price] * first.size,
        BOUND: [proof.bound] * first.size,
    }
    cells = {name: column.take(pa.array(first)) for name, column in zip(names, columns, strict=True)}
    texts = {name: pa.array(map(str, each), pa.string()) for name, each in numbers.items()}
    return Apart(NAME, pa.table(cells | texts), True)


def proof_of_table(
    prices: pa.Table, rows: Rows, quasi_identifiers: Sequence[str], size: ForcedSize
) -> LowerBound:
    """Return the proof in a table of prices, for the rows of an input; cells that it does not list have a price of 0."""
    names = columns_of_cells(quasi_identifiers, size.attribute)
    lacking = [name for name in (*names, *NUMBERS) if name not in prices.column_names]
    if lacking:
        raise InputError(
            f"the prices of the lower bound have no column {lacking[0]!r}: give the table {NAME!r} that was kept apart "
            "when this input was anonymized by this plan"
        )
    columns = [
        pa.chunked_array([*_texts(prices[name]).chunks, *_texts(rows.table[name]).chunks], pa.string())
        for name in names
    ]
    _, groups = _distinct(columns)
    by_group = np.zeros(groups.size, object)
    by_group[groups[: prices.num_rows]] = _integers(prices, PRICE)
    bounds, suppression_prices = set(_integers(prices, BOUND)), set(_integers(prices, SUPPRESSION_PRICE))
    if len(bounds) != 1 or len(suppression_prices) != 1:
        raise InputError(
            f"columns {BOUND!r} and {SUPPRESSION_PRICE!r} should have one number each, in all rows"
        )
    return LowerBound(
        bounds.pop(),
        rows.records,
        size.smallest,
        size.allowed,
        by_group[groups[prices.num_rows :]],
        suppression_prices.pop(),
        size.attribute,
        size.least_values,
    )


def columns_of_cells(quasi_identifiers: Sequence[str], attribute: str | None) -> list[str]:
    """Return the columns by whose cells prices differ."""
    return [*quasi_identifiers, *([] if attribute is None else [attribute])]


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return canonical_array(column).cast(pa.string())


def _distinct(columns: Sequence[pa.ChunkedArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return distinct_rows((encode_values(column)[1] for column in columns), len(columns[0]))


def _integers(table: pa.Table, name: str) -> list[int]:
    """Return the numbers of a column, of any size."""
    try:
        return [int(text) for text in canonical_text(table[name])]  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError):
        raise InputError(
            f"column {name!r} of the prices of the lower bound should have whole numbers"
        ) from None
