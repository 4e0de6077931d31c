"""Questions about the record of one person, by refinement of a prior.

A column identifies people, of whom one record each takes part. A neighbour lacks a person; about an absent
person, the answer is a draw from the prior. The answer depends on no other record, so it costs epsilon for
"one more or less", and more for "one changed" (see `veil.dp.refinement`). The number of a row identifies no
one, as it depends on the rows above.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from veil.dp.declared import Declared, key_text
from veil.dp.priors import Prior
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import Selected
from veil.errors import ParameterError, Say
from veil.questions.mechanisms.question import Question, RowMask, by_refinement


def record(declared: Declared, who: Any, column: str, loss: PrivacyLoss, prior: Prior | None) -> Question:
    """Ask for a person's value in a column; `who` is the person as spelled in the column of people."""
    person = declared.unit.person
    if person is None or declared.unit.rows > 1:
        raise ParameterError(
            "a question about one person needs a column that tells people apart, of which one record each takes part: "
            "name it in ",
            Say("person"),
            ", with rows_per_person=1. Rows have no numbers: who stands above decides what they are",
        )
    identify = declared.unit.identify
    identity = identify(pa.array([key_text(who)], pa.string()))[0].as_py()
    if not identity:
        raise ParameterError(f"`who` should be somebody's value of {person!r}, not {who!r}")
    expected = _default_prior(declared, column) if prior is None else prior
    if not isinstance(expected, Prior):
        raise ParameterError(f"a question about one person needs a prior as `noise`, not {prior!r}")
    points = {key_text(point): point for point in expected.points if not isinstance(point, tuple)}

    def truth(selected: Selected, mask: RowMask) -> Any:
        people, cells = selected.cells[person], selected.cells[column]
        identities = identify(pa.array(people.texts, pa.string())).to_pylist()
        match_mask = np.array([text == identity for text in identities], bool)
        rows = np.flatnonzero(match_mask[people.codes])
        if not rows.size:
            return None
        code = cells.codes[rows[0]]
        if expected.distance != "absolute":
            return points.get(cells.texts[code])
        number = float(cells.numbers[code] or "inf")
        return number if math.isfinite(number) else None

    mechanism, respond, accuracy = by_refinement(truth, expected, loss, "individual")
    label = f"{column} of {person} {who}"
    return Question(label, loss, "one more or less", mechanism, (column, person), respond, accuracy)


def _default_prior(declared: Declared, column: str) -> Prior:
    """Return a uniform prior over all keys, or over all numbers between the bounds."""
    if column in declared.keys:
        return Prior.uniform(declared.keys[column])
    bounded = declared.bounded(column)
    return Prior.uniform(float(bounded.low), float(bounded.high))
