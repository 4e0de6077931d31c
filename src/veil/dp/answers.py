"""What comes back: an answer with its interval and its price, or, before anything is spent, how good it would be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from veil.dp.price import Price
from veil.errors import ParameterError

HalfWidths = Callable[[float], Any]
"""How far the numbers of an answer are from the truth at most, with a given probability."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    Attributes
    ----------
    value
        A number; for histograms a number for each key, for quantiles one for each share.
    spent
        What was entered in the ledger.
    """

    question: str
    value: Any
    spent: Price
    mechanism: str
    _interval: HalfWidths | None = field(default=None, repr=False, compare=False)

    def interval(self, confidence: float = 0.95) -> Any:
        """Return between which numbers the truth is with a given probability; of histograms, each by itself."""
        if self._interval is None:
            raise ParameterError(
                f"an answer by {self.mechanism} has no interval. `session.preview` shows its accuracy "
                "before you ask"
            )
        return self._interval(check_confidence(confidence))


@dataclass(frozen=True)
class CostEstimate:
    """What a question would cost, and how good its answer would be. Nothing is spent or looked at."""

    question: str
    mechanism: str
    cost: Price
    _accuracy: Callable[[float], str] = field(repr=False, compare=False)

    def accuracy(self, confidence: float = 0.95) -> str:
        """Say how close the answer would be to the truth, with a given probability."""
        return self._accuracy(check_confidence(confidence))

    def __str__(self) -> str:
        return f"{self.question}: {self.mechanism}, {self.cost}; {self.accuracy(0.95)}"


def check_confidence(confidence: Any) -> float:
    """Refuse what is no probability."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError(f"`confidence` should be between 0 and 1, not {confidence!r}")
    return confidence


def chance_in_words(confidence: float) -> str:
    """Begin a sentence about what holds with a probability.

    >>> chance_in_words(0.95)
    'with 95 %'
    """
    return f"with {100 * confidence:g} %"
