"""The frontier: parameters are replaced by name, what has no solution says so, and the front is not dominated."""

from __future__ import annotations

import builtins
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.refusals import refused
from support.utility.example import E1, TABLES
from veil import EntropyLDiversity, KAnonymity, TCloseness
from veil import hierarchies as h
from veil import quality as q
from veil.api.frontier import Frontier, Point, frontier
from veil.dp import SafePub
from veil.errors import MissingDependencyError, ParameterError, PlanError
from veil.plan.plan import Plan
from veil.utility import Comparison, quality_measures

PLAN = Plan(TABLES, KAnonymity(2), suppression_limit=0.2)


def test_every_combination_is_a_release_of_the_plan_with_these_parameters():
    found = frontier(E1, PLAN, over={"k": [2, 4], "suppression_limit": [0.0, 0.2]})
    assert [point.parameters for point in found.points] == [
        {"k": 2, "suppression_limit": 0.0},
        {"k": 2, "suppression_limit": 0.2},
        {"k": 4, "suppression_limit": 0.0},
        {"k": 4, "suppression_limit": 0.2},
    ]
    for point in found.points:
        release = veil.anonymize(
            E1,
            quasi_identifiers=TABLES,
            models=KAnonymity(point.parameters["k"]),
            suppression_limit=point.parameters["suppression_limit"],
        )
        assert point.problem is None
        assert point.transformation == release.transformation
        assert point.risks["average"] == release.risk()[1].average
        overall = quality_measures(Comparison.of(release)).overall
        assert {name: point.utilities[name] for name in overall} == overall
        assert point.utilities["released"] == pytest.approx(1 - release.suppressed / 10)
        assert point.seconds > 0


def test_what_has_no_solution_is_a_point_that_says_so():
    narrow = {"A": h.table([[str(a), str(a)] for a in (21, 23, 35, 38)])}
    found = frontier(
        E1.select(["A"]),
        over={"k": [2, 3, 11]},
        quasi_identifiers=narrow,
        models=KAnonymity(2),
        maximum_levels={"A": 0},
    )
    assert found.points[0].problem is None
    assert "KAnonymity(k=3)" in found.points[1].problem
    assert "classes of 11" in found.points[2].problem
    assert "only 10" in found.points[2].problem
    assert found.points[1].risks == found.points[1].utilities == {}
    assert [point.parameters["k"] for point in found.pareto()] == [2]
    assert "no release" in str(found)


def test_no_combination_at_all_may_have_a_solution():
    found = frontier(E1, PLAN, over={"k": [11, 12]})
    assert found.pareto() == ()
    assert found.to_dict()["points"][0]["pareto"] is False
    assert not found.plot().legends


def test_parameters_of_models_of_the_plan_and_of_the_quality_model():
    table = E1.append_column("S", pa.array(["a", "b", "a", "b", "c", "a", "b", "c", "b", "a"]))
    models = (KAnonymity(2), TCloseness("S", 0.9))
    plan = Plan(TABLES, models, sensitive=["S"], suppression_limit=1.0)
    found = frontier(table, plan, over={"TCloseness.t": [0.9, 0.2], "k": [2, 3], "factor": [0.5, 0.75]})
    for point in found.points:
        release = veil.anonymize(
            table,
            quasi_identifiers=TABLES,
            sensitive=["S"],
            models=(KAnonymity(point.parameters["k"]), TCloseness("S", point.parameters["TCloseness.t"])),
            suppression_limit=1.0,
            quality=q.Loss(factor=point.parameters["factor"]),
        )
        assert point.transformation == release.transformation
    by_quality = frontier(table, plan, over={"quality": ["loss", q.AverageClassSize()]})
    assert by_quality.points[1].to_dict()["parameters"] == {"quality": "AverageClassSize(factor=0.5)"}


