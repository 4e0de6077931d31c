"""What the record of one person says, by refinement of a prior.

People have names in a column, and one record each: of whoever has more, one takes part. A neighbour lacks a person; of nobody,
the answer is a draw from the prior. Nothing else that is in the table makes a difference, so that it is epsilon for "one more
or less", and dearer for "one changed" (see `veil.dp.refinement`). A row's number would be no name: whether somebody stands
above decides whose it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from veil.dp.declared import Declared, key_text
from veil.dp.price import Price
from veil.dp.priors import Prior
from veil.dp.questions.question import Chosen, Question, refined
from veil.dp.source import Selected
from veil.errors import ParameterError, Say


def record(declared: Declared, who: Any, column: str, price: Price, prior: Prior | None) -> Question:
    """Ask what somebody's record has in a column; `who` is as the column that tells people apart spells it."""
    person = declared.unit.person
    if person is None or declared.unit.rows > 1:
        raise ParameterError(
            "a question about one person needs a column that tells people apart, of which one record each takes part: "
            "name it in ",
            Say("person"),
            ", with rows_per_person=1. Rows have no numbers: who stands above decides what they are",
        )
    identify = declared.unit.identify
    wanted = identify(pa.array([key_text(who)], pa.string()))[0].as_py()
    if not wanted:
        raise ParameterError(f"`who` should be somebody's value of {person!r}, not {who!r}")
    expected = _default_prior(declared, column) if prior is None else prior
    if not isinstance(expected, Prior):
        raise ParameterError(f"a question about one person needs a prior as `noise`, not {prior!r}")
    points = {key_text(point): point for point in expected.points if not isinstance(point, tuple)}

    def truth(selected: Selected, chosen: Chosen) -> Any:
        people, cells = selected.cells[person], selected.cells[column]
        known = identify(pa.array(people.texts, pa.string())).to_pylist()
        is_wanted = np.array([text == wanted for text in known], bool)
        rows = np.flatnonzero(is_wanted[people.codes])
        if not rows.size:
            return None
        code = cells.codes[rows[0]]
        if expected.distance != "absolute":
            return points.get(cells.texts[code])
        number = float(cells.numbers[code] or "inf")
        return number if math.isfinite(number) else None

    mechanism, respond, accuracy = refined(truth, expected, price, "individual")
    label = f"{column} of {person} {who}"
    return Question(label, price, "one more or less", mechanism, (column, person), respond, accuracy)


def _default_prior(declared: Declared, column: str) -> Prior:
    """Expect nothing: all keys, or all numbers between the bounds, alike."""
    if column in declared.keys:
        return Prior.uniform(declared.keys[column])
    bounded = declared.bounded(column)
    return Prior.uniform(float(bounded.low), float(bounded.high))
