"""Steps that all builders share: preparing values, and compiling the hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.hierarchies._compile import empty
from veil.hierarchies.hierarchy import ROOT, Hierarchy, Level, Naming


def present(values: pa.Array, column: str) -> pa.Array:
    """Return the values without the missing one, as plain (not dictionary-encoded) values."""
    if not len(values):
        raise empty(f"column {column!r} has no values, and so its hierarchy")
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return pc.drop_null(values)


def finish(
    columns: Sequence[Sequence[str]],
    values: pa.Array,
    column: str,
    *,
    names: Sequence[str] | None = None,
    shares: Sequence[npt.ArrayLike] | None = None,
    domain_size: float | None = None,
    naming: Naming | None = None,
) -> Hierarchy:
    """Compile the columns of a builder, and add the missing value if the data has one.

    `naming` is for labels that are derived from the values of the data; see `Hierarchy.named_by`.
    """
    if not len(columns[0]):  # every value is missing
        return Hierarchy.from_rows([[None, ROOT]], level_names=[column, "all"])
    if names is None:
        names = [column, *(f"level {level}" for level in range(1, len(columns)))]
    hierarchy = Hierarchy.from_columns(
        columns,
        shares=shares,
        domain_size=domain_size,
        level_names=names,
        missing=None,
        source=f"the hierarchy built for column {column!r}",
    )
    hierarchy = hierarchy.with_missing() if values.null_count else hierarchy
    return hierarchy if naming is None else replace(hierarchy, naming=naming)


@dataclass(frozen=True)
class InOrder:
    """The sorted texts of values, the permutation of the present values, and whether all texts differ."""

    texts: pa.Array
    order: npt.NDArray[np.intp]
    distinct: bool


def by_key(keys: npt.NDArray[Any], texts: pa.Array) -> InOrder:
    """Sort values by a key, and values with equal keys by their texts.

    >>> by_key(np.array([2, 1, 1]), pa.array(["a", "c", "b"])).order.tolist()
    [2, 1, 0]
    """
    order = np.argsort(keys)
    distinct = not (keys[order[1:]] == keys[order[:-1]]).any()
    if not distinct:
        table = pa.table({"key": keys, "text": texts})
        sorted_ = pc.sort_indices(table, [("key", "ascending"), ("text", "ascending")])
        order = np.asarray(sorted_).astype(np.intp)
    return in_order(texts, order, distinct)


def in_order(texts: pa.Array, order: npt.NDArray[np.intp], distinct: bool = False) -> InOrder:
    """Permute texts by an order in which equal texts are neighbours."""
    ordered = texts.take(pa.array(order))
    return InOrder(
        ordered, order, distinct or not pc.any(pc.equal(ordered[1:], ordered[:-1]), min_count=0).as_py()
    )


def runs(ordered: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the start of each run of equal neighbours, and the number of the run of each item.

    >>> [each.tolist() for each in runs(np.array([5, 5, 7]))]
    [[0, 2], [0, 0, 1]]
    """
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).astype(bool)
    return np.flatnonzero(new), np.cumsum(new) - 1


def finish_sorted(
    placed: InOrder,
    group: npt.NDArray[np.intp],
    levels: Sequence[Level],
    values: pa.Array,
    column: str,
    *,
    names: Sequence[str],
    shares: Sequence[npt.ArrayLike] | None = None,
    domain_size: float | None = None,
) -> Hierarchy:
    """Compile many sorted values, given the group of each, as `finish` does; see `Hierarchy.from_groups`."""
    if not placed.distinct or not len(placed.texts):
        columns = [placed.texts.to_pylist()]
        columns += [[labels[code] for code in codes[group].tolist()] for codes, labels in levels]
        return finish(columns, values, column, names=names, shares=shares, domain_size=domain_size)
    hierarchy = Hierarchy.from_groups(
        placed.texts, group, levels, shares=shares, domain_size=domain_size, level_names=names
    )
    hierarchy = hierarchy.with_missing() if values.null_count else hierarchy
    codes = np.full(len(values), len(placed.texts), np.int32)  # the missing value comes last
    there = np.flatnonzero(np.asarray(pc.is_valid(values))) if values.null_count else None
    codes[placed.order if there is None else there[placed.order]] = np.arange(
        len(placed.texts), dtype=np.int32
    )
    return replace(hierarchy, made_of=(values, codes))


def natural_order(values: pa.Array) -> list[int]:
    """Return indices that sort values without missing ones by type: numbers by size, text by character."""
    order: list[int] = sorted_by_type(values).tolist()
    return order


def sorted_by_type(values: pa.Array) -> npt.NDArray[np.intp]:
    """Return `natural_order` as an array, for many values."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if pa.types.is_floating(values.type):  # -0.0 and 0.0 are equal, but two values
        numbers = values.to_numpy(zero_copy_only=False)
        return np.lexsort((~np.signbit(numbers), numbers))
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    return np.asarray(pc.sort_indices(values)).astype(np.intp)
