"""Sums and means.

Values are whole numbers of steps between bounds, so sums are exact. A record more or less changes a sum by
the larger bound; a changed one, by the distance of the bounds, or by the larger bound if that is more and
records may be left out. With up to n records, sums are between n min(low, 0) and n max(high, 0).

A mean is a sum divided by a number of records. That number is public if neighbours differ in one changed
record and no record is left out, unless people may have different numbers of records. Otherwise both are made
noisy, the sum around the middle of the bounds, where a record changes it by half their distance.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from veil.base.randomness import Randomness
from veil.dp.declared import Bounded, Declared
from veil.dp.noisy_vector import VectorNoise, noise_for
from veil.dp.priors import Prior
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import Selected
from veil.questions.mechanisms.answers import HalfWidths, chance_in_words
from veil.questions.mechanisms.question import (
    Method,
    Noise,
    Question,
    RowMask,
    by_refinement,
    with_noise,
)


def sum_of(
    declared: Declared,
    column: str,
    where: str | None,
    loss: PrivacyLoss,
    noise: Noise,
    reach: int | None = None,
) -> Question:
    """Ask for the sum of a column; `reach` is the sensitivity to hide in steps, if not that of a person."""
    bounded = declared.bounded(column)

    def truth(selected: Selected, mask: RowMask) -> int:
        return _total(bounded, selected, mask)[0]

    if isinstance(noise, Prior):
        method = by_refinement(
            lambda selected, mask: truth(selected, mask) * bounded.step, noise, loss, "statistical"
        )
    else:
        distribution = noise_for(noise, [reach or sum_reach(declared, bounded, where)], 1, loss)
        method = with_noise(truth, distribution, bounded.step)
    return Question.about(declared, f"sum of {column}", loss, method, (column,), where, bounded)


def mean_of(declared: Declared, column: str, where: str | None, loss: PrivacyLoss, noise: Noise) -> Question:
    """Ask for the mean of a column."""
    bounded = declared.bounded(column)
    distance = bounded.highest - bounded.lowest
    changed = declared.neighbours == "one changed"
    if isinstance(noise, Prior):
        method = by_refinement(_exact_mean(bounded), noise, loss, "statistical")
    elif changed and not _leaves_out(declared, bounded, where):
        distribution = noise_for(noise, [distance], 1, loss)
        method = _divide_by_public_number(bounded, distribution)
    else:
        middle = (bounded.lowest + bounded.highest) // 2
        reach = distance if changed else bounded.highest - middle
        distribution = noise_for(noise, [reach, 1], 2, loss, declared.unit.rows)
        method = _divide_by_noisy_number(bounded, distribution, middle)
    return Question.about(declared, f"mean of {column}", loss, method, (column,), where, bounded)


def sum_reach(declared: Declared, bounded: Bounded, where: str | None) -> int:
    """Return the sensitivity of a sum to one person, in steps."""
    larger, distance = max(abs(bounded.lowest), abs(bounded.highest)), bounded.highest - bounded.lowest
    if declared.neighbours == "one more or less":
        return larger * declared.unit.rows
    if not _leaves_out(declared, bounded, where):
        return distance
    return max(larger, distance) * declared.unit.rows


def _leaves_out(declared: Declared, bounded: Bounded, where: str | None) -> bool:
    """Return whether records may be left out, so that the number of counted records is not public."""
    left_out = where is not None or bounded.missing in ("leave out", None) or bounded.outside == "leave out"
    return left_out or declared.unit.person is not None


def _total(bounded: Bounded, selected: Selected, mask: RowMask) -> tuple[int, int]:
    """Return the exact sum in steps, and the number of records."""
    steps, counted_mask = bounded.read(selected.cells[bounded.name])
    mask = mask & counted_mask
    weights = selected.weights.take(mask).array
    return int(np.dot(steps[mask], weights)), int(weights.sum())


def _exact_mean(bounded: Bounded) -> Callable[[Selected, RowMask], Fraction | None]:
    def truth(selected: Selected, mask: RowMask) -> Fraction | None:
        total, number = _total(bounded, selected, mask)
        return total * bounded.step / number if number else None

    return truth


def _divide_by_public_number(bounded: Bounded, noise: VectorNoise) -> Method:
    def respond(selected: Selected, mask: RowMask, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        total, number = _total(bounded, selected, mask)
        noisy = total + noise.draw(randomness)[0]

        def at(shift: float) -> float:
            return _within(bounded, float((noisy + Fraction(shift)) * bounded.step / max(1, number)))

        def interval(confidence: float) -> tuple[float, float]:
            half = noise.half_width(0, confidence)
            return at(-half), at(half)

        return at(0), interval

    def accuracy(confidence: float) -> str:
        half = noise.half_width(0, confidence) * float(bounded.step)
        return f"{chance_in_words(confidence)}, of n records, the mean is within ± {half:.6g} / n"

    return noise.name, respond, accuracy


def _divide_by_noisy_number(bounded: Bounded, noise: VectorNoise, middle: int) -> Method:
    def respond(selected: Selected, mask: RowMask, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        total, number = _total(bounded, selected, mask)
        noises = noise.draw(randomness)
        noisy_sum, noisy_number = total - middle * number + noises[0], number + noises[1]

        def at(shift: float, beside: float) -> float:
            mean = (middle + (noisy_sum + shift) / max(1.0, noisy_number + beside)) * float(bounded.step)
            return _within(bounded, mean)

        def interval(confidence: float) -> tuple[float, float]:
            both = _confidence_of_each(confidence)
            sums, numbers = noise.half_width(0, both), noise.half_width(1, both)
            corners = [at(s * sums, n * numbers) for s in (-1, 1) for n in (-1, 1)]
            return min(corners), max(corners)

        return at(0, 0), interval

    def accuracy(confidence: float) -> str:
        both = _confidence_of_each(confidence)
        sums = noise.half_width(0, both) * float(bounded.step)
        return (
            f"{chance_in_words(confidence)} the number of records is within ± {noise.half_width(1, both):.6g} and the sum within ± {sums:.6g}: of n "
            f"records, the mean within about ± {sums:.6g} / n"
        )

    return noise.name, respond, accuracy


def _confidence_of_each(confidence: float) -> float:
    """Return the confidence of each of two intervals whose joint confidence is given."""
    return 1 - (1 - confidence) / 2


def _within(bounded: Bounded, mean: float) -> float:
    return min(max(mean, float(bounded.low)), float(bounded.high))
