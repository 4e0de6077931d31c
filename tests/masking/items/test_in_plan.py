"""Items in a plan: (k, k^m)-anonymity in one call, attacked on what a person receives."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support import items as twin
from support.cli import veil as run_cli
from support.recipes import generalize
from support.refusals import refused
from veil import KAnonymity, SafePub
from veil import hierarchies as h
from veil.errors import PlanError, VerificationError
from veil.masking import ItemGeneralization
from veil.models import DistinctLDiversity, KMAnonymity

OFTEN = (int(os.environ.get("VEIL_FUZZ", "0")) and 500) or 15

NAMES = [f"i{i}" for i in range(12)]
TREE = h.Hierarchy.from_rows([[name, f"g{i // 4}", "any"] for i, name in enumerate(NAMES)])


def patients(number: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    drugs = [
        sorted({NAMES[min(11, i)] for i in rng.geometric(0.3, rng.integers(0, 4))}) for _ in range(number)
    ]
    return pa.table(
        {"age": rng.integers(20, 60, number), "sex": rng.choice(["f", "m"], number), "drugs": drugs}
    )


def plan(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20, 40), "sex": h.suppression()},
        "sensitive": ["drugs"],
        "items": {"drugs": TREE},
        "models": [KAnonymity(3), KMAnonymity("drugs", 3, 2)],
        "suppression_limit": 0.2,
    }
    return {**made, **changes}


def attacked(rows: list[dict[str, Any]], m: int = 2) -> int:
    """How few records are left to an attacker who knows the quasi-identifiers and up to m items of one of them."""
    classes: dict[Any, list[frozenset[str]]] = defaultdict(list)
    for row in rows:
        if any(row[name] not in (None, "*") for name in ("age", "sex", "drugs")):
            classes[row["age"], row["sex"]].append(frozenset(row["drugs"] or ()))
    return min(twin.rarest(each, m) for each in classes.values())


@twin.examples(OFTEN)
@given(st.integers(0, 10**6), st.integers(12, 60), st.sampled_from(["blank", "drop"]), st.booleans())
def test_nobody_is_among_fewer_than_k_by_class_and_items(
    seed: int, number: int, suppressed: str, grouped: bool
) -> None:
    items = {"drugs": TREE if grouped else None}
    release = veil.anonymize(patients(number, seed), **plan(items=items, suppressed_rows=suppressed))
    assert attacked(release.table.to_pylist()) >= 3


def test_one_call_gives_no_less_than_two() -> None:
    """The classes are those of the quasi-identifiers alone, and the items are generalized within them."""
    table = patients(200)
    once = veil.anonymize(table, **plan(order="input"))
    without = veil.anonymize(table, **plan(order="input", items={}, models=KAnonymity(3)))
    step = ItemGeneralization("drugs", 3, 2, TREE, within=("age", "sex"))
    twice = veil.mask(without, step, order="input")
    assert once.transformation == without.transformation
    assert once.table.to_pylist() == twice.table.to_pylist()
    assert [each.promise for each in once.verification.findings[:2]] == [
        "3-anonymity",
        "3^2-anonymity of 'drugs'",
    ]


@pytest.mark.parametrize("form", ["lists", "text", "numbers"])
def test_sets_in_any_form(form: str, tmp_path: Path) -> None:
    table, chosen = patients(120, 3), plan()
    if form == "text":
        texts = [",".join(each) for each in table["drugs"].to_pylist()]
        table = table.set_column(2, "drugs", pa.array(texts))
    if form == "numbers":
        numbers = [[NAMES.index(item) for item in each] for each in table["drugs"].to_pylist()]
        table = table.set_column(2, "drugs", pa.array(numbers, pa.list_(pa.int64())))
        chosen["items"] = {"drugs": h.intervals(4, 12)}
    release = veil.anonymize(table, **chosen)
    path = tmp_path / ("release.csv" if form == "text" else "release.parquet")
    release.save(path)
    rows = (veil.tables.read(path).table if form == "text" else pq.read_table(path)).to_pylist()
    if form == "text":
        rows = [{**row, "drugs": None if row["drugs"] == "*" else [x for x in (row["drugs"] or "").split(",") if x]}
                for row in rows]  # fmt: skip
    assert attacked(rows) >= 3
    certificate = release.certificate(tmp_path / "certificate.json")
    assert veil.verify(path, certificate=certificate).holds


SECRET = "the only one"


def with_a_loner() -> pa.Table:
    """Somebody whose quasi-identifiers nobody shares, and who alone has an item."""
    table = patients(40, 7).slice(0, 39)
    alone = pa.table({"age": [95], "sex": ["m"], "drugs": [[SECRET, "i0"]]})
    return pa.concat_tables([table, alone.cast(table.schema)])


def bytes_of(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


def test_items_of_suppressed_records_never_leave(tmp_path: Path) -> None:
    """Neither in the frame, nor in the file, nor in its dictionary pages, nor in the report."""
    names = [*NAMES, SECRET]
    tree = h.Hierarchy.from_rows([[name, "any"] for name in names])
    chosen = plan(
        quasi_identifiers={"age": h.intervals(20, 40), "sex": h.suppression()}, items={"drugs": tree}
    )
    release = veil.anonymize(with_a_loner(), **chosen)
    assert release.suppressed >= 1
    assert SECRET not in str(release.table.to_pylist())
    (tmp_path / "out").mkdir()
    release.save(tmp_path / "out" / "release.parquet")
    release.report(tmp_path / "out" / "report.html")
    release.report(tmp_path / "out" / "report.json")
    release.certificate(tmp_path / "out" / "certificate.json")
    assert SECRET.encode() not in bytes_of(tmp_path / "out")


def test_items_of_suppressed_people_in_long_format_never_leave(tmp_path: Path) -> None:
    """One row an item: people are suppressed by the plan, and their rows are nobody's for the items."""
    wide = with_a_loner().to_pylist()
    long = pa.table(
        {
            "patient": [i for i, row in enumerate(wide) for _ in row["drugs"]],
            "age": [row["age"] for row in wide for _ in row["drugs"]],
            "sex": [row["sex"] for row in wide for _ in row["drugs"]],
            "drugs": [item for row in wide for item in row["drugs"]],
        }
    )
    release = veil.anonymize(
        long,
        person="patient",
        knows="all rows",
        identifying={"patient": "pseudonym"},
        quasi_identifiers={"age": h.intervals(20, 40), "sex": h.suppression()},
        insensitive=["drugs"],
        models=KAnonymity(3),
        suppression_limit=0.3,
    )
    assert release.suppressed > 0
    step = ItemGeneralization("drugs", 3, 2, within=("age", "sex"), person="patient")
    made = veil.mask(release, step)
    people: dict[int, dict[str, Any]] = {}
    for row in made.table.to_pylist():
        one = people.setdefault(row["patient"], {"age": row["age"], "sex": row["sex"], "drugs": set()})
        one["drugs"] |= {row["drugs"]} - {None}
    assert attacked(list(people.values())) >= 3
    assert len(people) == release.people - release.people_suppressed
    made.save(tmp_path / "release.parquet")
    assert SECRET.encode() not in bytes_of(tmp_path)


