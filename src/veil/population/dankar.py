"""Dankar's rule for choosing among the estimators, and one function for all of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.errors import ParameterError
from veil.population.pitman import pitman_uniques
from veil.population.snb import snb_uniques
from veil.population.zayatz import zayatz_uniques

Estimator = Literal["dankar", "pitman", "zayatz", "snb"]


class Estimate(NamedTuple):
    """An estimated number of people who are alone in their class in the whole population.

    `estimator` is the one that was used, also if Dankar's rule chose it. `available` is False where the
    estimator has no solution; `uniques` is then 0.
    """

    estimator: Estimator
    uniques: float
    available: bool


def estimate(
    estimator: Estimator,
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    population: int,
    *,
    fallback: bool = False,
    like_arx: bool = False,
) -> Estimate:
    """Estimate the number of population uniques from the class sizes of a sample.

    Parameters
    ----------
    estimator
        "zayatz", "snb", "pitman", or "dankar", which chooses among them.
    sizes, counts
        Different class sizes of the sample, ascending, and the number of classes of each.
    population
        Number of people in the population.
    fallback
        Whether Dankar's rule uses Zayatz's estimate where Pitman's fails. Suitable for risk analysis, not for
        a guarantee, as Zayatz's estimate is poor for small samples.
    like_arx
        Whether "snb" and "pitman" solve the equations of ARX, for comparison with it. They are wrong: see
        `snb_uniques` and `pitman_uniques`.

    Notes
    -----
    Dankar's rule (Dankar, El Emam, Neisa and Roffey, 2012): Pitman if at most a tenth of the population is in
    the sample; otherwise the smaller of Zayatz's and the slide negative binomial estimate, if available.

    Differences from ARX, even with `like_arx`: no estimate is below the certain number, the unique records of
    the sample less the people who are not in it. If all records are unique there is none by Pitman, whose
    equations then have no solution, or any (for a single record).

    >>> sizes, counts = np.array([1, 2, 3, 5]), np.array([50, 20, 10, 4])
    >>> estimate("dankar", sizes, counts, 700)
    Estimate(estimator='zayatz', uniques=114.13931830081..., available=True)
    >>> estimate("snb", sizes, counts, 280), estimate("snb", sizes, counts, 280, like_arx=True).available
    (Estimate(estimator='snb', uniques=51.703691466..., available=True), False)
    """
    records = int((sizes * counts).sum())
    if population < records:
        raise ParameterError(
            f"`population` should be at least {records}, the records of the sample, not {population}"
        )
    if not sizes.size or sizes[0] != 1:
        return Estimate("zayatz" if estimator == "dankar" else estimator, 0.0, True)
    if estimator == "dankar":
        return _dankar(sizes, counts, population, fallback, like_arx)
    uniques = _uniques(estimator, sizes, counts, population, like_arx)
    return Estimate(estimator, uniques, uniques != 0.0)


def _dankar(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int, fallback: bool, like_arx: bool
) -> Estimate:
    if 10 * int((sizes * counts).sum()) <= population:
        uniques = _uniques("pitman", sizes, counts, population, like_arx)
        if uniques != 0.0 or not fallback:
            return Estimate("pitman", uniques, uniques != 0.0)
        return Estimate("zayatz", zayatz_uniques(sizes, counts, population), True)
    slide, simple = (_uniques(name, sizes, counts, population, like_arx) for name in ("snb", "zayatz"))
    if 0.0 < slide <= simple:
        return Estimate("snb", slide, True)
    return Estimate("zayatz", simple, True)


def certain_uniques(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int) -> int:
    """Return the number of people who are unique in every possible population.

    Each person outside the sample can match at most one of its unique records. If the sample is the
    population, the number is exact.
    """
    unseen = population - int((sizes * counts).sum())
    return max(0, int(counts[0]) - unseen)


def _uniques(
    estimator: Estimator,
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    population: int,
    like_arx: bool,
) -> float:
    """Return an estimate, at least the certain number as Zayatz's always is; 0 or less if there is none."""
    if estimator == "zayatz":
        uniques = zayatz_uniques(sizes, counts, population)
    else:
        solve = pitman_uniques if estimator == "pitman" else snb_uniques
        uniques = solve(sizes, counts, population, like_arx)
    return max(uniques, float(certain_uniques(sizes, counts, population))) if uniques > 0.0 else uniques
