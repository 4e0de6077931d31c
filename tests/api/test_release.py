"""Tables in, tables out: what a release looks like, for every kind of frame."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.errors import (
    ImpossibleError,
    InputError,
    NoSolutionError,
    OutputError,
    ParameterError,
    PlanError,
    Say,
)
from veil.lattice.optimality import gap_in_words

PATIENTS: dict[str, list[Any]] = {
    "name": ["Ann", "Bob", "Cid", "Dee", "Eve", "Fay"],
    "age": [21, 23, 35, 38, None, 60],
    "zip": ["02139", "02138", "02139", "02141", "02139", "99999"],
    "visit": [dt.date(2020, 1, d) for d in (1, 2, 3, 4, 5, 6)],
    "insured": [True, True, False, False, True, None],
    "cost": [Decimal("1.50"), Decimal("2.00"), Decimal("2.00"), Decimal("0.10"), None, Decimal("7.25")],
    "disease": ["flu", "cold", "flu", None, "gout", "flu"],
}

FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


def listed(frame: Any) -> dict[str, list[Any]]:
    """The cells of any frame as plain values."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    plain = frame.astype(object).where(frame.notna(), None)
    return {str(column): plain[column].tolist() for column in frame.columns}


def anonymize(frame: Any, **changes: Any) -> Release:
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20), "zip": h.redaction()},
        "identifying": ["name"],
        "sensitive": ["disease"],
        "insensitive": ["visit", "insured", "cost"],
        "models": KAnonymity(2),
        "suppression_limit": 0.5,
        "progress": False,
        "order": "input",
    }
    return veil.anonymize(frame, **(plan | changes))


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_kind_of_frame_comes_out(kind: str) -> None:
    frame = FRAMES[kind](PATIENTS)
    release = anonymize(frame)
    assert type(release.table) is type(frame)
    cells = listed(release.table)
    assert list(cells) == ["age", "zip", "visit", "insured", "cost", "disease"]
    for column in ("visit", "insured", "cost", "disease"):
        blank = ["*"] * 2 if column == "disease" else [None] * 2
        assert cells[column] == PATIENTS[column][:4] + blank or kind == "pandas"
    assert release.transformation == {"age": 1, "zip": 2}
    assert cells["zip"] == ["021**", "021**", "021**", "021**", "*", "*"]
    assert release.suppressed == 2
    assert release.suppressed_rows.tolist() == [False, False, False, False, True, True]


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_release(kind: str) -> None:
    expected = anonymize(pa.table(PATIENTS))
    found = anonymize(FRAMES[kind](PATIENTS))
    assert found.transformation == expected.transformation
    assert found.score == expected.score
    assert listed(found.table)["age"] == listed(expected.table)["age"]


def test_types_are_kept_at_level_zero() -> None:
    frame = pa.table({"age": [30, 30, 31], "day": [dt.date(2020, 1, 1)] * 3, "paid": [Decimal("1.50")] * 3})
    release = veil.anonymize(
        frame,
        quasi_identifiers=dict.fromkeys(frame.column_names, h.suppression()),
        models=KAnonymity(2),
        suppression_limit=1.0,
        order="input",
    )
    assert release.transformation == {"age": 0, "day": 0, "paid": 0}
    assert release.arrow.schema == frame.schema
    assert release.arrow.to_pylist()[2] == {"age": None, "day": None, "paid": None}


def test_a_missing_value_is_a_value_and_is_told_from_a_suppressed_one() -> None:
    frame = pa.table({"age": pa.array([30, 30, None, None, 99]), "visits": [1, 2, 3, None, 5]})
    release = veil.anonymize(
        frame,
        quasi_identifiers={"age": h.suppression()},
        insensitive=["visits"],
        models=KAnonymity(2),
        suppression_limit=0.2,
        order="input",
    )
    assert release.transformation == {"age": 0}
    assert release.arrow.to_pydict() == {
        "age": [30, 30, None, None, None],
        "visits": [1, 2, 3, None, None],
        "suppressed": [False, False, False, False, True],
    }


