"""The input and output of a masking step, row by row, for its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.outcome.result import Origins
from veil.published.table import Published
from veil.tables.arrow import decode_column
from veil.tables.columns import encode_values
from veil.tables.rows import Rows
from veil.tables.text import canonical_text

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class MaskStep:
    """The input and output of a masking method, with its parameters and the input row of each output row."""

    method: Any
    before: Rows
    after: pa.Table
    origins: Origins
    apart: Mapping[str, pa.Table]

    @property
    def source(self) -> pa.Table:
        """The cells of the input."""
        return self.before.table

    def old(self, name: str) -> pa.ChunkedArray:
        """Return the input cells of a column, in the order of the output."""
        return self.origins.take(decode_column(self.source[name]))

    def new(self, name: str) -> pa.ChunkedArray:
        """Return the cells of a column of the output."""
        return decode_column(self.after[name])

    def pairs(self, name: str) -> tuple[pa.Array, pa.Array]:
        """Return the different pairs of cells of a column, before and after."""
        (old, old_codes), (new, new_codes) = encode_values(self.old(name)), encode_values(self.new(name))
        codes = np.unique(old_codes.astype(np.int64) * max(1, len(new)) + new_codes)
        before, after = np.divmod(codes, max(1, len(new)))
        return old.take(pa.array(before)), new.take(pa.array(after))

    def texts(self, name: str) -> list[tuple[str | None, str | None]]:
        """Return the different pairs of cells of a column, before and after, as text."""
        old, new = self.pairs(name)
        return list(zip(canonical_text(old, column=name), canonical_text(new, column=name), strict=True))

    def records(self, names: Sequence[str]) -> tuple[Integers, Integers]:
        """Number the combinations of cells in some columns, before and after, equal ones alike."""
        rows = self.after.num_rows
        numbers = np.zeros(2 * rows, np.int64)
        for name in names:
            old, new = self.old(name), self.new(name)
            both = pa.chunked_array([*old.chunks, *new.cast(old.type).chunks], old.type)
            values, codes = encode_values(both)
            numbers = np.unique(numbers * max(1, len(values)) + codes, return_inverse=True)[1]
        return numbers[:rows], numbers[rows:]

    def published(self, names: Sequence[str]) -> Published:
        """Return the output as seen by an attacker who knows some columns."""
        return Published(self.before.showing(self.after, self.origins.rows), list(names), suppressed="none")


def groups_of(columns: Sequence[pa.ChunkedArray], rows: int) -> Integers:
    """Number rows by their cells in some columns."""
    numbers = np.zeros(rows, np.int64)
    for column in columns:
        values, codes = encode_values(decode_column(column))
        numbers = np.unique(numbers * max(1, len(values)) + codes, return_inverse=True)[1]
    return numbers
