"""Cells and subtrees by other quality models than loss: releases, what they say of score and bound, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import hierarchies as h
from veil import quality as q
from veil.api.cell_search import CellSearch
from veil.errors import PlanError, Say

RNG = np.random.default_rng(3)
PEOPLE = pa.table(
    {
        "age": RNG.integers(20, 60, 150),
        "zip": [str(each) for each in RNG.integers(530, 560, 150)],
        "ill": RNG.choice(["flu", "cold", "gout"], 150),
    }
)
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(5, 10, 20), "zip": "redaction"},
    "models": veil.KAnonymity(3),
    "others": "keep",
    "person": None,
    "progress": False,
    "recoding": "cells",
    "time_limit": 1,
}
OF_CELLS = [q.Precision(), q.NonUniformEntropy(), q.NormalizedNonUniformEntropy(weights={"age": 2})]
OF_CLASSES = [q.Discernibility(), q.AverageClassSize(), q.Classification(["ill"])]


def searched(**options: Any) -> tuple[veil.Release, CellSearch]:
    release = veil.anonymize(PEOPLE, **PLAN | options)
    assert isinstance(release.search, CellSearch)
    return release, release.search


@pytest.mark.parametrize("recoding", ["cells", "subtree"])
@pytest.mark.parametrize("quality", OF_CELLS)
def test_a_measure_of_cells_is_named_and_bounded(quality: Any, recoding: str, tmp_path: Path) -> None:
    release, search = searched(quality=quality, recoding=recoding, suppression_limit=0.05)
    name = type(quality).__name__
    assert release.verification.holds
    assert search.measure == name
    assert "by " + name in search.sentence
    assert "los" not in search.sentence
    if recoding == "cells":
        assert search.lower_bound is not None
        assert 0 < search.lower_bound <= search.score <= 1
        findings = [each for each in veil.verify(release).findings if "by " + name in each.promise]
        assert [each.holds for each in findings] == [True]
        assert release.plan is not None
        again = veil.verify(
            release.arrow, release.plan, original=PEOPLE, lower_bound=release.apart["lower bound"]
        ).findings[-1]
        assert (again.promise, again.holds) == (findings[0].promise, True)
    release.report(tmp_path / "public.json")
    cells = json.loads((tmp_path / "public.json").read_text())["summary"]["cells"]
    assert name in cells
    assert "less" not in cells


@pytest.mark.parametrize("quality", OF_CLASSES)
def test_a_measure_of_classes_is_the_score_of_the_release(quality: Any) -> None:
    release, search = searched(quality=quality, suppression_limit=0.05)
    _, by_loss = searched(suppression_limit=0.05)
    assert release.verification.holds
    assert veil.verify(release).holds
    measures = release.measures()
    if isinstance(quality, q.Discernibility):
        assert search.score == measures["discernibility"] + 150 * release.suppressed
        assert search.lower_bound == 450
    elif isinstance(quality, q.AverageClassSize):
        assert search.score == 150 / (release.classes + (release.suppressed > 0))
        assert search.lower_bound == 3
    else:
        assert search.lower_bound is None
        assert "no bound: nothing is proven" in search.sentence
    whole = veil.anonymize(
        PEOPLE, **PLAN | {"quality": quality, "recoding": "full-domain", "suppression_limit": 0.05}
    )
    assert isinstance(whole.score, float | int)
    assert search.score < whole.score
    assert "; its loss is 0." in search.sentence
    assert by_loss.measure == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"quality": q.Discernibility(), "models": [veil.KAnonymity(2), veil.models.DistinctLDiversity("ill", 2)],
          "sensitive": "ill", "others": None}, ("Discernibility", Say("quality", "loss"))),
        ({"quality": q.AverageClassSize(), "recoding": "subtree"}, ("AverageClassSize", Say("recoding", "full-domain"))),
        ({"quality": q.Classification(["age"])}, ("'age'", Say("recoding", "full-domain"))),
        ({"quality": q.Ambiguity()}, ("Ambiguity", Say("quality"))),
    ],
)  # fmt: skip
def test_other_measures_are_refused(options: dict[str, Any], words: Any) -> None:
    with refused(PlanError, *words):
        veil.anonymize(PEOPLE, **PLAN | options)


def test_models_that_judge_classes_go_with_measures_of_cells() -> None:
    models = [veil.KAnonymity(3), veil.models.DistinctLDiversity("ill", 2)]
    release, search = searched(quality=q.Precision(), models=models, sensitive="ill", others=None)
    assert release.verification.holds
    assert search.lower_bound is not None
    assert search.measure == "Precision"
