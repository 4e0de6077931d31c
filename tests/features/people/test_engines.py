"""People with several rows in tables that an engine holds: the answers of memory, and what is written, attacked."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support.engines.answers import Holder, compared, shown
from support.engines.people import visits as drawn_visits
from support.longitudinal import anonymized, draw, wrong_rows
from support.refusals import refused
from veil import DistinctLDiversity, KAnonymity
from veil import hierarchies as h
from veil.engines import relation_of
from veil.engines.database import Database
from veil.engines.dialects import collect
from veil.engines.lookups import Lookup
from veil.engines.transform import Transform
from veil.errors import InputError, NoSolutionError, OutputError, PlanError, VerificationError


def visits(people: int = 60, seed: int = 2) -> pa.Table:
    return drawn_visits(people, seed, [0.93, 0.07])


def plan(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20), "ward": h.suppression()},
        "sensitive": ["diagnosis"],
        "insensitive": ["note"],
        "models": [KAnonymity(4)],
        "suppression_limit": 0.7,
        "maximum_levels": {"age": 1, "ward": 0},
        "person": "patient",
    }
    return {**given, **changes}


def fewest(before: pa.Table, after: list[dict[str, Any]], *, all_rows: bool) -> int:
    """The attacker's count: people in the smallest class of what was delivered, whose rows are known by `note`."""
    whose = dict(zip(before["note"].to_pylist(), before["patient"].to_pylist(), strict=True))
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in after:
        if row["note"] is not None:
            rows[whose[row["note"]]].append((row["age"], row["ward"]))
    if all_rows:
        return min(Counter(tuple(sorted(each)) for each in rows.values()).values())
    people: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for person, each in rows.items():
        for row in each:
            people[row].add(person)
    return min(map(len, people.values()))


@pytest.fixture(params=["in_duckdb", "in_a_folder", "in_sqlite"])
def holder(request: pytest.FixtureRequest) -> Holder:
    found: Holder = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_the_answer_is_that_of_memory(holder: Holder, knows: str) -> None:
    held, _ = compared(holder, visits(), plan(knows=knows))
    assert 0 < held.suppressed < held.records


@pytest.mark.parametrize(
    ("knows", "rows"), [("one row", "drop"), ("all rows", "drop"), ("one row", "keep cells")]
)
def test_whatever_becomes_of_suppressed_rows(in_duckdb: Holder, knows: str, rows: str) -> None:
    compared(in_duckdb, visits(), plan(knows=knows, suppressed_rows=rows))


def test_models_of_sensitive_values(in_duckdb: Holder) -> None:
    compared(in_duckdb, visits(90), plan(models=[KAnonymity(3), DistinctLDiversity("diagnosis", 2)]))


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_the_answer_is_that_of_memory_on_postgres(in_postgres: Holder, knows: str) -> None:
    compared(in_postgres, visits(), plan(knows=knows))


def test_the_answer_is_that_of_memory_on_spark(in_spark: Holder) -> None:
    compared(in_spark, visits(), plan(knows="all rows"))


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_what_is_written_keeps_the_promise(in_duckdb: Holder, tmp_path: Path, knows: str) -> None:
    table = visits()
    made = veil.anonymize(in_duckdb(table), **plan(knows=knows))
    written = made.save(f"{tmp_path / 'out'}/")
    found = pq.read_table(tmp_path / "out").to_pylist()
    assert len(found) == table.num_rows
    assert "patient" not in found[0]
    assert fewest(table, found, all_rows=knows == "all rows") >= 4
    assert written.verification is not None
    assert any("counting people" in each.promise for each in written.verification.findings)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_what_is_written_to_a_database_keeps_the_promise(
    in_a_folder: Holder, tmp_path: Path, kind: str
) -> None:
    table = visits()
    made = veil.anonymize(in_a_folder(table), **plan(knows="all rows"))
    made.save(f"{kind}://{tmp_path}/clinic.db#release")
    relation = relation_of(f"{kind}://{tmp_path}/clinic.db#release")
    assert relation is not None
    found = collect(relation.backend, relation.table).to_pylist()
    assert len(found) == table.num_rows
    assert fewest(table, found, all_rows=True) >= 4


