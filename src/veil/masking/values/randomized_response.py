"""Randomized response: answers are drawn anew, so that none reveals the true one for sure (Warner 1965)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator

from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.dp.symbolic import Symbolic, enclosure
from veil.errors import InputError, ParameterError, PlanError, did_you_mean
from veil.hierarchies._labels import Text
from veil.masking.values.pram import Probability, Transitions, draw_values, show_total
from veil.outcome.method import MaskedTable, Method, SingleColumnMethod
from veil.tables.columns import column_of, encode_values
from veil.tables.rows import Rows
from veil.tables.text import canonical_text


def _plain(value: Any) -> Any:
    """Convert a budget to a form that a recipe can hold."""
    readable = value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))
    return value if readable else str(value)


Budget = Annotated[int | float | str, BeforeValidator(_plain)]


@declared(kind_of=Method)
class RandomizedResponse(SingleColumnMethod):
    """Each value is replaced by a draw from declared categories: ε-differential privacy for every answer.

    With `epsilon`, a value stays with the probability e^ε / (e^ε + c - 1) for c categories, and else becomes
    any other one, all equally likely: no other draw keeps more of the answers at this ε (Kairouz, Oh and
    Viswanath 2014). If e^ε is irrational, a rational number just below it is used: draws are exact and ε is
    kept. `matrix` gives the probabilities instead: one row a category, in their order, with its replacements.

    *Promise.* Any published answer is at most e^ε times as likely for one true value as for any other: ε is
    the logarithm of the largest ratio within a column of the matrix. Draws need no trusted third party. Only
    the value of this column is protected: not presence in the table, other columns, or earlier steps that
    combined the values of several people. For several columns of one person the ε add up and are charged to
    an account.

    The categories are declared and not taken from the data, as which ones occur would reveal something.
    Values that are missing or none of them are refused. The released column is text. `estimate` returns
    unbiased shares.

    >>> coin = RandomizedResponse("smokes", ["yes", "no"], matrix=[[0.75, 0.25], [0.25, 0.75]])
    >>> coin.local_epsilon, RandomizedResponse("smokes", ["yes", "no"], "ln(3)").transitions == coin.transitions
    ('ln(3)', True)
    """

    column: Annotated[str, Field(description="column of categories")]
    categories: Annotated[tuple[Text, ...], Field(min_length=2, description="every value that is possible")]
    epsilon: Annotated[
        Budget | None, Field(description='privacy loss of an answer: a number, or a text such as "ln(3)"')
    ] = None
    matrix: Annotated[
        tuple[tuple[Probability, ...], ...] | None,
        Field(
            description="for each category, the probability of each published category, instead of epsilon"
        ),
    ] = None
    kind: Literal["RandomizedResponse"] = Field(default="RandomizedResponse", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage",)
    why_not_owners: ClassVar[str] = (
        "each of their rows is an answer of its own, and what answers cost adds up"
    )

    @model_validator(mode="after")
    def _check(self) -> RandomizedResponse:
        if (self.epsilon is None) == (self.matrix is None):
            raise ValueError("RandomizedResponse needs `epsilon` or `matrix`, one of the two")
        for name in self.categories:
            if self.categories.count(name) > 1:
                raise ValueError(f"`categories` of RandomizedResponse names {name!r} twice")
        if self.epsilon is not None and not 0 < float(Symbolic.read(self.epsilon, "epsilon")) <= LARGEST:
            raise ValueError(
                f"`epsilon` of RandomizedResponse should be above 0 and at most {LARGEST}, not {self.epsilon}"
            )
        if self.matrix is not None:
            _check_matrix(self.categories, self.transitions)
        return self

    @property
    def transitions(self) -> Transitions:
        """The probability of each category, by row, to become each other, by column."""
        if self.matrix is not None:
            return [[Fraction(chance) for chance in row] for row in self.matrix]
        count = len(self.categories)
        ratio = _ratio(Symbolic.read(self.epsilon or 0), count)
        move = 1 / (ratio + count - 1)
        return [[move * (ratio if i == j else 1) for j in range(count)] for i in range(count)]

    @property
    def local_epsilon(self) -> str:
        """The privacy loss of an answer: as declared, or the logarithm of the largest ratio of the matrix."""
        if self.epsilon is not None:
            return str(Symbolic.read(self.epsilon))
        columns = [column for column in zip(*self.transitions, strict=True) if any(column)]
        return str(Symbolic.read(f"ln({max(max(column) / min(column) for column in columns)})"))

    @property
    def by_construction(self) -> tuple[str, ...]:
        """The privacy loss, which is that of the draw."""
        return (f"column {self.column!r} holds randomized answers, at a local ε of {self.local_epsilon}",)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        values, codes = encode_values(column_of(table, self.column, self))
        places = self._places(canonical_text(values, column=self.column))
        draws = draw_values(self.transitions, places[codes], randomness)
        answers = pa.array(self.categories, pa.string()).take(pa.array(draws))
        least = min(row[at] for at, row in enumerate(self.transitions))
        facts = {"epsilon": self.local_epsilon, "smallest probability that a value stays": float(least)}
        # Always as text: a type that depends on the drawn categories would reveal which answers there were.
        masked = table.set_column(table.column_names.index(self.column), self.column, answers)
        return MaskedTable(masked, facts=facts)

    def estimate(self, released: pa.Table) -> dict[str, float]:
        """Return unbiased estimates of the true share of each category, from a released table.

        They are the solution of Σ t(i) p(i, j) = the share of j, add up to 1, and may lie below 0 or above 1.

        >>> method = RandomizedResponse("x", ["a", "b"], "ln(3)")
        >>> method.estimate(pa.table({"x": ["a"] * 60 + ["b"] * 40}))
        {'a': 0.7, 'b': 0.3}
        """
        values, codes = encode_values(column_of(released, self.column, self))
        places = self._places(canonical_text(values, column=self.column))
        counts = np.bincount(places[codes], minlength=len(self.categories)).tolist()
        shares = [Fraction(count, max(1, codes.size)) for count in counts]
        columns = [list(column) for column in zip(*self.transitions, strict=True)]
        return dict(zip(self.categories, map(float, _solve(columns, shares)), strict=True))

    def _places(self, texts: list[str | None]) -> Any:
        place = {name: number for number, name in enumerate(self.categories)}
        for text in texts:
            if text is None:
                raise InputError(
                    f"{self}: column {self.column!r} has missing values, and a missing answer would itself "
                    "be revealing. Turn them into a separate category first"
                )
            if text not in place:
                raise PlanError(
                    f"{self}: column {self.column!r} holds {text!r}, which is not one of the `categories`."
                    f"{did_you_mean(text, self.categories)} Declare every possible value"
                )
        return np.array([place[str(text)] for text in texts], np.int64)


LARGEST = 30
"""With a larger ε, all but one in 10^13 answers are true."""


def _ratio(epsilon: Symbolic, count: int) -> Fraction:
    """Return e^epsilon, or a number just below it such that probabilities have a denominator below 2^63."""
    exact = epsilon.exponential()
    if exact is not None:
        return exact
    low, _ = enclosure(lambda bits: epsilon.ball().exp(), 80)
    shift = 61 - (math.ceil(low) + count).bit_length()
    return Fraction(math.floor(low * 2**shift), 2**shift)


def _check_matrix(categories: tuple[str, ...], matrix: Transitions) -> None:
    """Refuse a matrix that is not square and stochastic, or in which an answer excludes a value."""
    if [len(row) for row in matrix] != [len(categories)] * len(categories):
        raise ValueError(
            f"`matrix` of RandomizedResponse should have {len(categories)} rows of {len(categories)} probabilities, one "
            "for each category"
        )
    for name, row in zip(categories, matrix, strict=True):
        if sum(row) != 1:
            raise ValueError(
                f"`matrix` of RandomizedResponse: the probabilities of {name!r} should add up to exactly 1, not "
                f"{show_total(sum(row, Fraction(0)))}"
            )
    for place, answer in enumerate(categories):
        never = [name for name, row in zip(categories, matrix, strict=True) if not row[place]]
        if 0 < len(never) < len(categories):
            raise ValueError(
                f"`matrix` of RandomizedResponse: {answer!r} never comes from {never[0]!r}, so anyone who "
                "sees it can rule that answer out. Make every probability in that column positive"
            )


def _solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a system of linear equations exactly, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for at in range(size):
        pivot = next((i for i in range(at, size) if rows[i][at]), None)
        if pivot is None:
            raise ParameterError(
                "the answers carry no information about some categories (the matrix has no inverse), so "
                "shares cannot be estimated"
            )
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [each / rows[at][at] for each in rows[at]]
        for i in range(size):
            if i != at and rows[i][at]:
                factor = rows[i][at]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[at], strict=True)]
    return [row[-1] for row in rows]
