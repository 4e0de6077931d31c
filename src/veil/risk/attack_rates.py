"""Success rates of attacks: on people in the release, on people who are not in it, and by guessing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from veil.risk.refinement import Refinement

Z = 1.959963984540054
"""The normal quantile of 95 % confidence intervals."""

Kind = Literal["singling out", "linkage", "inference"]


@dataclass(frozen=True)
class SuccessRate:
    """Successes among attempts, with Wilson's interval (1927) at 95 %.

    A choice among t equally good candidates counts 1/t, so `successes` need not be a whole number.

    >>> rate = SuccessRate(0, 100)
    >>> rate.share, round(rate.low, 4), round(rate.high, 4)
    (0.0, 0.0, 0.037)
    """

    successes: float
    attempts: int

    @property
    def share(self) -> float:
        """Successes for each attempt; 0 without any."""
        return self.successes / self.attempts if self.attempts else 0.0

    @property
    def centre(self) -> float:
        """The middle of the interval."""
        return (self.successes + Z * Z / 2) / (self.attempts + Z * Z)

    @property
    def margin(self) -> float:
        """Half of the width of the interval."""
        n, s = self.attempts, self.successes
        return Z / (n + Z * Z) * math.sqrt((s * (n - s) / n if n else 0.0) + Z * Z / 4)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return max(0.0, self.centre - self.margin)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return min(1.0, self.centre + self.margin)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        names = ("successes", "attempts", "share", "low", "high")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return f"{self.share:.1%} ({self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True)
class TriedAttack:
    """The success of one attack.

    Attributes
    ----------
    kind
        "singling out", "linkage" or "inference".
    column
        The column that was inferred.
    members, outsiders
        Successes with people in the input of the release, and with people who were held out. The latter come
        from knowledge about people in general.
    naive
        Successes of an attacker who does not use the rows of the release.
    """

    kind: Kind
    column: str | None
    members: SuccessRate
    outsiders: SuccessRate
    naive: SuccessRate

    @property
    def excess(self) -> tuple[float, float, float]:
        """Excess risk of being in the release, with its interval: value, low, high.

        (a - c) / (1 - c) for the success a with members and c with outsiders, with the middles of Wilson's
        intervals and their errors propagated (Giomi et al. 2023, section 3).
        """
        a, c = self.members.centre, self.outsiders.centre
        value = (a - c) / (1 - c)
        by_members, by_outsiders = 1 / (1 - c), (1 - a) / (1 - c) ** 2
        error = math.hypot(by_members * self.members.margin, by_outsiders * self.outsiders.margin)
        return max(0.0, value), max(0.0, value - error), max(0.0, min(1.0, value + error))

    @property
    def is_seen(self) -> bool:
        """Whether the attack works: the whole interval lies above 0, and guessing does worse."""
        return self.excess[1] > 0 and self.members.share > self.naive.share

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        rates = {name: getattr(self, name).to_dict() for name in ("members", "outsiders", "naive")}
        excess = dict(zip(("value", "low", "high"), self.excess, strict=True))
        return {
            "kind": self.kind,
            "column": self.column,
            **rates,
            "excess": excess,
            "is_seen": self.is_seen,
        }

    def __str__(self) -> str:
        name = self.kind if self.column is None else f"{self.kind} of {self.column}"
        return (
            f"{name}: {self.members} of the members, {self.outsiders} of the others, {self.naive} by guessing"
        )


@dataclass(frozen=True)
class TriedAttacks:
    """Attacks on one release.

    Attributes
    ----------
    known
        Columns that the attacker is assumed to know exactly.
    files
        The columns of the two files that are linked; empty if too few are known.
    members, outsiders
        Number of records in the input of the release, and of records that were held out.
    refinements
        What the choice of labels says about who is not in a class, in the release itself: see
        `veil.risk.refine`.
    """

    known: tuple[str, ...]
    files: tuple[tuple[str, ...], ...]
    members: int
    outsiders: int
    attacks: tuple[TriedAttack, ...]
    refinements: tuple[Refinement, ...] = ()

    def __getitem__(self, kind: Kind) -> TriedAttack:
        return next(each for each in self.attacks if each.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {
            "known": list(self.known),
            "files": [list(each) for each in self.files],
            "members": self.members,
            "outsiders": self.outsiders,
            "attacks": [each.to_dict() for each in self.attacks],
            "refinements": [each.to_dict() for each in self.refinements],
        }

    def __str__(self) -> str:
        head = f"known: {', '.join(self.known)}; {self.members:,} members, {self.outsiders:,} others"
        return "\n".join([head, *map(str, self.attacks), *map(str, self.refinements)])
