"""Re-identification risks of a table as it is, from the sizes of its classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.exact import decimal_fraction


@dataclass(frozen=True)
class Risk:
    """Risks of an attacker who knows that a person is in the table (prosecutor) or attacks all (marketer).

    Attributes
    ----------
    highest, lowest, average
        Probability of identifying a record correctly: 1 / class size; the average is the success rate of an
        attack on all records.
    at_risk
        Share of records whose risk is above the threshold.
    uniques
        Share of records that are alone in their class.
    classes, records
        Numbers that the figures refer to: suppressed records do not count.
    """

    highest: float
    lowest: float
    average: float
    at_risk: float
    uniques: float
    classes: int
    records: int
    threshold: float


def sample_risk(sizes: NDArray[np.int64], threshold: float = 0.2) -> Risk:
    """Compute the risks for classes of the given sizes.

    >>> sample_risk(np.array([3, 2, 2, 2])).average.__round__(6)
    0.444444
    """
    records = int(sizes.sum())
    if records == 0:
        return Risk(0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, threshold)
    return Risk(
        highest=1.0 / int(sizes.min()),
        lowest=1.0 / int(sizes.max()),
        average=sizes.size / records,
        at_risk=int(sizes[exposed(sizes, threshold)].sum()) / records,
        uniques=int(np.count_nonzero(sizes == 1)) / records,
        classes=int(sizes.size),
        records=records,
        threshold=threshold,
    )


def exposed(sizes: NDArray[np.int64], threshold: float) -> NDArray[np.bool_]:
    """Return for each class whether 1 / size is above the threshold, which is taken as an exact decimal.

    >>> exposed(np.array([2, 3, 4]), 0.3333).tolist(), exposed(np.array([4, 5, 6]), 0.2).tolist()
    ([True, True, False], [True, False, False])
    """
    exact = decimal_fraction(threshold)
    if exact <= 0:
        return np.ones(sizes.size, np.bool_)
    return sizes < math.ceil(1 / exact)
