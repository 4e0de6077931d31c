"""Every rule against the definitions, on random tables: 10,000 of them with VEIL_FUZZ=10000.

A table is the number of records of each value in each class, and how many people each class has in the population. All
models that hold are facts; whatever a rule concludes from them has to hold by definition.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations_with_replacement
from math import inf, log2, nextafter
from typing import Any, NamedTuple

import pytest

from support.amount import tables
from veil import (
    AlphaKAnonymity,
    AverageReidentificationRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    Profitability,
    RecursiveCLDiversity,
    SampleUniqueness,
    SubsetKAnonymity,
    TCloseness,
)
from veil.models import PrivacyModel
from veil.models.implication import ValueFrequencies, consequences, implied
from veil.models.implication.rules import RULES, RuleContext
from veil.models.implication.weaker import follows
from veil.models.subset import Where

SUBSET_OF = Where("released = 'yes'")
getcontext().prec = 50


class Table(NamedTuple):
    classes: tuple[tuple[int, ...], ...]
    population: tuple[int, ...]
    tree: tuple[int, ...]
    """The branch of each value, in a hierarchy of height 2."""
    blanks: tuple[int, ...] = ()
    """Records of each class without a value; () if there are none."""

    def size(self, at: int) -> int:
        return sum(self.classes[at]) + (self.blanks[at] if self.blanks else 0)

    @property
    def sizes(self) -> list[int]:
        return [self.size(at) for at in range(len(self.classes))]

    @property
    def distribution(self) -> ValueFrequencies:
        # Both branches are there, or the distance of the definition would be that of a lower tree.
        counts = tuple(sum(each) for each in zip(*self.classes, strict=True))
        return ValueFrequencies(counts, 2, complete=not any(self.blanks))

    @property
    def p(self) -> list[Fraction]:
        total = sum(map(sum, self.classes))
        return [Fraction(sum(each[v] for each in self.classes), total) for v in range(len(self.classes[0]))]


def exact(number: Any) -> Fraction:
    return Fraction(str(number))


def distance(table: Table, q: list[Fraction], kind: str) -> Fraction:
    difference = [a - b for a, b in zip(q, table.p, strict=True)]
    if kind == "equal":
        return sum((abs(each) for each in difference), Fraction(0)) / 2
    if kind == "ordered":
        if len(q) == 1:
            return Fraction(0)
        sums = [abs(sum(difference[: at + 1], Fraction(0))) for at in range(len(q))]
        return sum(sums, Fraction(0)) / (len(q) - 1)
    # What has to leave its branch travels the whole way, the rest half of it.
    across = (
        sum(
            (
                abs(sum((d for d, b in zip(difference, table.tree, strict=True) if b == branch), Fraction(0)))
                for branch in set(table.tree)
            ),
            Fraction(0),
        )
        / 2
    )
    moved = sum((abs(each) for each in difference), Fraction(0)) / 2
    return across + (moved - across) / 2


def entropy(counts: list[int]) -> Decimal:
    total = Decimal(sum(counts))
    return -sum((Decimal(c) / total * (Decimal(c) / total).ln() for c in counts if c), Decimal(0))


def holds(model: Any, table: Table) -> bool:
    """The definitions, as they stand in the papers."""
    if isinstance(model, AverageReidentificationRisk):
        records = sum(table.sizes)
        fine = Fraction(len(table.classes), records) <= exact(model.average)
        return fine and (
            model.highest is None or all(Fraction(1, n) <= exact(model.highest) for n in table.sizes)
        )
    if isinstance(model, SampleUniqueness):
        return Fraction(table.sizes.count(1), sum(table.sizes)) <= exact(model.threshold)
    return all(of_class(model, table, at) for at in range(len(table.classes)))


def of_class(model: Any, table: Table, at: int, filled: tuple[int, ...] = ()) -> bool:
    if getattr(model, "missing", "") == "worst":
        filled_in = dataclasses.replace(model, missing="a value")
        blanks = combinations_with_replacement(range(len(table.p)), table.size(at) - sum(table.classes[at]))
        return all(
            of_class(filled_in, table, at, tuple(c + each.count(v) for v, c in enumerate(table.classes[at])))
            for each in blanks
        )
    counts, people = filled or table.classes[at], table.population[at]
    n, shown = table.size(at), sum(counts)
    if isinstance(model, AlphaKAnonymity) and n < model.k:
        return False
    if getattr(model, "missing", "a value") == "left out" and not shown:
        return True
    r = sorted(counts, reverse=True)
    present = sum(each > 0 for each in counts)
    q = [Fraction(each, shown) for each in counts] if shown else []
    match model:
        case KAnonymity() | SubsetKAnonymity():  # of all columns, which is the strictest subset
            return n >= model.k
        case KMap():
            return people >= model.k
        case DeltaPresence():
            return exact(model.minimum) <= Fraction(n, people) <= exact(model.maximum)
        case Profitability():
            size = n if model.attacker == "prosecutor" else people
            return exact(model.adversary_gain) / size < exact(model.cost)
        case DistinctLDiversity():
            return present >= model.l
        case EntropyLDiversity():
            return entropy(r) - Decimal(str(model.l)).ln() > Decimal("-1e-40")
        case RecursiveCLDiversity():
            return r[0] < exact(model.c) * sum(r[model.l - 1 :])
        case AlphaKAnonymity():
            return max(q) <= exact(model.alpha)
        case TCloseness():
            return distance(table, q, model.distance) <= exact(model.t)
        case BetaLikeness():
            return all(
                (a - b) / b <= exact(model.beta)
                and (not model.enhanced or Decimal((a - b).numerator) / Decimal((a - b).denominator)
                     / (Decimal(b.numerator) / Decimal(b.denominator))
                     <= -(Decimal(b.numerator) / Decimal(b.denominator)).ln() + Decimal("1e-40"))
                for a, b in zip(q, table.p, strict=True)
            )  # fmt: skip
        case DeltaDisclosure():
            power = Decimal(2) ** Decimal(str(model.delta))
            return all(
                1 / power < Decimal((a / b).numerator) / Decimal((a / b).denominator) < power
                for a, b in zip(q, table.p, strict=True)
                if a not in (0, b)  # no distance at all is below every δ
            )
    raise AssertionError(model)


def up(bound: Fraction) -> float:
    value = float(bound)
    while exact(value) < bound:
        value = nextafter(value, inf)
    return value


def above(bound: Fraction) -> float:
    value = up(bound)
    return nextafter(value, inf) if exact(value) == bound else value


TREE = [["0", "a", "*"], ["1", "b", "*"]]


def hierarchical(t: float) -> TCloseness:
    return TCloseness("ill", t, distance="hierarchical", hierarchy=TREE)


def true_models(table: Table, chance: random.Random) -> list[PrivacyModel]:
    """The strictest models that hold, and some that are laxer."""
    sizes, shown = table.sizes, [counts for counts in table.classes if any(counts)]
    shares = [Fraction(n, N) for n, N in zip(sizes, table.population, strict=True)]
    q = [[Fraction(c, sum(counts)) for c in counts] for counts in shown]
    present = min(sum(c > 0 for c in counts) for counts in shown)
    k, people = min(sizes), min(table.population)
    gains = [(a - b) / b for each in q for a, b in zip(each, table.p, strict=True)]
    beta = up(max(gains))
    ratios = [max(a / b, b / a) for each in q for a, b in zip(each, table.p, strict=True) if a]
    delta = nextafter(log2(max(ratios)), inf)
    l = chance.randint(1, present)
    tails = [Fraction(max(counts), sum(sorted(counts, reverse=True)[l - 1 :])) for counts in shown]
    made: list[PrivacyModel] = [
        KAnonymity(k),
        KMap(people, subset=SUBSET_OF),
        DeltaPresence(float(str(float(min(shares)) * 0.999)), up(max(shares)), subset=SUBSET_OF),
        Profitability(no_attack=True, adversary_gain=k, cost=float(above(Fraction(1)))),
        Profitability("journalist", True, adversary_gain=people, cost=1.0000001, subset=SUBSET_OF),
        DistinctLDiversity("ill", present),
        EntropyLDiversity("ill", max(1.0, float(min(entropy(list(c)) for c in shown).exp()) * (1 - 1e-12))),
        RecursiveCLDiversity("ill", above(max(tails)), l),
        AlphaKAnonymity("ill", up(max(max(each) for each in q)), k),
        *(
            kind(up(max(distance(table, each, name) for each in q)))
            for kind, name in (
                (lambda t: TCloseness("ill", t), "equal"),
                (lambda t: TCloseness("ill", t, distance="ordered"), "ordered"),
                (hierarchical, "hierarchical"),
            )
        ),
        BetaLikeness("ill", beta),
        BetaLikeness("ill", beta, enhanced=True),
        DeltaDisclosure("ill", delta if delta > 0 else 1e-9),
        TCloseness("ill", min(1.0, up(max(distance(table, each, "equal") for each in q) * 2))),
        BetaLikeness("ill", beta * 1.5 + 0.1),
    ]
    return [each for each in made if holds(each, table)]


def random_table(chance: random.Random) -> Table:
    values = chance.randint(1, 5)
    most = chance.choice([1, 2, 5, 20])
    even = chance.random() < 0.4  # tables whose classes are alike are where closeness has something to say
    base = [chance.randint(1, most) for _ in range(values)]
    while True:
        classes = tuple(
            tuple(
                max(0, b * scale + chance.randint(-1, 1)) if even else chance.randint(0, most) for b in base
            )
            for scale in [chance.randint(1, 4) for _ in range(chance.randint(1, 4))]
        )
        blanks = tuple(chance.choice([0, 0, 1, 3]) for _ in classes) if chance.random() < 0.6 else ()
        table = Table(classes, (), tuple(chance.randint(0, 1) for _ in range(values)), blanks)
        if all(table.sizes) and all(map(sum, zip(*classes, strict=True))):
            break
    return table._replace(population=tuple(n + chance.choice([0, 0, 1, 7, 50]) for n in table.sizes))


def wishes() -> Iterator[PrivacyModel]:
    yield TCloseness("ill", 0.5, distance="ordered")
    yield hierarchical(0.5)
    yield SubsetKAnonymity(2, 1)
    yield AverageReidentificationRisk(0.5, highest=0.25)
    yield KMap(2, subset=SUBSET_OF)
    yield Profitability(no_attack=True, adversary_gain=3, cost=1)
    yield Profitability("journalist", True, adversary_gain=3, cost=1, subset=SUBSET_OF)


def test_no_rule_has_a_counterexample() -> None:
    chance = random.Random(19)
    fired: dict[str, int] = {}
    for _ in range(tables(150)):
        table = random_table(chance)
        context = RuleContext({"ill": table.distribution}, tuple(wishes()))
        facts = true_models(table, chance)
        for rule in RULES:
            for conclusion in rule(facts, context):
                fired[rule.__name__] = fired.get(rule.__name__, 0) + 1
                assert holds(conclusion.model, table), (rule.__name__, conclusion, table)
    assert set(fired) == {rule.__name__ for rule in RULES}
    assert all(rule.__doc__ for rule in RULES)


WORST: list[PrivacyModel] = [
    *(DistinctLDiversity("ill", l, missing="worst") for l in (1, 2, 3)),
    *(EntropyLDiversity("ill", l, missing="worst") for l in (1.2, 1.7, 2.2)),
    *(RecursiveCLDiversity("ill", c, 2, missing="worst") for c in (2, 4, 9)),
    *(AlphaKAnonymity("ill", alpha, 1, missing="worst") for alpha in (0.6, 0.8, 0.9)),
    *(TCloseness("ill", t, missing="worst") for t in (0.15, 0.3, 0.6, 0.9)),
    *(TCloseness("ill", t, distance="ordered", missing="worst") for t in (0.15, 0.3, 0.6)),
    *(BetaLikeness("ill", beta, each, missing="worst") for beta in (0.5, 1, 3, 9) for each in (False, True)),
    *(DeltaDisclosure("ill", delta, missing="worst") for delta in (0.5, 1, 2, 3)),
]


def test_no_rule_has_a_counterexample_among_the_fillings() -> None:
    """What follows at worst has to hold for every filling."""
    chance = random.Random(23)
    fired: set[str] = set()
    for _ in range(tables(60)):
        table = random_table(chance)
        if not any(table.blanks):
            table = table._replace(blanks=(*[0] * (len(table.classes) - 1), 1))
            table = table._replace(population=tuple(table.sizes))
        facts = [each for each in WORST if holds(each, table)]
        context = RuleContext({"ill": table.distribution}, tuple(each for each in WORST if each not in facts))
        for rule in RULES:
            for conclusion in rule(facts, context):
                fired.add(rule.__name__)
                assert holds(conclusion.model, table), (rule.__name__, conclusion, table)
    assert len(fired) >= 15


def test_what_is_chained_holds_too() -> None:
    chance = random.Random(7)
    for _ in range(tables(20)):
        table = random_table(chance)
        facts = true_models(table, chance)
        premises = chance.sample(facts, min(2, len(facts)))
        for each in consequences(premises, {"ill": table.distribution}):
            assert holds(each, table), (premises, each, table)


def test_a_laxer_parameter_is_one() -> None:
    chance = random.Random(3)
    for _ in range(10):
        table, other = random_table(chance), random_table(chance)
        for strict in true_models(table, chance):
            for lax in true_models(other, chance):
                if follows(strict, lax):
                    assert holds(lax, table)


LONE = Table(((5, 0), (0, 5)), (5, 5), (0, 1))


@pytest.mark.parametrize(
    ("premise", "conclusion", "table"),
    [
        # A class of one value is as large as one likes.
        (KAnonymity(5), DistinctLDiversity("ill", 2), LONE),
        (KAnonymity(5), TCloseness("ill", 0.4), LONE),
        (KAnonymity(5), BetaLikeness("ill", 0.5), LONE),
        (KAnonymity(5), DeltaDisclosure("ill", 0.5), LONE),
        # Skew: a class of two values may be far from a table where one of them is rare.
        (DistinctLDiversity("ill", 2), TCloseness("ill", 0.4), Table(((1, 1), (99, 1)), (2, 100), (0, 1))),
        # Where nearly everybody has one value, a class of a single record is close.
        (TCloseness("ill", 0.1), KAnonymity(2), Table(((1, 0), (98, 1)), (1, 99), (0, 1))),
        (BetaLikeness("ill", 0.1), KAnonymity(2), Table(((1, 0), (98, 1)), (1, 99), (0, 1))),
        # Nobody else of the class is released; all of it is.
        (KMap(5, subset=SUBSET_OF), KAnonymity(2), Table(((1,),), (5,), (0,))),
        (KMap(5, subset=SUBSET_OF), DeltaPresence(0, 0.5, subset=SUBSET_OF), Table(((5,),), (5,), (0,))),
        # Values may vanish from a class, and δ-disclosure of all values minds.
        (BetaLikeness("ill", 1), DistinctLDiversity("ill", 3), Table(((2, 2, 0), (2, 2, 4)), (4, 8), (0, 1, 1))),
        # Nobody shows a value in the second class, which has one record.
        (DistinctLDiversity("ill", 2), KAnonymity(2), Table(((1, 1), (0, 0)), (2, 1), (0, 1), (0, 1))),
    ],
    ids=range(11),
)  # fmt: skip
def test_what_does_not_follow_has_a_counterexample(
    premise: PrivacyModel, conclusion: PrivacyModel, table: Table
) -> None:
    assert holds(premise, table)
    assert not holds(conclusion, table)
    assert implied([premise], conclusion, {"ill": table.distribution}) is None
    assert implied([premise], conclusion) is None