def test_no_flag_where_cells_tell_by_themselves() -> None:
    frame = pa.table({"sex": ["f", "f", None, None, "m"]})
    release = veil.anonymize(
        frame,
        quasi_identifiers={"sex": h.suppression()},
        models=KAnonymity(2),
        suppression_limit=0.2,
        order="input",
    )
    assert release.arrow.to_pydict() == {"sex": ["f", "f", None, None, "*"]}


def test_the_flag_avoids_a_column_of_that_name() -> None:
    frame = pa.table({"age": pa.array([30, 30, None, None, 99]), "suppressed": [1, 2, None, None, 5]})
    release = veil.anonymize(
        frame,
        quasi_identifiers={"age": h.suppression()},
        insensitive=["suppressed"],
        models=KAnonymity(2),
        suppression_limit=0.2,
        order="input",
    )
    assert release.arrow.column_names == ["age", "suppressed", "veil_suppressed"]
    assert release.arrow["veil_suppressed"].to_pylist() == [False, False, False, False, True]


def test_an_original_star_is_told_from_a_suppressed_cell() -> None:
    frame = pa.table({"sex": ["f", "f", "*", "*", "m"]})
    release = veil.anonymize(
        frame,
        quasi_identifiers={"sex": h.suppression()},
        models=KAnonymity(2),
        suppression_limit=0.2,
        order="input",
    )
    assert release.arrow["suppressed"].to_pylist() == [False, False, False, False, True]


def test_suppressed_rows_can_be_dropped_and_the_index_does_not_tell_which() -> None:
    release = anonymize(pd.DataFrame(PATIENTS), suppressed_rows="drop")
    assert release.table.index.equals(pd.RangeIndex(4))
    assert release.suppressed == 2
    assert release.outcome.origins.tolist() == [0, 1, 2, 3]


def test_identifying_columns_can_be_masked() -> None:
    release = anonymize(pa.table(PATIENTS), identifying={"name": "mask"})
    assert release.arrow["name"].to_pylist() == ["*"] * 6


def test_the_marker_can_be_changed() -> None:
    assert anonymize(pa.table(PATIENTS), marker="(removed)").arrow["zip"].to_pylist()[4:] == ["(removed)"] * 2
    blank = anonymize(pa.table(PATIENTS), marker=None)
    assert blank.arrow["zip"].to_pylist()[4:] == [None, None]


def test_another_node_can_be_applied() -> None:
    release = anonymize(pa.table(PATIENTS))
    other = release.search.apply({"age": 2})
    assert other.transformation == {"age": 2, "zip": 2}
    assert not other.search.is_optimum
    assert release.search.apply((3, 5)).suppressed == 0
    over = release.search.apply((0, 0))
    assert over.suppressed == 6
    assert not over.within_limit
    with refused(PlanError, "not a node"):
        release.search.apply((9, 9))
    with refused(PlanError, "mean 'age'", "'aeg'", "not a quasi-identifier"):
        release.search.apply({"aeg": 1})


def test_nodes_can_be_listed_sorted_and_filtered() -> None:
    release = anonymize(pa.table(PATIENTS))
    nodes = release.search.nodes()
    assert len(nodes) == release.search.explored.size == 4 * 6
    best = release.search.nodes(state="anonymous", limit=1)[0]
    assert dict(zip(["age", "zip"], best.levels, strict=True)) == release.transformation
    assert best.score == (release.score,)
    assert sum(release.search.explored.counts().values()) == 24
    assert [sum(node.levels) for node in release.search.nodes(sort="levels")] == sorted(
        sum(n.levels) for n in nodes
    )
    assert release.search.explored[(0, 0)].state in ("not anonymous", "pruned")


def test_the_mapping_says_what_each_value_became() -> None:
    mapping = anonymize(pa.table(PATIENTS)).search.mapping().to_pylist()
    assert {"column": "zip", "original": "02139", "released": "021**", "records": 2} in mapping
    assert {"column": "age", "original": "21", "released": "[20, 30[", "records": 1} in mapping
    assert {"column": "age", "original": None, "released": None, "records": 0} in mapping


