"""Everything in one call: releases of every kind, releases at the edge, and what comes out as plain data."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.publishing import publish
from support.realdata import QUASI_IDENTIFIERS, hierarchies, needs_data, source
from support.refusals import refused
from support.utility.example import E1, TABLES
from veil import KAnonymity
from veil import hierarchies as h
from veil import quality as q
from veil.base.randomness import Randomness
from veil.dp.safepub import SafePub
from veil.errors import PlanError
from veil.models import DeltaPresence
from veil.models.subset import RowNumbers
from veil.plan.plan import Plan
from veil.recoding import FastIterative
from veil.tables import read
from veil.utility import Comparison, compare, quality_measures
from veil.utility.summary import Utility, utility_of

SICK = E1.append_column(
    "S", pa.array(["flu", "flu", "cold", "flu", "gout", "cold", "flu", "gout", "cold", "gout"])
)


def anonymized(table: pa.Table = SICK, **changes: Any) -> Any:
    plan: dict[str, Any] = {
        "quasi_identifiers": TABLES, "models": KAnonymity(2), "suppression_limit": 0.3, "insensitive": ["S"],
    }  # fmt: skip
    return veil.anonymize(table, **(plan | {"order": "input"} | changes))


def plain(found: Utility) -> dict[str, Any]:
    """As JSON, which has no place for NaN and infinity."""
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found)
    json.dumps(found.without_original_values().to_dict(), allow_nan=False)
    return found.to_dict()


LIGHT: dict[str, Any] = {"targets": "S", "folds": 3, "trees": 3, "queries": 50}


def test_one_call_finds_everything():
    found = utility_of(anonymized().search.apply((1, 0, 1)), **LIGHT)
    told = plain(found)
    assert (found.records, found.suppressed) == (10, 1)
    assert (found.classes[0].number, found.classes[1].number, found.classes[1].largest) == (9, 4, 3)
    assert told["quality"]["attributes"][0]["granularity"]["quality"] == pytest.approx(0.675)
    assert told["quality"]["aggregates"]["granularity"]["geometric_mean"] == pytest.approx(0.696896334)
    assert [each.column for each in found.statistics] == ["A", "G", "Z", "S"]
    assert [each.column for each in found.distributions] == ["A", "G", "Z", "S"]
    assert found.preservation.columns[0].column == "A"
    assert found.queries.queries == 50
    assert [each.method for each in found.classification] == [
        "logistic regression", "naive bayes", "random forest", "decision tree",
    ]  # fmt: skip
    assert found.regression == ()


def test_tables_and_files_and_frames_give_the_same_answer(tmp_path):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    release = anonymized(order="input")
    expected = utility_of(release, queries=100)
    for before, after in (
        (SICK, release.arrow),
        (SICK.to_pandas(), release.arrow.to_pandas()),
        (pl.from_arrow(SICK), pl.from_arrow(release.arrow)),
    ):
        assert compare(before, after, TABLES, queries=100) == expected
    pd.DataFrame(SICK.to_pandas()).to_csv(tmp_path / "before.csv", index=False)
    release.save(tmp_path / "after.csv")
    found = compare(tmp_path / "before.csv", str(tmp_path / "after.csv"), TABLES, queries=0)
    assert found.suppressed == expected.suppressed
    ours, theirs = (each.quality.attributes[0] for each in (found, expected))
    assert ours == theirs


def test_a_number_is_predicted_by_regression():
    found = utility_of(anonymized().search.apply((1, 0, 1)), targets=["A", "S"], folds=2, trees=2, queries=0)
    assert [each.target for each in found.regression] == ["A"] * 3
    assert {each.target for each in found.classification} == {"S"}


def test_columns_with_many_values_have_no_distribution():
    found = utility_of(anonymized(suppressed_rows="drop"), max_values=3, queries=0)
    assert [each.column for each in found.distributions] == ["G", "S"]


def test_original_values_can_be_left_out():
    whole = utility_of(anonymized().search.apply((1, 1, 2)), queries=0)
    found = whole.without_original_values()
    text = json.dumps(found.to_dict())
    for value in ("110", "112", "241", "243", "21", "23", "35", "38", "f", "m"):
        assert f'"{value}"' in json.dumps(whole.to_dict())
        assert f'"{value}"' not in text
    assert found.statistics[0].before.mean == 29.0
    assert found.statistics[2].after == whole.statistics[2].after


# --- every kind of release --------------------------------------------------------------------------------


def test_a_research_subset_is_compared_with_itself():
    rows = [0, 1, 2, 4, 6, 9]
    release = veil.anonymize(
        SICK,
        quasi_identifiers=TABLES,
        insensitive=["S"],
        models=(KAnonymity(2), DeltaPresence(0, 1, subset=RowNumbers(rows))),
        suppression_limit=1.0,
        order="input",
    ).search.apply((1, 0, 1))
    comparison = Comparison.of(release)
    assert comparison.records == 6
    assert comparison.original["A"].to_pylist() == [SICK["A"][row].as_py() for row in rows]
    assert comparison.suppressed.sum() == release.suppressed
    dropped = veil.anonymize(
        SICK,
        quasi_identifiers=TABLES,
        insensitive=["S"],
        models=(KAnonymity(2), DeltaPresence(0, 1, subset=RowNumbers(rows))),
        suppression_limit=1.0,
        suppressed_rows="drop",
        order="input",
    ).search.apply((1, 0, 1))
    assert quality_measures(Comparison.of(dropped)) == quality_measures(comparison)


def test_records_that_a_private_release_did_not_draw_are_suppressed():
    people = pa.table({"sex": ["f", "m", "m"] * 300, "age": ["old", "young"] * 450})
    tables = {"sex": h.table([["f", "*"], ["m", "*"]]), "age": h.table([["old", "*"], ["young", "*"]])}
    release = publish(
        read(people), Plan(tables, SafePub(1, 1e-4), person=None), randomness=Randomness.for_testing(4)
    )
    comparison = Comparison.of(release)
    assert comparison.records == 900
    assert int((comparison.place >= 0).sum()) == release.arrow.num_rows
    for name, level in release.transformation.items():
        if level == 0:  # every released record stands for an equal one
            there = comparison.place >= 0
            before = np.array(people[name].to_pylist())[there]
            after = np.array(release.arrow[name].to_pylist())[comparison.place[there]]
            assert (before == after).all()
    found = utility_of(release, queries=100)
    assert found.suppressed == 900 - release.arrow.num_rows
    plain(found)


def test_a_local_recoding_mixes_levels():
    release = anonymized(suppression_limit=0.8, quality=q.Loss(factor=0.0)).local_recoding(FastIterative(0.2))
    found = utility_of(release, queries=50)
    assert found.suppressed == release.suppressed
    measures = release.measures()
    assert found.quality.discernibility.value == measures["discernibility"]
    lost = [1 - each.granularity.quality for each in found.quality.attributes]
    assert math.prod(1 + each for each in lost) ** (1 / 3) - 1 == pytest.approx(measures["loss"], abs=1e-9)


def test_microaggregated_columns_are_numbers():
    release = veil.anonymize(
        SICK,
        quasi_identifiers={"G": TABLES["G"], "Z": TABLES["Z"]},
        microaggregated={"A": "mean"},
        insensitive=["S"],
        models=KAnonymity(2),
        suppression_limit=0.5,
        order="input",
    ).search.apply((0, 1))
    found = utility_of(release, queries=50)
    assert {each.column for each in found.quality.attributes} == {"A", "G", "Z"}
    ages = next(each for each in found.preservation.columns if each.column == "A")
    assert 0 < ages.sse_sst < 1
    assert found.statistics[0].after.scale == "ratio"


# --- releases at the edge ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suppressed_rows", ["blank", "drop"])
def test_a_release_with_all_records_suppressed(suppressed_rows):
    distinct = pa.table(
        {"A": [21, 23, 35, 38], "G": list("fmfm"), "Z": ["110", "112", "241", "243"], "S": list("abab")}
    )
    release = anonymized(distinct, suppression_limit=1.0, suppressed_rows=suppressed_rows).search.apply(
        (0, 0, 0)
    )
    assert release.suppressed == 4
    found = utility_of(release, **LIGHT) if suppressed_rows == "blank" else utility_of(release, queries=50)
    plain(found)
    assert (found.suppressed, found.classes[1].number, found.classes[1].average) == (4, 0, 0.0)
    assert set(found.quality.overall.values()) == {0.0}
    assert [each.missings for each in found.quality.attributes] == [1.0] * 3
    assert [each.after.count for each in found.statistics[:3]] == [0] * 3
    assert found.preservation.columns[0].compared == 0.0
    assert found.preservation.columns[0].ned == 1.0
    for each in found.classification:
        assert (each.trained, each.released.accuracy) == (0, 0.5)


def test_a_release_with_a_single_class():
    same = pa.table({"A": [21] * 6, "G": ["f"] * 6, "Z": ["110"] * 6, "S": list("ababab")})
    found = utility_of(anonymized(same), **LIGHT)
    plain(found)
    assert (found.classes[0].number, found.classes[1].number) == (1, 1)
    assert set(found.quality.overall.values()) == {1.0}
    assert found.queries.queries == 0  # every query counts all records
    assert found.preservation.columns[0].sse_sst is None
    general = utility_of(anonymized(same, minimum_levels={"A": 1, "G": 1, "Z": 3}), **LIGHT)
    assert general.quality.attributes[1].granularity.quality == 0.0
    assert general.quality.attributes[0].entropy.quality == 1.0  # there was nothing to tell apart


def test_a_release_with_one_attribute():
    release = veil.anonymize(
        E1.select(["A"]),
        quasi_identifiers={"A": TABLES["A"]},
        models=KAnonymity(3),
        suppression_limit=0.5,
        order="input",
    )
    found = utility_of(release, queries=50)
    plain(found)
    assert found.quality.attributes[0].granularity.quality > 0
    blank = utility_of(release.search.apply((2,)), queries=50)
    assert set(blank.quality.overall.values()) == {0.0}


def test_a_release_without_quasi_identifier_at_level_0():
    found = utility_of(anonymized().search.apply((1, 1, 1)), **LIGHT)
    plain(found)
    assert [each.intensity.value for each in found.quality.attributes] == pytest.approx(
        [(9 * 1 / 2 + 1) / 10, 1.0, (9 * 1 / 3 + 1) / 10]
    )
    assert found.preservation is not None


def test_missing_values_everywhere():
    holes = pa.table(
        {
            "A": pa.array([None, 23, None, None, 38, None, None, 23, None, None], pa.int64()),
            "G": pa.array([None] * 10, pa.string()),
            "Z": pa.array(["110", None, "110", None, None, None, "241", None, None, None]),
            "S": pa.array(["flu", None, None, "flu", "cold", None, None, None, "cold", None]),
        }
    )
    for limit in (0.0, 0.4, 1.0):
        release = anonymized(holes, suppression_limit=limit)
        for found in (utility_of(release, **LIGHT), utility_of(release, listwise=True, queries=20)):
            plain(found)
            assert found.suppressed == release.suppressed
    untouched = compare(holes, holes, TABLES, **LIGHT)
    assert untouched.suppressed == 0
    assert set(untouched.quality.overall.values()) == {1.0}
    assert untouched.quality.attributes[1].missings == 1.0
    nothing = pa.table({"A": pa.array([None] * 3, pa.int64()), "G": pa.array([None] * 3, pa.string())})
    empty = compare(nothing, nothing, ["A", "G"], queries=10)
    plain(empty)
    assert empty.preservation.columns[0].means == (None, None)


def test_rows_that_were_all_missing_are_not_suppressed():
    table = pa.table({"A": pa.array([None, None, 21], pa.int64()), "Z": pa.array([None, None, "x"])})
    blank = pa.table({"A": pa.array([None, None, None], pa.int64()), "Z": pa.array([None, None, "*"])})
    assert Comparison(table, blank, ["A", "Z"]).suppressed.tolist() == [False, False, True]
    flagged = blank.append_column("suppressed", pa.array([False, True, True]))
    assert Comparison(table, flagged, ["A", "Z"]).suppressed.tolist() == [False, True, True]


# --- real data --------------------------------------------------------------------------------------------


@pytest.mark.realdata
@needs_data
def test_adult_agrees_with_the_scores_of_the_search():
    names = QUASI_IDENTIFIERS["adult"]
    release = veil.anonymize(
        source("adult").table,
        quasi_identifiers=hierarchies("adult", names),
        models=KAnonymity(5),
        suppression_limit=0.05,
        quality=q.Loss("arithmetic_mean"),
        others="keep",
        order="input",
    )
    found = utility_of(release, queries=200)
    plain(found)
    assert 1 - found.quality.aggregate("granularity", normalized=True) == pytest.approx(
        release.score, abs=1e-9
    )
    assert found.quality.discernibility.value == release.measures()["discernibility"]
    assert found.suppressed == release.suppressed
    assert 0 < found.queries.median < 1


def test_numbers_that_are_codes_of_categories_are_classified():
    coded = pa.table({"job": ["a", "b"] * 20, "ill": [0, 7] * 20, "pay": [1.0, 2.0] * 20})
    light: dict[str, Any] = {"targets": ["ill", "pay"], "folds": 3, "trees": 3, "queries": 0}
    found = compare(coded, coded, "job", categories="ill", **light)
    assert {each.target for each in found.classification} == {"ill"}
    assert {each.target for each in found.regression} == {"pay"}
    assert [one.value for one in found.classification[0].released.classes] == ["0", "7"]
    assert not compare(coded, coded, "job", **light).classification
    with refused(PlanError, "`categories`", "'il'", "mean 'ill'"):
        compare(coded, coded, "job", categories=["il"], **light)
