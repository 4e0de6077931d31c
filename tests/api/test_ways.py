"""Ways side by side: loss as defined, cell by cell, one row a way, reasons instead of figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support import strategies
from support.refusals import refused
from veil import hierarchies as h
from veil.api.cell_search import CellSearch
from veil.api.ways import HEADINGS, WAYS, compare_ways, loss_of_cells
from veil.errors import ParameterError, PlanError
from veil.utility.comparison import Comparison

TABLE = pa.table(
    {
        "age": [20 + n % 30 for n in range(60)],
        "zip": [str(8000 + n % 7) for n in range(60)],
        "ill": [["flu", "gout", "cold"][n % 3] for n in range(60)],
    }
)
OPTIONS: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(5, 10, 20), "zip": "redaction"},
    "models": veil.KAnonymity(4),
    "sensitive": "ill",
    "others": "drop",
    "person": None,
    "time_limit": 0.5,
}


@settings(deadline=None)
@given(st.data())
def test_loss_is_the_mean_over_cells_of_the_values_below_labels(data: st.DataObject) -> None:
    rows = [row for row in data.draw(strategies.hierarchies(3)) if row[0] is not None]
    if len(rows) < 2:
        return
    # Labels of different levels differ, as a label of values that is spelled like one of them means that one.
    known = [[f"{level} {label}" for level, label in enumerate(row)] for row in rows]
    leaves = data.draw(st.lists(st.sampled_from(range(len(known))), min_size=1, max_size=8))
    levels = [data.draw(st.integers(0, len(known[0]) - 1)) for _ in leaves]
    labels = [known[leaf][level] for leaf, level in zip(leaves, levels, strict=True)]

    before, after = pa.table({"x": [known[leaf][0] for leaf in leaves]}), pa.table({"x": labels})
    losses = [(sum(label in row for row in known) - 1) / (len(known) - 1) for label in labels]
    found = loss_of_cells(Comparison(before, after, {"x": h.table(known)}))
    assert found == pytest.approx(sum(losses) / len(losses))


def test_loss_of_classes_counts_numbers_between_the_extremes_and_categories_that_occur() -> None:
    before = pa.table({"age": [1, 2, 3, 9, 10], "job": ["a", "c", "c", "b", "b"]})
    after = pa.table({"age": [2, 5, 2, 5, 5], "job": ["c", "b", "c", "b", "b"]})
    # Classes {1, 3} and {2, 9, 10}: 3 and 4 of 5 ages; 2 of 3 jobs each.
    age = (2 * (3 - 1) + 3 * (4 - 1)) / 5 / 4
    job = (2 - 1) / 2
    comparison = Comparison(before, after, {"age": h.identity(), "job": h.identity()})
    assert loss_of_cells(comparison, by_label=False) == pytest.approx((age + job) / 2)


def test_each_way_has_a_verified_release_or_a_reason() -> None:
    found = compare_ways(TABLE, **OPTIONS, attacks=True)
    assert [way.name for way in found.ways] == list(WAYS)
    assert found.target == "ill"
    for way in found.ways:
        if way.problem is not None:
            assert way.release is None
            assert way.name in str(found)
            continue
        assert way.release is not None
        assert way.release.verification.holds
        assert 0 <= (way.loss or 0) <= 1
        assert set(way.attacks or {}) >= {"singling out", "linkage"}
    full, mondrian = found["full-domain"], found["Mondrian"]
    assert full.loss is not None
    assert mondrian.loss is not None
    assert mondrian.loss <= full.loss
    assert found.least_loss is not None
    assert found.to_dict()["ways"][0]["name"] == "full-domain"


def test_gaps_are_distances_to_one_bound() -> None:
    found = compare_ways(TABLE, **OPTIONS, quality=veil.quality.Loss(weights={"age": 1.5}))
    cells = found["cells"]
    assert cells.release is not None
    assert isinstance(cells.release.search, CellSearch)
    assert cells.loss == pytest.approx(cells.release.search.score)
    assert found.bound == cells.release.search.lower_bound
    assert found.bound is not None
    assert found.bound > 0
    for way in found.ways:
        assert way.loss is not None
        if way.name == "microaggregation":
            assert (way.gap, way.why_no_gap in str(found)) == (None, True)
            continue
        assert way.gap == pytest.approx(1 - found.bound / way.loss)
        assert way.why_no_gap is None
    assert found["full-domain"].proven_optimal
    assert found["Mondrian"].proven_optimal is None
    assert (found["full-domain"].gap or 0) > (cells.gap or 0)
    assert found.to_dict()["bound"] == found.bound
    assert len(set(HEADINGS)) == len(HEADINGS)


def test_without_the_way_of_cells_a_bound_is_searched_for() -> None:
    limits: dict[str, Any] = {**OPTIONS, "maximum_levels": {"zip": 3}, "time_limit": 30}
    found = compare_ways(TABLE, **limits, ways=["full-domain", "Mondrian"])
    full, mondrian = found["full-domain"], found["Mondrian"]
    assert full.release is not None
    alone = full.release.lower_bound(time_limit=30)
    assert found.bound == pytest.approx(alone.lower_bound)
    assert full.loss == pytest.approx(alone.loss)
    assert full.gap == pytest.approx(alone.gap)
    # Mondrian keeps to no levels, and might lose less than what does.
    assert (mondrian.gap, mondrian.loss is None) == (None, False)
    assert mondrian.why_no_gap is not None


def test_mondrian_puts_a_root_above_hierarchies_and_has_no_gap_then() -> None:
    letters = pa.table({"a": list("xxyzzz"), "b": list("123123")})
    known = {"a": h.table([["x", "X"], ["y", "X"], ["z", "Z"]]), "b": h.suppression()}
    options: dict[str, Any] = {"models": veil.KAnonymity(4), "person": None, "quasi_identifiers": known}
    found = compare_ways(letters, **options, ways=["full-domain", "Mondrian"], time_limit=30)
    assert found["full-domain"].problem is not None
    assert found["Mondrian"].loss == 1
    assert (found["Mondrian"].gap, found.bound) == (None, None)


def test_a_plan_without_a_bound_says_so_once() -> None:
    options = {**OPTIONS, "models": veil.TCloseness("ill", 0.5)}
    found = compare_ways(TABLE, **options, ways=["full-domain", "cells"])
    assert found.bound is None
    assert [way.gap for way in found.ways] == [None, None]
    (note,) = found.notes()
    assert note.startswith("full-domain, cells: ")
    assert "TCloseness" in note


def test_microaggregation_is_refused_where_it_cannot_promise_the_models() -> None:
    models = [veil.KAnonymity(4), veil.DistinctLDiversity("ill", 2)]
    found = compare_ways(TABLE, **{**OPTIONS, "models": models}, ways=["microaggregation", "Mondrian"])
    assert "DistinctLDiversity" in (found["microaggregation"].problem or "")
    assert found["Mondrian"].problem is None


def test_bad_input_is_refused() -> None:
    with refused(ParameterError, "'mondrian'", "Mondrian"):
        compare_ways(TABLE, **OPTIONS, ways=["mondrian"])  # type: ignore[list-item]
    with refused(PlanError, "compare_ways", "plan"):
        compare_ways(TABLE)


@pytest.mark.slow
def test_no_way_is_below_the_bound() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = pa.table(
            {
                "age": 20 + rng.geometric(0.1, 80),
                "zip": [str(8000 + n) for n in rng.geometric(0.3, 80)],
                "ill": [["flu", "gout"][n] for n in rng.integers(0, 2, 80)],
                "who": rng.integers(0, 50, 80),
            }
        )
        models = [veil.KAnonymity(3), veil.DistinctLDiversity("ill", 2)]
        person = "who" if seed % 2 else None
        options = {**OPTIONS, "models": models, "person": person, "suppression_limit": 0.2 * (seed % 3)}
        found = compare_ways(table, **options, ways=WAYS[:-1])
        assert found.bound is not None, seed
        losses = [way.loss for way in found.ways if way.loss is not None]
        assert len(losses) >= 3, found
        assert min(losses) >= found.bound - 1e-9, (seed, found)
