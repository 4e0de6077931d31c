"""Properties of models that depend on their parameters, and the promises of several models together."""

from __future__ import annotations

import inspect

import pytest

from veil.models import MODELS, DeltaPresence, EntropyLDiversity, Profitability, TCloseness
from veil.models.base import _ByParameters, monotonicity


@pytest.mark.parametrize("kind", ["generalization", "suppression"])
def test_models_whose_monotonicity_depends_on_parameters_say_when(kind: str) -> None:
    for model in MODELS.values():
        declaration = inspect.getattr_static(model, f"monotone_{kind}")
        made = getattr(model, "__post_init__", None)
        assert made is None or f"monotone_{kind}" not in made.__code__.co_consts, model.__name__
        if isinstance(declaration, _ByParameters):
            assert getattr(model, f"monotone_{kind}") is False
            assert monotonicity(model)[kind] == f"if {declaration.condition}" != "if "
        else:
            assert monotonicity(model)[kind] == ("yes" if declaration else "no")


def test_a_model_knows_its_own_answer_and_the_class_the_safe_one() -> None:
    shannon, grassberger = EntropyLDiversity("S", 2), EntropyLDiversity("S", 2, "grassberger")
    assert (shannon.monotone_generalization, grassberger.monotone_generalization) == (True, False)
    assert (shannon.views, grassberger.views, EntropyLDiversity.views) == (
        ("worst",), ("one value",), ("one value",)
    )  # fmt: skip
    assert (TCloseness("S", 0.1).views, TCloseness("S", 0.1, "ordered").views) == (("most",), ("lowest",))
    assert TCloseness.views == ("one value",)
    assert (Profitability().reads, Profitability(no_attack=True).reads) == ("levels", "labels")
    assert Profitability(no_attack=True).monotone_suppression
    assert not Profitability.monotone_suppression
    presence = [DeltaPresence(0, 1), DeltaPresence(0.1, 1), DeltaPresence(0.1, 1, empty_classes="ignore")]
    assert [each.protects_absence for each in presence] == [False, True, False]
    assert [each.monotone_generalization for each in presence] == [True, True, False]