def test_what_was_not_generalized_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.api.anonymize.with_items", lambda outcome: outcome)
    with refused(VerificationError, "3^2-anonymity", "'drugs'"):
        veil.anonymize(patients(60), **plan())


def test_an_item_that_somebody_never_had_is_caught() -> None:
    from veil.verification.items import verify_items

    before = pa.chunked_array([[["i0", "i1"], ["i2"], ["i3"]]])
    asked = veil.Plan({"age": "suppression"}, **{k: v for k, v in plan().items() if k != "quasi_identifiers"})
    nobody = np.array([False, False, True])
    for after, holds in (
        ([["g0"], ["i2"], None], True),
        ([["i0"], [], None], True),
        ([["i0", "i2"], ["i2"], None], False),
        ([["g0"], ["g1"], None], False),
        ([["g0"], ["g0"], ["g0"]], False),
    ):
        found = verify_items(before, pa.chunked_array([after], before.type), "drugs", asked, nobody)
        assert found.holds == holds, after


def test_other_transformations_and_local_recoding_generalize_items_too() -> None:
    release = veil.anonymize(patients(150, 2), **plan(models=[KAnonymity(4), KMAnonymity("drugs", 4, 2)]))
    other = release.search.apply({"age": 3, "sex": 1})
    assert attacked(other.table.to_pylist()) >= 4
    many = veil.anonymize(
        patients(150, 2), **plan(quality=veil.quality.Loss(factor=0), suppression_limit=0.6)
    )
    recoded = many.local_recoding(veil.recoding.FastIterative(0.05))
    assert recoded.suppressed < many.suppressed
    assert attacked(recoded.table.to_pylist()) >= 3


