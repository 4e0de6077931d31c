"""What each choice costs: the same as evaluating every node, and as a search of its own."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support import strategies
from support.amount import tables
from support.samples import model_of, names_of, sample_of
from support.searching import best_of, every_node
from veil.lattice.evaluator import Evaluator
from veil.lattice.level_costs import level_costs
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models import KAnonymity, TCloseness


@settings(max_examples=tables(60))
@given(st.data())
def test_a_price_is_the_best_of_all_nodes_with_that_level(data):
    problem = data.draw(strategies.problems(max_width=4, max_height=3, sensitive=True))
    quality = data.draw(strategies.qualities(problem))
    low, high = data.draw(strategies.level_ranges(problem))
    models = [
        KAnonymity(data.draw(st.integers(1, 4))),
        *data.draw(st.sampled_from([[], [TCloseness("S", 0.3)]])),
    ]
    evaluator = Evaluator(
        sample_of(problem), models, model_of(quality, names_of(problem)), data.draw(strategies.limits())
    )
    found = Search(evaluator, low, high, threads=1).run(Optimal())
    fixed = {}
    if data.draw(st.booleans()):
        j = data.draw(st.integers(0, len(low) - 1))
        fixed[j] = data.draw(st.integers(low[j], high[j]))

    prices = list(level_costs(evaluator, found, fixed=fixed, threads=1))

    nodes = every_node(evaluator, low, high)
    asked = {
        (j, level)
        for j in range(len(low))
        for level in ([fixed[j]] if j in fixed else range(low[j], high[j] + 1))
    }
    assert {(each.attribute, each.level) for each in prices} == asked
    for each in prices:
        wanted = {**fixed, each.attribute: each.level}
        best = best_of(
            {
                levels: node
                for levels, node in nodes.items()
                if all(levels[j] == at for j, at in wanted.items())
            }
        )
        assert each.proven
        assert (each.best is None) == (best is None)
        assert best is None or (each.best.levels, each.best.score) == (best.levels, best.score)
