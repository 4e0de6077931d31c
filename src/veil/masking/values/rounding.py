"""Rounding: numbers become multiples of a base."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from veil.base.arrays import Floats, Integers
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import InputError
from veil.masking.parameters import Columns
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.canonical import widened
from veil.tables.columns import column_of, numbers, replace_column, require_numbers
from veil.tables.rows import Rows


@declared(kind_of=Method)
class Rounding(ColumnMethod):
    """Numbers are rounded to multiples of a base.

    To the nearest one, a number in the middle to the even one; or at random to one of the two neighbours, the
    nearer the likelier, so that the expected value stays (unbiased random rounding). Multiples of the base
    stay. Integers stay integers if the base is one. Missing values stay missing.

    >>> table = pa.table({"income": [1049, 1051, 1150]})
    >>> Rounding("income", 100).mask(Rows.of(table), Randomness()).table["income"].to_pylist()
    [1000, 1100, 1200]
    """

    columns: Annotated[Columns, Field(description="columns of numbers")]
    base: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="values are rounded to multiples of this")
    ]
    method: Annotated[
        Literal["nearest", "random"], Field(description="to the nearest multiple, or unbiased at random")
    ] = "nearest"
    kind: Literal["Rounding"] = Field(default="Rounding", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        base = decimal_fraction(self.base)
        for name in self.columns:
            column = column_of(table, name, self)
            require_numbers(column, name, self)
            missing = np.array(widened(column).is_null(nan_is_null=True), dtype=np.bool_)
            present = pa.table({name: column}).filter(pa.array(~missing))
            rounded: NDArray[Any]
            try:
                if pa.types.is_integer(column.type) and base.denominator == 1:
                    rounded = np.zeros(len(column), np.int64)
                    whole = np.array(present[name].cast(pa.int64()))
                    rounded[~missing] = self._integers(whole, base.numerator, randomness)
                    kind = column.type
                else:
                    rounded = np.zeros(len(column))
                    rounded[~missing] = self._decimals(numbers(present, name, self), base, randomness)
                    kind = column.type if pa.types.is_floating(column.type) else pa.float64()
                table = replace_column(table, name, pa.array(rounded, mask=missing).cast(kind))
            except (pa.ArrowInvalid, OverflowError):
                raise InputError(
                    f"{self}: the multiples of {base} around the values of column {name!r} do not fit into "
                    f"its type {column.type}. Cast it to a wider type, or use a smaller base"
                ) from None
        return MaskedTable(table)

    def _integers(self, values: Integers, base: int, randomness: Randomness) -> Integers:
        if values.size and max(-int(values.min()), int(values.max())) > 2**63 - 1 - base:
            raise OverflowError
        quotient, rest = np.divmod(values, base)
        if self.method == "random":
            up = randomness.integers(base, values.size) < rest
        else:
            up = (rest > base - rest) | ((rest == base - rest) & (quotient % 2 == 1))
        return (quotient + up) * base

    def _decimals(self, values: Floats, base: Fraction, randomness: Randomness) -> Floats:
        scaled = values / float(base)
        whole = np.rint(scaled)
        if self.method == "random":
            # 0.3 / 0.1 is a little less than 3: multiples up to rounding errors stay.
            between = np.abs(scaled - whole) > 1e-12 * np.maximum(1, np.abs(scaled))
            below = np.floor(scaled)
            neighbour = below + (randomness.uniform(values.size) < scaled - below)
            whole = np.where(between, neighbour, whole)
        # One division, so that 3 times 0.1 is 0.3.
        return whole * float(base.numerator) / float(base.denominator)
