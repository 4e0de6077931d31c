"""The privacy models that are judged class by class, as plain values with the literature's names.

`missing` says what a cell without a value is: "left out", "a value" like others (ARX), or "worst": any value of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from .arithmetic import Number
from .problem import Value


@dataclass(frozen=True)
class KAnonymity:
    """At least k records in the class (Samarati, Sweeney 1998)."""

    k: int


@dataclass(frozen=True)
class KMap:
    """At least k records of the population in the class; without a population size the whole table is it.

    With one, the class needs the k' records that make k in the population likely at the significance given.
    """

    k: int
    population: int | None = None
    significance: Number = 0.01
    estimator: str = "Poisson"  # or "ZeroTruncatedPoisson"


@dataclass(frozen=True)
class DistinctLDiversity:
    """At least l different sensitive values."""

    attribute: str
    l: int
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class EntropyLDiversity:
    """Entropy of the sensitive values at least ln l, plain (Shannon) or bias-corrected (Grassberger).

    Difference from ARX: the final Grassberger sum is compared. ARX compares after each value, and as the
    first terms may be negative, a sum that exceeds its bound on the way rejects a class that fulfils the
    definition.
    """

    attribute: str
    l: Number
    estimator: str = "Shannon"  # or "Grassberger"
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class RecursiveCLDiversity:
    """r_1 < c (r_l + ... + r_d), counts in descending order."""

    attribute: str
    c: Number
    l: int
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class TCloseness:
    """Distance between the class's and the table's distribution at most t.

    order: all values of the attribute in order, for "ordered"; by default text order, missing last.
    hierarchy: a table for "hierarchical". Differences from ARX: distances are rationals compared without
    rounding, and the hierarchical one has no 32-bit overflow.
    """

    attribute: str
    t: Number
    distance: str = "equal"  # or "ordered", "hierarchical"
    order: Sequence[Value] | None = None
    hierarchy: Sequence[Sequence[Value]] | None = None
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class DeltaDisclosure:
    """Every occurring value's frequency within a factor 2^delta (exclusive) of the table's."""

    attribute: str
    delta: Number
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class RatioDistance:
    """Every value of the table is in every class, with a frequency within a factor t of the table's."""

    attribute: str
    t: Number
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class BetaLikeness:
    """Relative gain of each value's frequency at most beta; enhanced: at most min(beta, -ln p)."""

    attribute: str
    beta: Number
    enhanced: bool = False
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class DeltaPresence:
    """Share of the class's population that is in the subset, between minimum and maximum.

    A class of the population without any record of the subset has share 0 and cannot be mended by
    suppression: if that violates the minimum the transformation is rejected. Difference from ARX, which
    forgets this as soon as another model defines a minimal class size.
    """

    minimum: Number
    maximum: Number


@dataclass(frozen=True)
class Inclusion:
    """Defines the research subset, demands nothing."""


@dataclass(frozen=True)
class Profitability:
    """The publisher expects to earn with the class, given a rational attacker."""

    benefit: Number = 1200
    loss: Number = 300
    gain: Number = 300
    cost: Number = 4
    attacker: str = "prosecutor"  # or "journalist"


@dataclass(frozen=True)
class NoAttack:
    """A rational attacker has no reason to attack: gain / class size < cost."""

    gain: Number = 300
    cost: Number = 4
    attacker: str = "prosecutor"  # or "journalist"


@dataclass(frozen=True)
class DifferentialPrivacy:
    """k-anonymity on sampled records that makes the release (epsilon, delta)-differentially private.

    epsilon is the part left for anonymization (without the budget of a data-dependent search).
    """

    epsilon: Number
    delta: Number


@dataclass(frozen=True)
class AlphaKAnonymity:
    """k-anonymity, and no sensitive value in more than a share alpha of the class (Wong et al. 2006).

    values: the sensitive values that matter; None means all of them.
    """

    attribute: str
    alpha: Number
    k: int
    values: Sequence[Value] | None = None
    missing: str = field(default="left out", kw_only=True)


@dataclass(frozen=True)
class KMAnonymity:
    """Who knows a record's class and at most m of its items still faces k records (Terrovitis et al. 2008).

    The attribute holds sets, as text with a separator; missing or empty text is the empty set. Knowing no
    item at all is included, so the class itself must hold k records.
    """

    attribute: str
    k: int
    m: int
    separator: str = ","


@dataclass(frozen=True)
class SubsetKAnonymity:
    """k-anonymity for an attacker who knows only some quasi-identifiers: the ones listed, or any m of them.

    A class is rejected on its own when a group it falls in, over one of the attribute sets, holds fewer
    than k records. Suppression removes members of other groups, so the transformation is judged by
    repeating this on what is left until nothing changes (see suppression.py).
    """

    k: int
    m: int | None = None
    subsets: Sequence[Sequence[int]] | None = None

    def attribute_sets(self, width: int) -> list[tuple[int, ...]]:
        """Return the sets of attributes that an attacker may know."""
        if self.subsets is not None:
            return [tuple(subset) for subset in self.subsets]
        assert self.m is not None
        return list(combinations(range(width), min(self.m, width)))


Model = (
    KAnonymity
    | KMap
    | DistinctLDiversity
    | EntropyLDiversity
    | RecursiveCLDiversity
    | TCloseness
    | DeltaDisclosure
    | RatioDistance
    | BetaLikeness
    | DeltaPresence
    | Inclusion
    | Profitability
    | NoAttack
    | DifferentialPrivacy
    | AlphaKAnonymity
    | KMAnonymity
    | SubsetKAnonymity
)