def in_rows(table: pa.Table) -> pa.Table:
    """One row for each item of a person, and one without an item for whoever has none."""
    rows = [(at, row, item) for at, row in enumerate(table.to_pylist()) for item in row["drugs"] or [None]]
    return pa.table(
        {
            "patient": [f"P{at}" for at, _, _ in rows],
            "age": [row["age"] for _, row, _ in rows],
            "sex": [row["sex"] for _, row, _ in rows],
            "drugs": pa.array([item for _, _, item in rows], pa.string()),
        }
    )


def as_lists(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read sets that are text with a separator."""
    return [
        {**row, "drugs": None if row["drugs"] in (None, "*") else [x for x in row["drugs"].split(",") if x]}
        for row in rows
    ]


@twin.examples(OFTEN)
@given(st.integers(0, 10**6), st.integers(12, 60), st.sampled_from(["blank", "drop"]))
def test_one_row_for_each_item_is_the_same_as_a_set_for_each_person(
    seed: int, number: int, suppressed: str
) -> None:
    sets = patients(number, seed)
    asked = plan(suppressed_rows=suppressed)
    made = veil.anonymize(in_rows(sets), **asked, person="patient")
    rows = as_lists(made.table.to_pylist())
    assert attacked(rows) >= 3
    assert "patient" not in rows[0]
    wide = veil.anonymize(sets, **asked)
    assert made.transformation == wide.transformation
    spelled = [
        sorted(str({**row, "drugs": sorted(row["drugs"] or [])}) for row in each)
        for each in (rows, wide.table.to_pylist())
    ]
    assert spelled[0] == spelled[1]


def test_people_with_items_keep_pseudonyms_and_have_no_key() -> None:
    asked = plan(person="patient", knows="all rows", identifying={"patient": "pseudonym"})
    made = veil.anonymize(in_rows(patients(60)), **asked)
    shown = [row["patient"] for row in made.table.to_pylist() if row["patient"] != "*"]
    assert len(set(shown)) == len(shown) > 50
    with refused(PlanError, "merged"):
        _ = made.origins


def test_several_tables_have_no_items() -> None:
    long = in_rows(patients(60))
    tables = {"people": long.select(["patient", "age"]), "drugs": long.select(["patient", "sex", "drugs"])}
    with refused(PlanError, "one table", "all items"):
        veil.anonymize(tables, **plan(person="patient"))


def test_tables_of_an_engine_are_read_into_memory() -> None:
    held = ibis.memtable(patients(60))
    release = veil.anonymize(held, **plan())
    assert attacked(release.table.to_pylist()) >= 3


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("target", ["out/", "out.parquet", "duckdb://{}/out.db#release"])
def test_a_recipe_takes_items_from_a_database_to_wherever_engines_write(
    tmp_path: Path, target: str, person: bool
) -> None:
    table = in_rows(patients(60)) if person else patients(60)
    ibis.duckdb.connect(tmp_path / "in.db").create_table("patients", table)
    TREE.save(tmp_path / "drugs.csv")
    output = target.format(tmp_path)
    (tmp_path / "recipe.yaml").write_text(
        generalize(
            f"input: 'duckdb://{tmp_path}/in.db#patients'\n"
            f"output: {output}\nreport: report.html\nsensitive: drugs\nitems: {{drugs: drugs.csv}}\n"
            "quasi_identifiers: {age: {kind: intervals, widths: [10, 20, 40]}, sex: suppression}\n"
            "models: [{kind: KAnonymity, k: 3}, {kind: KMAnonymity, attribute: drugs, k: 3, m: 2}]\n"
            f"suppression_limit: 0.2\nperson: {'patient' if person else 'null'}\n"
        )
    )
    veil.run(tmp_path / "recipe.yaml")
    if "#" in output:
        rows = ibis.duckdb.connect(tmp_path / "out.db").table("release").to_pyarrow().to_pylist()
    else:
        rows = pq.read_table(tmp_path / output).to_pylist()
    assert len(rows) == 60
    assert attacked(as_lists(rows) if person else rows) >= 3
    assert (tmp_path / "report.html").exists()


def test_recipe_and_command_line_say_the_same(tmp_path: Path) -> None:
    table = patients(100, 4)
    texts = [",".join(each) for each in table["drugs"].to_pylist()]
    veil.tables.write(table.set_column(2, "drugs", pa.array(texts)), tmp_path / "patients.csv")
    TREE.save(tmp_path / "drugs.csv")
    (tmp_path / "recipe.yaml").write_text(
        generalize(
            "input: patients.csv\noutput: release.csv\nsensitive: drugs\nitems: {drugs: drugs.csv}\norder: input\n"
            "quasi_identifiers: {age: {kind: intervals, widths: [10, 20, 40]}, sex: suppression}\n"
            "models: [{kind: KAnonymity, k: 3}, {kind: KMAnonymity, attribute: drugs, k: 3, m: 2}]\n"
            "suppression_limit: 0.2\n"
        )
    )
    veil.run(tmp_path / "recipe.yaml", save_recipe=tmp_path / "again.yaml")
    again = veil.run(tmp_path / "again.yaml", output=tmp_path / "again.csv")
    assert len(again.plan.items) == 1
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "release.csv").read_text()
    ran = run_cli(
        "anonymize", str(tmp_path / "patients.csv"), "-o", str(tmp_path / "other.csv"), "--qi", "age=intervals:10,20,40",
        "--qi", "sex=suppression", "--sensitive", "drugs", "--items", f"drugs={tmp_path / 'drugs.csv'}",
        "--model", "k-anonymity:3", "--model", "km-anonymity:drugs,3,2", "--suppression-limit", "0.2", "--order", "input",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert (tmp_path / "other.csv").read_text() == (tmp_path / "release.csv").read_text()


@pytest.mark.parametrize(
    ("match", "changes"),
    [
        ("add the column to `?sensitive`?", {"models": KAnonymity(3)}),
        ("refers to whole sets", {"models": [KMAnonymity("drugs", 3, 2), DistinctLDiversity("drugs", 2)]}),
        (
            "'age' differs between rows of the same 'sex'",
            {"person": "sex", "quasi_identifiers": {"age": h.intervals(10)}},
        ),
        ("items of suppressed records are not published", {"suppressed_rows": "keep cells"}),
        ("should map each column of items", {"items": "drugs"}),
        ("depends on all of them", {"choose_by": "quasi-identifiers", "suppression_limit": 0}),
        (
            "Only KAnonymity can be combined with it",
            {"models": [SafePub(1, 1e-3), KMAnonymity("drugs", 3, 2)], "person": None},
        ),
        ("items are generalized in memory", {"parts": True}),
    ],
)
def test_what_does_not_go_together_is_refused(match: str, changes: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=match):
        veil.anonymize(patients(60), **plan(**changes))
