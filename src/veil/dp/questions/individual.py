"""What the record of one person says, by refinement of a prior.

Records have numbers, or names in a column. A neighbour lacks a record, and its number or name stands for nobody then; of
nobody, and of a name that several records have, the answer is a draw from the prior. So it is epsilon for "one more or less",
and dearer for "one changed" (see `veil.dp.refinement`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veil.dp.declared import Declared, key_text
from veil.dp.held import Selected
from veil.dp.price import Price
from veil.dp.priors import Prior
from veil.dp.questions.question import Chosen, Question, refined
from veil.errors import ParameterError
from veil.tables.columns import encode_values
from veil.tables.text import canonical_text


def record(
    declared: Declared, who: Any, column: str, price: Price, prior: Prior | None, person: str | None
) -> Question:
    """Ask what the record of somebody has in a column: the row of a number, or the one with a name in `person`."""
    if person is None and (isinstance(who, bool) or not isinstance(who, int | np.integer) or who < 0):
        raise ParameterError(
            f"identify a record by its number, counted from 0, not by {who!r}; or name `person`"
        )
    expected = _default_prior(declared, column) if prior is None else prior
    if not isinstance(expected, Prior):
        raise ParameterError(f"a question about one person needs a prior as `noise`, not {prior!r}")
    texts = {key_text(point): point for point in expected.points if not isinstance(point, tuple)}

    def truth(selected: Selected, chosen: Chosen) -> Any:
        found = _rows_of(selected.table, who, person)
        if len(found) != 1 or (selected.weights is not None and selected.weights[found[0]] != 1):
            return None
        cell = selected.table[column].slice(int(found[0]), 1)
        if expected.distance == "absolute":
            value = cell[0].as_py()
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
            return value if is_number else None
        text = canonical_text(cell, column=column)[0]
        return texts.get(text, text)

    mechanism, respond, accuracy = refined(truth, expected, price, "individual")
    names = (column,) if person is None else (column, person)
    label = f"{column} of record {who}" if person is None else f"{column} of {person} {who}"
    return Question(
        label,
        price,
        "one more or less",
        mechanism,
        names,
        respond,
        accuracy,
        needs_rows=person is None,
    )


def _rows_of(table: pa.Table, who: Any, person: str | None) -> Any:
    if person is None:
        return [who] if who < table.num_rows else []
    values, codes = encode_values(table[person])
    wanted = key_text(who)
    numbers = [code for code, text in enumerate(canonical_text(values, column=person)) if text == wanted]
    return np.flatnonzero(np.isin(codes, numbers))


def _default_prior(declared: Declared, column: str) -> Prior:
    """Expect nothing: all keys, or all numbers between the bounds, alike."""
    if column in declared.keys:
        return Prior.uniform(declared.keys[column])
    bounded = declared.bounded(column)
    return Prior.uniform(float(bounded.low), float(bounded.high))
