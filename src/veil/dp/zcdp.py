"""Zero-concentrated differential privacy: conversion of rho to epsilon and delta, rounded to the safe side.

A mechanism is rho-zCDP if its Rényi divergence of every order a > 1 between neighbours is at most a * rho
(Bun and Steinke 2016). A divergence of at most D at order a gives (epsilon, delta) with

    epsilon = D + ln(1 / (a * delta)) / (a - 1) + ln(1 - 1 / a)

(Canonne, Kamath and Steinke 2020). Every order is valid; the best one is found in doubles, and its epsilon is
computed in ball arithmetic and rounded up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from veil.base.exact import ball
from veil.dp.grid import probability
from veil.dp.symbolic import Readable, Symbolic, enclosure
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

_LARGEST_ORDER = 2.0**40


def epsilon_of_rho(rho: Readable, delta: Readable) -> Fraction:
    """Return the epsilon, rounded up, with which rho-zCDP is (epsilon, delta)-differentially private.

    >>> round(float(epsilon_of_rho("1/64", "1e-9")), 4)  # rho + 2 sqrt(rho ln(1 / delta)) would be 1.1537
    1.0225
    """
    concentrated, chance = _rational(rho, "rho"), probability(delta)
    order = _best_order(lambda a: float(concentrated) * a + _surcharge(a, float(chance)))
    return max(Fraction(0), concentrated * order + surcharge(order, chance))


def rho_of_epsilon(epsilon: Readable, delta: Readable) -> Fraction:
    """Return the largest rho, rounded down, such that rho-zCDP is (epsilon, delta)-differentially private.

    >>> round(float(rho_of_epsilon(1, "1e-6")), 5)
    0.02436
    """
    order = order_of_budget(epsilon, delta)
    budget = Symbolic.read(epsilon, "epsilon")
    left = enclosure(lambda bits: budget.ball())[0] - surcharge(order, probability(delta))
    return max(Fraction(0), left / order)


@functools.lru_cache(maxsize=256)
def order_of_budget(epsilon: Readable, delta: Readable) -> Fraction:
    """Return the order at which the greatest rho fits into (epsilon, delta).

    It depends on the budget alone: a filter may fix it beforehand, and later budgets may depend on answers.
    """
    budget, chance = float(Symbolic.read(epsilon, "epsilon")), float(probability(delta))
    return _best_order(lambda a: (_surcharge(a, chance) - budget) / a)


@functools.lru_cache(maxsize=256)
def surcharge(order: Fraction, delta: Fraction) -> Fraction:
    """Return the difference of epsilon and a divergence of some order, rounded up."""

    def value(bits: int) -> arb:
        inverse: arb = (1 / (ball(order) * ball(delta))).log()
        return inverse / ball(order - 1) + ball(1 - 1 / order).log()

    return enclosure(value)[1]


def divergence_of(epsilon: Symbolic, order: Fraction) -> Fraction:
    """Return a bound on the divergence of an order under epsilon-differential privacy, rounded up.

    It is at most epsilon, and order * epsilon^2 / 2, as it is (epsilon^2 / 2)-zCDP (Bun and Steinke 2016).
    """
    high = enclosure(lambda bits: epsilon.ball())[1] if epsilon.logarithms else epsilon.rational
    return min(high, order * high * high / 2)


def _best_order(cost: Callable[[float], float]) -> Fraction:
    """Return the order of least cost, by golden section over its logarithm."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = math.log(2.0**-15), math.log(_LARGEST_ORDER)
    for _ in range(200):
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        if cost(1 + math.exp(one)) <= cost(1 + math.exp(other)):
            high = other
        else:
            low = one
    return Fraction(1 + math.exp((low + high) / 2)).limit_denominator(10**6)


def _surcharge(order: float, delta: float) -> float:
    return -math.log(order * delta) / (order - 1) + math.log1p(-1 / order)


def _rational(value: Readable, name: str) -> Fraction:
    number = Symbolic.read(value, name)
    if number.logarithms or number.rational <= 0:
        raise ParameterError(f"`{name}` should be a rational number greater than 0, not {number}")
    return number.rational
