"""Adaptive composition: the cost of several releases together, and whether it is within a budget.

A ledger that keeps to one of two rules is within the budget (e, d):

*Sum.* Epsilons add up, and deltas do.

*Order.* A part c of delta is set aside, and with it, before anything is spent, one order a of Rényi
divergence (see `veil.dp.zcdp`). A release of rho-zCDP has a divergence of at most a * rho, one of epsilon at
most epsilon and at most a * epsilon^2 / 2; the lesser counts. Their sum, and what converting it with c costs,
is at most e; deltas are at most d - c together.

Both are filters: each loss may depend on all answers so far. For sums that is plain; for one fixed order,
Feldman and Zrnic (2021) show it: the moment of that order stays bounded. Either may end a run, too. On runs
that end by the first rule, the loss is at most e up to the deltas, so they add nothing to the chance of c;
the others are as likely to exceed e as if they had stopped where the second rule was first broken.

A record is in one of several disjoint parts. With one record more or less, the most expensive part counts
(McSherry 2009). A changed record may leave one part and enter another, so the two most expensive count: the
loss of a part has to hold for a record that leaves or enters it, as for one that is changed within it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import NamedTuple

from veil.dp.neighbours import Neighbours
from veil.dp.symbolic import Readable, Symbolic, enclosure
from veil.dp.zcdp import divergence_of, order_of_budget, surcharge
from veil.errors import ParameterError


class Amount(NamedTuple):
    """A budget, or a part of one."""

    epsilon: Symbolic
    delta: Fraction

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon}" + (f", delta = {Symbolic(self.delta)}" if self.delta else "")


@dataclass(frozen=True)
class Entry:
    """A release in the ledger: its label, privacy loss and time, and the part of the data it is about, if not all.

    `rho` is the loss of a release counted in zCDP; its epsilon is then 0. The promise of a release paid for
    `alone` does not compose with others, and closes the account.
    """

    label: str
    epsilon: Symbolic
    delta: Fraction
    time: datetime
    partition: str | None = None
    part: str | None = None
    rho: Fraction = Fraction(0)
    alone: bool = False

    @property
    def loss(self) -> str:
        """The privacy loss in words."""
        return f"rho = {Symbolic(self.rho)}" if self.rho else str(Amount(self.epsilon, self.delta))


def amount(epsilon: Readable, delta: Readable) -> Amount:
    """Read a budget, or a part of one."""
    budget, chance = Symbolic.read(epsilon, "epsilon"), Symbolic.read(delta, "delta")
    if budget.sign() < 0:
        raise ParameterError(f"`epsilon` should be at least 0, not {budget}")
    if chance.logarithms or not 0 <= chance.rational < 1:
        raise ParameterError(f"`delta` should be a number from 0 to below 1, not {chance}")
    return Amount(budget, chance.rational)


NOTHING = Amount(Symbolic(Fraction(0)), Fraction(0))

_Cost = Callable[[Entry], Symbolic]


@dataclass(frozen=True)
class Composition:
    """A budget for one relation of neighbours, with the part of delta that is set aside for zCDP."""

    budget: Amount
    neighbours: Neighbours
    zcdp_delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.zcdp_delta > self.budget.delta:
            raise ParameterError(
                f"`zcdp_delta` is a part of delta, and should be at most {Symbolic(self.budget.delta)}, not "
                f"{Symbolic(self.zcdp_delta)}"
            )

    def spent(self, entries: Sequence[Entry]) -> Amount:
        """Return the total cost of releases, by the better rule."""
        return min(
            _plus(self._total(entries, rule.cost), Amount(rule.extra, rule.delta))
            for rule in self._rules(entries)
        )

    def allows(self, entries: Sequence[Entry]) -> bool:
        """Return whether releases are within the budget, by one of the rules."""
        left = self.remaining(entries)
        return left.epsilon.sign() >= 0 and left.delta >= 0

    def remaining(
        self, entries: Sequence[Entry], partition: str | None = None, part: str | None = None
    ) -> Amount:
        """Return the remaining budget for all of the data, or for a part of a partition."""
        left = []
        for rule in self._rules(entries):
            spent = _plus(self._total(entries, rule.cost), Amount(rule.extra, self.zcdp_delta))
            left.append(_plus(_minus(self.budget, spent), self._free(entries, partition, part, rule.cost)))
        return max(left)

    def remaining_rho(self, entries: Sequence[Entry]) -> Fraction:
        """Return the largest rho that may still be spent, rounded down; 0 if nothing is set aside for it."""
        if not self.zcdp_delta:
            return Fraction(0)
        rule = self._rules(entries)[-1]
        left = self.budget.epsilon - self._total(entries, rule.cost).epsilon - rule.extra
        return max(Fraction(0), enclosure(lambda bits: left.ball())[0] / self._order)

    @property
    def _order(self) -> Fraction:
        return order_of_budget(self.budget.epsilon, self.zcdp_delta)

    def _rules(self, entries: Sequence[Entry]) -> list[_Rule]:
        """Return the rules that apply to some releases."""
        rules = []
        if not any(each.rho for each in entries):
            rules.append(_Rule(lambda each: each.epsilon, NOTHING.epsilon, Fraction(0)))
        if self.zcdp_delta:
            extra = max(Fraction(0), surcharge(self._order, self.zcdp_delta))
            rules.append(_Rule(self._divergence, Symbolic(extra), self.zcdp_delta))
        return rules

    def _divergence(self, entry: Entry) -> Symbolic:
        spent = self._order * entry.rho if entry.rho else divergence_of(entry.epsilon, self._order)
        return Symbolic(spent)

    def _free(self, entries: Sequence[Entry], partition: str | None, part: str | None, cost: _Cost) -> Amount:
        """Return the loss at which a release about a part does not add to the total of its partition."""
        if partition is None:
            return NOTHING
        among = [each for each in entries if each.partition == partition]
        own = self._total([each for each in among if each.part == part], cost)
        others = _sums([each for each in among if each.part != part], cost)
        return _minus(_minus(self._total(among, cost), own), _largest(others, self._parts_of_a_record - 1))

    def _total(self, entries: Sequence[Entry], cost: _Cost) -> Amount:
        """Add up releases about all records, and for each partition the most that one record costs."""
        total = NOTHING
        for partition in {each.partition for each in entries}:
            sums = _sums([each for each in entries if each.partition == partition], cost)
            total = _plus(total, _largest(sums, self._parts_of_a_record))
        return total

    @property
    def _parts_of_a_record(self) -> int:
        """Number of parts of a partition that neighbours may differ in."""
        return 2 if self.neighbours == "one changed" else 1


class _Rule(NamedTuple):
    cost: _Cost
    extra: Symbolic
    """A fixed cost in addition to all releases."""
    delta: Fraction


def _largest(sums: Mapping[str | None, Amount], number: int) -> Amount:
    """Add up the largest epsilons and the largest deltas, which may be those of different parts."""
    epsilons = sorted((each.epsilon for each in sums.values()), reverse=True)[:number]
    deltas = sorted((each.delta for each in sums.values()), reverse=True)[:number]
    return Amount(sum(epsilons, NOTHING.epsilon), sum(deltas, NOTHING.delta))


def _sums(entries: Sequence[Entry], cost: _Cost) -> dict[str | None, Amount]:
    """Return the total cost of each part."""
    sums: dict[str | None, Amount] = {}
    for entry in entries:
        sums[entry.part] = _plus(sums.get(entry.part, NOTHING), Amount(cost(entry), entry.delta))
    return sums


def _plus(one: Amount, other: Amount) -> Amount:
    return Amount(one.epsilon + other.epsilon, one.delta + other.delta)


def _minus(one: Amount, other: Amount) -> Amount:
    return Amount(one.epsilon - other.epsilon, one.delta - other.delta)
