"""The same records in any order, and everything that a search is told of them."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from support import oracle
from support.samples import model_of, names_of, sample_of
from veil.lattice import Optimal
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Search
from veil.models.base import PrivacyModel


def reordered(problem: oracle.Problem, order: Sequence[int]) -> oracle.Problem:
    """Return the same records in another order."""
    subset = problem.subset
    return dataclasses.replace(
        problem,
        rows=[problem.rows[row] for row in order],
        sensitive={name: [column[row] for row in order] for name, column in problem.sensitive.items()},
        subset=None if subset is None else {place for place, row in enumerate(order) if row in subset},
    )


def judged(
    problem: oracle.Problem,
    models: Sequence[PrivacyModel],
    quality: oracle.Quality,
    limit: float,
    levels: Sequence[oracle.Node],
) -> list[Any]:
    """Everything a search is told of some nodes, with the records that go there, and what it finds."""
    sample = sample_of(problem)
    evaluator = Evaluator(sample, models, model_of(quality, names_of(problem)), limit)
    found: list[Any] = []
    for node in levels:
        evaluation, _ = evaluator.evaluate(node, sample.table, score=True, high=True)
        found.append((evaluation, suppressed(problem, evaluator, node)))
    best = Search(evaluator, (0,) * problem.width, problem.heights).run(Optimal()).best
    found.append(best and (best.levels, best.score, suppressed(problem, evaluator, best.levels)))
    return found


def suppressed(problem: oracle.Problem, evaluator: Evaluator, levels: oracle.Node) -> Counter[Any]:
    """Return the records that go at a node, each as often as it is there."""
    sample = evaluator.sample
    node = evaluator.judge(levels, sample.table).node
    gone = node.rejected.astype(bool)[sample.classes_of_rows(levels)[1]]
    return Counter(problem.rows[row] for row in problem.relevant if gone[row])


def any_order(data: st.DataObject, problem: oracle.Problem) -> oracle.Problem:
    rng = random.Random(data.draw(st.integers(0, 10**9)))
    order = list(range(len(problem.rows)))
    return reordered(problem, rng.sample(order, len(order)))
