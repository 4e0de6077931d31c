"""Whether a cell shows nothing: the marker in text, a missing value in anything else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.tables.columns import encode_values, is_text


def shows_nothing(column: pa.Array | pa.ChunkedArray, marker: str | None) -> NDArray[np.bool_]:
    """Tell of each cell whether it shows what suppressed cells show.

    >>> shows_nothing(pa.array(["*", None, "a"]), "*").tolist(), shows_nothing(pa.array([1, None]), "*").tolist()
    ([True, False, False], [False, True])
    """
    if pa.types.is_dictionary(column.type):
        values, codes = encode_values(
            column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        )
        return shows_nothing(values, marker)[codes]
    if marker is None or not is_text(column.type):
        blank = pc.is_null(column)
    else:
        blank = pc.fill_null(pc.equal(column, marker), False)
    return np.array(blank, dtype=np.bool_)
