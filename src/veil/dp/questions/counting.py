"""How many records there are, and how often each key occurs.

One record more or less, or one changed, changes a count by at most 1. Of a histogram, it changes one cell by 1; or, if it is
changed, one by -1 and another by 1. A person with up to n records changes a count by at most n, and a histogram as n records
do one after the other (see `noise_for`).
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
from veil.dp.questions.question import Chosen, Noise, Question, refined, whole_numbers
from veil.dp.source import Selected
from veil.errors import ParameterError


def count(
    declared: Declared, where: str | None, price: Price, noise: Noise, reach: int | None = None
) -> Question:
    """Ask how many records there are, or of how many something is true; `reach` is what the noise is to hide."""

    def truth(selected: Selected, chosen: Chosen) -> int:
        return selected.count(chosen)

    if isinstance(noise, Prior):
        way = refined(truth, noise, price, "statistical")
    else:
        adding = noise_for(noise, [reach or declared.unit.rows], 1, price)
        way = whole_numbers(truth, adding, Fraction(1))
    return Question.about(declared, "count", price, way, (), where)


def histogram(
    declared: Declared,
    by: str | Sequence[str],
    where: str | None,
    price: Price,
    noise: Noise,
    reach: int | None = None,
) -> Question:
    """Ask how often each key occurs, or each combination of keys of several columns; `reach` as for counts."""
    names = (by,) if isinstance(by, str) else tuple(by)
    cells = declared.cells(names)
    if isinstance(noise, Prior):
        raise ParameterError(
            "a histogram has several numbers, and a prior is for one: count the keys one by one"
        )
    if reach is None:
        together = cells_together(declared, cells)
        adding = noise_for(noise, [1] * len(cells), together, price, declared.unit.rows)
    else:
        adding = noise_for(noise, [reach] * len(cells), 1, price)

    def respond(selected: Selected, chosen: Chosen, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        cell = declared.cell_of(selected, names)
        chosen = chosen & (cell >= 0)
        weights = None if selected.weights is None else selected.weights[chosen]
        counts = np.bincount(cell[chosen], weights, len(cells))
        drawn = zip(counts, adding.draw(randomness), strict=True)
        value = dict(zip(cells, (int(n) + noise for n, noise in drawn), strict=True))

        def interval(confidence: float) -> dict[Any, tuple[float, float]]:
            half = adding.half_width(0, confidence)
            return {key: (n - half, n + half) for key, n in value.items()}

        return value, interval

    def accuracy(confidence: float) -> str:
        return f"{chance_in_words(confidence)} each number is within ± {adding.half_width(0, confidence):.6g}"

    way = (adding.name, respond, accuracy)
    return Question.about(declared, f"histogram of {', '.join(names)}", price, way, names, where)


def cells_together(declared: Declared, cells: Sequence[Any]) -> int:
    """Return how many cells of a histogram one record changes at most."""
    return min(len(cells), 2 if declared.neighbours == "one changed" else 1)
