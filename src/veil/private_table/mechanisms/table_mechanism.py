"""The interface of table mechanisms, and the parameters that they share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, ValidationInfo

from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.dp.neighbours import Neighbours
from veil.dp.privacy_loss import PrivacyLoss
from veil.errors import ParameterError, PlanError, Say
from veil.private_table.mechanisms.columns import Column


@dataclass(frozen=True)
class DrawnTable:
    """A table drawn by a mechanism, with its proof and notes."""

    table: pa.Table
    proof: str
    notes: tuple[str, ...] = ()


class TableMechanism(ABC):
    """A mechanism that makes a table private as a whole."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in reports and ledgers."""

    @property
    def is_sound(self) -> bool:
        """Whether the promise has a proof. Mechanisms published without one are available and marked."""
        return True

    @abstractmethod
    def check(self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood) -> None:
        """Refuse unsuitable columns and losses, before any budget is spent."""

    @abstractmethod
    def make(
        self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood, randomness: Randomness
    ) -> DrawnTable:
        """Draw the table."""


class Neighbourhood(NamedTuple):
    """The neighbours of a private table: they differ in one person, who may have up to `rows` rows."""

    neighbours: Neighbours
    rows: int = 1

    @property
    def moved(self) -> int:
        """Number of rows that differ between neighbours: those of a person, and any replacements."""
        return self.rows if self.neighbours == "one more or less" else 2 * self.rows

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbours have the same number of rows: not if a person may have several."""
        return self.neighbours == "one changed" and self.rows == 1


class BlockMechanism(TableMechanism):
    """A mechanism that replaces blocks of records: with sufficient noise, or as published, without a proof."""

    title: ClassVar[str]
    as_published: bool

    @property
    def name(self) -> str:
        return f"{self.title}, as published" if self.as_published else self.title

    @property
    def is_sound(self) -> bool:
        return not self.as_published

    def check(self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood) -> None:
        method = type(self).__name__
        _require_public_size(method, hidden)
        if loss.rho or loss.delta:
            raise ParameterError(f"{method} only takes `epsilon`: leave `delta` and `rho` out")


def _require_public_size(method: str, hidden: Neighbourhood) -> None:
    """Refuse a neighbourhood in which the number of blocks can change."""
    if hidden.neighbours != "one changed":
        raise PlanError(
            f'{method} keeps its promise for neighbours="one changed" only: with one record more or less, the number of '
            "blocks itself can change. Use that if the number of records is public, or use MarginalTree()"
        )
    if hidden.rows > 1:
        raise PlanError(
            f"{method} needs a public number of rows, but a person who has up to {hidden.rows} of them may have fewer, so that the "
            "number of blocks itself can change: let one row of each person take part (",
            Say("rows_per_person", "1"),
            "), or use MarginalTree()",
        )


def _check_k(k: Any) -> Any:
    # Checked here, as otherwise the message would list the errors of each allowed type.
    if k != "auto" and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise ValueError(f'`k` should be a whole number from 1 on, or "auto", not {k!r}')
    return k


Size = Annotated[
    int | Literal["auto"],
    BeforeValidator(_check_k),
    Field(description="how many records a block has, or auto: from what is public"),
]


def _check_finite(number: Any, info: ValidationInfo) -> Any:
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"`{info.field_name}` should hold finite numbers, not {number!r}")
    return number


PublicNumber = Annotated[int | float | str, BeforeValidator(_check_finite)]
"""A number as written: a text where a float would lose digits."""

Shares = Annotated[
    dict[str, PublicNumber] | None,
    Field(description="what part of epsilon each column gets, in proportion"),
]


AsPublished = Annotated[
    bool, Field(description="noise as in the thesis: NOT differentially private, for comparisons")
]


def block_sizes(records: int, k: int) -> NDArray[np.int64]:
    """Return the sizes of blocks of k; the last has up to 2k - 1.

    >>> block_sizes(11, 3)
    array([3, 3, 5])
    """
    if k > records:
        raise ParameterError(
            f"`k` is {k}, and the table has {records} records: a block cannot have more records than the "
            "table"
        )
    sizes = np.full(records // k, k, np.int64)
    sizes[-1] += records % k
    return sizes


def shares_of(names: Sequence[str], weights: dict[str, Any] | None) -> dict[str, Fraction]:
    """Return the part of the loss for each column: equal parts, or in proportion to weights.

    >>> shares_of(["age", "income"], {"age": 1, "income": 3})
    {'age': Fraction(1, 4), 'income': Fraction(3, 4)}
    """
    if weights is None:
        return {name: Fraction(1, len(names)) for name in names}
    if set(weights) != set(names) or not all(_exact(weight) > 0 for weight in weights.values()):
        raise ParameterError(
            f"`shares` should have a weight above 0 for each of the columns {', '.join(names)}"
        )
    total = sum(Fraction(weight) for weight in weights.values())
    return {name: _exact(weights[name]) / total for name in names}


def _exact(weight: Any) -> Fraction:
    try:
        return decimal_fraction(weight)
    except (ValueError, TypeError, OverflowError):
        raise ParameterError(f"`shares` should be numbers, not {weight!r}") from None