def test_a_release_is_written_and_read_back(tmp_path: Path) -> None:
    source = tmp_path / "patients.csv"
    write_csv(pa.table(PATIENTS), source)
    release = anonymize(source, identifying=["name"])
    release.save(tmp_path / "release.csv")
    release.save(tmp_path / "release.parquet")
    again = veil.assess(tmp_path / "release.csv", quasi_identifiers=["age", "zip"])
    assert next(iter(again)).value == 2
    assert again.suppressed == 2
    assert release.report(tmp_path / "report.html").read_text().count("holds") >= 5


def test_no_solution_says_what_to_do() -> None:
    with refused(NoSolutionError, "6 of 6", "suppression_limit"):
        anonymize(
            pa.table(PATIENTS),
            quasi_identifiers={"age": h.identity(), "zip": h.identity()},
            suppression_limit=0,
        )


def test_impossible_tables_and_plans() -> None:
    with refused(ImpossibleError, "KAnonymity(k=7)", "classes of 7", "only 6"):
        anonymize(pa.table(PATIENTS), models=KAnonymity(7))
    with pytest.raises(InputError, match="no rows"):
        anonymize(pa.table({name: values[:0] for name, values in PATIENTS.items()}))
    with refused(PlanError, "level 9", "'age'", "0 to 3"):
        anonymize(pa.table(PATIENTS), maximum_levels={"age": 9})


def test_level_ranges_are_kept() -> None:
    release = anonymize(pa.table(PATIENTS), minimum_levels={"zip": 3}, maximum_levels={"age": 2})
    assert release.transformation["zip"] >= 3
    assert release.search.explored.minimum == (0, 3)
    assert release.search.explored.maximum == (2, 5)


def test_all_records_may_be_suppressed() -> None:
    release = anonymize(
        pa.table(PATIENTS),
        quasi_identifiers={"age": h.identity(), "zip": h.identity()},
        suppression_limit=1.0,
    )
    assert release.suppressed == 6
    assert release.arrow["zip"].to_pylist() == ["*"] * 6
    assert release.risk()[1].records == 0


def test_progress_reaches_a_function() -> None:
    heard: list[tuple[str, int, int, str]] = []
    anonymize(pa.table(PATIENTS), progress=lambda *step: heard.append(step))
    phases = list(dict.fromkeys(step[0] for step in heard))
    assert phases == ["reading the table", "encoding and collapsing", "searching", "applying", "verifying"]


def test_risk_before_and_after() -> None:
    before, after = anonymize(pa.table(PATIENTS)).risk()
    assert (before.highest, before.uniques, before.classes) == (1.0, 1.0, 6)
    assert (after.highest, after.uniques, after.records) == (0.5, 0.0, 4)


def test_suppressed_rows_mask_is_numpy() -> None:
    assert anonymize(pa.table(PATIENTS)).suppressed_rows.dtype == np.bool_


def test_assess_with_everything_at_hand() -> None:
    people = pa.table({"sex": ["f", "f", "m", "m", "m"], "disease": ["flu", "cold", "flu", "gout", "flu"]})
    tree = h.table([["flu", "lung", "*"], ["cold", "lung", "*"], ["gout", "other", "*"]])
    found = veil.assess(
        people,
        quasi_identifiers="sex",
        sensitive="disease",
        hierarchies={"disease": tree},
        subset=[0, 1, 2, 3],
        population=1000,
    )
    values = {(each.model, each.parameter): each.value for each in found}
    assert values["KAnonymity", "k"] == 2
    assert values["KMap", "k"] == 2
    assert values["DeltaPresence", "maximum"] == 1
    assert values["DeltaPresence", "minimum"] == pytest.approx(2 / 3)
    assert values["TCloseness", "t (equal)"] == 0.25
    assert values["TCloseness", "t (hierarchical)"] == 0.25
    assert values["PopulationUniqueness", "threshold (dankar)"] == 0
    assert found.to_arrow().num_rows == len(values)
    with refused(PlanError, "mean 'disease'", "no column 'diseases'"):
        veil.assess(people, quasi_identifiers="sex", sensitive="diseases")


# Anytime search


def many_columns(columns: int, rows: int = 300) -> tuple[pa.Table, dict[str, Any]]:
    rng = np.random.default_rng(1)
    mood = rng.random(rows)
    table = pa.table({f"q{j}": ((mood + rng.random(rows)) * 3).astype(int) for j in range(columns)})
    return table, {f"q{j}": h.intervals(2, 4) for j in range(columns)}


