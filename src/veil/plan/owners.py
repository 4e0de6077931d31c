"""Owners of rows, by the column that distinguishes people."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import plural
from veil.errors import InputError, PlanError, Say
from veil.models.base import PrivacyModel
from veil.tables.canonical import widened
from veil.tables.rows import Knows, Owners, Rows, Weights
from veil.tables.spelling import encode_people
from veil.tables.tally import no_value
from veil.tables.text import canonical_text


def number_people(
    column: pa.ChunkedArray, name: str, weights: Weights | None = None, *, published: bool = False
) -> NDArray[np.int32]:
    """Number the people of a column, in order of first appearance.

    A row without a value is refused: it may belong to a person who has other rows, and counted as a person of
    its own it would make a class look larger than it is. The same holds for a text that means a missing
    value, such as "unknown"; in a `published` table these are suppressed people. `weights` are the numbers of
    records of the rows.

    >>> number_people(pa.chunked_array([["b", "a", "b"]]), "patient").tolist()
    [0, 1, 0]
    >>> number_people(pa.chunked_array([["b", None, "b"]]), "patient")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: column 'patient' should tell people apart, but has no value in 1 row, the first of them row 2: \
nobody can tell whose rows these are. Fill them in, or leave such rows out; if every row of the table is a different person, say \
so in `person`
    """
    weights = weights or Weights(len(column))
    canonical_text(pa.nulls(0, column.type), column=name)  # refuses types without a text form
    values, codes = encode_people(column, name)
    if published:
        missing = np.array(widened(values).is_null(nan_is_null=True), dtype=np.bool_)
    else:
        missing = no_value(values)
    if missing.any():
        without = np.flatnonzero(missing[codes])
        rows = plural(weights.sum_of(without), "row")
        where = f", the first of them row {without[0] + 1}" if weights.are_one else ""
        texts = [repr(each) for each in values.filter(pa.array(missing)).to_pylist() if isinstance(each, str)]
        what = f"no value ({', '.join(texts)} is none)" if texts else "no value"
        raise InputError(
            f"column {name!r} should tell people apart, but has {what} in {rows}{where}: nobody can tell "
            "whose rows these are. Fill them in, or leave such rows out; if every row of the table is a "
            "different person, say so in ",
            Say("person"),
        )
    return codes


def check_models_of_people(models: Iterable[PrivacyModel], knows: Knows) -> None:
    """Refuse models that cannot count people with several rows."""
    for model in models:
        reason = model.why_not_owners(all_rows=knows == "all rows")
        if reason is not None:
            raise PlanError(
                f"{model} cannot count people: {reason}. Leave it out; or, if every row is a "
                "different person, say so in ",
                Say("person"),
            )


def rows_of_people(
    table: pa.Table,
    person: str | None,
    weights: NDArray[np.int64] | None = None,
    knows: Knows = "one row",
    *,
    published: bool = False,
) -> Rows:
    """Return a table with the owners of its rows, by the column that distinguishes people; None: every record is one.

    See `number_people` for what is refused.
    """
    rows = Rows.of(table, weights)
    if person is None:
        return rows
    return rows.owned(
        Owners.coded(number_people(table[person], person, rows.weights, published=published), knows)
    )
