"""Several criteria on the whole sample at once: what goes does not depend on the order of the plan."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.models import asked
from support.samples import model_of, names_of, sample_of
from support.searching import assert_finds_the_best, often
from veil.lattice.evaluator import Evaluator
from veil.models import (
    AverageReidentificationRisk,
    KAnonymity,
    KMAnonymity,
    SampleUniqueness,
    SubsetKAnonymity,
)
from veil.quality import Loss


@st.composite
def combinations(draw: st.DrawFn, problem: oracle.Problem) -> list[tuple[Any, Any]]:
    """Draw models in any order, each as the oracle's and ours."""
    pairs = draw(st.lists(asked(problem.width), min_size=1, max_size=2))
    if draw(st.booleans()):
        k = draw(st.integers(1, 3))
        pairs.append((oracle.KAnonymity(k), KAnonymity(k)))
    if draw(st.booleans()):
        k, m = draw(st.integers(1, 3)), draw(st.integers(1, 2))
        pairs.append((oracle.KMAnonymity("I", k, m), KMAnonymity("I", k, m)))
    if draw(st.booleans()):
        t = draw(st.sampled_from([0, 0.1, 0.34, 0.5]))
        pairs.append((oracle.SampleUniqueness(t), SampleUniqueness(t)))
    if draw(st.booleans()):
        t = draw(st.sampled_from([0.1, 0.2, 0.34, 0.5]))
        pairs.append((oracle.AverageReidentificationRisk(t), AverageReidentificationRisk(t)))
    return draw(st.permutations(pairs))


@settings(often, max_examples=200)
@given(st.data())
def test_what_is_suppressed_is_what_the_oracle_suppresses(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True))
    pairs = data.draw(combinations(problem))
    levels = data.draw(strategies.nodes(problem))
    limit = data.draw(strategies.limits())
    loss = oracle.Quality("Loss")
    expected = oracle.evaluate(problem, [theirs for theirs, _ in pairs], levels, limit, loss)
    evaluator = Evaluator(
        sample_of(problem), [ours for _, ours in pairs], model_of(loss, names_of(problem)), limit
    )
    node, satisfied, *_ = evaluator.judge(levels, evaluator.sample.table)
    groups = oracle.classes(problem, levels)
    gone = {row for group, mark in zip(groups, node.rejected, strict=True) if mark for row in group}
    assert gone & problem.relevant == expected.suppressed
    assert (satisfied and node.tally.suppressed <= evaluator.allowed) == expected.anonymous


@settings(often, max_examples=100)
@given(st.data())
def test_pruned_is_exhaustive(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, max_width=3, max_height=3))
    pairs = data.draw(combinations(problem))
    low, high = data.draw(strategies.level_ranges(problem))
    evaluator = Evaluator(
        sample_of(problem), [ours for _, ours in pairs], Loss(), data.draw(strategies.limits())
    )
    assert_finds_the_best(evaluator, low, high, 1)


def test_criteria_take_turns_until_nothing_more_has_to_go() -> None:
    """A chain in which each record shares a value with the next: what goes for one attribute, the other one needed."""
    rows = [(f"a{(link + 1) // 2}", f"b{link // 2}") for link in range(20)] + [("a", "b")] * 3
    tables = [[[value, "*"] for value in sorted(set(column))] for column in zip(*rows, strict=True)]
    problem = oracle.Problem(rows, tables)
    models = [SubsetKAnonymity(2, subsets=[[name]]) for name in names_of(problem)]
    evaluator = Evaluator(sample_of(problem), models, Loss(), 1.0)
    node, satisfied, *_ = evaluator.judge((0, 0), evaluator.sample.table)
    assert satisfied
    assert node.tally.suppressed == 20
