"""Zayatz's estimator: how often a class of one in the sample is a class of one in the population."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from veil.population.compiled import numeric

_NEGLIGIBLE = 1e-30
"""Chance that ends a product: nothing that follows changes a sum that starts with 1."""


@numeric
def zayatz_uniques(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int) -> float:
    """Return Zayatz's estimate of the number of population uniques, 0 if the sample has none.

    `sizes` are the different class sizes in ascending order, `counts` how many classes have each.

    If the population had the class sizes of the sample, a class of i would show a single one of its records in
    the sample with the hypergeometric probability h(i). By Bayes, the share of the sample's uniques that are
    population uniques is c_1 h(1) / sum c_i h(i), each of which stands for P/n of them. Zayatz (1991).

    The relative error is below 1e-11: products over long gaps between sizes are the sum of logarithms that are
    nearly linear in between, with the error of taking their middle made up for to the second order.
    """
    if sizes.size == 0 or sizes[0] != 1:
        return 0.0
    records = 0
    for t in range(sizes.size):
        records += sizes[t] * counts[t]
    # h(i) / h(1) = i * product of (left - j) / (others - j) for j < i - 1
    left, others = float(population - records), float(population - 1)
    total = float(counts[0])
    chance = 1.0
    done = 0.0
    for t in range(1, sizes.size):
        goal = float(sizes[t] - 1)
        while done < goal and chance > _NEGLIGIBLE:
            if done + 1.0 > left:
                chance = 0.0
                break
            far = left - goal
            block = math.floor((3e-13 * far * far * far * far) ** 0.2) if far > 0.0 else 0.0
            if block < 4.0 or goal - done < 4.0:
                chance *= (left - done) / (others - done)
                done += 1.0
            else:
                block = min(block, goal - done)
                middle = done + 0.5 * (block - 1.0)
                a, b = left - middle, others - middle
                bend = (1.0 / b - 1.0 / a) * (1.0 / b + 1.0 / a)
                chance *= math.exp(
                    block * math.log1p((left - others) / b) + bend * block * (block * block - 1.0) / 24.0
                )
                done += block
        if chance <= _NEGLIGIBLE:
            break
        total += counts[t] * sizes[t] * chance
    uniques = float(counts[0])
    return uniques * (uniques / total) * (population / records)


def exact_zayatz(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int) -> Fraction:
    """Return the same as a rational number; slow for large classes."""
    if sizes.size == 0 or sizes[0] != 1:
        return Fraction(0)
    records = int((sizes * counts).sum())
    above = below = 1  # of the product so far
    done = 0
    total = Fraction(0)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        while done < size - 1:
            above *= population - records - done
            below *= population - 1 - done
            done += 1
        total += count * size * Fraction(above, below)
        if above == 0:
            break
    uniques = int(counts[0])
    return uniques * Fraction(uniques) / total * Fraction(population, records)
