"""Profitability: a rational adversary attacks only if that pays, and the publisher still profits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction, sign_of_logs
from veil.classes import kernels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.hierarchies.hierarchy import Hierarchy
from veil.models.base import Beside, PrivacyModel, PromisedRisk, Reads, Strength, by_parameters
from veil.models.k_map import LargeInPopulation
from veil.models.presence import sizes_in_population
from veil.models.subset import SubsetField
from veil.published.finding import Finding
from veil.published.table import Published
from veil.quality.cover import CoverLookup, fields, place, sum_of_fixed
from veil.quality.payout import AdversaryGain, Benefit, Cost, PayoutMeasure, PublisherLoss, PublisherPayout
from veil.tables import canonical_text
from veil.tables.columns import encode_values

_CLOSE = 2
"""Mark of a class that doubles cannot decide."""


@declared(kind_of=PrivacyModel)
class Profitability(PrivacyModel):
    """The publisher expects to profit from every class, given an adversary who attacks only where that pays.

    A record of a class whose labels cover the share c of all D combinations has lost x = 1 + log(c) / log(D)
    of its information (kept in [0, 1]; see `EntropyBased`) and earns benefit * (1 - x). An attack succeeds
    with the chance p = 1 / (size of the class); it is made if adversary_gain * p > cost, and costs the
    publisher publisher_loss * p. The class is accepted iff the rest is above 0. A prosecutor knows that a
    person is in the release, so the class is counted there; for a journalist it is counted in the whole table
    (without a research subset that is the same). Wan et al. (2015).

    With `no_attack`, no class may be worth an attack at all: adversary_gain * p < cost. That is k-anonymity
    (prosecutor) or k-map (journalist) with the smallest k that is above adversary_gain / cost, and monotone
    as these are. Otherwise neither kind of monotone: large classes are safe but may have lost too much.

    >>> Profitability(no_attack=True, adversary_gain=300, cost=4).unattacked_class_size()
    76
    """

    attacker: Annotated[
        Literal["prosecutor", "journalist"],
        Field(description="knows that the person is in the release, or only that they are in the population"),
    ] = "prosecutor"
    no_attack: Annotated[bool, Field(description="let no attack pay, whatever the publisher would gain")] = (
        False
    )
    benefit: Benefit = 1200.0
    publisher_loss: PublisherLoss = 300.0
    adversary_gain: AdversaryGain = 300.0
    cost: Cost = 4.0
    subset: Annotated[
        SubsetField, Field(description="the rows to release; the whole table is the journalist's population")
    ] = None
    kind: Literal["Profitability"] = Field(default="Profitability", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    reads: ClassVar[Reads] = by_parameters(
        lambda model: "labels" if model.no_attack else "levels", safe="levels"
    )
    monotone_generalization: ClassVar[bool] = by_parameters(
        lambda model: model.no_attack, condition="no_attack"
    )
    # Without a research subset: larger classes are attacked less, and labels keep their worth.
    survives_union: ClassVar[bool] = by_parameters(lambda model: model.subset is None)
    monotone_suppression: ClassVar[bool] = by_parameters(lambda model: model.no_attack, condition="no_attack")

    compares_with: ClassVar[tuple[Beside, ...]] = by_parameters(
        lambda model: (
            *(() if model.no_attack else ("hierarchies",)),
            *(("population",) if model.attacker == "journalist" else ()),
        ),
        safe=(),
    )

    def __post_init__(self) -> None:
        if self.no_attack and self.cost == 0 and self.adversary_gain > 0:
            raise ValueError(
                "`cost` of Profitability should be greater than 0 with no_attack, because an attack "
                "without costs always pays, not 0"
            )
        if not self.no_attack and self.benefit == 0:
            raise ValueError(
                "`benefit` of Profitability should be greater than 0 without no_attack, because otherwise "
                "no attack pays, not 0"
            )

    def unattacked_class_size(self) -> int:
        """Return the smallest size n with adversary_gain / n < cost."""
        if self.adversary_gain == 0:
            return 1
        return math.floor(decimal_fraction(self.adversary_gain) / decimal_fraction(self.cost)) + 1

    def _payout(self) -> PublisherPayout:
        """Return the quality model of the same costs and benefits."""
        return PublisherPayout(
            self.attacker == "journalist", self.benefit, self.publisher_loss, self.adversary_gain, self.cost
        )

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the size that makes attacks useless, or one that makes their harm smaller than the benefit.

        A class of n records that is attacked earns at most benefit - publisher_loss / n. A journalist's
        classes have no such bound, as they may be larger in the population.
        """
        if self.attacker == "journalist" and sample.has_subset:
            return 1
        if self.no_attack:
            return self.unattacked_class_size()
        worthwhile = math.floor(decimal_fraction(self.publisher_loss) / decimal_fraction(self.benefit)) + 1
        return min(self._payout().largest_attacked_class() + 1, worthwhile)

    def bind(self, sample: Sample) -> _Profit | LargeInPopulation | None:
        """Compute the payout of each class, or count it in the population."""
        if not self.no_attack:
            return _Profit(sample, self)
        if self.attacker == "prosecutor" or not sample.has_subset:
            return None
        return LargeInPopulation(self.unattacked_class_size())

    def harm(self, size: int) -> Fraction:
        """Return the expected cost to the publisher of an attack on a class of this size, for each record."""
        chance = Fraction(1, size)
        attacked = decimal_fraction(self.adversary_gain) * chance > decimal_fraction(self.cost)
        return decimal_fraction(self.publisher_loss) * chance if attacked else Fraction(0)

    def profitable(self, shares: Sequence[Fraction], domains: Sequence[Fraction], harm: Fraction) -> bool:
        """Decide exactly whether benefit * (1 - x) > harm for labels that cover given shares of domains.

        As 1 - x is -ln(c) / ln(D), clipped to [0, 1], and 0 <= harm / benefit < 1, clipping has no effect.
        """
        part = harm / decimal_fraction(self.benefit)
        possible = math.prod(domains, start=Fraction(1))
        if part >= 1 or possible == 1:
            return part < 1
        if not all(shares):
            return possible > 1
        sign = sign_of_logs([*((1, share) for share in shares), *((part, domain) for domain in domains)])
        return sign == (-1 if possible > 1 else 1)

    def promised(self, records: int) -> PromisedRisk:
        """Classes that are not attacked are large, in the population if the attacker is a journalist."""
        if not self.no_attack:
            return PromisedRisk()
        risk = PromisedRisk.of_classes(self.unattacked_class_size())
        return risk if self.attacker == "prosecutor" else dataclasses.replace(risk, prosecutor=1.0)

    def verify(self, published: Published) -> Finding:
        """Compute sizes and payouts from the cells of the table, and from the hierarchies if available."""
        sizes = sizes_in_population(published) if self.attacker == "journalist" else published.sizes
        if self.no_attack:
            needed = self.unattacked_class_size()
            smallest = int(sizes.min(initial=np.iinfo(np.int64).max))
            promise = f"no {self.attacker} gains by an attack: classes of {needed}"
            return Finding(promise, smallest >= needed, f"k = {smallest}" if sizes.size else "no class")
        promise = f"the publisher gains by every class, in spite of a {self.attacker}"
        hierarchies, levels = published.hierarchies, published.levels
        if not sizes.size:
            return Finding(promise, True, "no class")
        if not sizes.all():
            return Finding(promise, False, "records that the population lacks")
        if hierarchies is None or levels is None:
            return Finding(promise, False, "the hierarchies are not at hand, so nothing can be said")
        try:
            return Finding(promise, *self._least_payout(published, sizes, hierarchies, levels))
        except KeyError as error:
            return Finding(promise, False, f"a label that the hierarchy does not have: {error}")

    def _least_payout(
        self,
        published: Published,
        sizes: Integers,
        hierarchies: Mapping[str, Hierarchy],
        levels: Mapping[str, int],
    ) -> tuple[bool, str]:
        """Return whether every class pays, and the least payout. Those near 0 are decided exactly."""
        names = published.names
        domains = [decimal_fraction(hierarchies[name].domain_size) for name in names]
        information = math.fsum(math.log(domain) for domain in domains)
        share_lists: list[list[Fraction]] = []
        codes = np.empty((len(names) + 1, sizes.size), np.int64)
        left = np.zeros(sizes.size)
        for j, name in enumerate(names):
            values, codes[j] = encode_values(published.labels[name])
            hierarchy, level = hierarchies[name], levels[name]
            share = dict(zip(hierarchy.labels[level], exact_shares(hierarchy, level), strict=True))
            share_lists.append([share[text] for text in canonical_text(values)])
            left -= np.array([math.log(each) if each else -math.inf for each in share_lists[j]])[codes[j]]
        left = np.clip(left / information, 0, 1) if information else np.ones(sizes.size)
        different, place_of = np.unique(sizes, return_inverse=True)
        attacked = np.array([self.harm(size) > 0 for size in different.tolist()])[place_of]
        codes[-1] = np.where(attacked, sizes, 0)
        payout = self.benefit * left - np.where(attacked, self.publisher_loss / sizes, 0.0)
        error = 1e-9 * (self.benefit + self.publisher_loss) * (1 + len(names) / (abs(information) or 1.0))
        if abs(information) < 1e-6 and math.prod(domains) != 1:  # logarithms that nearly cancel out
            error = math.inf
        holds = not (payout < -error).any()
        for close in np.unique(codes[:, np.abs(payout) <= error], axis=1).T.tolist():
            shares = [each[code] for each, code in zip(share_lists, close[:-1], strict=True)]
            harm = self.harm(close[-1]) if close[-1] else Fraction(0)
            holds = holds and self.profitable(shares, domains, harm)
        return holds, f"at least {payout.min():.6g} a record"

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the ratio of gain to cost below which no attack pays: just less than the smallest class."""
        if not published.sizes.size:
            return []
        sizes_by_form = {"no_attack": published.sizes}
        if published.population is not None:
            sizes_by_form["no_attack, journalist"] = sizes_in_population(published)
        return [
            Strength(
                "Profitability",
                f"adversary_gain / cost ({form})",
                math.nextafter(int(sizes.min()), 0.0),
                rounding="down",
            )
            for form, sizes in sizes_by_form.items()
        ]


def exact_shares(hierarchy: Hierarchy, level: int) -> list[Fraction]:
    """Return the share of the domain that each label of a level covers, from rows or decimal numbers."""
    shares, rows = hierarchy.shares[level], int(hierarchy.listed.sum())
    if np.array_equal(shares, hierarchy.materialized_shares[level]):
        return [Fraction(count, rows) for count in np.rint(shares * rows).astype(np.int64).tolist()]
    return [decimal_fraction(share) for share in shares.tolist()]


# --- the criterion --------------------------------------------------------------------------------


class _Profit:
    """Decides with doubles, and again exactly if those are too close to 0.

    The loss of a class is a sum of one number for each attribute, log(share * domain) / log(D), as in the
    publisher's payout. Error bound: with 4 units in the last place for a logarithm, the argument off by 3
    halves of one, and u = 1 / log(D), the number x is off by 2 |u| + 5 |x| units, and u itself by 6 A units
    relative to its size, where A = |u| times the sum of |log domain| + 1; adding up m of them adds m/2 units
    of their sum T. The total, at most 2 m |u| + T (11 A + m) units of 2^-52, is doubled.
    """

    def __init__(self, sample: Sample, model: Profitability) -> None:
        self.model, self.encoding = model, sample.encoding
        payout = model._payout().bind(sample)
        assert isinstance(payout, PayoutMeasure)
        self.payout, self.cover = payout, payout.cover
        self.domains = [decimal_fraction(hierarchy.domain_size) for hierarchy in self.encoding.hierarchies]
        self.slack = self._slack()
        self.decided: dict[tuple[int, ...], bool] = {}
        self.shares: tuple[Integers, list[Fraction]] | None = None

    def _slack(self) -> float:
        logs = [math.log(domain) for domain in self.domains]
        information = math.fsum(logs)
        if information == 0.0:
            return 0.0 if all(domain == 1 for domain in self.domains) else math.inf
        if any(not shares.all() for hierarchy in self.encoding.hierarchies for shares in hierarchy.shares):
            return math.inf
        unit, m = 1.0 / abs(information), len(logs)
        spread = unit * math.fsum(abs(log) + 1 for log in logs)
        starts = self.cover.starts
        total = math.fsum(
            float(np.abs(self.cover.numbers[starts[j, 0] : starts[j, -1]]).max()) for j in range(m)
        )
        return 2.0**-51 * (2 * m * unit + total * (11 * spread + m))

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        payout = self.payout
        sizes = table.population if payout.journalist else table.count
        close = _reject_unprofitable(
            table.keys, table.count, sizes, np.array(table.levels), self.cover.lookup, payout.benefit, payout.harm,
            payout.attacked, self.slack, rejected,
        )  # fmt: skip
        if close:
            self._decide(table, sizes, rejected)

    def _decide(self, table: ClassTable, sizes: Integers, rejected: Marks) -> None:
        """Decide the close calls, once for each combination of shares and class size."""
        where = np.flatnonzero(rejected == _CLOSE)
        if self.shares is None:
            self.shares = self._exact_shares()
        numbers, shares = self.shares
        cases = np.empty((len(self.domains) + 1, where.size), np.int64)
        codes = np.empty(where.size, np.int32)
        for j, (word, shift, mask) in enumerate(self.cover.layout.tolist()):
            kernels.unpack(table.keys[word][where], shift, mask, codes)
            cases[j] = numbers[self.cover.starts[j, table.levels[j]] + codes]
        cases[-1] = np.where(sizes[where] <= self.payout.attacked, sizes[where], 0)
        different, which = np.unique(cases, axis=1, return_inverse=True)
        verdicts = np.empty(different.shape[1], np.uint8)
        for i, case in enumerate(map(tuple, different.T.tolist())):
            if case not in self.decided:
                harm = self.model.harm(case[-1]) if case[-1] else Fraction(0)
                self.decided[case] = self.model.profitable([shares[n] for n in case[:-1]], self.domains, harm)
            verdicts[i] = not self.decided[case]
        rejected[where] = verdicts[which.reshape(-1)]

    def _exact_shares(self) -> tuple[Integers, list[Fraction]]:
        """Return the number of the share of each value of each attribute, and the distinct shares."""
        share_numbers: dict[Fraction, int] = {}
        numbers = [
            share_numbers.setdefault(share, len(share_numbers))
            for hierarchy in self.encoding.hierarchies
            for level in range(hierarchy.height + 1)
            for share in exact_shares(hierarchy, level)
        ]
        return np.array(numbers, np.int64), list(share_numbers)


@kernel
def _reject_unprofitable(
    keys: kernels.Words,
    counts: Integers,
    sizes: Integers,
    levels: Integers,
    cover: CoverLookup,
    benefit: float,
    harm: float,
    attacked: int,
    slack: float,
    rejected: Marks,
) -> int:
    """Reject classes whose payout is not above 0; mark and count close calls."""
    varying, fixed = fields(levels, cover)
    everywhere = sum_of_fixed(fixed, cover)
    close = 0
    for i in range(counts.size):
        if counts[i] == 0 or rejected[i]:
            continue
        loss = everywhere
        for v in range(varying.shape[0]):
            loss += cover.numbers[place(keys, i, varying[v])]
        expected_harm = harm / sizes[i] if sizes[i] <= attacked else 0.0
        payout = benefit * (1.0 - min(max(loss, 0.0), 1.0)) - expected_harm
        error = benefit * slack + (benefit + expected_harm) * 2.0**-50
        if payout < -error:
            rejected[i] = 1
        elif payout <= error:
            rejected[i] = _CLOSE
            close += 1
    return close
