"""Answers with their intervals and privacy losses, and estimates of cost and accuracy before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from veil.dp.privacy_loss import PrivacyLoss
from veil.errors import ParameterError

HalfWidths = Callable[[float], Any]
"""The interval of an answer that contains the truth with a given probability."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    Attributes
    ----------
    value
        A number; for histograms a number for each key, for quantiles one for each share.
    loss
        The privacy loss entered in the ledger.
    """

    question: str
    value: Any
    loss: PrivacyLoss
    mechanism: str
    _interval: HalfWidths | None = field(default=None, repr=False, compare=False)

    def interval(self, confidence: float = 0.95) -> Any:
        """Return the interval of the truth with a given probability; for histograms, one for each number."""
        if self._interval is None:
            raise ParameterError(
                f"an answer by {self.mechanism} has no interval. `session.preview` shows its accuracy "
                "before you ask"
            )
        return self._interval(check_confidence(confidence))


@dataclass(frozen=True)
class CostEstimate:
    """Cost and accuracy of a question, without spending budget or reading the data."""

    question: str
    mechanism: str
    cost: PrivacyLoss
    _accuracy: Callable[[float], str] = field(repr=False, compare=False)

    def accuracy(self, confidence: float = 0.95) -> str:
        """Return a sentence on the error of the answer with a given probability."""
        return self._accuracy(check_confidence(confidence))

    def __str__(self) -> str:
        return f"{self.question}: {self.mechanism}, {self.cost}; {self.accuracy(0.95)}"


def check_confidence(confidence: Any) -> float:
    """Return a probability between 0 and 1, or refuse it."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError(f"`confidence` should be between 0 and 1, not {confidence!r}")
    return confidence


def chance_in_words(confidence: float) -> str:
    """Return the beginning of a sentence about a probability.

    >>> chance_in_words(0.95)
    'with 95 %'
    """
    return f"with {100 * confidence:g} %"
