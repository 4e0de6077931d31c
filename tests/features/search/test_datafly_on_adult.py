"""DataFly on a real table, against what the algorithm is known to end with."""

from __future__ import annotations

import pytest

from support.realdata import QUASI_IDENTIFIERS, hierarchies, needs_data, source
from veil import KAnonymity, Plan
from veil.lattice import DataFly, Optimal
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Search
from veil.plan.prepare import prepare

pytestmark = [pytest.mark.realdata, needs_data]


@pytest.mark.parametrize(
    ("limit", "quality", "transformation", "percent"),
    [
        (0.0, "average_class_size", (0, 4, 1, 1, 3, 2, 2, 0), 9.677),
        (0.0, "loss", (0, 4, 1, 1, 3, 2, 2, 0), 15.50),
        (0.1, "average_class_size", (0, 3, 0, 0, 1, 1, 0, 0), 0.068),
        (0.1, "loss", (0, 3, 0, 0, 1, 1, 0, 0), 0.342),
    ],
)
def test_data_fly_on_adult(limit, quality, transformation, percent):
    """Relative loss: 0 % is the optimum, 100 % a release without any information."""
    plan = Plan(
        quasi_identifiers=hierarchies("adult", QUASI_IDENTIFIERS["adult"]),
        models=[KAnonymity(5)],
        insensitive=["occupation"],
        quality=quality,
        suppression_limit=limit,
    )
    ready = prepare(source("adult").table, plan)
    evaluator = Evaluator(ready.sample, plan.models, plan.quality, limit)
    found, best = (
        Search(evaluator, ready.minimum, ready.maximum).run(strategy).best
        for strategy in (DataFly(), Optimal())
    )
    _, worst = evaluator.measure.extremes()
    assert found.levels == transformation
    relative = 100 * (found.score[0] - best.score[0]) / (worst[0] - best.score[0])
    assert relative == pytest.approx(percent, abs=0.005 if percent > 10 else 0.0005)
