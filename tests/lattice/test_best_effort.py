"""Best effort: at least as good as other strategies, and its proof is kept."""

from __future__ import annotations

import random

from support import oracle
from support.samples import sample_of
from support.searching import best_of, every_node
from support.surveys import ALL, survey
from veil.lattice import Auto
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Limits, Search
from veil.models import KAnonymity
from veil.quality import Loss


def test_a_proof_that_best_effort_ends_with_is_kept(monkeypatch):
    """In a space that is too large to try the proof again."""
    monkeypatch.setattr("veil.lattice.auto.PROVABLE", 0)
    tables = [[[str(v), f"a{v // 2}", f"b{v // 4}", "*"] for v in range(8)] for _ in range(4)]
    rng = random.Random(1)
    rows = [tuple(rng.choice(table)[0] for table in tables) for _ in range(120)]
    problem = oracle.Problem(rows, tables)
    evaluator = Evaluator(sample_of(problem), [KAnonymity(3)], Loss(), 0.05)
    low, high = (0,) * 4, problem.heights
    found = Search(evaluator, low, high, limits=Limits(checks=160)).run(Auto())
    assert found.ending == "finished"
    assert found.proven
    best = best_of(every_node(evaluator, low, high))
    assert (found.best.levels, found.bound) == (best.levels, best.score)


def test_best_effort_is_at_least_as_good_as_the_others():
    for limit in (0.0, 0.1, 1.0):
        found = {
            repr(strategy): Search(*survey(limit), limits=Limits(checks=2000)).run(strategy).best
            for strategy in ALL
        }
        scores = {name: best.score for name, best in found.items() if best is not None}
        assert scores["BestEffort(seed=0)"] == min(scores.values())
