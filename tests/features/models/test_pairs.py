"""Any two models together, drawn at random: the same rows go, and pruning never changes the answer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.models import ours
from support.samples import model_of, names_of, sample_of
from support.searching import assert_finds_the_best, best_of, every_node, rank
from veil import models as m
from veil.classes.sample import Sample
from veil.errors import PlanError
from veil.lattice import BestEffort, Lightning, TopDown
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Search
from veil.models.base import PrivacyModel

often = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


def drawn(data: st.DataObject, problem: oracle.Problem) -> tuple[list[oracle.AnyModel], list[PrivacyModel]]:
    theirs = data.draw(st.lists(strategies.models(problem), min_size=1, max_size=2))
    found = [ours(model) for model in theirs]
    assume(all(model is not None for model in found))
    # The oracle adds no-attack and presence up against a population that only a subset provides.
    assume(problem.subset is not None or not any(_needs_subset(model) for model in theirs))
    assume(len({type(model) for model in theirs}) == len(theirs))
    return theirs, [model for model in found if model is not None]


def _needs_subset(model: oracle.AnyModel) -> bool:
    journalist = getattr(model, "attacker", "") == "journalist"
    whole = isinstance(model, oracle.KMap) and model.population is None
    return journalist or whole or isinstance(model, oracle.DeltaPresence | oracle.Inclusion)


def evaluator_of(
    sample: Sample, models: list[PrivacyModel], quality: oracle.Quality, names: list[str], limit: float
) -> Evaluator:
    try:
        return Evaluator(sample, models, model_of(quality, names), limit)
    except PlanError:  # refused at once, where the oracle would suppress everything
        assume(False)
        raise


@pytest.mark.slow
@often
@given(st.data())
def test_the_same_rows_are_suppressed(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True))
    theirs, models = drawn(data, problem)
    levels = data.draw(strategies.nodes(problem))
    limit = data.draw(strategies.limits())
    loss = oracle.Quality("Loss")
    evaluator = evaluator_of(sample_of(problem), models, loss, names_of(problem), limit)
    expected = oracle.evaluate(problem, theirs, levels, limit, loss)
    node, satisfied, least, *_ = evaluator.judge(levels, evaluator.sample.table, high=True)
    groups = oracle.classes(problem, levels)
    gone = {row for group, mark in zip(groups, node.rejected, strict=True) if mark for row in group}
    assert gone & problem.relevant == expected.suppressed
    assert (satisfied and node.tally.suppressed <= evaluator.allowed) == expected.anonymous
    assert least <= node.tally.suppressed or not satisfied


@settings(often, max_examples=200)
@given(st.data())
def test_pruned_is_exhaustive(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, max_width=3, max_height=3))
    _, models = drawn(data, problem)
    quality = oracle.Quality("Loss") if data.draw(st.booleans()) else oracle.Quality("AverageClassSize")
    limit = data.draw(strategies.limits())
    evaluator = evaluator_of(sample_of(problem), models, quality, names_of(problem), limit)
    low, high = data.draw(strategies.level_ranges(problem))
    assert_finds_the_best(evaluator, low, high, data.draw(st.sampled_from([1, 2])))


def test_the_oracle_knows_every_model() -> None:
    assert {model.__name__ for model in m.MODELS.values()} <= set(dir(oracle))


@settings(often, max_examples=100)
@given(st.data())
def test_heuristics_run_to_exhaustion_are_exhaustive(data: st.DataObject) -> None:
    """Best effort searches sub-lattices: what their corners must suppress holds within them only."""
    problem = data.draw(strategies.problems(sensitive=True, max_width=3, max_height=3))
    _, models = drawn(data, problem)
    quality = data.draw(strategies.qualities(problem))
    evaluator = evaluator_of(
        sample_of(problem), models, quality, names_of(problem), data.draw(strategies.limits())
    )
    low, high = data.draw(strategies.level_ranges(problem))
    best = best_of(every_node(evaluator, low, high))
    for strategy in (BestEffort(seed=data.draw(st.integers(0, 9))), Lightning(), TopDown()):
        found = Search(evaluator, low, high).run(strategy)
        assert found.proven
        assert (found.best and rank(found.best)) == (best and rank(best))