def test_several_tables_come_from_a_database(in_duckdb: Holder) -> None:
    table = visits()
    people = pa.table({"patient": sorted(set(table["patient"].to_pylist()))})
    people = people.append_column("sex", pa.array(["f", "m"] * (people.num_rows // 2)))
    made: Any = veil.anonymize(
        {"visits": in_duckdb(table), "people": people},
        **plan(
            quasi_identifiers={
                "age": h.intervals(10, 20, 40),
                "ward": h.suppression(),
                "sex": h.suppression(),
            },
            maximum_levels={},
        ),
    )
    whole: dict[str, list[str]] = defaultdict(list)
    for name, known in (("visits", ("age", "ward")), ("people", ("sex",))):
        for row in made.tables[name].to_pylist():
            if row["patient"] != "*":
                whole[row["patient"]].append(str([name, *(row[each] for each in known)]))
    assert min(Counter(tuple(sorted(each)) for each in whole.values()).values()) >= 4


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_rows_that_should_be_blank_and_are_not_are_withheld(
    in_duckdb: Holder, tmp_path: Path, knows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = veil.anonymize(in_duckdb(visits()), **plan(knows=knows))
    assert made.suppressed > 0
    monkeypatch.setattr(Transform, "_with_parts", lambda self, table: _nobody_is_suppressed(self, table))
    with pytest.raises(VerificationError, match="BROKEN"):
        made.save(f"{tmp_path / 'out'}/")
    assert not (tmp_path / "out").exists()


def _nobody_is_suppressed(transform: Transform, table: Any) -> Any:
    import ibis

    return table.mutate(**{transform.part: ibis.literal(0)})


def test_a_table_with_several_rows_of_a_person_is_refused_without_a_word(holder: Holder) -> None:
    options = plan()
    del options["person"]
    with pytest.raises(PlanError, match=r'person="patient".*person=None'):
        veil.anonymize(holder(visits()), **options, identifying="patient")
    with refused(PlanError, "'patient'", "60 different"):
        veil.anonymize(holder(visits()), **options, others="drop")


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["blank", "drop"])
def test_pseudonyms_are_written_and_link_the_rows_of_a_person(
    holder: Holder, tmp_path: Path, rows: str
) -> None:
    table = visits()
    options = plan(knows="all rows", identifying={"patient": "pseudonym"}, suppressed_rows=rows)
    made = veil.anonymize(holder(table), **options)
    for name in ("kept", "public"):
        (tmp_path / name).mkdir()
    made.save(f"{tmp_path / 'public' / 'out'}/", apart=tmp_path / "kept")
    found = pq.read_table(tmp_path / "public" / "out").to_pylist()
    assert fewest(table, found, all_rows=True) >= 4
    key = made.apart["pseudonyms"].to_pydict()
    of = dict(zip(key["pseudonym"], key["value"], strict=True))
    whose = dict(zip(table["note"].to_pylist(), table["patient"].to_pylist(), strict=True))
    shown = [row for row in found if row["note"] is not None]
    assert 0 < len(shown) < table.num_rows
    assert all(of[row["patient"]] == whose[row["note"]] for row in shown)
    assert all(row["patient"] == "*" for row in found if row["note"] is None)
    assert "P0" in (tmp_path / "kept" / "pseudonyms.csv").read_text()


def test_what_turns_pseudonyms_back_does_not_lie_beside_a_database(in_duckdb: Holder, tmp_path: Path) -> None:
    made = veil.anonymize(in_duckdb(visits()), **plan(knows="all rows", identifying={"patient": "pseudonym"}))
    for name in ("kept", "public", "public/mine"):
        (tmp_path / name).mkdir()
    for place in (
        f"sqlite://{tmp_path}/public/out.db#visits",
        Database(f"duckdb://{tmp_path}/public/out.db#visits"),
    ):
        for apart in ("public", "public/mine"):
            with refused(OutputError, "pseudonyms", "not be published"):
                made.save(place, apart=tmp_path / apart)
        assert list((tmp_path / "public").iterdir()) == [tmp_path / "public" / "mine"]
    made.save(place, apart=tmp_path / "kept")
    assert (tmp_path / "kept" / "pseudonyms.csv").exists()


def test_pseudonyms_that_two_people_share_are_withheld(
    in_duckdb: Holder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = veil.anonymize(in_duckdb(visits()), **plan(knows="all rows", identifying={"patient": "pseudonym"}))
    right = Lookup.cell
    monkeypatch.setattr(
        Lookup, "cell", lambda self, table, name: _same_for_all(right(self, table, name), name)
    )
    with pytest.raises(VerificationError, match="BROKEN"):
        made.save(f"{tmp_path / 'out'}/")


def _same_for_all(cell: Any, name: str) -> Any:
    import ibis

    return ibis.literal("0" * 16) if name == "p" else cell


def test_a_person_without_a_number_is_refused(in_duckdb: Holder) -> None:
    table = visits()
    lacking = table.set_column(0, "patient", pa.array([None, *table["patient"].to_pylist()[1:]], pa.string()))
    with refused(InputError, "in 1 row"):
        veil.anonymize(in_duckdb(lacking), **plan())


@settings(
    max_examples=int(os.environ.get("VEIL_FUZZ", "0")) or 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    people=st.integers(4, 30),
    seed=st.integers(0, 2**32),
    k=st.integers(2, 5),
    limit=st.sampled_from([0, 0.2, 0.6, 1]),
    knows=st.sampled_from(["one row", "all rows"]),
    rows=st.sampled_from(["blank", "drop"]),
)
def test_random_tables_keep_the_promise_in_memory_and_on_an_engine(
    people: int, seed: int, k: int, limit: float, knows: str, rows: str
) -> None:
    import ibis

    table = visits(people, seed)
    options = plan(
        models=[KAnonymity(k)], suppression_limit=limit, knows=knows, suppressed_rows=rows, maximum_levels={}
    )
    found = []
    held = ibis.duckdb.connect().create_table("visits", table)
    for source in (table, held):
        try:
            made = veil.anonymize(source, **options)
        except (NoSolutionError, PlanError):
            found.append(None)
            continue
        delivered = shown(made).to_pylist()
        if any(row["note"] is not None for row in delivered):
            assert fewest(table, delivered, all_rows=knows == "all rows") >= k
        gone = {row["note"] for row in delivered} - {None}
        lost = {
            p
            for p, note in zip(*(table[n].to_pylist() for n in ("patient", "note")), strict=True)
            if note not in gone
        }
        assert len(lost) <= limit * people
        found.append((made.transformation, made.score, made.suppressed))
    assert found[0] == found[1]


def test_random_tables_models_and_limits_on_duckdb() -> None:
    """The cases of memory, judged by the same oracle on what DuckDB delivers; rows are known by a note that each keeps."""
    import ibis

    connection, judged, shown_something = ibis.duckdb.connect(), 0, 0
    many = int(os.environ.get("VEIL_FUZZ", "0")) or 12
    for seed in range(many):
        case = draw(seed)
        ages = case.table["age"].cast(pa.int64())  # DuckDB has no column in which nothing has a type
        noted = case.table.set_column(1, "age", ages).append_column(
            "note", pa.array(range(case.table.num_rows))
        )
        held = connection.create_table("visits", noted, overwrite=True)
        made = anonymized(replace(case, table=held, options=case.options | {"insensitive": "note"}))
        if made is None:
            continue
        rows = shown(made).select([*case.options["quasi_identifiers"], "dx", "note"]).to_pylist()
        owner = dict(enumerate(case.table["who"].to_pylist()))
        whose = [owner.get(row.pop("note")) for row in rows]
        assert wrong_rows(case, rows, whose) == [], f"seed {seed}: {case.options}"
        judged += 1
        shown_something += made.suppressed < made.records
    assert judged > many / 2
    assert shown_something > many / 4


def test_dates_tell_people_apart_and_nobody_is_left(tmp_path: Path) -> None:
    """Everybody is suppressed and dropped: what is written has no row, and a column of dates without any."""
    born = pa.array([1, 1, 2, 3], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"patient": born, "age": [20, 30, 40, 50]}), tmp_path / "in.parquet")
    release = veil.anonymize(
        tmp_path / "in.parquet",
        engine="duckdb",
        person="patient",
        knows="all rows",
        identifying={"patient": "pseudonym"},
        quasi_identifiers={"age": h.intervals(10)},
        maximum_levels={"age": 0},
        models=KAnonymity(2),
        suppression_limit=1,
        suppressed_rows="drop",
    )
    release.save(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_rows_of_nobody_are_counted_as_the_table_has_them(tmp_path: Path) -> None:
    pq.write_table(pa.table({"patient": ["a"] + [None] * 6, "age": [20] * 7}), tmp_path / "in.parquet")
    asked = {"person": "patient", "quasi_identifiers": {"age": h.intervals(10)}, "models": KAnonymity(2)}
    with refused(InputError, "'patient'", "in 6 rows"):
        veil.anonymize(tmp_path / "in.parquet", engine="duckdb", **asked)


def test_rows_of_people_are_drawn_from_a_table_of_an_engine_as_in_memory(in_duckdb: Holder) -> None:
    """Only what the plan looks at comes into memory; whoever has many rows takes part with as many as the cap allows."""
    chance = np.random.default_rng(4)
    who = np.concatenate([np.arange(400), np.zeros(300, np.int64)])
    table = pa.table(
        {
            "patient": who,
            "sex": chance.choice(["f", "m"], who.size),
            "name": [f"n{i}" for i in range(who.size)],
        }
    )
    plan: dict[str, Any] = {
        "quasi_identifiers": {"sex": h.table([["f", "*"], ["m", "*"]])},
        "models": veil.SafePub(1, 1e-3, generalization={"sex": 0}, rows_per_person=2),
        "identifying": "name",
        "person": "patient",
        "for_testing_seed": 5,
    }
    memory, held = veil.anonymize(table, **plan), veil.anonymize(in_duckdb(table), **plan)
    assert held.table.column_names == ["sex"]
    assert Counter(held.table["sex"].to_pylist()) == Counter(memory.table["sex"].to_pylist())
    assert 0 < held.table.num_rows <= 401


def test_what_has_no_role_is_refused_before_rows_of_people_are_drawn(in_duckdb: Holder) -> None:
    with pytest.raises(PlanError, match="'note'"):
        veil.anonymize(
            in_duckdb(visits()),
            quasi_identifiers={"ward": h.table([["a", "*"], ["b", "*"]])},
            models=veil.SafePub(1, 1e-3, generalization={"ward": 0}),
            person="patient",
            identifying=["age", "diagnosis"],
            insensitive="note",
        )
