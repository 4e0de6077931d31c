"""What models that judge the whole sample make of a node: by the engine, from outside, and by the oracle."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.samples import E1, model_of, names_of, sample_of
from veil.classes.sample import Sample
from veil.lattice.evaluator import Evaluator
from veil.models.base import PrivacyModel

often = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
sometimes = settings(often, max_examples=100)

ORDERING = ("Loss", "Ambiguity", "EntropyBased", "Height", "Discernibility")
"""Quality models that order classes of equal size, each in its own way, and two that do not."""


class Outcome(NamedTuple):
    """Verdict and suppressed rows."""

    anonymous: bool
    suppressed: frozenset[int]


@st.composite
def problems(draw: st.DrawFn, subset: bool | None = False, max_rows: int = 40) -> oracle.Problem:
    """Draw a table, more often one with many small classes.

    In some of the hierarchies a label `*` stands beside others, or below others.
    """
    if draw(st.integers(0, 3)):
        problem = crowd(draw(st.randoms()), draw(st.integers(8, max_rows)))
    else:
        problem = draw(strategies.problems(max_rows=max_rows, sensitive=False, subset=False))
    if draw(st.booleans()) if subset is None else subset:
        chosen = draw(st.sets(st.integers(0, len(problem.rows) - 1), min_size=len(problem.rows) // 2 or 1))
        problem = dataclasses.replace(problem, subset=chosen)
    return dataclasses.replace(problem, hierarchies=draw(starred(problem.hierarchies)))


def crowd(random: Random, rows: int) -> oracle.Problem:
    """Return a table of two attributes whose values are the rarer the later they come, so that sizes differ."""
    tables = []
    for _ in range(2):
        size = random.randint(3, 8)
        tables.append([[f"v{i}", f"w{i // 2}", f"x{i // random.choice((3, 4))}"] for i in range(size)])
    for table in tables:
        parents = {row[1]: row[2] for row in table}
        for row in table:
            row[2] = parents[row[1]]
    cells = [[table[int(len(table) * random.random() ** 2)][0] for table in tables] for _ in range(rows)]
    return oracle.Problem([tuple(row) for row in cells], tables)


@st.composite
def starred(draw: st.DrawFn, hierarchies: Any) -> list[list[list[str | None]]]:
    """Rename some labels to `*`, on one level or several."""
    tables = [[list(row) for row in table] for table in hierarchies]
    if draw(st.booleans()):
        return tables
    for table in tables:
        for level in range(1, len(table[0])):
            labels = sorted({row[level] for row in table if row[level] is not None})
            if "*" in labels or not labels or not draw(st.booleans()):
                continue
            chosen = draw(st.sampled_from(labels))
            for row in table:
                if row[level] == chosen:
                    row[level] = "*"
    return tables


def nodes(problem: oracle.Problem) -> st.SearchStrategy[oracle.Node]:
    """Draw a transformation, more often one with many classes."""
    low = st.tuples(*(st.integers(0, min(1, height)) for height in problem.heights))
    return st.one_of(low, strategies.nodes(problem))


def evaluated(
    problem: oracle.Problem,
    models: Sequence[PrivacyModel],
    levels: oracle.Node,
    limit: float = 1.0,
    quality: oracle.Quality | None = None,
) -> Outcome:
    """Evaluate a node with the engine."""
    quality = quality or oracle.Quality("Height")
    sample = sample_of(problem)
    evaluator = Evaluator(sample, models, model_of(quality, names_of(problem)), limit)
    node, satisfied, *_ = evaluator.judge(levels, sample.table)
    rows = node.rejected.astype(bool)[sample.classes_of_rows(levels)[1]]
    suppressed = frozenset(row for row in problem.relevant if rows[row])
    assert len(suppressed) == node.tally.suppressed
    return Outcome(satisfied and len(suppressed) <= evaluator.allowed, suppressed)


def suppressed_rows(
    model: PrivacyModel, levels: oracle.Node = (1, 0, 1), problem: oracle.Problem = E1
) -> set[int]:
    """Return what the engine suppresses at a node."""
    return set(evaluated(problem, [model], levels).suppressed)


def agrees(data: st.DataObject, pairs: Callable[[], st.SearchStrategy[tuple[Any, PrivacyModel]]]) -> None:
    """Check one random table, with up to two models and a k, against the oracle."""
    problem = data.draw(problems(subset=None))
    levels = data.draw(nodes(problem))
    quality = data.draw(strategies.qualities(problem, (data.draw(st.sampled_from(ORDERING)),)))
    limit = data.draw(strategies.limits())
    theirs, ours = zip(*data.draw(st.lists(pairs(), min_size=1, max_size=2)), strict=True)
    truth = oracle.evaluate(problem, theirs, levels, limit, quality)
    found = evaluated(problem, ours, levels, limit, quality)
    assert found.anonymous == truth.anonymous
    assert found.suppressed == truth.suppressed


def least_is_sound(data: st.DataObject, theirs: Any, ours: PrivacyModel) -> None:
    """Check on one random table that no more specific node gets by with fewer suppressed records."""
    problem = data.draw(problems(subset=None, max_rows=20))
    upper = data.draw(strategies.nodes(problem))
    least = least_of(ours, sample_of(problem), upper)
    further = data.draw(st.sampled_from([[], [oracle.KAnonymity(2)], [oracle.SampleUniqueness(0.1)]]))
    for lower in oracle.nodes((0,) * problem.width, upper)[:40]:
        truth = oracle.evaluate(problem, [*further, theirs], lower, 1)
        assert not truth.anonymous or len(truth.suppressed) >= least, lower


def least_of(model: PrivacyModel, sample: Sample, levels: oracle.Node) -> int:
    """Return how many records the criterion says have to go at a node and below it."""
    table, _ = sample.classes_of_rows(levels)
    criterion: Any = model.bind(sample)
    least = criterion.least(table)
    assert isinstance(least, int)
    return least


def priority_problem(*sizes: int, hidden: int) -> oracle.Problem:
    """Return classes of the given sizes; on level 1 the one numbered `hidden` becomes `*`, the others stay."""
    names = [f"c{i}" for i in range(len(sizes))]
    table = [[name, "*" if i == hidden else name] for i, name in enumerate(names)]
    return oracle.Problem(
        [(name,) for name, size in zip(names, sizes, strict=True) for _ in range(size)], [table]
    )
