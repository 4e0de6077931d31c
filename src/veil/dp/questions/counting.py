"""Counts of records, and histograms of keys.

One record more or less, or one changed, changes a count by at most 1. It changes one cell of a histogram by
1; or, if it is changed, one by -1 and another by 1. A person with up to n records changes a count by at most
n, and a histogram as n records do one after the other (see `noise_for`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from veil.base.randomness import Randomness
from veil.dp.answers import HalfWidths, chance_in_words
from veil.dp.declared import Declared
from veil.dp.noisy_vector import noise_for
from veil.dp.price import Price
from veil.dp.priors import Prior
from veil.dp.questions.question import Noise, Question, RowMask, answer_by_refinement, answer_with_noise
from veil.dp.source import Selected
from veil.errors import ParameterError


def count(
    declared: Declared, where: str | None, price: Price, noise: Noise, reach: int | None = None
) -> Question:
    """Ask for the number of records that fulfil a condition; `reach` is the sensitivity that the noise hides."""

    def truth(selected: Selected, row_mask: RowMask) -> int:
        return selected.count(row_mask)

    if isinstance(noise, Prior):
        method = answer_by_refinement(truth, noise, price, "statistical")
    else:
        vector_noise = noise_for(noise, [reach or declared.unit.rows], 1, price)
        method = answer_with_noise(truth, vector_noise, Fraction(1))
    return Question.about(declared, "count", price, method, (), where)


def histogram(
    declared: Declared,
    by: str | Sequence[str],
    where: str | None,
    price: Price,
    noise: Noise,
    reach: int | None = None,
) -> Question:
    """Ask for the frequency of each key, or combination of keys of several columns; `reach` as for counts."""
    names = (by,) if isinstance(by, str) else tuple(by)
    cells = declared.cells(names)
    if isinstance(noise, Prior):
        raise ParameterError(
            "a histogram has several numbers, and a prior is for one: count the keys one by one"
        )
    if reach is None:
        together = cells_together(declared, cells)
        vector_noise = noise_for(noise, [1] * len(cells), together, price, declared.unit.rows)
    else:
        vector_noise = noise_for(noise, [reach] * len(cells), 1, price)

    def respond(
        selected: Selected, row_mask: RowMask, randomness: Randomness | None
    ) -> tuple[Any, HalfWidths]:
        cell = declared.cell_of(selected, names)
        row_mask = row_mask & (cell >= 0)
        weights = None if selected.weights is None else selected.weights[row_mask]
        counts = np.bincount(cell[row_mask], weights, len(cells))
        pairs = zip(counts, vector_noise.draw(randomness), strict=True)
        value = dict(zip(cells, (int(n) + noise for n, noise in pairs), strict=True))

        def interval(confidence: float) -> dict[Any, tuple[float, float]]:
            half = vector_noise.half_width(0, confidence)
            return {key: (n - half, n + half) for key, n in value.items()}

        return value, interval

    def accuracy(confidence: float) -> str:
        return f"{chance_in_words(confidence)} each number is within ± {vector_noise.half_width(0, confidence):.6g}"

    method = (vector_noise.name, respond, accuracy)
    return Question.about(declared, f"histogram of {', '.join(names)}", price, method, names, where)


def cells_together(declared: Declared, cells: Sequence[Any]) -> int:
    """Return the largest number of cells of a histogram that one record changes."""
    return min(len(cells), 2 if declared.neighbours == "one changed" else 1)
