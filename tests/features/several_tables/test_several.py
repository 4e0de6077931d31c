"""Several tables about the same people: attacked as they are delivered, put together by pseudonyms."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support.cli import veil as run_cli
from support.recipes import generalize
from support.refusals import refused
from veil import DistinctLDiversity, KAnonymity, TCloseness
from veil import hierarchies as h
from veil.dp import SafePub
from veil.errors import InputError, OutputError, PlanError, VerificationError
from veil.outcome.linked_tables import tables_of

KNOWN = {"patients": ("age", "sex"), "visits": ("ward",), "drugs": ("drug",)}


def tables(people: int = 80, seed: int = 0) -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    visitors = np.repeat(np.arange(people), rng.integers(0, 3, people))
    users = np.repeat(np.arange(people), rng.integers(0, 2, people))
    return {
        "patients": pa.table(
            {
                "patient_id": np.arange(people) + 7000,
                "name": [f"Name {i}" for i in range(people)],
                "age": rng.integers(20, 60, people),
                "sex": rng.choice(["f", "m"], people),
            }
        ),
        "visits": pa.table(
            {
                "patient_id": (visitors + 7000).astype(np.int32),
                "ward": rng.choice(["a", "b"], visitors.size, p=[0.9, 0.1]),
                "diagnosis": rng.choice(["flu", "cold", "gout"], visitors.size),
                "stay": rng.integers(1, 9, visitors.size),
            }
        ),
        "drugs": pa.table(
            {"patient_id": [str(i + 7000) for i in users], "drug": rng.choice(["x", "y"], users.size)}
        ),
    }


def plan(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "person": "patient_id",
        "quasi_identifiers": {
            "age": h.intervals(10, 20, 40),
            "sex": h.suppression(),
            "ward": h.suppression(),
            "drug": h.suppression(),
        },
        "sensitive": ["diagnosis"],
        "insensitive": ["stay"],
        "identifying": ["name"],
        "models": KAnonymity(3),
        "suppression_limit": 0.3,
    }
    return {**given, **changes}


def joined(delivered: dict[str, list[dict[str, Any]]]) -> Counter[tuple[Any, ...]]:
    """How many people have each collection of rows in all tables, by what was delivered alone."""
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for table, each in delivered.items():
        for row in each:
            if row["patient_id"] not in ("*", None):
                rows[row["patient_id"]].append((table, *(str(row[name]) for name in KNOWN[table])))
    return Counter(tuple(sorted(each)) for each in rows.values())


def lists(made: Any) -> dict[str, list[dict[str, Any]]]:
    return {name: each.to_pylist() for name, each in made.tables.items()}


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.sampled_from(["blank", "drop"]))
def test_nobodys_rows_in_all_tables_are_shared_by_fewer_than_k_people(seed: int, suppressed: str) -> None:
    made = veil.anonymize(tables(40, seed), **plan(suppressed_rows=suppressed))
    found = joined(lists(made))
    assert found
    assert min(found.values()) >= 3


def test_what_one_table_tells_about_another_is_counted() -> None:
    """Each table by itself is 3-anonymous, and both together single out everybody."""
    people = np.arange(9)
    split = {
        "patients": pa.table({"patient_id": people, "age": 10 * (people // 3), "sex": ["f"] * 9}),
        "visits": pa.table({"patient_id": people, "ward": [f"w{i}" for i in people % 3]}),
    }
    chosen = {"age": h.intervals(10, 30), "sex": h.suppression(), "ward": h.suppression()}
    one_by_one = [
        veil.anonymize(
            split[name],
            person="patient_id",
            quasi_identifiers={c: chosen[c] for c in KNOWN[name]},
            models=KAnonymity(3),
        )
        for name in split
    ]
    assert [sum(each.transformation.values()) for each in one_by_one] == [0, 0]
    made = veil.anonymize(split, person="patient_id", quasi_identifiers=chosen, models=KAnonymity(3))
    assert sum(made.transformation.values()) > 0
    assert min(joined(lists(made)).values()) >= 3


def test_people_are_suppressed_in_all_tables_or_in_none_and_references_stay_whole() -> None:
    before = tables()
    made: Any = veil.anonymize(before, **plan(suppressed_rows="drop", models=KAnonymity(5)))
    assert made.suppressed > 0
    key = made.apart["pseudonyms"].to_pydict()
    of = dict(zip(key["value"], key["pseudonym"], strict=True))
    for name, table in before.items():
        people = Counter(map(str, table["patient_id"].to_pylist()))
        left = Counter(made.tables[name]["patient_id"].to_pylist())
        assert left == Counter({of[p]: n for p, n in people.items() if p in of})
    assert 0 < len(of) < 80


def test_frames_come_back_as_they_came_and_rows_in_another_order() -> None:
    split = tables()
    mixed = {"patients": split["patients"].to_pandas(), "visits": pl.DataFrame(split["visits"])}
    options = plan()
    del options["quasi_identifiers"]["drug"]
    made: Any = veil.anonymize(mixed, **options)
    assert isinstance(made.tables["patients"], pd.DataFrame)
    assert isinstance(made.tables["visits"], pl.DataFrame)
    assert "name" not in made.tables["patients"].columns
    stays = made.tables["visits"]["stay"].to_list()
    assert sorted(x for x in stays if x is not None) != stays
    assert Counter(x for x in stays if x is not None) <= Counter(split["visits"]["stay"].to_pylist())


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_sensitive_values_of_one_table_are_judged_where_they_are(seed: int) -> None:
    made: Any = veil.anonymize(
        tables(60, seed),
        **plan(models=[KAnonymity(3), DistinctLDiversity("diagnosis", 2)], suppression_limit=0.8),
    )
    delivered = lists(made)
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for table, each in delivered.items():
        for row in each:
            rows[row["patient_id"]].append((table, *(str(row[name]) for name in KNOWN[table])))
    whole = {person: tuple(sorted(each)) for person, each in rows.items()}
    values: dict[Any, set[str]] = defaultdict(set)
    for row in delivered["visits"]:
        if row["patient_id"] != "*":
            values[row["ward"], whole[row["patient_id"]]].add(row["diagnosis"])
    assert all(len(each) >= 2 for each in values.values())


def test_a_person_who_shows_more_in_one_table_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is right, and what is made of it is not: one cell of one table is finer than planned."""

    def wrong(outcome: Any) -> Any:
        made = tables_of(outcome)
        visits = made["visits"]
        table = visits.table
        shown = [each != "*" for each in table["patient_id"].to_pylist()].index(True)
        wards = table["ward"].to_pylist()
        wards[shown] = "the only one"
        changed = table.set_column(table.column_names.index("ward"), "ward", pa.array(wards))
        return {**made, "visits": visits._replace(table=changed)}

    monkeypatch.setattr("veil.outcome.outcome.tables_of", wrong)
    with refused(VerificationError, "all tables together", "3-anonymity"):
        veil.anonymize(tables(), **plan())


