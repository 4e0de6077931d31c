"""The generalization/suppression factor: the preference for one of the two."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from veil.base.exact import decimal_fraction

Factor = Annotated[
    float,
    Field(
        ge=0, le=1, description="below 0.5 suppression is cheaper, above it generalization is; 0.5 is neutral"
    ),
]

Weights = Annotated[
    dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]],
    Field(description="importance of each quasi-identifier; those not named count 0.5"),
]

Monotone = Annotated[
    bool, Field(description="ignore what suppression costs, so that the score only grows with generalization")
]


def exact_factors(factor: float) -> tuple[Fraction, Fraction]:
    """Return the weight of suppression and the weight of generalization.

    >>> exact_factors(0.3), exact_factors(0.7)
    ((Fraction(3, 5), Fraction(1, 1)), (Fraction(1, 1), Fraction(3, 5)))
    """
    exact = decimal_fraction(factor)
    return min(2 * exact, Fraction(1)), min(2 - 2 * exact, Fraction(1))


def factors(factor: float) -> tuple[float, float]:
    """Return the weight of suppression and the weight of generalization as floats.

    >>> factors(0.5), factors(0.25), factors(0.75)
    ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5))
    """
    s, g = exact_factors(factor)
    return float(s), float(g)
