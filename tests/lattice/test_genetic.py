"""The genetic search: limits of its population."""

from __future__ import annotations

import itertools
import random

from support import oracle
from support.samples import sample_of
from veil.lattice import Genetic
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Limits, Search
from veil.models import KAnonymity
from veil.quality import Loss


def test_a_population_larger_than_any_memory_keeps_to_the_limits():
    tables = [[[str(v), f"a{v // 2}", f"b{v // 4}", "*"] for v in range(8)] for _ in range(9)]
    rng = random.Random(1)
    rows = [tuple(rng.choice(table)[0] for table in tables) for _ in range(40)]
    problem = oracle.Problem(rows, tables)
    evaluator = Evaluator(sample_of(problem), [KAnonymity(2)], Loss(), 1.0)
    asked = itertools.count()
    for limits in (Limits(checks=50), Limits(cancelled=lambda: next(asked) > 5)):
        search = Search(evaluator, (0,) * 9, problem.heights, limits=limits)
        found = search.run(Genetic(population=2**31))
        assert found.ending in ("check limit", "cancelled")
        assert found.best is not None
    small = Search(evaluator, (2,) * 9, (3,) * 3 + (2,) * 6).run(Genetic(population=2**31))
    assert small.proven
