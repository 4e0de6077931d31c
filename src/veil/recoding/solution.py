"""The solution of a recoding by cells or by values: the levels of every row, and what is known about better ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Integers


@dataclass(frozen=True, eq=False)
class RowRecoding:
    """The levels of every row of a prepared plan.

    Attributes
    ----------
    levels : array of rows x columns
        The level of each quasi-identifier of each row, also of suppressed ones.
    suppressed : array
        Which rows are suppressed.
    cost : int
        The sum over records of `CellProblem.costs`; a suppressed record costs `problem.UNIT`.
    ending : str
        Why the search ended.
    bound : int, optional
        What no recoding of this kind costs less than.
    prices, suppression_price : array and int, optional
        Prices of the rows that prove a bound on every recoding: see `veil.verification.lower_bound`.
    curve : tuple
        Seconds after the start, and the cost of the best recoding from then on.
    """

    levels: NDArray[np.uint8]
    suppressed: NDArray[np.bool_]
    cost: int
    ending: str
    bound: int | None = None
    prices: Integers | None = None
    suppression_price: int = 0
    curve: tuple[tuple[float, int], ...] = ()
