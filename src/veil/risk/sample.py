"""Re-identification risks of a table as it is, from the sizes of its classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Risk:
    """Risks of an attacker who knows that somebody is in the table (prosecutor) or attacks everybody (marketer).

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
        What the figures refer to: suppressed records do not count.
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
    exposed = int(sizes[1.0 / sizes > threshold].sum())
    return Risk(
        highest=1.0 / int(sizes.min()),
        lowest=1.0 / int(sizes.max()),
        average=sizes.size / records,
        at_risk=exposed / records,
        uniques=int(np.count_nonzero(sizes == 1)) / records,
        classes=int(sizes.size),
        records=records,
        threshold=threshold,
    )
