"""What every method of making a private table says of itself, and what it returns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, ValidationInfo

from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.dp.neighbours import Neighbours
from veil.dp.price import Price
from veil.dp.private_table.columns import Column
from veil.errors import ParameterError, PlanError, Say


@dataclass(frozen=True)
class DrawnTable:
    """A table that a method has drawn, and what it has to say about it."""

    table: pa.Table
    proof: str
    notes: tuple[str, ...] = ()


class TableMechanism(ABC):
    """A way to make a table private as a whole."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in reports and ledgers."""

    @property
    def is_sound(self) -> bool:
        """Whether the promise has a proof. What was published without one is available, and says so."""
        return True

    @abstractmethod
    def check(self, columns: Sequence[Column], price: Price, hidden: Neighbourhood) -> None:
        """Refuse what cannot be done, before anything is paid."""

    @abstractmethod
    def make(
        self, columns: Sequence[Column], price: Price, hidden: Neighbourhood, randomness: Randomness
    ) -> DrawnTable:
        """Draw the table."""


class Neighbourhood(NamedTuple):
    """What a private table hides: one person more or less, or what one has, who may have up to `rows` rows."""

    neighbours: Neighbours
    rows: int = 1

    @property
    def moved(self) -> int:
        """How many rows differ between two neighbours: those of a person, or these and others in their place."""
        return self.rows if self.neighbours == "one more or less" else 2 * self.rows

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbours have the same number of rows: not if somebody may have more or fewer of them."""
        return self.neighbours == "one changed" and self.rows == 1


def require_public_size(method: str, hidden: Neighbourhood) -> None:
    """Refuse what is hidden if the number of blocks can change with it."""
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


def require_epsilon(method: str, price: Price) -> None:
    """Refuse a price that is not a plain epsilon."""
    if price.rho or price.delta:
        raise ParameterError(f"{method} only takes `epsilon`: leave `delta` and `rho` out")


def _check_k(k: Any) -> Any:
    # Here, as otherwise the message would list what is wrong with each form that is allowed.
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
"""A number as it is written: text where a float would lose digits."""

Shares = Annotated[
    dict[str, PublicNumber] | None,
    Field(description="what part of epsilon each column gets, in proportion"),
]


def block_sizes(records: int, k: int) -> NDArray[np.int64]:
    """Return the sizes of blocks of k, of which the last has up to 2k - 1.

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


def shares_of(names: Sequence[str], given: dict[str, Any] | None) -> dict[str, Fraction]:
    """Return what part of the price each column gets: equal parts, or in proportion to given weights.

    >>> shares_of(["age", "income"], {"age": 1, "income": 3})
    {'age': Fraction(1, 4), 'income': Fraction(3, 4)}
    """
    if given is None:
        return {name: Fraction(1, len(names)) for name in names}
    if set(given) != set(names) or not all(_exact(weight) > 0 for weight in given.values()):
        raise ParameterError(
            f"`shares` should have a weight above 0 for each of the columns {', '.join(names)}"
        )
    total = sum(Fraction(weight) for weight in given.values())
    return {name: _exact(given[name]) / total for name in names}


def _exact(weight: Any) -> Fraction:
    try:
        return decimal_fraction(weight)
    except (ValueError, TypeError, OverflowError):
        raise ParameterError(f"`shares` should be numbers, not {weight!r}") from None
