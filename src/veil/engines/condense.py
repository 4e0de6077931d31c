"""The condensed table: every combination of cells that occurs, once, with its number of records.

That is a `GROUP BY` of the engine. Its result grows with the number of combinations, not with the number of
rows, and everything that Veil decides, it decides on that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.engines.dialects import collect
from veil.engines.dialects.values import parse_texts
from veil.engines.lookups import Digit, Lookup, Packing, free_prefix, keys
from veil.errors import InputError
from veil.tables.arrow import normalize

if TYPE_CHECKING:
    import ibis

    from veil.engines.relation import Relation

_BATCH = 250_000
"""Rows that are fetched at a time."""


@dataclass(frozen=True, eq=False)
class Condensed:
    """Combinations of cells of some columns, and the number of records of each.

    Attributes
    ----------
    table
        One row a combination, columns dictionary-encoded, in an order that does not depend on the engine's.
    weights
        Number of records of each row.
    engine_values
        The dictionary of each column as the engine spells it; `table` has it as Veil reads it.
    """

    table: pa.Table
    weights: NDArray[np.int64]
    engine_values: dict[str, pa.Array]

    def values(self, name: str) -> pa.Array:
        """Return the different values of a column as Veil reads them, in the order of the codes."""
        return self.table[name].chunk(0).dictionary

    def codes(self, name: str) -> NDArray[np.int32]:
        """Return the code of each row."""
        return np.array(self.table[name].chunk(0).indices)

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return a mask of the values that are missing to Veil."""
        return np.array(self.values(name).is_null(), np.bool_)

    def lookup(self, tag: str, name: str, payload: dict[str, pa.Array]) -> Lookup:
        """Return a look-up with labels or numbers for the values of a column."""
        return Lookup(tag, name, self.engine_values[name], self.missing(name), payload)


def condense(relation: Relation, columns: Sequence[str]) -> Condensed:
    """Let an engine that distinguishes all texts (see `veil.engines.copy`) count combinations of columns.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> people = ibis.memtable({"sex": ["m", "f", "m"], "age": [30, 30, 30]})
    >>> condensed = condense(relation_of(people), ["sex", "age"])
    >>> condensed.table.to_pylist(), condensed.weights.tolist()
    ([{'sex': 'f', 'age': 30}, {'sex': 'm', 'age': 30}], [1, 2])
    """
    # Combinations are counted by number if single columns are read cheaply. Otherwise every column would be
    # one more pass over all rows.
    counted = _by_number if relation.dialect.counts_by_number else _by_value
    values, codes, weights = counted(relation, columns)
    if not weights.size:
        nothing = relation.table.select(list(columns)).schema().to_pyarrow().empty_table()
        values = {name: pa.array([], _kind(nothing[name].type)) for name in columns}
        empty = {name: each.dictionary_encode() for name, each in values.items()}
        return Condensed(pa.table(empty), weights, values)
    order = _order(codes, [len(values[name]) for name in columns])
    cells = {}
    for name in columns:
        indices = pa.array(codes.pop(0)[order])
        cells[name] = pa.DictionaryArray.from_arrays(indices, _as_veil_sees(relation, name, values[name]))
    return Condensed(pa.table(cells), weights[order], values)


_Counted = tuple[dict[str, pa.Array], list[NDArray[np.int32]], NDArray[np.int64]]
"""Values of each column in ascending order, code of each column in each combination, records of each."""


def _by_value(relation: Relation, columns: Sequence[str]) -> _Counted:
    """Group by the cells themselves."""
    table = relation.table.select(**keys(relation.table, columns))
    records = f"{free_prefix(columns)}_records"
    grouped = table.group_by(list(columns)).agg(**{records: table.count()})
    counts: list[NDArray[np.int64]] = []
    chunks: dict[str, list[pa.DictionaryArray]] = {name: [] for name in columns}
    for batch in relation.batches(grouped, _BATCH):
        counts.append(np.array(batch.column(len(columns)).cast(pa.int64())))
        for number, name in enumerate(columns):
            cells = _plain(batch.column(number), name)
            chunks[name].append(cells.dictionary_encode(null_encoding="encode"))
    values, codes = {}, []
    for name in columns if counts else ():
        encoded = chunks.pop(name)
        values[name], places = _sort_values(pa.chunked_array([each.dictionary for each in encoded]))
        if pa.types.is_binary(values[name].type):
            relation.dialect.check_lengths(name, values[name])
        starts = np.cumsum([0, *(len(each.dictionary) for each in encoded)])
        codes.append(
            np.concatenate(
                [places[start + np.array(each.indices)] for each, start in zip(encoded, starts, strict=False)]
            )
        )
    return values, codes, np.concatenate(counts or [np.empty(0, np.int64)])


