"""The solution of a recoding by cells or by values: the levels of every record, and what is known about better ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Integers


@dataclass(frozen=True, eq=False)
class CellSolution:
    """The levels of every row of a prepared plan.

    Attributes
    ----------
    levels : array of rows x columns
        The level of each quasi-identifier of each row, also of suppressed ones.
    suppressed : array
        Which rows are suppressed.
    ending : str
        Why the search ended, as a sentence of `release.ending`.
    bound : int, optional
        A total cost that no recoding with these hierarchies can beat, in `problem.UNIT` and of all records, suppressed
        ones included; None if there is none.
    why_no_bound : str
        Why there is none.
    prices : array, optional
        The price of each row that proves the bound: a figure of the input.
    curve : tuple of pairs
        Seconds after the start, and the total cost of the best recoding from then on.
    """

    levels: NDArray[np.uint8]
    suppressed: NDArray[np.bool_]
    ending: str
    bound: int | None = None
    why_no_bound: str = ""
    prices: Integers | None = None
    curve: tuple[tuple[float, int], ...] = ()