def test_rows_that_belong_to_another_person_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:

    def wrong(outcome: Any) -> Any:
        made = tables_of(outcome)
        drugs = made["drugs"]
        table = drugs.table
        whose = table["patient_id"].to_pylist()
        place = next(i for i, each in enumerate(whose) if each != "*")
        whose[place] = next(each for each in whose if each not in ("*", whose[place]))
        changed = table.set_column(0, "patient_id", pa.array(whose))
        return {**made, "drugs": drugs._replace(table=changed)}

    monkeypatch.setattr("veil.outcome.outcome.tables_of", wrong)
    with pytest.raises(VerificationError):
        veil.anonymize(tables(), **plan(models=KAnonymity(2), suppression_limit=0.1))


def test_suppressed_people_who_are_shown_in_one_table_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.outcome.linked_tables.blank_cells", lambda column, hidden, marker: column)
    with refused(VerificationError, "'visits'", "suppressed people"):
        veil.anonymize(tables(), **plan())


def test_the_key_tells_which_row_is_which_and_the_report_can_be_written(tmp_path: Path) -> None:
    before = tables()
    made: Any = veil.anonymize(before, **plan())
    for name, key in made.origins.items():
        again = before[name].take(key["input row"])
        stay = "stay" if name == "visits" else None
        if stay is not None:
            pairs = zip(again[stay].to_pylist(), made.tables[name][stay].to_pylist(), strict=True)
            assert all(after in (None, first) for first, after in pairs)
        assert again.num_rows == made.tables[name].num_rows
    text = made.report(tmp_path / "report.html").read_text()
    assert "all tables together" in text
    assert "Name 3" not in text
    for name, rows in (("patients", 80), ("visits", 87), ("drugs", 42)):
        assert re.search(rf">{name}</td>\s*<td[^>]*>{rows}<", text)


