"""PRAM, the post-randomization method: categories turn into others with known probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import InputError, PlanError, did_you_mean
from veil.hierarchies._labels import Text
from veil.outcome.method import MaskedTable, Method, SingleColumnMethod
from veil.tables.columns import column_of, encode_values, replace_column
from veil.tables.rows import Rows
from veil.tables.text import canonical_text

Transitions = list[list[Fraction]]


def _exact(value: Any) -> Any:
    """Read a probability as the decimal number or fraction that is written, such as 0.1 or 1/3."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        probability = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f"a probability should be a number such as 0.25 or a fraction such as 1/3, not {value!r}"
        ) from None
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability should be from 0 to 1, not {value}")
    return str(probability)


Probability = Annotated[str, BeforeValidator(_exact, json_schema_input_type=float | str)]
Matrix = dict[Text, dict[Text, Probability]]


@declared(kind_of=Method)
class PRAM(SingleColumnMethod):
    """Each value of a column turns into another with known probability, independently of all others (PRAM).

    By default a value stays with the probability `retention`, and else becomes any other value of the column,
    all equally likely. `matrix` gives the probabilities of its replacements instead, by value (0 if not
    listed). The probabilities of a value have to add up to exactly 1 (1/3 can be written so).

    With `invariant`, a second draw leads back towards the original values: from value l to k with probability
    p(k, l) t(k) / Σ p(m, l) t(m), where t are the shares of the values in the column. Both draws keep the
    expected share of every value. Gouweleeuw, Kooiman, Willenborg and de Wolf (1998). Missing values stay.

    Draws have exactly these probabilities. Estimates from the output can be corrected with `transitions`.

    >>> table = pa.table({"job": ["cook", "cook", "miner", "judge"]})
    >>> PRAM("job", 0.9).transitions(table)["cook"]
    {'cook': Fraction(9, 10), 'miner': Fraction(1, 20), 'judge': Fraction(1, 20)}
    """

    column: Annotated[str, Field(description="column of categories")]
    retention: Annotated[float | None, Field(ge=0, le=1, description="probability that a value stays")] = None
    matrix: Annotated[
        Matrix | None, Field(description="for each value, the probabilities of its replacements")
    ] = None
    invariant: Annotated[bool, Field(description="whether the expected share of every value stays")] = False
    kind: Literal["PRAM"] = Field(default="PRAM", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    @model_validator(mode="after")
    def _is_stochastic(self) -> PRAM:
        if (self.retention is None) == (self.matrix is None):
            raise ValueError("PRAM needs `retention` or `matrix`, one of the two")
        for value, row in (self.matrix or {}).items():
            total = sum(map(Fraction, row.values()), Fraction(0))
            if total != 1:
                raise ValueError(
                    f"`matrix` of PRAM: the probabilities of {value!r} should add up to exactly 1, "
                    f"not {show_total(total)}"
                )
        return self

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        values, codes, stages = self._stages(table)
        present = np.flatnonzero(codes >= 0)
        draws = codes[present]
        for stage in stages:
            draws = draw_values(stage, draws, randomness)
        new_codes = np.full(codes.size, -1)
        new_codes[present] = draws
        column = values.take(pa.array(new_codes, mask=new_codes < 0))
        facts: dict[str, Any] = {
            "values": len(values),
            "smallest probability that a value stays": float(min(_stays(stages))),
        }
        return MaskedTable(replace_column(table, self.column, column), facts=facts)

    def transitions(self, table: pa.Table) -> dict[str, dict[str, Fraction]]:
        """Return the probability of each value of a table's column to become each other, over both draws."""
        values, _, stages = self._stages(table)
        names = [str(each) for each in canonical_text(values, column=self.column)]
        return {
            name: {other: chance for other, chance in zip(names, row, strict=True) if chance}
            for name, row in zip(names, _product(stages), strict=True)
        }

    def _stages(self, table: pa.Table) -> tuple[pa.Array, Integers, list[Transitions]]:
        """Return the values, the code of each row (-1: missing), and the matrix of each draw."""
        distinct, codes = encode_values(column_of(table, self.column, self))
        valid = np.array(distinct.is_valid(), dtype=np.bool_)
        place = np.where(valid, np.cumsum(valid) - 1, -1)
        values, places = distinct.drop_null(), place[codes]
        if len(values) > MOST:
            raise InputError(
                f"{self}: column {self.column!r} has {len(values)} distinct values, and at most {MOST} are "
                "supported. Recode it first, or choose a method for numbers"
            )
        names = [str(each) for each in canonical_text(values, column=self.column)]
        if self.matrix is not None:
            values, matrix = self._read_matrix(values, names, self.matrix)
        else:
            if len(names) < 2:
                raise InputError(
                    f"{self}: column {self.column!r} has the same value in every row, so nothing would "
                    "change. Leave it out"
                )
            stay = decimal_fraction(self.retention or 0)
            move = (1 - stay) / (len(names) - 1)
            matrix = [[stay if i == j else move for j in range(len(names))] for i in range(len(names))]
        if not self.invariant:
            return values, places, [matrix]
        counts = np.bincount(places[places >= 0], minlength=len(values)).tolist()
        return values, places, [matrix, _backwards(matrix, counts)]

    def _read_matrix(
        self, values: pa.Array, names: list[str], matrix: Mapping[str, Mapping[str, str]]
    ) -> tuple[pa.Array, Transitions]:
        """Return the values of the column and those that the matrix adds, and the matrix in their order."""
        for name in names:
            if name not in matrix:
                raise PlanError(
                    f"{self}: `matrix` has no entry for the value {name!r} of column {self.column!r}."
                    f"{did_you_mean(name, matrix)} Add it, with what it becomes"
                )
        own_names = set(names)
        further = [each for row in matrix.values() for each in row if each not in own_names]
        # A value that is only a replacement needs a row of its own for the second draw: it stays.
        new = [*matrix, *further]
        added = [each for each in dict.fromkeys(new) if each not in own_names]
        if added:
            try:
                values = pa.concat_arrays([values, pa.array(added, pa.string()).cast(values.type)])
            except pa.ArrowInvalid:
                raise PlanError(
                    f"{self}: `matrix` names {added[0]!r}, which is not a value of type {values.type}, the "
                    f"type of column {self.column!r}"
                ) from None
        names = [*names, *added]
        rows = [matrix.get(name, {name: "1"}) for name in names]
        return values, [[Fraction(row.get(other, 0)) for other in names] for row in rows]


MOST = 1000
"""Largest number of categories. A column with more holds numbers or names, and needs another method."""


def _backwards(matrix: Transitions, counts: list[int]) -> Transitions:
    """Return the matrix of the second draw of invariant PRAM."""
    size = len(matrix)
    back = []
    for l in range(size):
        weights = [matrix[k][l] * counts[k] for k in range(size)]
        total = sum(weights, Fraction(0))
        # A value that is no replacement does not occur in the second draw.
        back.append(
            [each / total for each in weights] if total else [Fraction(int(k == l)) for k in range(size)]
        )
    return back


def _stays(stages: list[Transitions]) -> list[Fraction]:
    """Return for each value the probability that it is the same after all draws."""
    if len(stages) == 1:
        return [row[at] for at, row in enumerate(stages[0])]
    first, second = stages
    return [
        sum((chance * second[l][at] for l, chance in enumerate(row) if chance), Fraction(0))
        for at, row in enumerate(first)
    ]


def _product(stages: list[Transitions]) -> Transitions:
    first = stages[0]
    for second in stages[1:]:
        columns = list(zip(*second, strict=True))
        first = [
            [
                sum((a * b for a, b in zip(row, column, strict=True) if a and b), Fraction(0))
                for column in columns
            ]
            for row in first
        ]
    return first


def draw_values(matrix: Transitions, codes: Integers, randomness: Randomness) -> Integers:
    """Draw the replacement of each value, value by value, with integers below the common denominator."""
    draws = codes.copy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(matrix)))
    for code, end in enumerate(ends.tolist()):
        rows = order[(ends[code - 1] if code else 0) : end]
        if not rows.size:
            continue
        whole = math.lcm(*(chance.denominator for chance in matrix[code]))
        if whole >= 2**63:
            raise PlanError(
                "the probabilities of a category have no common denominator below 2^63. Write them with fewer digits"
            )
        steps = np.cumsum([int(chance * whole) for chance in matrix[code]])
        draws[rows] = np.searchsorted(steps, randomness.integers(whole, rows.size), side="right")
    return draws


def show_total(total: Fraction) -> str:
    """Format a sum of probabilities, as a decimal number if it is one."""
    return str(float(total)) if Fraction(str(float(total))) == total else str(total)
