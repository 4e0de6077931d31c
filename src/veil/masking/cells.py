"""What methods read from a table and put back: columns by name, numbers without gaps, codes of values, chances."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from veil.errors import InputError, PlanError, did_you_mean
from veil.exact import decimal_fraction
from veil.published import encoded
from veil.randomness import Randomness
from veil.tables.arrow import used_categories
from veil.tables.text import canonical_text


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} is named twice")
    return names


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_more, json_schema_input_type=str | list[str]),
    AfterValidator(_different),
]
"""Columns, one or several; one alone needs no brackets."""

Columns = Annotated[Names, Field(min_length=1)]
"""At least one column."""


def column_of(table: pa.Table, name: str, method: object) -> pa.ChunkedArray:
    """Return a column, as plain (not dictionary-encoded) values."""
    if name not in table.column_names:
        raise PlanError(
            f"{method}: the table has no column {name!r}.{did_you_mean(name, table.column_names)}"
        )
    column = table[name]
    if not is_comparable(column.type):
        raise InputError(
            f"{method}: column {name!r} holds values of type {column.type}, which cannot be compared. Turn it into "
            "plain columns first, or drop it"
        )
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_comparable(kind: pa.DataType) -> bool:
    """Whether values of a type can be told apart: all but structures and maps."""
    return not (pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_union(kind))


def is_ordered(kind: pa.DataType) -> bool:
    """Whether values of a type are categories that have an order."""
    return bool(pa.types.is_dictionary(kind) and kind.ordered)


def is_number(kind: pa.DataType) -> bool:
    """Whether values of a type are numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def numbers(table: pa.Table, name: str, method: object) -> NDArray[np.float64]:
    """Return a column of finite numbers; anything else is refused with the row and the way out.

    >>> numbers(pa.table({"age": [30, 41]}), "age", "Rounding")
    array([30., 41.])
    >>> numbers(pa.table({"age": [30, None]}), "age", "Rounding")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: Rounding: column 'age' has no value in row 2. Drop such rows, or fill them in first
    """
    column = column_of(table, name, method)
    require_numbers(column, name, method)
    found: NDArray[np.float64] = np.array(column.cast(pa.float64(), safe=False), dtype=np.float64)
    missing = np.flatnonzero(np.isnan(found))
    if missing.size:
        raise InputError(
            f"{method}: column {name!r} has no value in row {missing[0] + 1}. Drop such rows, or fill them in "
            "first"
        )
    endless = np.flatnonzero(np.isinf(found))
    if endless.size:
        raise InputError(
            f"{method}: column {name!r} holds {found[endless[0]]} in row {endless[0] + 1}, and finite numbers "
            "are needed. Drop such rows, or give them another value first"
        )
    return found


def require_numbers(column: pa.ChunkedArray, name: str, method: object) -> None:
    """Refuse a column of anything but numbers."""
    if not is_number(column.type):
        raise InputError(
            f"{method}: column {name!r} holds values of type {column.type}, and numbers are needed. Turn it into "
            "numbers first, or choose a method for categories"
        )


def refuse_constant(values: NDArray[Any], name: str, method: object) -> None:
    """Refuse a column with a single value, which the method would leave as it is."""
    if values.size and (values == values[0]).all():
        raise InputError(
            f"{method}: column {name!r} has the same value in every row, so that nothing would change. Leave it "
            "out"
        )


def ranks(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each row the place of its value among the distinct values in their order, and which are missing.

    Ordered categories have their own order.

    >>> ranks(pa.chunked_array([["b", None, "a", "b"]]))[0].tolist()
    [1, 2, 0, 1]
    """
    if is_ordered(column.type):
        places = np.concatenate(
            [np.array(each.indices.fill_null(-1)) for each in column.unify_dictionaries().chunks]
        )
        missing = places < 0
        return np.where(missing, places.max(initial=-1) + 1, places).astype(np.int64), missing
    values, codes = encoded(column)
    sortable = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
    order = np.array(pc.array_sort_indices(sortable, null_placement="at_end"), dtype=np.int64)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    missing = np.array(pc.is_null(values, nan_is_null=True), dtype=np.bool_)
    return place[codes], missing[codes]


def texts(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as text, in the canonical spelling of each value."""
    values, codes = encoded(column)
    return pa.chunked_array(
        [pa.array(canonical_text(values, column=name), pa.string()).take(pa.array(codes))]
    )


def groups(table: pa.Table, names: tuple[str, ...], method: object) -> NDArray[np.int64]:
    """Number the rows by their values in some columns, in order of first appearance; a missing value is a value.

    >>> groups(pa.table({"sex": ["f", "m", "f"]}), ("sex",), "").tolist()
    [0, 1, 0]
    """
    found = np.zeros(table.num_rows, np.int64)
    for name in names:
        values, codes = encoded(column_of(table, name, method))
        mixed = found * len(values) + codes
        found = np.array(pa.array(mixed).dictionary_encode().indices, dtype=np.int64)
    return found


def replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    """Return the table with other values in a column. Categories stay such, as long as no new ones are needed."""
    made = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values)])
    old = table[name]
    if pa.types.is_dictionary(old.type) and made.type == old.type.value_type:
        categories = old.unify_dictionaries().chunk(0).dictionary
        places = pc.index_in(made, categories).combine_chunks()
        if places.null_count == made.null_count:
            again = pa.DictionaryArray.from_arrays(
                places.cast(old.type.index_type), categories, ordered=old.type.ordered
            )
            made = used_categories(pa.chunked_array([again]))
    return table.set_column(table.column_names.index(name), name, made)


def happens(randomness: Randomness, probability: float, size: int) -> NDArray[np.bool_]:
    """Draw whether something of a given probability happens, `size` times; a tenth is exactly a tenth."""
    exact = decimal_fraction(probability).limit_denominator(2**62)
    return randomness.integers(exact.denominator, size) < exact.numerator


def rounded(number: Any) -> int:
    """Round a non-negative rational number to the nearest integer, a half up."""
    return int((2 * number + 1) // 2)