# --- files --------------------------------------------------------------------------------------------


def written(folder: Path, people: int = 60) -> dict[str, str]:
    places = {}
    for name, table in tables(people).items():
        places[name] = str(folder / f"{name}.csv")
        pc.write_csv(table, places[name])
    return places


def test_files_are_written_together_and_keep_the_promise(tmp_path: Path) -> None:
    made = veil.anonymize(written(tmp_path), **plan())
    made.save(tmp_path / "release", apart=tmp_path)
    names = sorted(each.name for each in (tmp_path / "release").iterdir())
    assert names == ["drugs.csv", "patients.csv", "visits.csv"]
    delivered = {
        each.stem: pd.read_csv(each, dtype=str, keep_default_na=False).to_dict("records")
        for each in (tmp_path / "release").iterdir()
    }
    assert min(joined(delivered).values()) >= 3
    assert "7000" not in "".join(each.read_text() for each in (tmp_path / "release").iterdir())
    assert (tmp_path / "pseudonyms.csv").stat().st_mode & 0o077 == 0
    with pytest.raises(OutputError, match="already exists"):
        made.save(tmp_path / "release")
    (tmp_path / "release" / "old.csv").write_text("old")
    made.save(tmp_path / "release", overwrite=True)
    assert sorted(each.name for each in (tmp_path / "release").iterdir()) == names
    with refused(OutputError, "read from there"):
        made.save(tmp_path, overwrite=True)
    (tmp_path / "release" / "mine").mkdir()
    with refused(OutputError, "not be published"):
        made.save(tmp_path / "release", apart=tmp_path / "release" / "mine", overwrite=True)


