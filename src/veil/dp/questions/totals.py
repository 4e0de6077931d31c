"""Sums and means.

Values are whole numbers of steps between bounds, so that sums are exact. A record more or less changes a sum by the larger
bound; a changed one, by the distance of the bounds, or, if records may be left out, by the larger bound if that is more. A
person with up to n records changes it n times as much: sums of up to n values lie between n min(low, 0) and n max(high, 0).

A mean is a sum divided by a number of records. Where one record is changed and nobody is left out, that number is public;
not if a column tells people apart, who may have different numbers of records. Otherwise both are made noisy, the sum around
the middle of the bounds, where a record changes it by half their distance.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from veil.base.randomness import Randomness
from veil.dp.answers import HalfWidths, chance_in_words
from veil.dp.declared import Bounded, Declared
from veil.dp.noisy_vector import Adding, noise_for
from veil.dp.price import Price
from veil.dp.priors import Prior
from veil.dp.questions.question import Chosen, Noise, Question, Way, refined, weights_of, whole_numbers
from veil.dp.source import Selected


def sum_of(
    declared: Declared, column: str, where: str | None, price: Price, noise: Noise, reach: int | None = None
) -> Question:
    """Ask for the sum of a column; `reach` is what the noise is to hide, in steps, if that is more than one record."""
    bounded = declared.bounded(column)

    def truth(selected: Selected, chosen: Chosen) -> int:
        return _total(bounded, selected, chosen)[0]

    if isinstance(noise, Prior):
        way = refined(
            lambda selected, chosen: truth(selected, chosen) * bounded.step, noise, price, "statistical"
        )
    else:
        adding = noise_for(noise, [reach or sum_reach(declared, bounded, where)], 1, price)
        way = whole_numbers(truth, adding, bounded.step)
    return Question.about(declared, f"sum of {column}", price, way, (column,), where, bounded)


def mean_of(declared: Declared, column: str, where: str | None, price: Price, noise: Noise) -> Question:
    """Ask for the mean of a column."""
    bounded = declared.bounded(column)
    distance = bounded.highest - bounded.lowest
    changed = declared.neighbours == "one changed"
    if isinstance(noise, Prior):
        way = refined(_exact_mean(bounded), noise, price, "statistical")
    elif changed and not _leaves_out(declared, bounded, where):
        adding = noise_for(noise, [distance], 1, price)
        way = _of_public_number(bounded, adding)
    else:
        middle = (bounded.lowest + bounded.highest) // 2
        reach = distance if changed else bounded.highest - middle
        adding = noise_for(noise, [reach, 1], 2, price, declared.unit.rows)
        way = _of_noisy_number(bounded, adding, middle)
    return Question.about(declared, f"mean of {column}", price, way, (column,), where, bounded)


def sum_reach(declared: Declared, bounded: Bounded, where: str | None) -> int:
    """Return how many steps one person can change a sum by."""
    larger, distance = max(abs(bounded.lowest), abs(bounded.highest)), bounded.highest - bounded.lowest
    if declared.neighbours == "one more or less":
        return larger * declared.unit.rows
    if not _leaves_out(declared, bounded, where):
        return distance
    return max(larger, distance) * declared.unit.rows


def _leaves_out(declared: Declared, bounded: Bounded, where: str | None) -> bool:
    """Whether a record may be left out, so that the number of those that count is not public."""
    left_out = where is not None or bounded.missing in ("leave out", None) or bounded.outside == "leave out"
    return left_out or declared.unit.person is not None


def _total(bounded: Bounded, selected: Selected, chosen: Chosen) -> tuple[int, int]:
    """Return the exact sum in steps, and the number of records."""
    steps, counts = bounded.read(selected.cells[bounded.name])
    kept = chosen & counts
    weights = weights_of(selected, kept)
    return int(np.dot(steps[kept], weights)), int(weights.sum())


def _exact_mean(bounded: Bounded) -> Callable[[Selected, Chosen], Fraction | None]:
    def truth(selected: Selected, chosen: Chosen) -> Fraction | None:
        total, number = _total(bounded, selected, chosen)
        return total * bounded.step / number if number else None

    return truth


def _of_public_number(bounded: Bounded, adding: Adding) -> Way:
    def respond(selected: Selected, chosen: Chosen, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        total, number = _total(bounded, selected, chosen)
        noisy = total + adding.draw(randomness)[0]

        def at(shift: float) -> float:
            return _within(bounded, float((noisy + Fraction(shift)) * bounded.step / max(1, number)))

        def interval(confidence: float) -> tuple[float, float]:
            half = adding.half_width(0, confidence)
            return at(-half), at(half)

        return at(0), interval

    def accuracy(confidence: float) -> str:
        half = adding.half_width(0, confidence) * float(bounded.step)
        return f"{chance_in_words(confidence)}, of n records, the mean is within ± {half:.6g} / n"

    return adding.name, respond, accuracy


def _of_noisy_number(bounded: Bounded, adding: Adding, middle: int) -> Way:
    def respond(selected: Selected, chosen: Chosen, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        total, number = _total(bounded, selected, chosen)
        by = adding.draw(randomness)
        noisy, counted = total - middle * number + by[0], number + by[1]

        def at(shift: float, beside: float) -> float:
            mean = (middle + (noisy + shift) / max(1.0, counted + beside)) * float(bounded.step)
            return _within(bounded, mean)

        def interval(confidence: float) -> tuple[float, float]:
            both = _each_of_two(confidence)
            sums, numbers = adding.half_width(0, both), adding.half_width(1, both)
            corners = [at(s * sums, n * numbers) for s in (-1, 1) for n in (-1, 1)]
            return min(corners), max(corners)

        return at(0, 0), interval

    def accuracy(confidence: float) -> str:
        both = _each_of_two(confidence)
        sums = adding.half_width(0, both) * float(bounded.step)
        return (
            f"{chance_in_words(confidence)} the number of records is within ± {adding.half_width(1, both):.6g} and the sum within ± {sums:.6g}: of n "
            f"records, the mean within about ± {sums:.6g} / n"
        )

    return adding.name, respond, accuracy


def _each_of_two(confidence: float) -> float:
    """Return the confidence of each of two intervals that hold together with a given one."""
    return 1 - (1 - confidence) / 2


def _within(bounded: Bounded, mean: float) -> float:
    return min(max(mean, float(bounded.low)), float(bounded.high))
