"""The whole solution space, evaluated node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .arithmetic import Number
from .problem import Node, Problem, nodes
from .quality import Quality, Score, score
from .suppression import AnyModel, evaluate


class Result(NamedTuple):
    """A transformation judged: verdict, suppressed (relevant) rows, score with these suppressed."""

    anonymous: bool
    suppressed: frozenset[int]
    score: Score


def exhaustive(
    problem: Problem,
    models: Sequence[AnyModel],
    quality: Quality,
    limit: Number = 0,
    min_levels: Node | None = None,
    max_levels: Node | None = None,
    utility_driven: bool = True,
) -> dict[Node, Result]:
    """Judge every transformation between two level vectors; by default all there are."""
    low = min_levels or (0,) * problem.width
    high = max_levels or problem.heights
    results = {}
    for node in nodes(low, high):
        anonymous, suppressed = evaluate(problem, models, node, limit, quality, utility_driven)
        results[node] = Result(anonymous, suppressed, score(problem, quality, node, suppressed))
    return results


def best(results: dict[Node, Result]) -> Node | None:
    """Return the anonymous node with the lowest score; ties: lower sum of levels, then lexicographic."""
    found = [node for node, result in results.items() if result.anonymous]
    return min(found, key=lambda node: (results[node].score, sum(node), node), default=None)


def ties(results: dict[Node, Result], tolerance: float = 1e-9) -> list[Node]:
    """Return all anonymous nodes whose score is the lowest, up to a relative tolerance."""
    winner = best(results)
    if winner is None:
        return []
    return [n for n, r in results.items() if r.anonymous and close(r.score, results[winner].score, tolerance)]


def close(a: Score, b: Score, tolerance: float) -> bool:
    """Compare two scores, or two rank vectors entry by entry."""
    left, right = (x if isinstance(x, tuple) else (x,) for x in (a, b))
    return len(left) == len(right) and all(
        x == y or abs(x - y) <= tolerance * max(1.0, abs(x), abs(y)) for x, y in zip(left, right, strict=True)
    )


def optimum(
    problem: Problem,
    models: Sequence[AnyModel],
    quality: Quality,
    limit: Number = 0,
    min_levels: Node | None = None,
    max_levels: Node | None = None,
    utility_driven: bool = True,
) -> tuple[Node, Result] | None:
    """Return the optimal transformation, or None if none is anonymous."""
    results = exhaustive(problem, models, quality, limit, min_levels, max_levels, utility_driven)
    winner = best(results)
    return None if winner is None else (winner, results[winner])
