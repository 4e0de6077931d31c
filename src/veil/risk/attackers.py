"""Three attackers, by what they know: prosecutor, journalist and marketer.

The *prosecutor* knows that a person is in the table and looks for their record: in a class of f records this
succeeds with probability 1/f. The *journalist* only knows that the person is in the population that the
records were sampled from: if F people match a class, this succeeds with probability 1/F. The *marketer* links
all records and counts the correct links. Without a population, the table is the population: F = f. El Emam
(2013), "Guide to the De-Identification of Personal Health Information".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.errors import InputError, ParameterError
from veil.models.average_risk import smallest_safe_size
from veil.models.base import PromisedRisk
from veil.risk.reidentification import exposed


@dataclass(frozen=True)
class Attack:
    """Risks of the records of a table under one attacker; all are 0 if there is no record.

    Attributes
    ----------
    highest, lowest, average
        Probabilities of identifying a record.
    at_risk
        Share of the records with a probability above the threshold.
    success_rate
        Share of the records that an attack on all of them identifies.
    affected_by_highest, affected_by_lowest
        Share of the records that have the highest and the lowest risk.
    estimated
        The highest risk, or the bound that the privacy models of the release promise, if that is less.
    """

    highest: float = 0.0
    lowest: float = 0.0
    average: float = 0.0
    at_risk: float = 0.0
    success_rate: float = 0.0
    affected_by_highest: float = 0.0
    affected_by_lowest: float = 0.0
    estimated: float = 0.0


@dataclass(frozen=True)
class Marketer:
    """Success of an attack on all records; no single record matters to this attacker.

    `estimated` is classes / records, or the bound that the models of the release promise, if that is less.
    """

    success_rate: float = 0.0
    estimated: float = 0.0


@dataclass(frozen=True)
class Attackers:
    """The three attackers together.

    `effective_threshold` is 1/k for the smallest class size k that the threshold allows; thresholds up to one
    percent below 1/k count as 1/k (0.3333 as a third).
    """

    prosecutor: Attack
    journalist: Attack
    marketer: Marketer
    threshold: float
    effective_threshold: float


def attacker_risks(
    sizes: NDArray[np.int64],
    threshold: float = 0.2,
    *,
    everybody: NDArray[np.int64] | None = None,
    limits: PromisedRisk | None = None,
) -> Attackers:
    """Compute the risks for classes of the given sizes.

    `everybody` is the number of people in the population who match each class.

    >>> risks = attacker_risks(np.array([4, 2]), 0.3, everybody=np.array([5, 4]))
    >>> risks.prosecutor.at_risk.__round__(4), risks.journalist.highest, risks.marketer.success_rate.__round__(6)
    (0.3333, 0.25, 0.216667)
    """
    check_threshold(threshold)
    promised = limits or PromisedRisk()
    people = sizes if everybody is None else everybody
    if (people < sizes).any():
        raise InputError(
            f"the population lacks records of {np.count_nonzero(people < sizes)} classes of the table. It "
            "should contain everybody the records were selected from, with the same labels as in the table"
        )
    smallest = smallest_safe_size(threshold)
    records = int(sizes.sum())
    linked = _average_match_chance(sizes, people, records)
    attacks = {
        "prosecutor": _attack(sizes, sizes, threshold, promised.prosecutor),
        "journalist": _attack(sizes, people, threshold, promised.journalist),
    }
    return Attackers(
        **attacks,
        marketer=Marketer(linked, min(sizes.size / max(1, records), promised.marketer)),
        threshold=threshold,
        effective_threshold=0.0 if smallest is None else 1.0 / smallest,
    )


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is no probability."""
    if not 0 <= threshold <= 1:
        raise ParameterError(f"`threshold` should be from 0 to 1, not {threshold:g}")


def _attack(sizes: NDArray[np.int64], people: NDArray[np.int64], threshold: float, promised: float) -> Attack:
    records = int(sizes.sum())
    if records == 0:
        return Attack()
    fewest, most = int(people.min()), int(people.max())
    average = _average_match_chance(sizes, people, records)
    return Attack(
        highest=1.0 / fewest,
        lowest=1.0 / most,
        average=average,
        at_risk=int(sizes[exposed(people, threshold)].sum()) / records,
        success_rate=max(sizes.size / int(people.sum()), average),
        affected_by_highest=int(sizes[people == fewest].sum()) / records,
        affected_by_lowest=int(sizes[people == most].sum()) / records,
        estimated=min(1.0 / fewest, promised),
    )


def _average_match_chance(sizes: NDArray[np.int64], people: NDArray[np.int64], records: int) -> float:
    """Return the mean of f/F over records; one division for each different F keeps rounding errors small."""
    if records == 0:
        return 0.0
    if sizes is people:
        return sizes.size / records
    different, where = np.unique(people, return_inverse=True)
    together = np.bincount(where, weights=sizes)
    return float((together / different).sum()) / records
