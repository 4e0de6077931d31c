"""A session with a small table, and one whose noise is always 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veil.base.randomness import Randomness
from veil.dp import Accountant
from veil.questions import Session

PATIENTS = pa.table(
    {
        "age": [34, 71, 68, 25, None, 190],
        "sex": ["f", "m", "f", "f", None, "x"],
        "income": [100.0, 250.5, -30.0, 0.25, 5e9, None],
        "id": [1, 2, 3, 4, 5, 5],
    }
)


class NoNoise(Randomness):
    """Digits of which every noise is 0, and every choice the last one that has a chance: to see the truth behind."""

    is_private = False

    def bits(self, size: int) -> np.ndarray:
        return np.full(size, 2**64 - 1, np.uint64)


def open_session(source: Any = PATIENTS, budget: object = 10**6, **options: Any) -> Session:
    given_options = {
        "neighbours": "one more or less",
        "person": None,
        "bounds": {"age": (0, 120), "income": (-100, 1000)},
        "keys": {"sex": ["f", "m"]},
        "missing": {"age": "leave out", "income": 0},
        "constant_time": False,
        **options,
    }
    neighbours = given_options["neighbours"]
    accountant = budget if isinstance(budget, Accountant) else Accountant(budget, neighbours=neighbours)  # type: ignore[arg-type]
    return Session(source, accountant, **given_options)  # type: ignore[arg-type]


def truths(**options: Any) -> Session:
    return open_session(randomness=NoNoise(), **options)
