"""Names, parameters, recipes, and what is said when they are wrong."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from support.refusals import refused
from support.samples import E1, sample_of
from veil import quality as q
from veil.errors import ParameterError, PlanError
from veil.quality import Quality, by_name

NAMES = ["A", "G", "Z"]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("loss", q.Loss()),
        ("Loss", q.Loss()),
        ("average_class_size", q.AverageClassSize()),
        ("AverageClassSize", q.AverageClassSize()),
        ("aecs", q.AverageClassSize()),
        ("AECS", q.AverageClassSize()),
        ("average class size", q.AverageClassSize()),
        ("discernibility", q.Discernibility()),
        ("discernability", q.Discernibility()),
        ("ambiguity", q.Ambiguity()),
        ("height", q.Height()),
        ("precision", q.Precision()),
        ("entropy", q.NonUniformEntropy()),
        ("non-uniform entropy", q.NonUniformEntropy()),
        ("NonUniformEntropy", q.NonUniformEntropy()),
        ("normalized_non_uniform_entropy", q.NormalizedNonUniformEntropy()),
        ("kl_divergence", q.KullbackLeibler()),
        ("KullbackLeibler", q.KullbackLeibler()),
        ("entropy_based", q.EntropyBased()),
        ("publisher_payout", q.PublisherPayout()),
        ("publisher payoff", q.PublisherPayout()),
    ],
)
def test_short_names(name, model):
    assert by_name(name) == model


def test_unknown_name_gets_a_hint():
    with refused(ParameterError, "mean 'precision'", "no quality model 'presicion'"):
        by_name("presicion")
    with refused(ParameterError, "Choose from", "'loss'"):
        by_name("qqqq")


@pytest.mark.parametrize(("name", "parameter"), [("static", "losses"), ("classification", "responses")])
def test_models_without_defaults_say_what_they_need(name, parameter):
    with refused(ParameterError, f"`{parameter}`", "required"):
        by_name(name)


EXAMPLES = [
    q.AverageClassSize(0.25),
    q.Discernibility(True),
    q.Ambiguity(),
    q.Height("rank", {"A": 2}),
    q.Precision(True, "maximum", 0.75, {"A": 2}),
    q.Loss("sum", 0.1),
    q.NonUniformEntropy(factor=0.9),
    q.NormalizedNonUniformEntropy("arithmetic_mean"),
    q.KullbackLeibler(),
    q.EntropyBased(1),
    q.Classification(["S"], 0),
    q.PublisherPayout(True, 100, 80, 60, 21, 0.25),
    q.Static({"A": [0, 1, 2]}),
]


@pytest.mark.parametrize("model", EXAMPLES, ids=lambda model: type(model).__name__)
def test_recipes_name_models_by_kind(model):
    adapter = TypeAdapter(Quality)
    written = adapter.dump_python(model, mode="json")
    assert written["kind"] == type(model).__name__
    assert adapter.validate_python(written) == model


def test_every_model_is_in_the_schema_with_its_ranges():
    schema = TypeAdapter(Quality).json_schema()
    assert set(schema["discriminator"]["mapping"]) == {type(model).__name__ for model in EXAMPLES}
    factor = schema["$defs"]["Loss"]["properties"]["factor"]
    assert (factor["minimum"], factor["maximum"]) == (0, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: q.Loss(factor=1.5), "`factor` of Loss should be from 0 to 1, not 1.5"),
        (lambda: q.Loss(aggregate="median"), "`aggregate` of Loss should be 'sum'"),
        (
            lambda: q.Loss(weights={"A": -1}),
            "`weights.A` of Loss should be greater than or equal to 0, not -1",
        ),
        (lambda: q.Static({"A": [float("inf")]}), "`losses.A.0` of Static should be a finite number"),
        (
            lambda: q.PublisherPayout(benefit=-1),
            "`benefit` of PublisherPayout should be greater than or equal to 0",
        ),
        (lambda: q.Classification([]), "`responses` of Classification"),
    ],
)
def test_parameters_out_of_range(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            q.Loss(weights={"AA": 1}),
            "`weights` of the quality model names 'AA', which is not a quasi-identifier. Did you mean 'A'?",
        ),
        (q.Static({"A": [0, 1, 2], "G": [0, 1]}), "Static lists no losses for 'Z'; it needs 4"),
        (
            q.Static({"A": [0, 1], "G": [0, 1], "Z": [0, 1, 2, 3]}),
            "'A' has 3 levels, but Static lists 2 losses for it",
        ),
        (
            q.Static({"A": [0, 2, 1], "G": [0, 1], "Z": [0, 1, 2, 3]}),
            "the losses of 'A' should not decrease, but level 1 has 2.0 and level 2 has 1.0",
        ),
        (q.Static({"B": [0]}), "losses for 'B', which is not a quasi-identifier."),
        (q.Classification(["T"]), "response 'T' is not a column of the plan."),
    ],
)
def test_plans_that_do_not_fit_the_table(model, message):
    with pytest.raises(PlanError) as error:
        model.bind(sample_of(E1, NAMES))
    assert str(error.value).startswith(message)


def test_models_say_what_the_sample_must_carry():
    assert q.KullbackLeibler().needs_squares
    assert not q.Loss().needs_squares
    assert q.Classification(["S", "G"]).attribute_names == ("S", "G")
    assert q.Loss().attribute_names == ()


def test_normalized_rank_scores_stay_in_range():
    measure = q.Height("rank").bind(sample_of(E1, NAMES))
    assert measure.normalized(measure.aggregate((2, 1, 3))) == 1.0
    assert measure.normalized(measure.aggregate((0, 0, 0))) == 0.0
    assert measure.normalized(measure.aggregate((2, 1, 3)), (0, 0, 0), (1, 1, 1)) == 1.0
    assert measure.normalized(measure.aggregate((1, 1, 1)), (1, 1, 1), (1, 1, 1)) == 0.0
