"""The privacy loss of a question: epsilon, epsilon and delta, or rho."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from veil.dp.composition import Amount, amount
from veil.dp.grid import positive
from veil.dp.symbolic import Readable, Symbolic
from veil.errors import ParameterError


@dataclass(frozen=True)
class PrivacyLoss:
    """A privacy loss, before it is entered in a ledger.

    >>> print(PrivacyLoss.read(0.5, delta="1e-6"), "or", PrivacyLoss.read(rho="1/8"))
    epsilon = 0.5, delta = 1e-06 or rho = 0.125
    """

    epsilon: Symbolic
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    @classmethod
    def read(
        cls, epsilon: Readable | None = None, *, delta: Readable = 0, rho: Readable | None = None
    ) -> PrivacyLoss:
        """Read a privacy loss from the parameters of a question."""
        if rho is None:
            return cls(*amount(positive(epsilon), delta))
        if epsilon is not None or delta != 0:
            raise ParameterError("`rho` replaces `epsilon` and `delta`: leave them out")
        concentrated = positive(rho, "rho")
        if concentrated.logarithms:
            raise ParameterError(f"`rho` should be a rational number, not {concentrated}")
        return cls(Symbolic(Fraction(0)), rho=concentrated.rational)

    def __str__(self) -> str:
        return f"rho = {Symbolic(self.rho)}" if self.rho else str(Amount(self.epsilon, self.delta))