def test_sixty_quasi_identifiers() -> None:
    table, hierarchies = many_columns(60)
    release = veil.anonymize(table, quasi_identifiers=hierarchies, models=KAnonymity(5), check_limit=800)
    assert release.search.explored.size > 10**30
    assert release.ending == "check limit"
    assert not release.search.proven_optimal
    assert release.search.lower_bound is not None
    assert release.search.lower_bound[0] <= release.score
    assert 0 < release.search.gap <= 1
    assert gap_in_words(release.search.gap) in repr(release)
    assert release.verification.holds
    # Too many to list: what has been looked at is listed, the rest is counted.
    assert 0 < len(release.search.nodes()) == len(release.search.explored.evaluated) <= 800
    assert sum(release.search.explored.counts().values()) == release.search.explored.size
    checks = [checks for _, checks, _ in release.search.curve]
    assert checks == sorted(checks)


def test_cancelled_at_any_moment() -> None:
    table, hierarchies = many_columns(30)
    answers = iter([False] * 20)
    release = veil.anonymize(
        table,
        quasi_identifiers=hierarchies,
        models=KAnonymity(5),
        strategy="best_effort",
        cancel=lambda: next(answers, True),
    )
    assert release.ending == "cancelled"
    assert release.verification.holds
    assert release.search.gap is None


def test_nothing_found_in_time_is_not_called_impossible() -> None:
    table, hierarchies = many_columns(30)
    with refused(NoSolutionError, "2 of", "(check limit)"):
        veil.anonymize(
            table, quasi_identifiers=hierarchies, models=KAnonymity(5), strategy="lightning", check_limit=2
        )
    with refused(NoSolutionError, "before it could"):
        veil.anonymize(table, quasi_identifiers=hierarchies, models=KAnonymity(5), cancel=lambda: True)


def test_the_explored_part_can_be_expanded() -> None:
    release = anonymize(pa.table(PATIENTS), strategy="data_fly")
    assert not release.search.proven_optimal
    unseen = next(record.levels for record in release.search.explored if record.state == "unseen")
    around = release.search.neighbours(unseen)
    assert around[0].levels == unseen
    assert all(record.evaluated for record in around)
    distances = [sum(abs(a - b) for a, b in zip(unseen, record.levels, strict=True)) for record in around]
    assert distances == [0] + [1] * (len(around) - 1)
    assert release.search.explored[unseen].evaluated
    assert release.search.apply(unseen).transformation == dict(
        zip(release.transformation, unseen, strict=True)
    )
    with refused(PlanError, "not a node"):
        release.search.neighbours((99, 0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strategy": "flash"}, "`strategy` should be one of auto"),
        ({"time_limit": 0}, "`time_limit` of Plan should be greater than 0, not 0"),
        ({"check_limit": -1}, "`check_limit` of Plan should be greater than 0, not -1"),
    ],
)
def test_wrong_search_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        anonymize(pa.table(PATIENTS), **given)


def test_the_report_claims_no_more_than_was_proven(tmp_path: Path) -> None:
    table, hierarchies = many_columns(30)
    made = veil.anonymize(table, quasi_identifiers=hierarchies, models=KAnonymity(5), check_limit=300)
    text = made.report(tmp_path / "report.html").read_text()
    assert "not proven to be the best one; the best score may be up to" in text
    assert "ruled out by proof" not in text
    proven = anonymize(pa.table(PATIENTS)).report(tmp_path / "proven.html").read_text()
    assert "ruled out by proof" in proven


def test_no_file_is_replaced_unless_that_is_said(tmp_path: Path) -> None:
    made = anonymize(pa.table(PATIENTS))
    writers = {"report.json": made.report, "certificate.json": made.certificate, "release.csv": made.save}
    for name, write in writers.items():
        (tmp_path / name).write_text("somebody's work")
        with refused(OutputError, Say("overwrite", True), "already exists"):
            write(tmp_path / name)
        assert (tmp_path / name).read_text() == "somebody's work"
        write(tmp_path / name, overwrite=True)
        assert (tmp_path / name).read_text() != "somebody's work"
