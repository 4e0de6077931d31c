"""What the best node is, found by looking at every node."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from support import oracle
from support.samples import Whimsical, evaluate
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models import KAnonymity

often = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


def every_node(evaluator, low, high):
    return {levels: evaluate(evaluator, levels) for levels in oracle.nodes(low, high)}


def rank(evaluation):
    return evaluation.score, sum(evaluation.levels), evaluation.levels


def best_of(evaluations):
    return min((e for e in evaluations.values() if e.anonymous), key=rank, default=None)


def assert_finds_the_best(evaluator, low, high, threads):
    """Compare with the exhaustive search; also check all that the search claims about nodes it skipped."""
    found = Search(evaluator, low, high, threads=threads).run(Optimal())
    truth = every_node(evaluator, low, high)
    best = best_of(truth)
    assert (found.best is None) == (best is None)
    if best is not None:
        assert (found.best.levels, found.best.score) == (best.levels, best.score)
        assert found.best.anonymous
    for levels, evaluation in truth.items():
        record = found.space[levels]
        assert record.bound <= evaluation.score
        assert record.suppressed <= evaluation.tally.suppressed
        if record.state == "anonymous":
            assert evaluation.anonymous
            assert record.score == evaluation.score
        elif record.state == "not anonymous":
            assert not evaluation.anonymous
        else:
            assert record.state == "pruned"
            assert not evaluation.anonymous or rank(evaluation) > rank(best)


def models():
    """Draw a model both ways monotone, one that is neither, or both of them together."""
    sizes = st.integers(1, 6).map(KAnonymity)
    whims = st.builds(Whimsical, st.integers(0, 99), st.sampled_from([0.05, 0.3]))
    return st.one_of(st.lists(sizes, min_size=1, max_size=1), st.tuples(sizes, whims).map(list))
