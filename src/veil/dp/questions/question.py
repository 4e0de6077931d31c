"""The question itself, and what several kinds of questions share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.dp.answers import HalfWidths, chance_in_words
from veil.dp.condition import Condition
from veil.dp.declared import Bounded, Declared
from veil.dp.neighbours import Neighbours
from veil.dp.noisy_vector import Adding
from veil.dp.price import Price
from veil.dp.priors import Prior
from veil.dp.refinement import About, Refinement
from veil.dp.source import Selected
from veil.errors import ParameterError
from veil.models.query import Query
from veil.models.subset import Where
from veil.tables.cells import Cells

Noise = str | Prior
"""The name of a noise, or what the one who asks expects."""

Chosen = NDArray[np.bool_]
Response = Callable[[Selected, Chosen, Randomness | None], tuple[Any, HalfWidths | None]]
Truth = Callable[[Selected, Chosen], Any]
Way = tuple[str, Response, Callable[[float], str]]
"""How a question is answered: the name of the mechanism, what it does, and how close the answer is with a given probability."""


@dataclass(frozen=True)
class Question:
    """A question with its price, the columns it reads, and how to answer it from the rows that it is about."""

    label: str
    price: Price
    promise: Neighbours
    """The relation of neighbours that the price is for."""
    mechanism: str
    columns: tuple[str, ...]
    respond: Response
    accuracy: Callable[[float], str]
    where: str | None = None
    bounded: Bounded | None = None
    numbers: Collection[str] = ()
    """Columns that are declared to hold numbers, so that what is none is missing in them."""

    @classmethod
    def about(
        cls,
        declared: Declared,
        label: str,
        price: Price,
        way: Way,
        columns: tuple[str, ...],
        where: str | None,
        bounded: Bounded | None = None,
    ) -> Question:
        """Ask about the records of which a condition is true, for the relation and the columns that are declared."""
        mechanism, respond, accuracy = way
        told = label if where is None else f"{label} where {where}"
        return cls(
            told,
            price,
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
        """The columns that are needed, also for the condition."""
        condition = [] if self.where is None else Query(self.where).columns
        return list(dict.fromkeys([*self.columns, *condition]))

    def check(self) -> None:
        """Refuse what is not declared, and a condition that cannot be read. No cell is looked at."""
        if self.bounded is not None:
            self.bounded.require_missing()
        if self.where is not None:
            Where(self.where)
            nothing = Cells((), (), np.empty(0, np.int64))
            self.choose(Selected(dict.fromkeys(self.reads, nothing), 0))

    def choose(self, selected: Selected) -> Chosen:
        """Tell which rows the question is about. What is neither true nor false is left out."""
        if self.where is None:
            return np.ones(selected.rows, np.bool_)
        return Condition(self.where, self.numbers).mask(selected)


def whole_numbers(truth: Truth, adding: Adding, step: Fraction) -> Way:
    """Answer with one number: a truth in whole steps, and noise."""

    def respond(selected: Selected, chosen: Chosen, randomness: Randomness | None) -> tuple[Any, HalfWidths]:
        noisy = truth(selected, chosen) + adding.draw(randomness)[0]

        def interval(confidence: float) -> tuple[float, float]:
            half = Fraction(adding.half_width(0, confidence))
            return float((noisy - half) * step), float((noisy + half) * step)

        return (noisy if step == 1 else float(noisy * step)), interval

    def accuracy(confidence: float) -> str:
        return f"{chance_in_words(confidence)} the answer is within ± {adding.half_width(0, confidence) * float(step):.6g}"

    return adding.name, respond, accuracy


def refined(truth: Truth, prior: Prior, price: Price, about: About) -> Way:
    """Answer with one draw from a prior, reweighted towards the truth."""
    if price.rho:
        raise ParameterError("`rho` is the price of gaussian noise; an answer from a prior has an `epsilon`")
    refinement = Refinement(prior, price.epsilon, delta=price.delta, about=about)

    def respond(selected: Selected, chosen: Chosen, randomness: Randomness | None) -> tuple[Any, None]:
        return refinement.answer(truth(selected, chosen), randomness), None

    def accuracy(confidence: float) -> str:
        near, chance = refinement.nearest_share()
        return f"with a probability of {chance:.4g} the answer is among the nearest {near:.2%} of what was expected"

    return "refinement of a prior", respond, accuracy


def weights_of(selected: Selected, chosen: Chosen) -> NDArray[np.int64]:
    """Return how many records each of the chosen rows stands for."""
    if selected.weights is None:
        return np.ones(int(chosen.sum()), np.int64)
    return selected.weights[chosen]
