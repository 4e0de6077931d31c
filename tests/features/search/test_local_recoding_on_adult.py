"""Local recoding on adult: promises counted by hand, and how much more is kept than by one transformation for all."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.realdata import QUASI_IDENTIFIERS, hierarchies, needs_data, source
from veil import models as m
from veil.api.release import Release
from veil.recoding import FastIterative, FromTheStart, Iterative, SinglePass

pytestmark = [needs_data, pytest.mark.realdata]

NAMES = QUASI_IDENTIFIERS["adult"]


def adult() -> pa.Table:
    table: pa.Table = source("adult").table
    return table


def anonymize(models: Any, **changes: Any) -> veil.Release:
    plan: dict[str, Any] = {
        "quasi_identifiers": hierarchies("adult", NAMES),
        "sensitive": ["occupation"],
        "models": models,
        "suppression_limit": 0.05,
        "progress": False,
    }
    return veil.anonymize(adult(), **(plan | changes), order="input")


def occupations(found: Release) -> list[Counter[str]]:
    """Count the occupations in each class of what is not suppressed, with nothing but a dictionary."""
    classes: dict[Any, Counter[str]] = defaultdict(Counter)
    columns = [found.arrow[name].to_pylist() for name in [*NAMES, "occupation"]]
    for hidden, *labels, occupation in zip(found.suppressed_rows.tolist(), *columns, strict=True):
        if not hidden:
            classes[tuple(labels)][occupation] += 1
    return list(classes.values())


@pytest.mark.parametrize("k", [2, 5, 10, 50])
def test_more_is_kept_than_by_the_best_transformation_for_all(k: int) -> None:
    best = anonymize(m.KAnonymity(k))
    assert best.search.proven_optimal
    assert best.measures()["loss"] == pytest.approx(best.score, abs=1e-9)
    local = veil.anonymize(
        adult(),
        quasi_identifiers=hierarchies("adult", NAMES),
        insensitive=["occupation"],
        models=m.KAnonymity(k),
        recoding=FromTheStart(20),
        progress=False,
        order="input",
    )
    for found in (best.local_recoding(progress=False), local):
        sizes = [each.total() for each in occupations(found)]
        assert min(sizes) >= k
        assert sum(sizes) == found.records - found.suppressed
        assert found.suppressed < best.suppressed
        before, after = best.measures(), found.measures()
        assert after["loss"] < before["loss"]
        assert after["average class size"] < before["average class size"]
        assert after["discernibility"] < before["discernibility"]
        assert after["discernibility"] == sum(size**2 for size in sizes) + found.suppressed * found.records
    # One transformation for all costs several times as much as twenty.
    assert 2.5 * local.measures()["loss"] < best.measures()["loss"]


@pytest.mark.parametrize("mode", [SinglePass(), Iterative(), FastIterative(0.01)], ids=repr)
def test_diversity_and_closeness_hold_in_every_class(mode: Any) -> None:
    models = [m.KAnonymity(5), m.DistinctLDiversity("occupation", 3), m.TCloseness("occupation", 0.4)]
    release = anonymize(models)
    recoded = release.local_recoding(mode, progress=False)
    assert 0 < sum(each.recoded for each in recoded.passes) == release.suppressed - recoded.suppressed
    whole = Counter(adult()["occupation"].to_pylist())
    for each in occupations(recoded):
        size = each.total()
        assert size >= 5
        assert len(each) >= 3
        distance = sum(abs(each[value] / size - count / 30162) for value, count in whole.items()) / 2
        assert distance <= 0.4 + 1e-9


def test_the_same_whatever_the_number_of_threads() -> None:
    release = anonymize(m.KAnonymity(5))
    one, two = (release.local_recoding(FastIterative(0.005), threads=n, progress=False) for n in (1, 2))
    assert one.passes == two.passes
    assert one.arrow == two.arrow
    assert np.array_equal(one.suppressed_rows, two.suppressed_rows)
