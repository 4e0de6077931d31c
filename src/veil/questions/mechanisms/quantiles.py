"""Quantiles, each by the exponential mechanism for an equal part of the price.

The error of a number y is the number of records that would have to change sides to make it the quantile of
share q: the larger of #{x < y} - q n and q n - #{x <= y}, if above 0 (Smith 2011). One record more or less
changes both by q or 1 - q, one changed by at most 1, and a person with up to m records by m times as much.
Possible answers are equally spaced numbers between the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.dp.declared import Declared
from veil.dp.mechanisms import ExponentialChoice
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import Selected
from veil.errors import ParameterError
from veil.questions.mechanisms.answers import chance_in_words
from veil.questions.mechanisms.question import Question, RowMask

_CANDIDATES = 2**10
"""Default number of intervals between the equally spaced answers."""

_MOST = 2**14


def quantiles(
    declared: Declared,
    column: str,
    shares: Sequence[Any],
    where: str | None,
    loss: PrivacyLoss,
    candidates: int | None,
) -> Question:
    """Ask for the values that given shares of the records do not exceed."""
    if loss.rho or loss.delta:
        raise ParameterError("quantiles only take `epsilon`: leave `delta` and `rho` out")
    bounded = declared.bounded(column)
    exact_shares = [_share(each) for each in shares]
    if not exact_shares:
        raise ParameterError("`shares` is empty: name at least one quantile, such as 0.5")
    number = _CANDIDATES if candidates is None else candidates
    if number not in range(1, _MOST + 1):
        raise ParameterError(f"`candidates` should be a whole number from 1 to {_MOST}, not {candidates!r}")
    distance = bounded.highest - bounded.lowest
    places = np.unique([distance * each // number for each in range(number + 1)])
    each_price = loss.epsilon / len(exact_shares)
    changed, rows = declared.neighbours == "one changed", declared.unit.rows

    def respond(selected: Selected, mask: RowMask, randomness: Randomness | None) -> tuple[Any, None]:
        steps, counted_mask = bounded.read(selected.cells[column])
        mask = mask & counted_mask
        values, weights = steps[mask] - bounded.lowest, selected.weights.take(mask).array
        if len(values) > distance:  # many rows, of fewer values
            times = np.bincount(values, weights)
            values = np.flatnonzero(times)
            weights = times[values].astype(np.int64)
        # The number of answers not above each value, and of those below it.
        not_above = np.searchsorted(places, values, side="right")
        under = not_above - (places[not_above - 1] == values)
        below, up_to = (
            np.cumsum(np.bincount(each, weights, len(places) + 1).astype(np.int64))[:-1]
            for each in (not_above, under)
        )
        records = int(weights.sum())
        value = {}
        for share, name in zip(exact_shares, shares, strict=True):
            # In whole numbers: all scores times the denominator.
            goal = share.numerator * records
            away = np.maximum(below * share.denominator - goal, goal - up_to * share.denominator)
            reach = (
                share.denominator if changed else max(share.numerator, share.denominator - share.numerator)
            )
            choice = ExponentialChoice[int](each_price, reach * rows, randomness)
            for place, score in enumerate(np.maximum(away, 0).tolist()):
                choice.add(place, -score)
            value[name] = float((bounded.lowest + int(places[choice.draw()])) * bounded.step)
        return value, None

    def accuracy(confidence: float) -> str:
        reach = 1.0 if changed else max(float(max(each, 1 - each)) for each in exact_shares)
        rank = 2 * reach * rows / float(each_price) * math.log(len(places) / (1 - confidence))
        return f"{chance_in_words(confidence)} each is off by at most {rank:.4g} records more than the best of {len(places)} equally spaced numbers"

    label, method = (
        f"quantiles {', '.join(map(str, shares))} of {column}",
        ("exponential mechanism", respond, accuracy),
    )
    return Question.about(declared, label, loss, method, (column,), where, bounded)


def _share(value: Any) -> Fraction:
    try:
        share = decimal_fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1 or share.denominator > 10**6:
        raise ParameterError(f"`shares` should be numbers from 0 to 1 with at most six places, not {value!r}")
    return share
