"""Questions, and the methods of answering that several kinds of questions share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.dp.declared import Bounded, Declared
from veil.dp.neighbours import Neighbours
from veil.dp.noisy_vector import VectorNoise
from veil.dp.priors import Prior
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.refinement import About, Refinement
from veil.dp.source import Selected
from veil.errors import ParameterError
from veil.models.query import Query
from veil.models.subset import Where
from veil.questions.mechanisms.answers import HalfWidths, chance_in_words
from veil.questions.mechanisms.condition import Condition
from veil.tables.cells import Cells
from veil.tables.rows import Weights

Noise = str | Prior
"""The name of a noise, or a prior over the answers."""

RowMask = NDArray[np.bool_]
Response = Callable[[Selected, RowMask, Randomness | None], tuple[Any, HalfWidths | None]]
Truth = Callable[[Selected, RowMask], Any]
Method = tuple[str, Response, Callable[[float], str]]
"""The name of a mechanism, its function, and the accuracy of the answer with a given probability."""


@dataclass(frozen=True)
class Question:
    """A question with its price, the columns it reads, and the method of answering it."""

    label: str
    loss: PrivacyLoss
    promise: Neighbours
    """The relation of neighbours that the price is for."""
    mechanism: str
    columns: tuple[str, ...]
    respond: Response
    accuracy: Callable[[float], str]
    where: str | None = None
    bounded: Bounded | None = None
    numbers: Collection[str] = ()
    """Columns declared to have numbers: other cells are missing in them."""

    @classmethod
    def about(
        cls,
        declared: Declared,
        label: str,
        loss: PrivacyLoss,
        method: Method,
        columns: tuple[str, ...],
        where: str | None,
        bounded: Bounded | None = None,
    ) -> Question:
        """Return a question about the records that fulfil a condition, under the declarations."""
        mechanism, respond, accuracy = method
        full_label = label if where is None else f"{label} where {where}"
        return cls(
            full_label,
            loss,
            declared.neighbours,
            mechanism,
            columns,
            respond,
            accuracy,
            where,
            bounded,
            declared.bounds,
        )

    @property
    def reads(self) -> list[str]:
        """The columns of the question and of its condition."""
        condition = [] if self.where is None else Query(self.where).columns
        return list(dict.fromkeys([*self.columns, *condition]))

    def check(self) -> None:
        """Refuse undeclared missing values, and an invalid condition. No cell is read."""
        if self.bounded is not None:
            self.bounded.require_missing()
        if self.where is not None:
            Where(self.where)
            nothing = Cells((), (), np.empty(0, np.int64))
            self.choose(Selected(dict.fromkeys(self.reads, nothing), Weights(0)))

    def choose(self, selected: Selected) -> RowMask:
        """Return a mask of the rows that fulfil the condition. Undecided rows are left out."""
        if self.where is None:
            return np.ones(selected.rows, np.bool_)
        return Condition(self.where, self.numbers).mask(selected)


def with_noise(truth: Truth, noise: VectorNoise, step: Fraction) -> Method:
    """Return a method that adds noise to one number in whole steps."""

    def respond(selected: Selected, mask: RowMask, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        noisy = truth(selected, mask) + noise.draw(randomness)[0]

        def interval(confidence: float) -> tuple[float, float]:
            half = Fraction(noise.half_width(0, confidence))
            return float((noisy - half) * step), float((noisy + half) * step)

        return (noisy if step == 1 else float(noisy * step)), interval

    def accuracy(confidence: float) -> str:
        return f"{chance_in_words(confidence)} the answer is within ± {noise.half_width(0, confidence) * float(step):.6g}"

    return noise.name, respond, accuracy


def by_refinement(truth: Truth, prior: Prior, loss: PrivacyLoss, about: About) -> Method:
    """Return a method that draws from a prior reweighted towards the truth."""
    if loss.rho:
        raise ParameterError("`rho` is the price of gaussian noise; an answer from a prior has an `epsilon`")
    refinement = Refinement(prior, loss.epsilon, delta=loss.delta, about=about)

    def respond(selected: Selected, mask: RowMask, randomness: Randomness | None) -> tuple[Any, None]:
        return refinement.answer(truth(selected, mask), randomness), None

    def accuracy(confidence: float) -> str:
        near, chance = refinement.nearest_share()
        return f"with a probability of {chance:.4g} the answer is among the nearest {near:.2%} of what was expected"

    return "refinement of a prior", respond, accuracy