KILLED = """
import os, signal, sys
from pathlib import Path
import veil
from veil.engines.write import locks
sys.path.insert(0, {tests!r})
from features.several_tables.test_several import MOMENTS, plan, written
folder = Path({folder!r})
made = veil.anonymize(written(folder, 20), **plan(models=veil.KAnonymity(1)))
if not {exchanging}:
    locks._renameat2 = lambda *_: False
left = [0]
STEPS = ("open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "shutil.rmtree")
def kill(event, arguments):
    touched = event in STEPS and "release" in str(arguments[0])
    if touched or (event == "ctypes.dlsym" and arguments[1] == "renameat2"):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
for moment in MOMENTS:
    child = os.fork()
    if not child:
        sys.addaudithook(kill)
        left[0] = moment
        made.save(folder / str(moment) / "release", overwrite=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status))
    there = folder / str(moment) / "release"
    print("-" if not there.exists() else ",".join(sorted(each.read_text()[:6].strip() for each in there.iterdir())))
    made.save(there, overwrite=True)
"""
MOMENTS = (*range(1, 41), 999)
"""Steps of writing before which the process is killed; the last ones are never reached."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("replacing", "exchanging"), [(False, True), (True, True), (True, False)])
def test_killed_at_any_moment_there_are_all_tables_or_none(
    tmp_path: Path, replacing: bool, exchanging: bool
) -> None:
    for moment in MOMENTS:
        (tmp_path / str(moment)).mkdir()
        if replacing:
            (tmp_path / str(moment) / "release").mkdir()
            for name in KNOWN:
                (tmp_path / str(moment) / "release" / f"{name}.csv").write_text("before\n")
    script = KILLED.format(tests=str(Path(__file__).parents[2]), folder=str(tmp_path), exchanging=exchanging)
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    lines = ran.stdout.split()
    codes, states = [int(each) for each in lines[::2]], lines[1::2]
    assert codes.count(-signal.SIGKILL) >= 15
    assert codes[-1] == 0
    new = next(each for each in states[::-1] if each != "-")
    allowed = {new, "before,before,before" if replacing else "-"}
    if exchanging:
        assert set(states) == allowed
    else:  # Between the two renames there is no folder: the next run finds the old one beside it.
        assert set(states) - {"-"} == allowed
        assert states.count("-") <= 1
    for moment in MOMENTS:  # and whatever was left there, the next run has tidied up
        there = tmp_path / str(moment)
        assert [each.name for each in there.iterdir()] == ["release"]
        assert sorted(each.name for each in (there / "release").iterdir()) == sorted(
            f"{n}.csv" for n in KNOWN
        )
        assert not any(each.read_text() == "before\n" for each in (there / "release").iterdir())


KILLED_BESIDE = """
import os, signal, sys
from pathlib import Path
import veil
sys.path.insert(0, {tests!r})
from features.several_tables.test_several import MOMENTS, beside, plan, written
folder = Path({folder!r})
made = veil.anonymize(written(folder, 20), **plan(models=veil.KAnonymity(1)))
left = [0]
STEPS = ("open", "os.rename", "os.link", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "shutil.rmtree")
def kill(event, arguments):
    if (event in STEPS and {folder!r} in str(arguments[0])) or (event == "ctypes.dlsym" and arguments[1] == "renameat2"):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
for moment in range(1, 260, 6):
    place = folder / str(moment)
    child = os.fork()
    if not child:
        sys.addaudithook(kill)
        left[0] = moment
        made.save(place / "out" / "release", apart=place / "kept", origins=place / "kept" / "key.csv", overwrite=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), beside(place, made))
