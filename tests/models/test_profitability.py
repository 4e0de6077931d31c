"""Profitability, with and without attacks: worked values, the oracle, close calls."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support import oracle, refusals, strategies
from support.judging import often, refused, rejected_classes, suppressed_rows
from support.oracle.quality import domain_part
from support.presence import engine_says, nodes_agree, publish, search_is_exhaustive, subset_of
from support.samples import E1, E1_SUBSET, names_of, sample_of
from veil import hierarchies as h
from veil.errors import ImpossibleError
from veil.models.profitability import Profitability
from veil.models.subset import RowNumbers
from veil.published.table import Published
from veil.tables.rows import Rows

COSTS = {"benefit": 100, "publisher_loss": 80, "adversary_gain": 60, "cost": 21}


def twin(model: Profitability) -> Any:
    if model.no_attack:
        return oracle.NoAttack(model.adversary_gain, model.cost, model.attacker)
    return oracle.Profitability(
        model.benefit, model.publisher_loss, model.adversary_gain, model.cost, model.attacker
    )


def profits(no_attack: bool = False, subset: RowNumbers | None = None) -> st.SearchStrategy[Profitability]:
    return st.builds(
        Profitability,
        st.sampled_from(["prosecutor", "journalist"]),
        st.just(no_attack),
        benefit=st.sampled_from([1200, 100, 4, 2.5]),
        publisher_loss=st.sampled_from([300, 80, 0, 1000, 50, 8]),
        adversary_gain=st.sampled_from([300, 60, 0, 2.5, 6]),
        cost=st.sampled_from([4, 21, 20, 0.5, 2]) if no_attack else st.sampled_from([4, 21, 0.5, 0]),
        subset=st.just(subset),
    )


def publish_with_hierarchies(problem: oracle.Problem, levels: oracle.Node, suppressed: Any = ()) -> Published:
    published = publish(problem, levels, suppressed)
    names = names_of(problem)
    sample = sample_of(problem)
    published.hierarchies = dict(zip(names, sample.encoding.hierarchies, strict=True))
    published.levels = dict(zip(names, levels, strict=True))
    return published


@st.composite
def with_other_shares(draw: st.DrawFn, problem: oracle.Problem) -> oracle.Problem:
    """Replace the shares of some attributes by odd ones: 0, above 1, and domains of less than one value."""
    shares, sizes = [], []
    for j, table in enumerate(problem.hierarchies):
        if draw(st.booleans()) and not any(row[j] is None for row in problem.rows):
            part = st.sampled_from([0, 0.1, 0.25, 0.3333333333333333, 0.5, 1, 1.5])
            shares.append([{row[level]: draw(part) for row in table} for level in range(len(table[0]))])
            sizes.append(draw(st.sampled_from([0.5, 1, 2, 4, 3, 10])))
        else:
            shares.append(None)
            sizes.append(None)
    return dataclasses.replace(problem, shares=shares, domain_sizes=sizes)


# --- worked values --------------------------------------------------------------------------------


def test_the_example():
    assert suppressed_rows(Profitability(**COSTS), E1, (1, 0, 1)) == {3}
    assert Profitability(no_attack=True, **COSTS).unattacked_class_size() == 3
    assert Profitability(no_attack=True, **{**COSTS, "cost": 20}).unattacked_class_size() == 4
    assert Profitability(no_attack=True, adversary_gain=0, cost=0).unattacked_class_size() == 1


def test_no_attack_counts_where_the_attacker_looks():
    """At (1, 1, 1) four of five and two of four people are in the subset."""
    model = Profitability(no_attack=True, **COSTS)
    assert suppressed_rows(model, E1_SUBSET) & E1_SUBSET.subset == {4, 6}
    assert suppressed_rows(dataclasses.replace(model, attacker="journalist"), E1_SUBSET) == set()


def test_the_figures_of_the_example_class():
    """Rows 0, 1, 9 at (1, 0, 1) cover 2/5, 1/2 and 1/2 of 5, 2 and 4 values: 62.4 earned, no attack at 60/3 < 21."""
    finding = Profitability(**COSTS).verify(publish_with_hierarchies(E1, (1, 0, 1), {3}))
    assert finding.holds
    least = 100 * -math.log(2 / 5 * 1 / 2 * 1 / 2) / math.log(40) - 80 / 2
    assert finding.measured == f"at least {least:.6g} a record"


# --- the oracle -----------------------------------------------------------------------------------


@often
@given(st.data())
def test_agrees(data):
    problem = data.draw(strategies.problems(max_rows=20))
    levels = data.draw(strategies.nodes(problem))
    found = oracle.classes(problem, levels)
    hide = [data.draw(st.booleans()) for _ in found]
    for no_attack in (False, True):
        model = data.draw(profits(no_attack, subset_of(problem)))
        truth = [oracle.rejects(twin(model), problem, levels, cls) for cls in found]
        assert rejected_classes(model, sample_of(problem), levels) == truth
        for gone in (truth, hide):
            hidden = {row for cls, hide_it in zip(found, gone, strict=True) if hide_it for row in cls}
            holds = not any(bad and not hide_it for bad, hide_it in zip(truth, gone, strict=True))
            assert model.verify(publish_with_hierarchies(problem, levels, hidden)).holds == holds
    nodes_agree(problem, twin(model), model, data)
    strongest_is_the_boundary(problem, levels)


def strongest_is_the_boundary(problem: oracle.Problem, levels: oracle.Node) -> None:
    strengths = Profitability.strongest(publish(problem, levels), [])
    assert len(strengths) == (1 if problem.subset is None else 2)
    for strength, attacker in zip(strengths, ["prosecutor", "journalist"], strict=False):
        for gain, holds in ((strength.value, True), (math.nextafter(strength.value, math.inf), False)):
            asked = oracle.NoAttack(gain, 1, attacker)
            bad = any(oracle.rejects(asked, problem, levels, cls) for cls in oracle.classes(problem, levels))
            assert bad != holds


@often
@given(st.data())
def test_agrees_for_any_shares(data):
    problem = data.draw(
        strategies.problems(max_rows=8, max_width=3, max_height=2, sensitive=False, subset=False).flatmap(
            with_other_shares
        )
    )
    model = data.draw(profits())
    levels = data.draw(strategies.nodes(problem))
    sample = sample_of(problem)
    truth = []
    for cls in oracle.classes(problem, levels):
        covered, possible = domain_part(problem, levels, cls)
        if possible >= 1 and covered:
            truth.append(oracle.rejects(twin(model), problem, levels, cls))
        elif covered == 0:  # all information is left, or none if more than everything is covered
            truth.append(not (possible >= 1 and model.benefit > model.harm(len(cls))))
        else:  # fewer than one combination: 1 - x = -ln(c) / ln(D) is not above 0 unless c is above 1
            left = -math.log(covered) / math.log(possible) if possible != 1 else 1
            truth.append(model.benefit * min(1, max(0, left)) - float(model.harm(len(cls))) <= 1e-12)
    assert rejected_classes(model, sample, levels) == truth


def test_search():
    search_is_exhaustive(st.booleans().flatmap(profits), examples=100)


# --- close calls ----------------------------------------------------------------------------------


def tower(base: int, height: int) -> oracle.Problem:
    """One attribute with base^height values; level i covers base^i of them. Two records of the first value."""
    values = [str(v) for v in range(base**height)]
    table = [[v, *(f"{i}.{int(v) // base**i}" for i in range(1, height + 1))] for v in values]
    return oracle.Problem([("0",)] * 2, [table])


@pytest.mark.parametrize(("base", "height"), [(2, 2), (3, 3), (7, 3), (10, 2), (6, 4)])
def test_a_payout_of_nothing_is_not_enough(base, height):
    """At level i the fraction 1 - i/height of the information is left: benefit * that, against a loss of exactly that."""
    problem = tower(base, height)
    for level in range(1, height):
        left = height - level
        exactly = Profitability(benefit=height, publisher_loss=2 * left, adversary_gain=9, cost=1)
        assert rejected_classes(exactly, sample_of(problem), (level,)) == [True]
        assert oracle.rejects(twin(exactly), problem, (level,), [0, 1])
        for loss in (math.nextafter(2 * left, 0), 2 * left - 1e-9):
            model = dataclasses.replace(exactly, publisher_loss=loss)
            assert rejected_classes(model, sample_of(problem), (level,)) == [False]
        model = dataclasses.replace(exactly, publisher_loss=math.nextafter(2 * left, 9))
        assert rejected_classes(model, sample_of(problem), (level,)) == [True]
        finding = exactly.verify(publish_with_hierarchies(problem, (level,)))
        assert not finding.holds


def test_a_payout_next_to_an_irrational_number():
    """ln 1.5 / ln 3 of the information is left: decided for the two decimal numbers around it."""
    table = [["a", "ab"], ["b", "ab"], ["c", "c"]]
    problem = oracle.Problem([("a",), ("a",)], [table])
    left = math.log(1.5) / math.log(3)
    verdicts = []
    for steps in range(-4, 5):
        loss = 2 * (left + steps * math.ulp(left))
        model = Profitability(benefit=1, publisher_loss=loss, adversary_gain=9, cost=1)
        verdict = rejected_classes(model, sample_of(problem), (1,))[0]
        assert verdict == oracle.rejects(twin(model), problem, (1,), [0, 1])
        assert model.verify(publish_with_hierarchies(problem, (1,))).holds != verdict
        verdicts.append(verdict)
    assert verdicts == sorted(verdicts)
    assert (verdicts[0], verdicts[-1]) == (False, True)


def test_nothing_left_is_nothing_earned():
    """Everything covers everything at the top: the payout is 0 even if nobody attacks."""
    free = Profitability(publisher_loss=0)
    assert suppressed_rows(free, E1, (2, 1, 3)) == set(range(10))
    assert suppressed_rows(free, E1, (0, 0, 0)) == set()
    constant = oracle.Problem([("x",)] * 3, [[["x", "*"]]])  # one combination: nothing to lose
    assert suppressed_rows(free, constant, (1,)) == set()


def test_attacks_that_just_do_not_pay():
    """A gain of 60 times 1/3 equals a cost of 20: no attack. With no_attack, that is not safe enough."""
    rows = [("x",)] * 3 + [("y",)]
    problem = oracle.Problem(rows, [[["x", "*"], ["y", "*"]]])
    model = Profitability(benefit=1, publisher_loss=1000, adversary_gain=60, cost=20)
    assert rejected_classes(model, sample_of(problem), (0,)) == [False, True]
    model = dataclasses.replace(model, no_attack=True)
    assert rejected_classes(model, sample_of(problem), (0,)) == [True, True]


# --- sizes, monotonicity --------------------------------------------------------------------------


def test_minimal_class_size():
    """Attacked up to 2 records, and 80 lost per attack against 100, 30 or 1 earned."""
    sizes = [
        Profitability(**{**COSTS, "benefit": b}).minimal_class_size(sample_of(E1)) for b in (100, 30, 40, 1)
    ]
    assert sizes == [1, 3, 3, 3]
    assert Profitability(cost=0, benefit=30, publisher_loss=80).minimal_class_size(sample_of(E1)) == 3
    journalist = Profitability("journalist", **{**COSTS, "benefit": 1})
    assert journalist.minimal_class_size(sample_of(E1_SUBSET)) == 1
    assert journalist.minimal_class_size(sample_of(E1)) == 3
    assert Profitability("journalist", True, **COSTS).minimal_class_size(sample_of(E1_SUBSET)) == 1


def test_what_is_monotone():
    assert not Profitability().monotone_generalization
    assert not Profitability().monotone_suppression
    assert Profitability(no_attack=True).monotone_generalization
    assert Profitability(no_attack=True).monotone_suppression


def test_generalizing_can_make_a_release_unprofitable_and_profitable():
    problem = oracle.Problem(
        [("a",), ("b",), ("c",)], [[["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]]]
    )
    model = Profitability(benefit=10, publisher_loss=11, adversary_gain=9, cost=1)
    anonymous = [engine_says([model], problem, (level,), 0.4)[0] for level in range(3)]
    assert anonymous == [False, False, False]
    assert [suppressed_rows(model, problem, (level,)) for level in range(3)] == [
        {0, 1, 2},
        {0, 1, 2},
        {0, 1, 2},
    ]
    model = dataclasses.replace(model, publisher_loss=7)
    assert [suppressed_rows(model, problem, (level,)) for level in range(3)] == [set(), set(), {0, 1, 2}]
    model = Profitability(benefit=10, publisher_loss=11, adversary_gain=3, cost=2)  # pairs are not attacked
    assert [suppressed_rows(model, problem, (level,)) for level in range(3)] == [{0, 1, 2}, {2}, {0, 1, 2}]


# --- verifying, releasing -------------------------------------------------------------------------


def test_a_tampered_table_is_noticed():
    model = Profitability(**COSTS)
    assert model.verify(publish_with_hierarchies(E1, (1, 0, 1), {3})).holds
    assert not model.verify(publish_with_hierarchies(E1, (1, 0, 1))).holds
    published = publish_with_hierarchies(E1, (1, 0, 1), {3})
    published.levels = {"q0": 0, "q1": 0, "q2": 1}
    finding = model.verify(published)
    assert not finding.holds
    assert "hierarchy" in finding.measured
    assert "'20-29'" in finding.measured
    assert not Profitability(no_attack=True, **COSTS).verify(publish(E1, (1, 1, 1))).holds
    assert Profitability(no_attack=True, **COSTS).verify(publish(E1, (1, 1, 1), {3})).holds


def test_records_of_nobody_are_noticed():
    published = publish_with_hierarchies(E1_SUBSET, (1, 0, 1))
    model = Profitability("journalist", benefit=100, publisher_loss=10)
    assert model.verify(published).holds
    more = pa.concat_tables([published.table] * 9)
    forged = Published(Rows.of(more), published.names, flag="suppressed", population=published.population)
    forged.hierarchies, forged.levels = published.hierarchies, published.levels
    assert "population lacks" in model.verify(forged).measured
    assert not model.verify(forged).holds
    assert not dataclasses.replace(model, no_attack=True, adversary_gain=0).verify(forged).holds


def test_domains_that_cancel_out():
    """Two values and half a value: the product is 1, or nearly so."""
    table = [["a", "*"], ["b", "*"]]
    for half, rejected in ((0.5, False), (0.5000000000000001, True)):
        problem = oracle.Problem(
            [("a", "a")] * 2, [table] * 2, shares=[[{"a": 1, "b": 1}, {"*": 1}]] * 2, domain_sizes=[2, half]
        )
        model = Profitability(benefit=10, publisher_loss=1)
        assert rejected_classes(model, sample_of(problem), (0, 0)) == [rejected]
        assert model.verify(publish_with_hierarchies(problem, (0, 0))).holds != rejected


def test_without_hierarchies_payouts_are_unknown():
    finding = Profitability(**COSTS).verify(publish(E1, (1, 0, 1), {3}))
    assert not finding.holds
    assert "hierarchies" in finding.measured


def test_nothing_published_breaks_nothing():
    nothing = publish(E1, (1, 0, 1), range(10))
    assert Profitability().verify(nothing).holds
    assert Profitability(no_attack=True).verify(nothing).holds
    assert Profitability.strongest(nothing, []) == []


def test_a_release():
    people = pa.table({"age": ["a"] * 5 + ["b"] * 2})
    release = veil.anonymize(
        people,
        quasi_identifiers={"age": h.suppression()},
        models=Profitability("journalist", True, adversary_gain=9, cost=3, subset=[0, 1, 5]),
        suppression_limit=0.5,
        order="input",
    )
    assert release.table["age"].to_pylist() == ["a", "a", "*"]


def test_parameters():
    with refused("`cost` of Profitability should be greater than or equal to 0, not -1"):
        Profitability(cost=-1)
    with refused("`cost` of Profitability should be greater than 0 with no_attack, .*, not 0"):
        Profitability(no_attack=True, cost=0)
    with refused("`benefit` of Profitability should be greater than 0 without no_attack, .*, not 0"):
        Profitability(benefit=0)
    with refused("`attacker` of Profitability should be 'prosecutor' or 'journalist', not 'marketer'"):
        Profitability("marketer")
    with refused("`adversary_gain` of Profitability should be a finite number, not inf"):
        Profitability(adversary_gain=math.inf)
    with refusals.refused(ImpossibleError, "classes of 76", "only 10"):
        veil.anonymize(
            pa.table({"age": ["a"] * 10}),
            quasi_identifiers={"age": h.suppression()},
            models=Profitability(no_attack=True),
            order="input",
        )
