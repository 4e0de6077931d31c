"""Mondrian on tables that engines hold: the answer is that of the table in memory, whatever fits into memory."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.engines.answers import Holder
from support.engines.people import HIERARCHIES, TYPED, people, records
from support.masking.partition import Case, cases, promises
from support.refusals import refused
from veil import hierarchies as h
from veil import mask
from veil import models as m
from veil.api.release import Release
from veil.engines import Settings
from veil.engines.dialects import collect
from veil.engines.parts.blocks import Blocks
from veil.engines.parts.check import check_staged
from veil.errors import (
    ImpossibleError,
    InputError,
    NoSolutionError,
    ParameterError,
    PlanError,
    VeilError,
    VerificationError,
)
from veil.masking import Mondrian, RankSwapping
from veil.tables.arrow import normalize
from veil.verification.steps.step import COMPARISONS

LIMITS = [None, 1, 4]
EVERY_TYPE = Mondrian(list(TYPED), [m.KAnonymity(2), m.DistinctLDiversity("diagnosis", 2)])
WITH_TREES = Mondrian(
    {"age": None, "city": HIERARCHIES["city"], "born": HIERARCHIES["born"]}, m.KAnonymity(3)
)
DAY = dt.date(2020, 2, 27)

sometimes = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def shown(result: Release) -> pa.Table:
    frame = result.table
    return frame.toArrow() if hasattr(frame, "toArrow") else collect(frame._find_backend(), frame)


def assert_same(held: Any, table: pa.Table, method: Mondrian) -> None:
    memory = mask(table, method)
    found = shown(held)
    assert found.column_names == table.column_names
    assert records(found) == records(memory.arrow)
    (step,) = memory.steps
    assert {name: held.facts[name] for name in step.facts} == pytest.approx(dict(step.facts))
    assert [each.promise for each in held.verification.findings] == [
        # That other columns are unchanged is found where an engine has written them.
        each.promise
        for each in step.verification.findings
        if each.promise not in COMPARISONS
    ]
    assert held.facts["cost"].startswith("none")


# --- the same answer as in memory -----------------------------------------------------------------------


def outcome(source: Any, method: Mondrian, **options: Any) -> Any:
    """What comes out: the rows, or the kind of error."""
    try:
        made = mask(source, method, **options)
    except VeilError as error:
        return type(error)
    return records(made.arrow if isinstance(source, pa.Table) else shown(made))


@pytest.fixture(scope="module")
def connection() -> Any:
    import ibis

    return ibis.duckdb.connect()


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any]]:
    """Quasi-identifiers of every kind, with and without hierarchies, and columns that pass."""
    case: Case = draw(cases())
    table = normalize(case.table)
    for name, hierarchy in case.hierarchies.items():
        if hierarchy is None and pa.types.is_integer(table[name].type) and draw(st.booleans()):
            days = [None if cell is None else DAY + dt.timedelta(cell) for cell in table[name].to_pylist()]
            table = table.set_column(table.column_names.index(name), name, pa.array(days, pa.date32()))
    numbers = pa.array(range(table.num_rows), pa.int64())
    return table.append_column("person", numbers), case.hierarchies


@pytest.mark.slow
@sometimes
@given(tables(), promises(), st.sampled_from(LIMITS), st.sampled_from(["intervals", "sets", "means"]))
def test_random_tables(
    connection: Any, drawn: tuple[pa.Table, dict[str, Any]], models: Any, most: int | None, style: Any
) -> None:
    """Every model, in one part and in many: row by row the same."""
    table, columns = drawn
    method = Mondrian(columns, models[1], labels=style)
    held = connection.create_table("random", table, overwrite=True)
    assert outcome(held, method, most_combinations=most) == outcome(table, method)


# --- every engine and every type --------------------------------------------------------------------------


@pytest.fixture(params=["in_duckdb", "in_a_folder", "in_sqlite"])
def holder(request: pytest.FixtureRequest) -> Holder:
    found: Holder = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("method", [EVERY_TYPE, WITH_TREES])
def test_every_type(holder: Holder, method: Mondrian) -> None:
    held = holder(people())
    for most in (None, 4):
        assert_same(mask(held, method, most_combinations=most), people(), method)


def test_on_postgres(in_postgres: Holder) -> None:
    held = in_postgres(people())
    for most in (None, 6):
        assert_same(mask(held, EVERY_TYPE, most_combinations=most), people(), EVERY_TYPE)


@pytest.mark.slow
def test_on_spark(in_spark: Holder) -> None:
    """Several parts, and the labels of dates, of missing numbers and of texts."""
    method = Mondrian(["height", "born"], [m.KAnonymity(2), m.DistinctLDiversity("diagnosis", 2)])
    result = mask(in_spark(people()), method, most_combinations=9)
    assert type(result.table).__name__ == "DataFrame"
    assert result.facts["parts"] > 1
    assert_same(result, people(), method)


def test_names_of_ours_in_the_table(in_duckdb: Holder) -> None:
    further = {
        name: pa.array(range(20))
        for name in ("veil_0", "veil_0_n", "veil_part", "veil_k_0", "veil_c0", "veil_l0")
    }
    for most in (None, 4):
        held = mask(in_duckdb(people(**further)), EVERY_TYPE, most_combinations=most)
        assert_same(held, people(**further), EVERY_TYPE)


def test_more_combinations_than_one_integer_tells_apart(connection: Any) -> None:
    """Fourteen columns of fifty values each: 50**14 combinations, for which two words are needed."""
    rows = [[(number * (j + 3)) % 50 for j in range(14)] for number in range(50)]
    table = pa.table({f"c{j}": pa.array([row[j] for row in rows], pa.int64()) for j in range(14)})
    method = Mondrian(table.column_names, m.KAnonymity(4))
    held = connection.create_table("wide", table, overwrite=True)
    for most in (None, 20):
        assert_same(mask(held, method, most_combinations=most), table, method)


def test_text_of_a_file_is_what_it_is_in_memory(tmp_path: Path) -> None:
    """1.5 and 1.50 are one number, and 02139 is not a number at all; also where a part holds only numbers."""
    path = tmp_path / "people.csv"
    rows = ["1.5,02139,1", "1.50,02139,2", "2,02140,x", "2.0,02140,2.50", ",02140,2.5", "7,02141,1"]
    path.write_text("height,zip,ward\n" + "\n".join(rows * 2) + "\n")
    method = Mondrian(["height", "zip"], [m.KAnonymity(2), m.TCloseness("ward", 0.9)])
    memory = mask(str(path), method)
    for most in (None, 2):
        held = mask(str(path), method, engine=Settings(memory="256MB"), most_combinations=most)
        assert records(shown(held)) == records(memory.arrow)
        held.save(tmp_path / f"out-{most}.csv")
        assert records(mask(tmp_path / f"out-{most}.csv", method).arrow).total() == 12


# --- writing ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("most", [None, 4])
def test_saved_to_files_and_tables(in_a_folder: Holder, tmp_path: Path, most: int | None) -> None:
    result = mask(in_a_folder(people()), EVERY_TYPE, most_combinations=most)
    expected = records(mask(people(), EVERY_TYPE).arrow)
    parts = result.facts["parts"]
    assert (parts > 1) == (most is not None)
    written = result.save(tmp_path / "release.parquet")
    assert written.pieces == parts
    assert records(pq.read_table(tmp_path / "release.parquet")) == expected
    result.save(tmp_path / "folder")
    assert records(pq.read_table(tmp_path / "folder")) == expected
    result.save(f"duckdb://{tmp_path}/release.db#release")
    import ibis

    assert records(ibis.duckdb.connect(tmp_path / "release.db").table("release").to_pyarrow()) == expected


def test_an_interrupted_save_goes_on_with_the_next_part(
    in_a_folder: Holder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = mask(in_a_folder(people()), EVERY_TYPE, most_combinations=4)
    made = Blocks.expression
    asked: list[Any] = []

    def interrupted(self: Blocks, part: Any, table: Any) -> Any:
        asked.append(part)
        if len(asked) == 4:  # the first is asked for twice, as an example of what will be written
            raise KeyboardInterrupt
        return made(self, part, table)

    monkeypatch.setattr(Blocks, "expression", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        result.save(tmp_path / "release.parquet")
    assert "2 of" in caught.value.__notes__[0]
    assert not (tmp_path / "release.parquet").exists()
    monkeypatch.undo()
    assert result.save(tmp_path / "release.parquet").continued == 2
    assert records(pq.read_table(tmp_path / "release.parquet")) == records(mask(people(), EVERY_TYPE).arrow)


COUNTS = "every combination of cells occurs as often as it should"
TAMPERING = {
    "nothing": ("SELECT 1", []),
    "a label is changed": ("UPDATE staged SET age = '99' WHERE rowid = 0", ["3-anonymity", COUNTS]),
    "a row is missing": ("DELETE FROM staged WHERE rowid = 2", [COUNTS]),
    "a row is there twice": ("INSERT INTO staged SELECT * FROM staged WHERE rowid = 2", [COUNTS]),
    "a column is changed": ("UPDATE staged SET cost = 17.123 WHERE rowid = 3", ["column 'cost' is unchanged"]),
    "a column more": ("ALTER TABLE staged ADD COLUMN age_before BIGINT", ["the table has the columns it should have and no others"]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("most", [None, 4])
@pytest.mark.parametrize("what", TAMPERING)
def test_what_was_tampered_with_is_found(what: str, most: int | None) -> None:
    import ibis

    database = ibis.duckdb.connect()
    statement, broken = TAMPERING[what]
    result = mask(database.create_table("people", people()), WITH_TREES, most_combinations=most)
    database.create_table("staged", shown(result))
    database.raw_sql(statement)
    found = check_staged(result.outcome.source.blocks, result.outcome, database.table("staged"))
    assert {each.promise for each in found.findings if not each.holds} >= set(broken)
    assert found.holds == (not broken)


def test_models_are_checked_on_what_was_written(connection: Any) -> None:
    """Two sensitive values change places: every column has what it had, and diversity is gone."""
    table = pa.table({"age": [1, 1, 2, 2], "ill": ["flu", "cold", "flu", "cold"]})
    method = Mondrian(["age"], [m.KAnonymity(2), m.DistinctLDiversity("ill", 2)])
    for most in (None, 1):
        result = mask(
            connection.create_table("swapped", table, overwrite=True), method, most_combinations=most
        )
        assert result.facts["classes"] == 2
        wrong = pa.table({"age": ["1", "1", "2", "2"], "ill": ["flu", "flu", "cold", "cold"]})
        staged = connection.create_table("staged", wrong, overwrite=True)
        broken = [
            each.promise
            for each in check_staged(result.outcome.source.blocks, result.outcome, staged).findings
            if not each.holds
        ]
        assert "distinct 2-diversity of 'ill'" in broken


def test_a_row_that_comes_later_is_not_written(tmp_path: Path) -> None:
    import ibis

    database = ibis.duckdb.connect()
    result = mask(database.create_table("people", people()), WITH_TREES)
    database.raw_sql("INSERT INTO people SELECT * REPLACE (77 AS age) FROM people LIMIT 1")
    with pytest.raises(VerificationError, match="withheld"):
        result.save(tmp_path / "release.parquet")
    assert not (tmp_path / "release.parquet").exists()


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (RankSwapping("age", p=10), "RankSwapping masks tables in memory.*veil.anonymize"),
        (Mondrian(["age"], m.KAnonymity(2), relaxed=True), "relaxed=False"),
        ([WITH_TREES, WITH_TREES], "only one step, not 2"),
    ],
)
def test_what_engines_do_not_do_is_refused(in_duckdb: Holder, steps: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        mask(in_duckdb(people()), steps)


def test_what_cannot_be_used_is_said(connection: Any) -> None:
    def held(**columns: Any) -> Any:
        return connection.create_table("bad", pa.table(columns), overwrite=True)

    with refused(InputError, "mean 'age'", "no column 'ag'"):
        mask(held(age=[1, 2]), Mondrian(["ag"], m.KAnonymity(2)))
    with refused(InputError, "'age'", "infinite number"):
        mask(held(age=[1.0, float("inf")]), Mondrian(["age"], m.KAnonymity(2)))
    with refused(ImpossibleError, "classes of 3", "only 2"):
        mask(held(age=[1, 2]), Mondrian(["age"], m.KAnonymity(3)))
    with refused(NoSolutionError, "whole table"):
        mask(held(age=[1, 2, 3], ill=["a", "a", "b"]), Mondrian(["age"], m.AlphaKAnonymity("ill", 0.5, 2)))
    with refused(ParameterError, "`most_combinations`", "least 1", "not 0"):
        mask(held(age=[1, 2]), Mondrian(["age"], m.KAnonymity(2)), most_combinations=0)


def test_labels_on_two_levels_become_one_class_across_parts(connection: Any) -> None:
    """Both parts show the label x. A model that does not survive that is checked on both together."""
    tree = h.table([["x", "x", "*"], ["a", "y", "*"], ["b", "y", "*"]])
    table = pa.table({"q": ["x", "x", "a", "b"], "ill": ["flu", "cold", "flu", "cold"]})
    for model in (m.KAnonymity(2), m.DeltaDisclosure("ill", 1)):
        method = Mondrian({"q": tree}, model)
        held = connection.create_table("levels", table, overwrite=True)
        assert_same(mask(held, method, most_combinations=1), table, method)


def test_people_of_an_engine_are_counted_in_memory(in_duckdb: Holder, tmp_path: Path) -> None:
    patients = [i // 3 for i in range(60)]
    table = pa.table(
        {"patient_id": patients, "age": [20 + i % 7 for i in range(60)], "note": list(range(60))}
    )
    method = Mondrian(["age"], m.KAnonymity(4))
    with refused(PlanError, "the same people"):
        mask(in_duckdb(table), method)
    made = mask(in_duckdb(table), method, person="patient_id")
    assert "counting people" in str(made.verification)
    made.save(f"{tmp_path}/out/")
    people: dict[str, set[int]] = {}
    for row in pq.read_table(tmp_path / "out").to_pylist():
        assert set(row) == {"age", "note"}
        people.setdefault(row["age"], set()).add(patients[row["note"]])
    assert min(map(len, people.values())) >= 4
    assert len(people) > 1
    assert mask(in_duckdb(table), method, person=None).records == 60