"""


def beside(place: Path, made: Any) -> str:
    """What lies in the place of a release and of its files, after the next run has looked there."""
    with contextlib.suppress(OutputError):
        made.save(place / "out" / "release")  # which is there, or not, and so refused or written
        return "nothing"
    files = [
        *(place / "out" / "release").iterdir(),
        place / "kept" / "pseudonyms.csv",
        place / "kept" / "key.csv",
    ]
    return "".join(sorted({"old" if each.read_text() == "before\n" else "new" for each in files}))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_tables_and_the_files_beside_them_belong_together(tmp_path: Path) -> None:
    for moment in range(1, 260, 6):
        there = tmp_path / str(moment)
        (there / "out" / "release").mkdir(parents=True)
        (there / "kept").mkdir()
        old = [there / "out" / "release" / f"{name}.csv" for name in KNOWN]
        for path in (*old, there / "kept" / "pseudonyms.csv", there / "kept" / "key.csv"):
            path.write_text("before\n")
    script = KILLED_BESIDE.format(tests=str(Path(__file__).parents[2]), folder=str(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    found = [line.split() for line in ran.stdout.splitlines()]
    killed = [state for code, state in found if code == str(-signal.SIGKILL)]
    assert len(killed) > 10
    assert set(killed) == {"old", "new"}
    assert {state for code, state in found if code == "0"} == {"new"}


def test_the_key_of_several_tables_is_a_file_of_its_own(tmp_path: Path) -> None:
    given = tables()
    made = veil.anonymize(given, **plan())
    (tmp_path / "kept").mkdir()
    with refused(OutputError, "not be published"):
        made.save(tmp_path / "release", origins=tmp_path / "release" / "key.csv")
    written = made.save(tmp_path / "release", origins=tmp_path / "kept" / "key.csv")
    assert written.apart == (tmp_path / "kept" / "key.csv",)
    key = pd.read_csv(tmp_path / "kept" / "key.csv")
    assert set(key["table"]) == set(given)
    for name, rows in key.groupby("table"):
        assert rows["release row"].tolist() == list(range(len(rows)))
        assert rows["input row"].tolist() == made.origins[name]["input row"].to_pylist()


def test_a_folder_that_a_killed_run_moved_aside_is_put_back_even_if_the_next_run_is_refused(
    tmp_path: Path,
) -> None:
    made = veil.anonymize(tables(), **plan())
    (tmp_path / ".release.veil-old").mkdir()
    (tmp_path / ".release.veil-old" / "drugs.csv").write_text("before")
    with pytest.raises(OutputError, match="already exists"):
        made.save(tmp_path / "release")
    assert (tmp_path / "release" / "drugs.csv").read_text() == "before"


# --- what recipients check ------------------------------------------------------------------------------


def test_recipients_check_all_tables_together_by_their_certificate(tmp_path: Path) -> None:
    made = veil.anonymize(written(tmp_path), **plan())
    made.save(tmp_path / "release")
    certificate = made.certificate(tmp_path / "certificate.json")
    for release in (tmp_path / "release", made.tables, made):
        assert veil.verify(release, certificate=certificate).holds
    assert veil.verify(made.tables, made.outcome.source.asked).holds
    ran = run_cli("verify", str(tmp_path / "release"), "--certificate", str(certificate))
    assert ran.code == 0
    assert "3-anonymity, counting people with the same rows" in ran.out


def planted(made: Any, table: str, column: str, value: Any) -> dict[str, pa.Table]:
    """The tables of a release, with another value in a cell of somebody who is shown."""
    there = made.tables[table]
    cells = there[column].to_pylist()
    cells[[each != "*" for each in there["patient_id"].to_pylist()].index(True)] = value
    return {**made.tables, table: there.set_column(there.column_names.index(column), column, pa.array(cells))}


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("visits", "ward", "z"), ("drugs", "patient_id", "0" * 16), ("drugs", "drug", "z")],
)
def test_a_violation_across_tables_is_caught_by_recipients(
    tmp_path: Path, table: str, column: str, value: str
) -> None:
    """Each table by itself may still be fine: together they single somebody out."""
    made = veil.anonymize(tables(), **plan())
    certificate = made.certificate(tmp_path / "certificate.json")
    wrong = planted(made, table, column, value)
    for found in (veil.verify(wrong, certificate=certificate), veil.verify(wrong, made.outcome.source.asked)):
        assert any("3-anonymity" in each.promise for each in found.broken)


def test_missing_further_and_anonymous_rows_are_broken(tmp_path: Path) -> None:
    made = veil.anonymize(tables(), **plan())
    certificate = made.certificate(tmp_path / "certificate.json")
    fewer = {name: each for name, each in made.tables.items() if name != "drugs"}
    more = {**made.tables, "names": tables()["patients"]}
    for wrong, promise in (
        (fewer, "the quasi-identifiers are there"),
        (more, "these are the certified tables and no others"),
        (planted(made, "visits", "patient_id", "*"), "rows without a pseudonym show nothing"),
    ):
        assert promise in {each.promise for each in veil.verify(wrong, certificate=certificate).broken}
    with refused(InputError, "for several tables"):
        veil.verify(made.tables["drugs"], certificate=certificate)
    alone = veil.anonymize(tables()["drugs"], person=None, quasi_identifiers={"drug": h.suppression()},
                           identifying="patient_id", models=KAnonymity(2))  # fmt: skip
    one = alone.certificate(tmp_path / "one.json")
    with refused(PlanError, "single table"):
        veil.verify(made.tables, certificate=one)


def test_people_who_are_suppressed_are_recoded_locally_in_all_tables() -> None:
    made = veil.anonymize(tables(300, 5), **plan(models=KAnonymity(4), suppression_limit=0.5,
                          quality=veil.quality.Loss(factor=0)))  # fmt: skip
    recoded = made.local_recoding(veil.recoding.FastIterative(0.05))
    assert 0 < recoded.suppressed < made.suppressed
    assert min(joined(lists(recoded)).values()) >= 4
    at_once = veil.anonymize(tables(300, 5), **plan(models=KAnonymity(4), suppression_limit=0.5,
                             quality=veil.quality.Loss(factor=0)), recoding=veil.recoding.FastIterative(0.05))  # fmt: skip
    assert at_once.suppressed == recoded.suppressed


def test_what_no_model_judges_is_told_table_by_table(tmp_path: Path) -> None:
    given_tables = tables()
    size = given_tables["patients"].num_rows
    phone = pa.array([f"+49 221 {100000 + 7 * i}" for i in range(size)])
    given_tables["patients"] = given_tables["patients"].append_column("contact", phone)
    made = veil.anonymize(given_tables, **plan(insensitive=["stay", "contact"]))
    keys = {each.key for each in made.concerns}
    assert "contact data: patients.contact" in keys
    assert "no model: visits.diagnosis" in keys
    assert all("Table 'visits'" in each.statement for each in made.concerns if "visits" in each.key)
    known = made.acknowledge("no model: visits.diagnosis")
    assert [each.acknowledged for each in known.concerns if each.kind == "no model"] == [True]
    assert "patients.contact" in known.report(tmp_path / "report.html").read_text()
    certificate = known.certificate(tmp_path / "certificate.json").read_text()
    assert "no model: visits.diagnosis" in certificate


def test_a_file_of_a_table_in_which_everybody_is_suppressed_is_checked(tmp_path: Path) -> None:
    """Its numbers are all missing, and read as text."""
    models = [KAnonymity(5), DistinctLDiversity("diagnosis", 2)]
    made = veil.anonymize(tables(15, 1357), **plan(models=models, suppression_limit=0.6))
    assert set(made.tables["visits"]["patient_id"].to_pylist()) == {"*"}
    made.save(tmp_path / "release")
    certificate = made.certificate(tmp_path / "certificate.json")
    assert not veil.verify(tmp_path / "release", certificate=certificate).broken


def test_a_certificate_that_calls_a_column_the_name_of_tables_is_damaged(tmp_path: Path) -> None:
    """Quasi-identifiers of that name would not be judged."""
    made = veil.anonymize(tables(), **plan())
    data = json.loads(made.certificate(tmp_path / "certificate.json").read_text())
    data["promises"]["label"] = "age"
    (tmp_path / "forged.json").write_text(json.dumps(data))
    with refused(InputError, "certificate is damaged"):
        veil.verify(made.tables, certificate=tmp_path / "forged.json")


# --- what is refused ----------------------------------------------------------------------------------


def test_what_several_tables_cannot_have_is_refused() -> None:
    split = tables()
    with refused(PlanError, "tells people apart"):
        veil.anonymize(split, **plan(person=None))
    with refused(PlanError, "'drugs'", "no column 'patient_id'"):
        veil.anonymize({**split, "drugs": split["drugs"].drop_columns(["patient_id"])}, **plan())
    with refused(PlanError, "all rows", "'patients'", "no column 'diagnosis'"):
        veil.anonymize(split, **plan(models=TCloseness("diagnosis", 0.3)))
    with refused(PlanError, "cannot count people"):
        veil.anonymize(
            split,
            **plan(models=SafePub(1, 1e-4), knows="one row", identifying={"patient_id": "remove"}),
        )
    with refused(PlanError, "several tables", "in memory"):
        veil.anonymize(split, **plan(), parts=True)
    with refused(PlanError, "`format`", "each table"):
        veil.anonymize(split, **plan(), format=veil.tables.Csv())
    other = split["drugs"].append_column("age", pa.array(["x"] * split["drugs"].num_rows))
    with refused(PlanError, "different types"):
        veil.anonymize({**split, "drugs": other}, **plan())
    with refused(PlanError, "no column 'ward'"):
        veil.anonymize(
            {name: split[name] for name in ("patients", "drugs")}, **plan(sensitive=[], insensitive=[])
        )


# --- recipes ------------------------------------------------------------------------------------------

RECIPE = generalize("""\
tables: {patients: patients.csv, visits: visits.csv, drugs: drugs.csv}
output: release
person: patient_id
quasi_identifiers:
  age: {kind: intervals, widths: [10, 20, 40]}
  sex: suppression
  ward: suppression
  drug: suppression
