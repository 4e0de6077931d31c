"""Parameters that masking methods share, and chances."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} is named twice")
    return names


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_more, json_schema_input_type=str | list[str]),
    AfterValidator(_different),
]
"""Columns, one or several; one alone needs no brackets."""


Columns = Annotated[Names, Field(min_length=1)]
"""At least one column."""


def happens(randomness: Randomness, probability: float, size: int) -> NDArray[np.bool_]:
    """Draw whether something of a given probability happens, `size` times; a tenth is exactly a tenth."""
    exact = decimal_fraction(probability).limit_denominator(2**62)
    return randomness.integers(exact.denominator, size) < exact.numerator


def round_half_up(number: Any) -> int:
    """Round a non-negative rational number to the nearest integer, a half up."""
    return int((2 * number + 1) // 2)
