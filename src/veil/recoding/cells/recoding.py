"""A recoding cell by cell, and a solution with the proof of how good it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Integers, Mask


@dataclass(frozen=True, eq=False)
class CellRecoding:
    """The level of each cell (rows x columns), and the suppressed rows, whose levels mean nothing."""

    levels: NDArray[np.uint8]
    suppressed: Mask


@dataclass(frozen=True, eq=False)
class CellSolution:
    """A recoding, its cost, and a bound that no recoding of the problem can beat.

    Attributes
    ----------
    cost : int
        Sum over records of `CellProblem.costs`; a suppressed record costs `UNIT`.
    prices : array
        Price of a record of each row, which prove the bound.
    suppression_price : int
        How much more than `UNIT` a price may be where records may be suppressed.
    bound : int
        Proven least cost of any recoding.
    ending : str
        "finished", "converged", "time limit" or "cancelled".
    curve : list
        CPU seconds, cost, and bound after each improvement.
    """

    recoding: CellRecoding
    cost: int
    prices: Integers
    suppression_price: int
    bound: int
    ending: str
    curve: list[tuple[float, int, int | None]]
