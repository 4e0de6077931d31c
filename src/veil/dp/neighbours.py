"""The two relations between neighbouring tables, and the privacy loss of a promise under the other one.

"one more or less": one table has a record that the other lacks (unbounded; what SafePub promises).
"one changed": both have the same number of records, which is public, and differ in one of them (bounded).

Changing a record means removing it and adding another, so a promise of the first kind is one of the second at
twice the loss. The converse fails: the exact number of records is private by the second, not by the first.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, get_args

from veil.dp.symbolic import Symbolic, enclosure
from veil.errors import ParameterError, PlanError, did_you_mean

Neighbours = Literal["one more or less", "one changed"]

RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)


def check_neighbours(value: object) -> Neighbours:
    """Return a value that is a relation, or refuse it.

    >>> check_neighbours("one changed")
    'one changed'
    """
    for relation in RELATIONS:
        if value == relation:
            return relation
    hint = did_you_mean(str(value), RELATIONS) if value is not None else ""
    raise ParameterError(
        f'`neighbours` should be "one more or less" or "one changed", not {value!r}.{hint} The first hides '
        "whether somebody is in the table; the second treats the number of records as public"
    )


def convert_loss(
    epsilon: Symbolic, delta: Fraction, rho: Fraction, *, promise: Neighbours, budget: Neighbours
) -> tuple[Symbolic, Fraction, Fraction]:
    """Return the privacy loss of a promise under the relation of a budget, rounded up where it is not rational.

    Two steps of (epsilon, delta) are one of (2 epsilon, (1 + e^epsilon) delta): P(S) <= e^eps P'(S) + delta,
    and P'(S) <= e^eps P''(S) + delta. Two steps of rho-zCDP are one of 4 rho (Bun and Steinke 2016).

    >>> convert_loss(Symbolic.read("ln(3)"), Fraction(1), Fraction(0), promise=RELATIONS[0], budget=RELATIONS[1])
    (Symbolic('2*ln(3)'), Fraction(4, 1), Fraction(0, 1))
    """
    if promise == budget:
        return epsilon, delta, rho
    if promise == "one changed":
        raise PlanError(
            'a promise for neighbours="one changed" says nothing about tables with one record more or less, and cannot '
            'be charged to such a budget. Promise "one more or less", or keep a budget for "one changed"'
        )
    return 2 * epsilon, (1 + exponential_at_most(epsilon)) * delta if delta else delta, 4 * rho


def exponential_at_most(number: Symbolic) -> Fraction:
    """Return e to the power of a number: exactly where that is rational, otherwise rounded up."""
    exact = number.exponential()
    return exact if exact is not None else enclosure(lambda bits: number.ball().exp())[1]
