"""The order of rows changes nothing: models decide alike, whatever the rows come after."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veil
from support import oracle, strategies
from support.models import ours
from support.row_order import any_order, judged
from support.whole_sample import ORDERING, often, problems
from veil import hierarchies as h
from veil import models as m
from veil.errors import PlanError
from veil.quality import EntropyBased, KullbackLeibler, Loss, NonUniformEntropy

OF_THE_SAMPLE = (oracle.SampleUniqueness, oracle.AverageReidentificationRisk, oracle.PopulationUniqueness)


@settings(often, max_examples=120)
@given(st.data())
def test_models_of_the_whole_sample(data: st.DataObject) -> None:
    problem = data.draw(problems(subset=None))
    models = [
        ours(model) for model in data.draw(st.lists(strategies.sample_models(), min_size=1, max_size=2))
    ]
    quality = data.draw(strategies.qualities(problem, (data.draw(st.sampled_from(ORDERING)),)))
    levels = data.draw(st.lists(strategies.nodes(problem), min_size=1, max_size=6))
    asked: tuple[Any, ...] = (models, quality, data.draw(strategies.limits()), levels)
    assert judged(any_order(data, problem), *asked) == judged(problem, *asked)


@settings(often, max_examples=120)
@given(st.data())
def test_models_of_a_class(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True))
    models = [
        ours(model) for model in data.draw(st.lists(strategies.models(problem), min_size=1, max_size=2))
    ]
    assume(None not in models)
    levels = data.draw(st.lists(strategies.nodes(problem), min_size=1, max_size=6))
    asked: tuple[Any, ...] = (models, oracle.Quality("Loss"), data.draw(strategies.limits()), levels)
    try:
        found = judged(problem, *asked)
    except PlanError:
        assume(False)
    assert judged(any_order(data, problem), *asked) == found


# --- from the table to the release, with hierarchies that are built from the values -------------------

BUILDERS: dict[str, Any] = {
    "age": h.intervals(5, 10, 20),
    "weight": h.ordering(2, 3),
    "zip": h.redaction(),
    "born": h.dates("month", "year", root=True),
    "job": h.priority(levels=3),
    "land": h.auto(),
}


def people(rng: random.Random) -> pa.Table:
    """Sixty records of every type, most of them alone, some with cells missing."""
    rows = [
        {
            "age": rng.choice([None, *range(20, 60)]),
            "weight": rng.randrange(500, 520) / 10,
            "zip": str(rng.randrange(8010, 8030)),
            "born": dt.date(1970, 1, 1) + dt.timedelta(days=rng.randrange(900)),
            "job": rng.choice(["smith", "baker", "nurse", "poet", None]),
            "land": rng.choice(["AT", "DE", "SE", "JP", "IT", "FR", "PL"]),
        }
        for _ in range(60)
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("quality", [Loss(), KullbackLeibler(), EntropyBased(), NonUniformEntropy()])
@pytest.mark.parametrize(
    "model",
    [m.SampleUniqueness(0.2), m.AverageReidentificationRisk(0.4), m.PopulationUniqueness(0.001, 1000)],
)
def test_from_the_table_to_the_release(model: m.PrivacyModel, quality: Any) -> None:
    rng = random.Random(3)
    table = people(rng)
    chosen = rng.sample(list(BUILDERS), 3)
    options: dict[str, Any] = {
        "quasi_identifiers": {name: BUILDERS[name] for name in table.column_names if name in chosen},
        "models": model,
        "quality": quality,
        "maximum_levels": dict.fromkeys(chosen, 1),
        "suppression_limit": 1.0,
        "others": "keep",
        "progress": False,
    }
    first = veil.anonymize(table, **options)
    assert 0 < first.suppressed < 60
    for _ in range(2):
        moved = table.take(pa.array(rng.sample(range(60), 60)))
        again = veil.anonymize(moved, **options)
        assert (again.transformation, again.score) == (first.transformation, first.score)
        assert records(again) == records(first)


def records(release: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in release.arrow.to_pylist())


def test_of_equally_small_classes_those_go_whose_labels_come_first() -> None:
    """From the last column to the first, each in the order of its hierarchy."""
    ages, towns = [[each] for each in "cba"], [["x"], ["y"]]
    rows = [("a", "x"), ("b", "y"), ("c", "y"), ("b", "x"), ("c", "x"), ("a", "y")]
    crowd = [("a", "z")] * 6
    gone = []
    for threshold in (0.5, 0.4, 0.3, 0.2, 0.1, 0.0):
        for order in (rows + crowd, crowd + rows[::-1]):
            release = veil.anonymize(
                pa.table({"age": [row[0] for row in order], "town": [row[1] for row in order]}),
                quasi_identifiers={"age": h.table(ages), "town": h.table([*towns, ["z"]])},
                models=m.SampleUniqueness(threshold),
                suppression_limit=1.0,
                suppressed_rows="drop",
                progress=False,
            )
            left = Counter(zip(*(release.arrow[name].to_pylist() for name in ("age", "town")), strict=True))
            gone.append([row for row in rows if row not in left])
    assert gone[::2] == gone[1::2]
    listed = [("c", "x"), ("b", "x"), ("a", "x"), ("c", "y"), ("b", "y"), ("a", "y")]
    for some in gone:
        assert set(some) == set(listed[: len(some)])
    assert sorted({len(some) for some in gone}) == [0, 2, 4, 5, 6]
