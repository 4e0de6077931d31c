"""Who the rows are about: the column that tells people apart, read as numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import plural
from veil.errors import InputError, Say
from veil.tables.canonical import widened
from veil.tables.rows import Knows, Owners
from veil.tables.spelling import encode_people
from veil.tables.tally import no_value
from veil.tables.text import canonical_text


def number_people(
    column: pa.ChunkedArray, name: str, weights: NDArray[np.int64] | None = None, *, published: bool = False
) -> NDArray[np.int32]:
    """Number the people of a column, in order of first appearance.

    A row without a value is refused. It could be one of somebody who has other rows, with or without a value: taken for
    a person of its own, it would make a class look larger than it is. So could one with a text that says that there is
    no value, such as "unknown"; in a `published` table that is how suppressed people are shown. `weights` tells how many
    records each row stands for.

    >>> number_people(pa.chunked_array([["b", "a", "b"]]), "patient").tolist()
    [0, 1, 0]
    >>> number_people(pa.chunked_array([["b", None, "b"]]), "patient")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: column 'patient' should tell people apart, but has no value in 1 row, the first of them row 2: \
nobody can tell whose rows these are. Fill them in, or leave such rows out; if every row of the table is a different person, say \
so in `person`
    """
    canonical_text(pa.nulls(0, column.type), column=name)  # refuses what has no text form
    values, codes = encode_people(column, name)
    if published:
        missing = np.array(widened(values).is_null(nan_is_null=True), dtype=np.bool_)
    else:
        missing = no_value(values)
    if missing.any():
        without = np.flatnonzero(missing[codes])
        rows = plural(len(without) if weights is None else int(weights[without].sum()), "row")
        where = "" if weights is not None else f", the first of them row {without[0] + 1}"
        texts = [repr(each) for each in values.filter(pa.array(missing)).to_pylist() if isinstance(each, str)]
        what = f"no value ({', '.join(texts)} is none)" if texts else "no value"
        raise InputError(
            f"column {name!r} should tell people apart, but has {what} in {rows}{where}: nobody can tell "
            "whose rows these are. Fill them in, or leave such rows out; if every row of the table is a "
            "different person, say so in ",
            Say("person"),
        )
    return codes


def owners_of(
    table: pa.Table,
    person: str | None,
    weights: NDArray[np.int64] | None = None,
    knows: Knows = "one row",
    *,
    published: bool = False,
) -> Owners:
    """Return the owners of a table by the column that distinguishes people; None if every record is a person.

    See `number_people` for what is refused.
    """
    if person is None:
        return Owners(table.num_rows)
    return Owners.coded(number_people(table[person], person, weights, published=published), knows)
