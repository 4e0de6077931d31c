"""Published results on adult: plan in, optimal score and transformation out, to nine digits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from realdata.support import QUASI_IDENTIFIERS, SHARED, hierarchies, needs_data, source
from veil import quality as q
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import optimal
from veil.models import KAnonymity, PrivacyModel
from veil.plan import Plan
from veil.preparation import Prepared, prepare

pytestmark = [needs_data, pytest.mark.realdata]

ANSWERS = SHARED / "reference" / "known-answers.json"
CASES = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else []

MODELS = {"KAnonymity": lambda spec: KAnonymity(spec["k"])}


def known(case: dict[str, Any]) -> bool:
    return all(model["type"] in MODELS for model in case["models"])


def quality(case: dict[str, Any]) -> q.QualityModel:
    spec = case["quality"]
    vector = {}
    if "aggregate_function" in spec:
        vector["aggregate"] = spec["aggregate_function"].lower()
    if "attribute_weights" in case:
        position = {name: i for i, name in enumerate(source("adult").table.column_names, start=1)}
        vector["weights"] = {name: position[name] for name in columns(case)}
    factor = {"factor": spec["gs_factor"]} if "gs_factor" in spec else {}
    monotone = {"monotone": spec["monotonic"]} if "monotonic" in spec else {}
    match spec["name"]:
        case "aecs":
            return q.AverageClassSize(**factor)
        case "discernability":
            return q.Discernibility(**monotone)
        case "height":
            return q.Height(**vector)
        case "loss":
            return q.Loss(**vector, **factor)
        case "precision":
            return q.Precision(**vector, **factor, **monotone)
        case "non_uniform_entropy":
            return q.NonUniformEntropy(**vector, **factor, **monotone)
    raise AssertionError(spec)


def columns(case: dict[str, Any]) -> list[str]:
    names = QUASI_IDENTIFIERS["adult"]
    if case["other_attribute"]:
        return names
    return [*names[:7], "occupation", names[7]]


def prepared(case: dict[str, Any]) -> tuple[Prepared, Evaluator]:
    models: tuple[PrivacyModel, ...] = tuple(MODELS[spec["type"]](spec) for spec in case["models"])
    named = {name for model in models for name in model.attribute_names}
    other = case["other_attribute"]
    plan = Plan(
        quasi_identifiers=hierarchies("adult", columns(case)),
        models=models,
        sensitive=sorted(named),
        insensitive=[other] if other and other not in named else [],
        quality=quality(case),
        suppression_limit=case["suppression_limit"],
    )
    ready = prepare(source("adult").table, plan)
    return ready, Evaluator(ready.sample, plan.models, plan.quality, plan.suppression_limit)


def published(text: str) -> tuple[float, ...]:
    values = json.loads(text)
    return tuple(values) if isinstance(values, list) else (values,)


@pytest.mark.parametrize(
    "case", [case for case in CASES if known(case) and case["kind"] == "optimum"], ids=lambda case: case["id"]
)
def test_optimum(case: dict[str, Any]) -> None:
    ready, evaluator = prepared(case)
    found = optimal(evaluator, ready.minimum, ready.maximum)
    assert found.best is not None
    assert found.best.score == pytest.approx(
        published(case["expected"]["information_loss"]), rel=1e-9, abs=1e-12
    )
    # Several nodes may share the optimal score; then the published one is as good as ours.
    theirs, _ = evaluator.evaluate(tuple(case["expected"]["transformation"]), ready.sample.table)
    assert theirs.anonymous
    assert theirs.score == pytest.approx(found.best.score, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if known(case) and case["kind"] == "node_scores"],
    ids=lambda case: case["id"],
)
def test_node_scores(case: dict[str, Any]) -> None:
    ready, evaluator = prepared(case)
    for entry in case["expected"]["scores"]:
        node = tuple(entry["transformation"])
        evaluation, _ = evaluator.evaluate(node, ready.sample.table, score=True)
        assert evaluation.score == pytest.approx(published(entry["score"]), rel=1e-9, abs=1e-12), node
