"""The order of rows changes nothing: the same verdicts, scores and bounds, to the last bit, and the same records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.row_order import any_order, judged, reordered
from support.samples import model_of, names_of, sample_of
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity

often = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))

QUALITIES = (*oracle.VECTOR_MODELS, *oracle.SINGLE_MODELS)


@pytest.mark.parametrize("name", QUALITIES)
@often
@given(st.data())
def test_every_quality_model(name: str, data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, microaggregated=None))
    quality = data.draw(strategies.qualities(problem, (name,)))
    levels = data.draw(st.lists(strategies.nodes(problem), min_size=1, max_size=6))
    asked: tuple[Any, ...] = ([KAnonymity(2)], quality, data.draw(strategies.limits()), levels)
    assert judged(any_order(data, problem), *asked) == judged(problem, *asked)


@pytest.mark.parametrize("factor", [0.5, 0.3])
@pytest.mark.parametrize("name", QUALITIES)
def test_many_classes(name: str, factor: float) -> None:
    """Four columns of forty values with uneven trees: sums of hundreds of terms, most of them rounded."""
    rng = random.Random(1)
    table = [[f"v{i}", f"w{int(i**0.7)}", f"x{int(int(i**0.7) ** 0.6)}", "*"] for i in range(40)]
    rows = [tuple(f"v{int(40 * rng.random() ** 3)}" for _ in range(4)) for _ in range(600)]
    columns = {"S": [rng.choice("abc") for _ in rows], "M": [rng.choice("1234567") for _ in rows]}
    problem = oracle.Problem(rows, [table] * 4, columns, microaggregated=("M",))
    losses = [[0, 0.1, 0.7, 1]] * 4
    quality = oracle.Quality(name, gs=factor, losses=losses, responses=["S"])
    levels = [(0, 0, 0, 0), (1, 0, 0, 1), (1, 1, 1, 1), (2, 1, 1, 0), (2, 2, 2, 2)]
    assert_the_same_in_any_order(problem, quality, levels)


def test_ambiguity_beyond_the_whole_numbers_that_doubles_hold() -> None:
    """Ten columns whose labels cover up to eighty of three hundred values: products of up to 63 bits."""
    rng = random.Random(2)
    table = [[f"v{i}", f"w{int(i**0.3)}", "*"] for i in range(300)]
    rows = [tuple(f"v{rng.randrange(300)}" for _ in range(10)) for _ in range(600)]
    problem = oracle.Problem(rows, [table] * 10)
    levels = [(1,) * 10, (0, 1, 2, 1, 1, 1, 1, 1, 1, 1)]
    for found in assert_the_same_in_any_order(problem, oracle.Quality("Ambiguity"), levels, k=1):
        assert found.score[0] > 2**54


def assert_the_same_in_any_order(
    problem: oracle.Problem, quality: oracle.Quality, levels: Sequence[oracle.Node], k: int = 2
) -> list[Any]:
    rng = random.Random(3)
    first: list[Any] = []
    for _ in range(3):
        moved = reordered(problem, rng.sample(range(len(problem.rows)), len(problem.rows)))
        sample = sample_of(moved)
        evaluator = Evaluator(sample, [KAnonymity(k)], model_of(quality, names_of(moved)), 1.0)
        found = [evaluator.evaluate(node, sample.table, score=True)[0] for node in levels]
        first = first or found
        assert found == first
    return first
