"""Search strategies, and whole searches of random tables to compare them on."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, settings

from support import oracle, strategies
from support.samples import model_of, names_of, sample_of
from support.searching import models
from veil.lattice import (
    Auto,
    BestEffort,
    DataFly,
    Genetic,
    ImprovedGreedy,
    Lightning,
    Optimal,
    TopDown,
)
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity
from veil.quality import Loss

EXHAUSTIVE = [Optimal(), Auto(), BestEffort(), Lightning(), TopDown(), Genetic(population=4)]


ALL = [*EXHAUSTIVE, Lightning(minimal=True), TopDown(minimal=True), DataFly(), ImprovedGreedy()]


often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def draw_evaluator(data):
    problem = data.draw(strategies.problems(max_width=4, max_height=3, microaggregated=None))
    quality = data.draw(strategies.qualities(problem))
    low, high = data.draw(strategies.level_ranges(problem))
    limit = data.draw(strategies.limits())
    chosen = data.draw(models())
    return Evaluator(sample_of(problem), chosen, model_of(quality, names_of(problem)), limit), low, high


def survey(limit=0.0):
    """A table with enough attributes that no strategy sees all of its nodes."""
    rng = random.Random(5)
    tables = [[[str(v), f"a{v // 2}", "*"] for v in range(4 + j % 3)] for j in range(12)]
    mood = [rng.random() for _ in range(400)]
    rows = [tuple(str(int((0.7 * m + 0.3 * rng.random()) * len(t))) for t in tables) for m in mood]
    problem = oracle.Problem(rows, tables)
    return Evaluator(sample_of(problem), [KAnonymity(5)], Loss(), limit), (0,) * 12, problem.heights
