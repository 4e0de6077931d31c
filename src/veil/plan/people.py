"""Who the rows are about: the column that tells people apart, read as numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.wording import plural
from veil.errors import InputError, Say
from veil.tables.columns import encode_comparable


def number_people(column: pa.ChunkedArray, name: str) -> NDArray[np.int32]:
    """Number the people of a column, in order of first appearance.

    A row without a value is refused. It could be one of somebody who has other rows, with or without a value: taken for
    a person of its own, it would make a class look larger than it is.

    >>> number_people(pa.chunked_array([["b", "a", "b"]]), "patient").tolist()
    [0, 1, 0]
    >>> number_people(pa.chunked_array([["b", None, "b"]]), "patient")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: column 'patient' should tell people apart, but has no value in 1 row, the first of them row 2: \
nobody can tell whose that is. Fill it in, or leave such rows out; if every row of the table is a person of its own, say \
so in `person`
    """
    values, codes = encode_comparable(column, name)
    missing = np.array(pc.is_null(values, nan_is_null=True), dtype=np.bool_)
    if missing.any():
        without = np.flatnonzero(missing[codes])
        raise InputError(
            f"column {name!r} should tell people apart, but has no value in {plural(len(without), 'row')}, the first of "
            f"them row {without[0] + 1}: nobody can tell whose that is. Fill it in, or leave such rows out; if every row "
            "of the table is a person of its own, say so in ",
            Say("person"),
        )
    return codes