sensitive: [diagnosis]
insensitive: [stay]
identifying: [name]
models: [{kind: KAnonymity, k: 3}]
suppression_limit: 0.3
""")


def test_a_recipe_has_a_list_of_tables(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    made: Any = veil.run(
        tmp_path / "recipe.yaml",
        apart=tmp_path,
        report=tmp_path / "report.html",
        certificate=tmp_path / "certificate.json",
        save_recipe=tmp_path / "again.yaml",
    )
    assert sorted(made.tables) == ["drugs", "patients", "visits"]
    delivered = {
        each.stem: pd.read_csv(each, dtype=str, keep_default_na=False).to_dict("records")
        for each in (tmp_path / "release").iterdir()
    }
    assert min(joined(delivered).values()) >= 3
    assert (tmp_path / "pseudonyms.csv").exists()
    assert "The tables" in (tmp_path / "report.html").read_text()
    assert veil.verify(tmp_path / "release", certificate=tmp_path / "certificate.json").holds
    assert veil.verify(tmp_path / "release", certificate=tmp_path / "report.html").holds
    again = veil.run(tmp_path / "again.yaml", output=tmp_path / "again", overwrite=True)
    assert again.transformation == made.transformation
    (tmp_path / "kept").mkdir()
    veil.run(tmp_path / "recipe.yaml", origins=tmp_path / "kept" / "key.csv", overwrite=True)
    assert set(pd.read_csv(tmp_path / "kept" / "key.csv")["table"]) == set(made.tables)
    with refused(PlanError, "single table", "several"):
        veil.run(tmp_path / "recipe.yaml", format=veil.tables.Csv())
    with refused(OutputError, "folder of", "the release"):
        veil.run(tmp_path / "recipe.yaml", report=tmp_path / "release" / "report.html", overwrite=True)


def test_the_command_line_takes_such_a_recipe(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    ran = run_cli("anonymize", str(tmp_path / "recipe.yaml"))
    assert (ran.code, ran.err) == (0, "")
    assert "all tables together" in ran.out
    assert "Before you sign" in ran.out
    assert "--acknowledge" in ran.out
    assert len(list((tmp_path / "release").iterdir())) == 3
    checked = run_cli("verify", str(tmp_path / "release"), "--recipe", str(tmp_path / "recipe.yaml"))
    assert checked.code == 0, checked.out


def spelled(ids: list[Any], column: str, values: list[Any]) -> pa.Table:
    return pa.table({"patient_id": ids, column: values})


@pytest.mark.parametrize("spell", [lambda i: f"{i:03d}", lambda i: f"{i}.0"])
def test_people_whose_numbers_are_written_otherwise_are_not_taken_for_others(spell: Any) -> None:
    """Everybody would be two people, of whom one could be suppressed and the other one shown."""
    ids = list(range(20))
    given = {
        "patients": spelled(ids, "age", [30] * 20),
        "visits": spelled([spell(i) for i in ids], "ward", ["a"] * 20),
    }
    known = {"age": h.intervals(10), "ward": h.suppression()}
    with refused(PlanError, "'patients'", "nobody", "same way"):
        veil.anonymize(given, person="patient_id", quasi_identifiers=known, models=KAnonymity(2))


def test_numbers_of_people_that_differ_in_blanks_are_asked_about() -> None:
    given = {
        "patients": spelled(list(range(20)), "age", [30] * 20),
        "visits": spelled([f"{i} " for i in range(20)], "ward", ["a"] * 20),
    }
    plan = {"quasi_identifiers": {"age": h.intervals(10), "ward": h.suppression()}, "models": KAnonymity(2)}
    with refused(InputError, "'0' and '0 '", "in blanks"):
        veil.anonymize(given, person="patient_id", **plan)
    assert veil.anonymize(given, person="patient_id=folded", **plan).verification.holds


def test_the_number_of_a_person_can_be_masked() -> None:
    release = veil.anonymize(tables(), **plan(identifying={"name": "remove", "patient_id": "mask"}))
    assert {cell for each in release.tables.values() for cell in each["patient_id"].to_pylist()} == {"*"}
    assert release.verification.holds


@pytest.mark.parametrize("suppressed", ["blank", "drop"])
def test_all_rows_together_are_in_a_random_order_too_and_reports_say_so(
    suppressed: str, tmp_path: Path
) -> None:
    """What is not written as tables, such as `arrow` and reports, is about what leaves, and shows no order either."""
    given = tables(people=80)
    release = veil.anonymize(given, **plan(suppressed_rows=suppressed))
    back = dict(
        zip(*(release.apart["pseudonyms"][each].to_pylist() for each in ("pseudonym", "value")), strict=True)
    )
    together = release.arrow.filter(pa.compute.equal(release.arrow["table"], "patients"))
    shown = [int(back[each]) for each in together["patient_id"].to_pylist() if each in back]
    assert shown != sorted(shown)
    left = [int(back[each]) for each in release.tables["patients"]["patient_id"].to_pylist() if each in back]
    assert left == shown
    text = release.report(tmp_path / "report.html").read_text()
    assert "order of the input" not in text
    assert "row order" not in text


def test_another_transformation_is_of_the_same_tables() -> None:
    given = tables()
    release = veil.anonymize(given, **plan())
    other = release.search.apply({"age": 3, "sex": 1, "ward": 1, "drug": 1})
    assert {name: each.num_rows for name, each in other.tables.items()} == {
        name: each.num_rows for name, each in given.items()
    }
    assert min(joined({name: each.to_pylist() for name, each in other.tables.items()}).values()) >= 3


def test_names_and_sizes_of_tables_are_checked() -> None:
    given = tables()
    with pytest.raises(InputError, match="no tables"):
        veil.anonymize({}, **plan())
    with refused(InputError, "1 is", "table name"):
        veil.anonymize({1: given["patients"], "1": given["visits"], "drugs": given["drugs"]}, **plan())
    with refused(InputError, "'drugs'", "no rows"):
        veil.anonymize(given | {"drugs": given["drugs"].slice(0, 0)}, **plan())
    for name in ("table", "table_", "table__", "table___", "veil_table"):
        given["patients"] = given["patients"].append_column(name, given["patients"]["sex"])
    assert veil.anonymize(given, **plan(others="drop")).verification.holds


def test_what_turns_pseudonyms_back_is_not_lost_nor_asked_for_in_vain(tmp_path: Path) -> None:
    release = veil.anonymize(tables(), **plan())
    with refused(OutputError, "not a folder"):
        release.save(tmp_path / "out", apart=tmp_path / "out")
    without = veil.anonymize(tables(), **plan(identifying={"name": "remove", "patient_id": "remove"}))
    with refused(OutputError, "no pseudonyms"):
        without.save(tmp_path / "out", apart=tmp_path)
    for target in (None, Path("postgresql://ann:secret@host/base")):
        with refused(OutputError, "several tables", "folder", "database") as caught:
            release.save(target)
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_advice_tries_other_plans_on_all_tables_together() -> None:
    """A smaller k is what another plan promises of the tables, and is what these are checked for."""
    found = veil.anonymize(tables(), **plan()).advice(time_limit=20, progress=False)
    assert any("KAnonymity(k=2)" in str(each) for each in found.to_dict()["alternatives"])
