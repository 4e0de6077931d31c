"""Where boxes are cut. A rule may be a poor guess, but what it returns is always a cut."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.samples import model_of, names_of, sample_of
from veil.lattice import cuts
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity, TCloseness

often = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def evaluators(data, problem):
    quality = data.draw(strategies.qualities(problem))
    several = [TCloseness("T", 0.3), TCloseness("S", 0.1, "ordered")]
    chosen = data.draw(st.sampled_from([[KAnonymity(2)], several[:1], several]))
    limit = data.draw(strategies.limits())
    return Evaluator(sample_of(problem), chosen, model_of(quality, names_of(problem)), limit)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [cuts.BySpread, cuts.ByGain])
def test_what_a_rule_returns_is_a_cut(rule):
    @often
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(sensitive=True))
        where = rule(evaluators(data, problem)).where
        one, other = data.draw(strategies.nodes(problem)), data.draw(strategies.nodes(problem))
        low, high = tuple(map(min, one, other)), tuple(map(max, one, other))
        if low != high:
            attribute, level = where(low, high)
            assert low[attribute] <= level < high[attribute]

    check()


@often
@given(st.data())
def test_what_attributes_tell_about_sensitive_ones(data):
    """Half the sum of |q - p| in each group, by the definition, averaged over the records."""
    problem = data.draw(strategies.problems(sensitive=True, max_height=3))
    evaluator = Evaluator(
        sample_of(problem), [TCloseness("S", 0.3)], model_of(oracle.Quality("Height"), names_of(problem)), 1.0
    )
    everybody, told = problem.baselines["S"], cuts._mean_distances(evaluator)
    for j, height in enumerate(problem.heights):
        for level in range(height + 1):
            expected = 0.0
            groups = {}
            for row in problem.relevant:
                groups.setdefault(problem.domains[j][problem.rows[row][j]][level], []).append(row)
            for rows in groups.values():
                here = Counter(problem.sensitive["S"][row] for row in rows)
                distance = sum(abs(here[v] / len(rows) - n / problem.size) for v, n in everybody.items()) / 2
                expected += distance * len(rows) / problem.size
            assert told[j][level] == pytest.approx(expected, abs=1e-12)


def test_the_rule_follows_from_model_and_limit():
    table = [[value, "*"] for value in "ab"]
    problem = oracle.Problem([("a",), ("b",)] * 4, [table], {"S": list("xyxyxxyy")})
    sample, loss = sample_of(problem), model_of(oracle.Quality("Loss"), names_of(problem))

    def rule(model, limit):
        return type(cuts.cuts_for(Evaluator(sample, [model], loss, limit)))

    assert rule(TCloseness("S", 0.3), 1.0) is cuts.ByGain
    assert rule(TCloseness("S", 0.3), 0.1) is cuts.BySpread
    assert rule(KAnonymity(2), 1.0) is cuts.BySpread
