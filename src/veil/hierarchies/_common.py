"""What all builders do before and after their own work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.hierarchies._compile import empty
from veil.hierarchies.hierarchy import ROOT, Hierarchy, Naming


def present(values: pa.Array, column: str) -> pa.Array:
    """The values without the missing one, as plain (not dictionary-encoded) values."""
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
    """Compile the columns that a builder made, and add the missing value if the data has one.

    `naming` goes with labels that were made of the values of the data; see `Hierarchy.named_by`.
    """
    if not len(columns[0]):  # every value is missing
        return Hierarchy.from_rows([[None, ROOT]], level_names=[column, "all"])
    if names is None:
        names = [column, *(f"level {level}" for level in range(1, len(columns)))]
    made = Hierarchy.from_columns(
        columns,
        shares=shares,
        domain_size=domain_size,
        level_names=names,
        missing=None,
        source=f"the hierarchy built for column {column!r}",
    )
    made = made.with_missing() if values.null_count else made
    return made if naming is None else replace(made, naming=naming)


def natural_order(values: pa.Array) -> list[int]:
    """Indices that sort values, none of them missing, by type: numbers by size, text by character."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if pa.types.is_floating(values.type):  # -0.0 and 0.0 are equal, and yet two values
        numbers = values.to_numpy(zero_copy_only=False)
        by_number: list[int] = np.lexsort((~np.signbit(numbers), numbers)).tolist()
        return by_number
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    order: list[int] = pc.sort_indices(values).to_pylist()
    return order
