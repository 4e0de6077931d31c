"""Models that compare a research subset with everybody: what is published of it, and nodes against the oracle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.judging import often
from support.samples import evaluate, model_of, names_of, sample_of
from support.searching import best_of, every_node
from veil import KAnonymity
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models.base import PrivacyModel
from veil.models.subset import RowNumbers
from veil.published.table import Published
from veil.quality import Discernibility
from veil.tables.rows import Rows


def subset_of(problem: oracle.Problem) -> RowNumbers | None:
    return None if problem.subset is None else RowNumbers(problem.subset)


def publish(
    problem: oracle.Problem, levels: oracle.Node, suppressed: Iterable[int] = (), members: bool = True
) -> Published:
    """Publish the research subset of a problem, with everybody as the population."""
    rows, hidden = sorted(problem.relevant), set(suppressed)
    generalized, names = oracle.generalize(problem, levels), names_of(problem)
    columns: dict[str, Any] = {
        name: pa.array(["*" if row in hidden else generalized[row][j] for row in rows], pa.string())
        for j, name in enumerate(names)
    }
    columns["suppressed"] = pa.array([row in hidden for row in rows])
    population = None
    if problem.subset is not None:
        population = pa.table(
            {name: pa.array([row[j] for row in generalized], pa.string()) for j, name in enumerate(names)}
        )
    table = pa.table(columns)
    return Published(
        Rows.of(table),
        names,
        flag="suppressed",
        members=np.isin(np.arange(len(problem.rows)), rows) if members and population is not None else None,
        baseline=Rows.of(table.drop(["suppressed"])),
        population=None if population is None else Rows.of(population),
    )


def engine_says(
    models: list[PrivacyModel], problem: oracle.Problem, levels: oracle.Node, limit: float
) -> tuple[bool, set[int]]:
    """Whether a node is anonymous, and which rows are suppressed there."""
    sample = sample_of(problem)
    evaluator = Evaluator(sample, models, Discernibility(), limit)
    node, satisfied, *_ = evaluator.judge(levels, sample.table)
    rejected = node.rejected.astype(bool)[sample.classes_of_rows(levels)[1]]
    return (
        satisfied and node.tally.suppressed <= evaluator.allowed,
        set(np.flatnonzero(rejected).tolist()) & problem.relevant,
    )


def nodes_agree(problem: oracle.Problem, theirs: Any, ours: PrivacyModel, data: st.DataObject) -> None:
    """Check a whole node against the oracle, for a model alone and with k-anonymity beside it."""
    k, levels, limit = data.draw(st.tuples(st.integers(1, 4), strategies.nodes(problem), strategies.limits()))
    beside = oracle.KAnonymity(k), KAnonymity(k)
    for their_models, our_models in (([theirs], [ours]), ([theirs, beside[0]], [ours, beside[1]])):
        truth = oracle.evaluate(problem, their_models, levels, limit)
        assert engine_says(our_models, problem, levels, limit) == (truth.anonymous, set(truth.suppressed))


def search_is_exhaustive(models: Any, examples: int = 200) -> None:
    """Check that the pruned search finds what looking at every node finds, alone and beside k-anonymity."""

    @settings(often, max_examples=examples)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        problem = data.draw(strategies.problems(max_rows=25, max_width=3, max_height=3, subset=True))
        chosen = [data.draw(models)]
        if data.draw(st.booleans()):
            chosen.append(KAnonymity(data.draw(st.integers(1, 4))))
        quality = model_of(data.draw(strategies.qualities(problem)), names_of(problem))
        low, high = data.draw(strategies.level_ranges(problem))
        evaluator = Evaluator(sample_of(problem), chosen, quality, data.draw(strategies.limits()))
        found, best = (
            Search(evaluator, low, high, threads=1).run(Optimal()),
            best_of(every_node(evaluator, low, high)),
        )
        assert (found.best is None) == (best is None)
        if best is not None:
            assert (found.best.levels, found.best.score) == (best.levels, best.score)
        for levels in oracle.nodes(low, high):
            record = found.space[levels]
            if record.state == "not anonymous":
                assert not evaluate(evaluator, levels).anonymous
            elif record.state == "pruned":
                node = evaluate(evaluator, levels)
                assert not node.anonymous or (node.score, sum(levels), levels) > (
                    best.score,
                    sum(best.levels),
                    best.levels,
                )

    check()