def test_two_models_of_one_kind_change_together_and_of_two_kinds_are_told_apart():
    table = E1.append_column("S", pa.array(list("abcabcabca"))).append_column(
        "T", pa.array(list("aabbaabbaa"))
    )
    models = (EntropyLDiversity("S", 2), EntropyLDiversity("T", 2))
    plan = Plan(TABLES, models, sensitive=["S", "T"], suppression_limit=1.0)
    found = frontier(table, plan, over={"l": [1, 1.5]})
    assert all(point.problem is None for point in found.points)
    both = Plan(TABLES, (KAnonymity(2), veil.AlphaKAnonymity("S", 0.9, 2)), sensitive=["S"], others="keep")
    with refused(PlanError, "'k'", "AlphaKAnonymity.k", "KAnonymity.k"):
        frontier(table, both, over={"k": [2]})


@pytest.mark.parametrize(
    ("over", "error", "message"),
    [
        ({}, PlanError, "at least one parameter"),
        ({"k": 5}, PlanError, "should list the values of 'k' to try, not 5"),
        ({"k": []}, PlanError, "lists no value of 'k'"),
        ({"suppresion_limit": [0]}, PlanError, "Did you mean 'suppression_limit'"),
        ({"KAnonimity.k": [2]}, PlanError, "Did you mean 'KAnonymity.k'"),
        ({"k": [2, 0]}, ParameterError, "`k` of KAnonymity should be greater than or equal to 1, not 0"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_done(over, error, message):
    with pytest.raises(error, match=message):
        frontier(E1, PLAN, over=over)


def test_bad_calls_are_refused():
    with refused(PlanError, "needs a plan"):
        frontier(E1, over={"k": [2]})
    with refused(PlanError, "not both"):
        frontier(E1, PLAN, over={"k": [2]}, models=KAnonymity(2))
    with refused(ParameterError, "`threads`", "1 or more"):
        frontier(E1, PLAN, over={"k": [2]}, threads=0)
    with refused(PlanError, "no column 'A'"):
        frontier(E1.drop_columns(["A"]), PLAN, over={"k": [2]})
    with refused(ParameterError, "`risk`", "'hihest'", "'highest'"):
        frontier(E1, PLAN, over={"k": [2]}, risk="hihest")
    with refused(ParameterError, "`utility`", "figures"):
        frontier(E1, PLAN, over={"k": [2]}).pareto(utility="beauty")


def test_points_do_not_depend_on_threads():
    over = {"k": [2, 3, 5], "suppression_limit": [0.0, 0.1, 0.3]}
    one, two = (frontier(E1, PLAN, over=over, threads=threads) for threads in (1, 2))
    for a, b in zip(one.points, two.points, strict=True):
        assert (a.parameters, a.problem, a.risks, a.utilities) == (
            b.parameters,
            b.problem,
            b.risks,
            b.utilities,
        )


def test_further_figures_and_progress():
    told = []
    found = frontier(
        E1,
        PLAN,
        over={"k": [2, 3]},
        risks={"smallest": lambda release: 1 / min(release.outcome.by_records.sizes)},
        utilities={"ages": lambda comparison: quality_measures(comparison).attributes[0].granularity.quality},
        risk="smallest",
        utility="ages",
        progress=lambda *step: told.append(step),
    )
    assert [point.risks["smallest"] for point in found.points] == [p.risks["highest"] for p in found.points]
    assert told[-1][1:3] == (2, 2)


def test_a_private_release_is_made_for_each_epsilon():
    people = pa.table({"sex": ["f", "m"] * 400})
    plan = Plan({"sex": h.table([["f", "*"], ["m", "*"]])}, SafePub(1.0, 1e-4), person=None)
    found = frontier(people, plan, over={"epsilon": [0.5, 2.0]})
    low, high = found.points
    assert low.problem is None
    # More budget, more records are drawn; those that are not count as suppressed.
    assert low.utilities["released"] < high.utilities["released"] < 1
    made = Plan({"sex": h.suppression()}, SafePub(1.0, 1e-4), person=None)
    assert "from the data" in frontier(people, made, over={"epsilon": [1.0]}).points[0].problem


figures = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(figures)
def test_the_front_holds_exactly_what_no_other_point_beats(drawn):
    points = tuple(
        Point({"at": at}, None, {"r": float(r)}, {"u": float(u)}, None, 0.0)
        for at, (r, u) in enumerate(drawn)
    )
    front = Frontier(points, "r", "u").pareto()

    def beaten(r: int, u: int) -> bool:
        return any((a <= r and b >= u) and (a, b) != (r, u) for a, b in drawn)

    kept = {(int(point.risks["r"]), int(point.utilities["u"])) for point in front}
    assert kept == {pair for pair in drawn if not beaten(*pair)}
    assert {point.parameters["at"] for point in front} == {
        at for at, pair in enumerate(drawn) if not beaten(*pair)
    }
    order = [(point.risks["r"], point.parameters["at"]) for point in front]
    assert order == sorted(order)


def test_all_of_equally_good_releases_are_marked_and_share_a_number_in_the_picture():
    found = frontier(E1, PLAN, over={"suppression_limit": [0.0, 0.01, 0.02]})  # of ten records all the same
    assert len({(point.risks["average"], point.utilities["granularity"]) for point in found.points}) == 1
    assert found.pareto() == found.points
    assert [point["pareto"] for point in found.to_dict()["points"]] == [True] * 3
    assert [line[0] for line in str(found).splitlines()[1:]] == ["*"] * 3
    (meaning,) = (text.get_text() for text in found.plot().legends[0].get_texts())
    assert meaning == "1  suppression limit = 0.0 or suppression limit = 0.01 or suppression limit = 0.02"


def test_it_becomes_plain_data_a_table_and_a_picture(tmp_path):
    found = frontier(E1, PLAN, over={"k": [2, 3, 10, 11]})
    plain = json.loads(json.dumps(found.to_dict()))
    assert [point["pareto"] for point in plain["points"]] == [
        point in found.pareto() for point in found.points
    ]
    assert str(found).count("\n") == 4
    figure = found.plot()
    axes = figure.axes[0]
    assert axes.get_xlabel() == "risk: average"
    line = axes.lines[0]
    assert list(line.get_xdata()) == [point.risks["average"] for point in found.pareto()]
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert told == [f"{number}  {point}" for number, point in enumerate(found.pareto(), 1)]
    figure.savefig(tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").stat().st_size > 5000


def test_without_matplotlib_the_message_names_what_to_install(monkeypatch):
    found = frontier(E1, PLAN, over={"k": [2]})
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with refused(MissingDependencyError, "veil-anonymizer[plot]"):
        found.plot()


def test_the_risk_of_a_private_release_is_its_epsilon():
    """By the sizes of classes, ε = 2 was called best: it samples more people, into larger classes."""
    people = pa.table({"age": [age for age in range(20, 60) for _ in range(60)]})
    tens = h.table([[str(age), str(age // 10), "*"] for age in range(20, 60)])
    plan = Plan({"age": tens}, SafePub(1.0, 1e-4, generalization={"age": 1}), person=None)
    found = frontier(people, plan, over={"epsilon": [2.0, "ln(2)", 0.5]})
    assert found.risk == "epsilon"
    assert [point.risks["epsilon"] for point in found.points] == pytest.approx([2.0, 0.693147, 0.5])
    front = found.pareto()
    assert front[0].parameters["epsilon"] == 0.5
    assert [point.risks["epsilon"] for point in front] == sorted(point.risks["epsilon"] for point in front)
    assert "epsilon" in str(found).splitlines()[0]
    assert frontier(people, plan, over={"epsilon": [1.0]}, risk="highest").risk == "highest"
    without = frontier(E1, PLAN, over={"k": [2]})
    assert (without.risk, "epsilon" in without.points[0].risks) == ("average", False)
    with refused(ParameterError, "`risk`", "'epsilon'"):
        frontier(E1, PLAN, over={"k": [2]}, risk="epsilon")
