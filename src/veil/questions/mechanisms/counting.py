"""Counts of records, and histograms of keys.

One record more or less, or one changed, changes a count by at most 1. It changes one cell of a histogram by
1; or, if it is changed, one by -1 and another by 1. A person with up to n records changes a count by at most
n, and a histogram as n records do one after the other (see `noise_for`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from veil.base.randomness import Randomness
from veil.dp.declared import Declared
from veil.dp.noisy_vector import noise_for
from veil.dp.priors import Prior
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import Selected
from veil.errors import ParameterError
from veil.questions.mechanisms.answers import HalfWidths, chance_in_words
from veil.questions.mechanisms.question import Noise, Question, RowMask, by_refinement, with_noise


def count(
    declared: Declared, where: str | None, loss: PrivacyLoss, noise: Noise, reach: int | None = None
) -> Question:
    """Ask for the number of records that fulfil a condition; `reach` is the sensitivity to hide."""

    def truth(selected: Selected, mask: RowMask) -> int:
        return selected.weights.sum_of(mask)

    if isinstance(noise, Prior):
        method = by_refinement(truth, noise, loss, "statistical")
    else:
        distribution = noise_for(noise, [reach or declared.unit.rows], 1, loss)
        method = with_noise(truth, distribution, Fraction(1))
    return Question.about(declared, "count", loss, method, (), where)


def histogram(
    declared: Declared,
    by: str | Sequence[str],
    where: str | None,
    loss: PrivacyLoss,
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
        distribution = noise_for(noise, [1] * len(cells), together, loss, declared.unit.rows)
    else:
        distribution = noise_for(noise, [reach] * len(cells), 1, loss)

    def respond(selected: Selected, mask: RowMask, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        cell = declared.cell_of(selected, names)
        mask = mask & (cell >= 0)
        counts = selected.weights.take(mask).count_by(cell[mask], len(cells))
        pairs = zip(counts, distribution.draw(randomness), strict=True)
        value = dict(zip(cells, (int(n) + noise for n, noise in pairs), strict=True))

        def interval(confidence: float) -> dict[Any, tuple[float, float]]:
            half = distribution.half_width(0, confidence)
            return {key: (n - half, n + half) for key, n in value.items()}

        return value, interval

    def accuracy(confidence: float) -> str:
        return f"{chance_in_words(confidence)} each number is within ± {distribution.half_width(0, confidence):.6g}"

    method = (distribution.name, respond, accuracy)
    return Question.about(declared, f"histogram of {', '.join(names)}", loss, method, names, where)


def cells_together(declared: Declared, cells: Sequence[Any]) -> int:
    """Return the largest number of cells of a histogram that one record changes."""
    return min(len(cells), 2 if declared.neighbours == "one changed" else 1)