def _by_number(relation: Relation, columns: Sequence[str]) -> _Counted:
    """Number the values of each column first, and group by the numbers, packed into one."""
    values, digits, tag = {}, [], free_prefix(columns)
    table, comparable = relation.table.select(list(columns)), keys(relation.table, columns)
    for number, name in enumerate(columns):
        cells = collect(
            relation.backend, relation.table.select(**{name: comparable[name]}).distinct()
        ).column(0)
        values[name] = _sort_values(
            pa.chunked_array([_plain(each, name) for each in cells.chunks], _kind(cells.type))
        )[0]
        missing = np.array(_as_veil_sees(relation, name, values[name]).is_null(), dtype=np.bool_)
        lookup = Lookup(
            f"{tag}_{number}", name, values[name], missing, {"c": pa.array(np.arange(len(values[name])))}
        )
        table = lookup.join_to(table)
        digits.append(Digit(lookup, "c", max(1, len(values[name]))))
    packing = Packing(f"{tag}_k", digits)
    table = table.select(**packing.words(table))
    grouped = table.group_by(packing.names).agg(**{f"{tag}_records": table.count()})
    *words, weights = fetch_integers(relation, grouped)
    return values, packing.unpack(words), weights


def fetch_integers(
    relation: Relation, table: ibis.Table, check: Callable[[pa.Array], None] = lambda _: None
) -> list[NDArray[np.int64]]:
    """Fetch columns of integers, each batch of which is checked."""
    chunks: list[list[NDArray[np.int64]]] = [[] for _ in table.columns]
    for batch in relation.batches(table, _BATCH):
        for each, column in zip(chunks, batch.columns, strict=True):
            check(column)
            each.append(np.array(column.cast(pa.int64())))
    return [np.concatenate(each or [np.empty(0, np.int64)]) for each in chunks]


def _as_veil_sees(relation: Relation, name: str, values: pa.Array) -> pa.Array:
    """Return values of the engine as Veil reads them."""
    kind = relation.table.schema()[name]
    if pa.types.is_binary(values.type):
        values = values.cast(pa.string())
    if pa.types.is_string(values.type) and not kind.is_string():
        values = _read(values, kind, f"{relation.name}: column {name!r}")
    elif kind.is_float32():
        values = values.cast(pa.float32())
    return normalize(pa.table({name: relation.arrow_view(name, values)}))[name].combine_chunks()


def _read(texts: pa.Array, kind: Any, name: str) -> pa.Array:
    """Parse values that the engine stores as text."""
    try:
        return parse_texts(texts, kind.to_pyarrow())
    except pa.ArrowException as error:
        raise InputError(
            f"{name} should hold values of type {kind}, but: {error}. Correct such values, or use a view "
            "that has the column as text"
        ) from None


def _kind(kind: pa.DataType) -> pa.DataType:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(plain) or pa.types.is_string_view(plain) else plain


def _plain(cells: pa.Array, name: str) -> pa.Array:
    """Return cells of a type that can be compared; refuse others."""
    kind = _kind(cells.type)
    if pa.types.is_nested(kind):
        raise InputError(
            f"column {name!r} holds values of type {kind}, which cannot be compared. Cast it to text or numbers in the "
            "engine, or drop it"
        )
    return cells if cells.type == kind else cells.cast(kind)


def _sort_values(cells: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the different values in ascending order, missing ones last, and the place of each cell."""
    encoded = pc.dictionary_encode(cells, null_encoding="encode")
    # Without chunks, Arrow cannot combine arrays of some types, such as dates.
    array: Any = (
        encoded.combine_chunks() if encoded.num_chunks else pa.array([], cells.type).dictionary_encode()
    )
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    order = np.array(pc.array_sort_indices(array.dictionary, null_placement="at_end"), np.int64)
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return array.dictionary.take(pa.array(order)), rank[np.array(array.indices)]


def _order(codes: list[NDArray[np.int32]], sizes: list[int]) -> NDArray[np.int64]:
    """Order rows by their codes, the first column first, so that no result depends on the engine's order."""
    keys, room = [np.zeros(codes[0].size, np.int64)], 1
    for column, size in zip(codes, sizes, strict=True):
        if room * size >= 2**62:
            keys.append(np.zeros(column.size, np.int64))
            room = 1
        keys[-1] *= size
        keys[-1] += column
        room *= size
    return np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
