"""Steps that replace cells one by one: what the verifier finds where people have several rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from veil.masking import BottomCoding, TopCoding
from veil.tables.rows import Owners, Rows
from veil.verification.steps.step import verify_step

PAY = [9.0, 10.0, 11.0, 1.0]


@pytest.mark.parametrize(
    ("codes", "shown", "holds"),
    [
        ([0, 0, 0, 1], 10.0, False),
        ([0, 0, 0, 1], 9.0, True),
        ([0, 0, 1, 2], 10.0, False),
        ([0, 1, 2, 3], 10.0, True),
        ([0, 1, 2, 3], 9.0, False),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_mean_of_a_tail_is_that_of_three_people(
    codes: list[int], shown: float, holds: bool, sign: int
) -> None:
    before = pa.table({"pay": [sign * each for each in PAY]})
    rows = Rows.of(before, owners=Owners.coded(np.array(codes, np.int32)))
    method = (TopCoding if sign > 0 else BottomCoding)("pay", sign * 9, replacement="mean")
    after = pa.table({"pay": [*[sign * shown] * 3, sign * 1.0]})
    assert verify_step(method, rows, after).holds == holds
