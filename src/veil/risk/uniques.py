"""Records that are alone in their class: in the table, and by estimate in the population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.population import estimate
from veil.population.dankar import Estimator
from veil.risk.grouping import histogram


@dataclass(frozen=True)
class SampleUniques:
    """Number of records that are alone in their class, and their share of all that are not suppressed."""

    records: int
    share: float


@dataclass(frozen=True)
class Estimated:
    """An estimate of the number of people who are alone in their class in the population, and their share.

    Both are 0 if the model has no solution, which is when `available` is false.
    """

    uniques: float
    share: float
    available: bool


@dataclass(frozen=True)
class PopulationUniques:
    """Population uniques under four models of the population; none of them is a bound.

    `dankar` is the estimate that Dankar's rule selects, with Zayatz's where Pitman's fails, and `chosen` its
    name. See `veil.population.estimate`.
    """

    population: int
    sampling_fraction: float
    zayatz: Estimated
    pitman: Estimated
    snb: Estimated
    dankar: Estimated
    chosen: Estimator


def sample_uniques(sizes: NDArray[np.int64]) -> SampleUniques:
    """Count the classes of one record.

    >>> sample_uniques(np.array([1, 3, 1]))
    SampleUniques(records=2, share=0.4)
    """
    alone = int(np.count_nonzero(sizes == 1))
    return SampleUniques(alone, alone / max(1, int(sizes.sum())))


def population_uniques(
    sizes: NDArray[np.int64], population: int, *, like_arx: bool = False
) -> PopulationUniques:
    """Estimate the population uniques from the class sizes of a sample, optionally with the equations of ARX.

    >>> sizes = np.repeat([1, 2, 3, 5], [50, 20, 10, 4])
    >>> uniques = population_uniques(sizes, 700)
    >>> uniques.chosen, round(uniques.dankar.uniques, 9)
    ('zayatz', 114.139318301)
    """
    different, counts = histogram(sizes)
    names: tuple[Estimator, ...] = ("zayatz", "pitman", "snb")
    estimates = {name: estimate(name, different, counts, population, like_arx=like_arx) for name in names}
    rule = estimate("dankar", different, counts, population, fallback=True, like_arx=like_arx)
    return PopulationUniques(
        population,
        int(sizes.sum()) / population,
        **{
            name: Estimated(each.uniques, each.uniques / population, each.available)
            for name, each in {**estimates, "dankar": rule}.items()
        },
        chosen=rule.estimator,
    )
