"""Masks, a search and local recoding in one release, and what of it is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil import DistinctLDiversity, KAnonymity, Plan, SafePub
from veil import hierarchies as h
from veil.errors import PlanError, VerificationError
from veil.masking import (
    MDAV,
    PRAM,
    Anatomy,
    RandomPseudonyms,
    RandomSampling,
    RankSwapping,
    Rounding,
)
from veil.outcome.result import Origins
from veil.recoding import FastIterative
from veil.verification.outcome import verified

ROWS = 60


def patients(seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"person {number}" for number in range(ROWS)],
            "age": draw.integers(20, 60, ROWS),
            "zip": [f"0{each:04d}" for each in draw.integers(2100, 2130, ROWS)],
            "income": draw.integers(1000, 5000, ROWS),
            "illness": [("flu", "gout", "cold")[each] for each in draw.integers(0, 3, ROWS)],
        }
    )


def plan(**changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20), "zip": h.redaction()},
        "models": [KAnonymity(4), DistinctLDiversity("illness", 2)],
        "sensitive": ["illness"],
        "others": "keep",
        "suppression_limit": 0.4,
        "person": None,
    }
    return Plan(**(fields | changes))


STEPS = [RandomPseudonyms("name"), RandomSampling(size=50), Rounding("income", 500)]


def test_masks_a_search_and_local_recoding_in_one_release(tmp_path: Path) -> None:
    table = patients()
    made = veil.release(
        table, [*STEPS, plan(quality=veil.quality.Loss(factor=0), recoding=FastIterative(0.05))]
    )
    assert [type(each.step).__name__ for each in made.outcome.steps] == [
        "RandomPseudonyms",
        "RandomSampling",
        "Rounding",
        "Plan",
    ]
    assert [type(each.method).__name__ for each in made.steps] == [
        "RandomPseudonyms",
        "RandomSampling",
        "Rounding",
    ]
    assert made.passes
    assert made.secret == {"pseudonyms"}
    # Every row is that of its origin in the raw input, through all steps.
    rows = made.origins["input row"].to_pylist()
    assert len(set(rows)) == made.table.num_rows == 50
    names = dict(
        zip(
            made.apart["pseudonyms"]["pseudonym"].to_pylist(),
            made.apart["pseudonyms"]["value"].to_pylist(),
            strict=True,
        )
    )
    for row, origin in zip(made.table.to_pylist(), rows, strict=True):
        if row["illness"] != "*":
            before = {name: table[name][origin].as_py() for name in table.column_names}
            assert names[row["name"]] == before["name"]
            assert row["illness"] == before["illness"]
            assert row["income"] == 500 * round(before["income"] / 500) or before["income"] % 500 == 250
    assert set(made.beside(3).column_names) >= {"name before", "name after", "income before", "income after"}
    # What a recipient gets: the file, checked by its certificate; what the holder keeps: report and key.
    out, kept = tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    kept.mkdir()
    made.save(out / "release.csv", apart=kept, origins=kept / "key.csv")
    certificate = made.certificate(out / "certificate.json")
    assert veil.verify(out / "release.csv", certificate=certificate).holds
    promised = [each["promise"] for each in json.loads(certificate.read_text())["found"]]
    assert promised == ["4-anonymity", "distinct 2-diversity of 'illness'"]
    assert "Rounding" in made.report(kept / "report.html").read_text()


@given(st.integers(0, 10**6), st.integers(2, 5))
@settings(max_examples=20, deadline=None)
def test_the_promises_of_the_plan_hold_for_what_leaves(seed: int, k: int) -> None:
    """Counted anew, by a slow and obvious twin."""
    made = veil.release(
        patients(seed), [RankSwapping("age", p=20), plan(models=[KAnonymity(k)], suppression_limit=1.0)]
    )
    classes: dict[tuple[Any, ...], int] = {}
    for row in made.table.to_pylist():
        if any(value not in ("*", None) for value in row.values()):
            known = row["age"], row["zip"]
            classes[known] = classes.get(known, 0) + 1
    assert all(size >= k for size in classes.values())


def test_what_breaks_a_promise_is_found() -> None:
    made = veil.release(patients(), [*STEPS, plan()], order="input")
    outcome, table = made.outcome, made.outcome.table
    assert {each.promise.partition(":")[0] for each in made.verification.findings} >= {
        "after step 1, RandomPseudonyms",
        "after step 3, Rounding",
    }
    for name, value in (("age", "[90, 100["), ("zip", "99999"), ("illness", "plague"), ("income", 1234)):
        cells = table[name].to_pylist()
        shown = next(row for row, cell in enumerate(table["illness"].to_pylist()) if cell != "*")
        cells[shown] = value
        column = pa.array(cells, table[name].type)
        changed = table.set_column(table.column_names.index(name), name, column)
        with refused(VerificationError):
            verified(outcome.changed(table=changed))
    twice = outcome.origins.copy()
    twice[0] = twice[1]
    with refused(VerificationError):
        verified(outcome.changed(origins=Origins(twice.size, twice)))
    masks = outcome.source.masks
    broken = dataclasses.replace(masks.verification.findings[0], holds=False)
    lying = dataclasses.replace(
        masks, verification=dataclasses.replace(masks.verification, findings=(broken,))
    )
    with refused(VerificationError):
        verified(dataclasses.replace(outcome, source=dataclasses.replace(outcome.source, masks=lying)))


def test_other_transformations_keep_the_masks() -> None:
    made = veil.release(patients(), [*STEPS, plan()])
    other = made.search.apply({"age": 2, "zip": 5})
    recoded = made.local_recoding()
    for each in (other, recoded):
        assert len(each.outcome.steps) == 4
        assert each.table.num_rows == 50
        assert set(each.origins["input row"].to_pylist()) == set(made.origins["input row"].to_pylist())


def test_people_are_counted_through_masks() -> None:
    visits = patients().append_column("patient", pa.array([number // 3 for number in range(ROWS)]))
    made = veil.release(
        visits,
        [Rounding("income", 500), plan(person="patient", models=[KAnonymity(3)], suppression_limit=0.9)],
    )
    assert made.people == 20
    assert "patient" not in made.table.column_names
    assert any("counting people" in each.promise for each in made.verification.findings)
    with refused(PlanError, "'patient'"):
        veil.release(visits, [RandomPseudonyms("patient"), plan(person="patient")])


def test_one_kind_of_step_is_that_verb() -> None:
    alone = veil.release(patients(), Rounding("income", 500), order="input")
    assert alone.table.equals(veil.mask(patients(), Rounding("income", 500), order="input").table)
    searched = veil.release(patients(), plan(order="input"))
    assert searched.table.equals(veil.anonymize(patients(), plan(order="input")).table)


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ([plan(), Rounding("income", 500)], "to the front"),
        ([plan(), plan()], "one plan"),
        ([FastIterative()], "a masking method or a Plan"),
        ([PRAM("illness", 0.1), plan()], "'illness'"),
        ([Rounding("income", 500), plan(models=[SafePub(1, 1e-4)], sensitive=[])], "SafePub"),
        (
            [Anatomy("illness", 2), plan(models=[KAnonymity(2)], sensitive=[], others="drop")],
            "leave masks out",
        ),
        (["rounding"], "'rounding'"),
    ],
)
def test_steps_that_would_promise_too_much_are_refused(steps: Any, named: str) -> None:
    with refused(PlanError, named):
        veil.release(patients(), steps)


def test_a_method_with_a_promise_keeps_it_after_its_own_step_only() -> None:
    made = veil.release(patients(), [MDAV(["income"], 3), plan()])
    ours = [each.promise for each in made.verification.findings if "3-anonymity" in each.promise]
    assert all(each.startswith("after step 1, MDAV") for each in ours)


def test_what_masks_make_has_one_form_before_a_search(tmp_path: Path) -> None:
    """Rounding makes -0.0 of small negative numbers: beside 0.0 it would reveal a sign."""
    table = patients().set_column(3, "income", pa.array([-20.0, 20.0] * (ROWS // 2)))
    steps = [Rounding("income", 500), plan(models=KAnonymity(4))]
    release = veil.release(table, steps)
    release.save(tmp_path / "release.csv")
    release.certificate(tmp_path / "certificate.json")
    assert {str(each) for each in release.table["income"].to_pylist()} <= {"0.0", "None"}
    assert veil.verify(tmp_path / "release.csv", certificate=tmp_path / "certificate.json").broken == ()


def test_the_recipe_in_the_report_has_all_steps_in_their_order(tmp_path: Path) -> None:
    release = veil.release(patients(), [Rounding("income", 500), plan(recoding=FastIterative(0.05))])
    release.report(tmp_path / "report.json")
    facts = json.loads((tmp_path / "report.json").read_text())
    assert [step["kind"] for step in facts["recipe"]["steps"]] == ["Rounding", "Generalize"]
    assert facts["recipe"]["steps"][1]["recoding"] == {"kind": "FastIterative", "share": 0.05}
    (rounding,) = facts["asked"]["steps"]
    assert "ending" not in rounding["facts"]  # which is of local recoding
    treatments = {each["column"]: each["treatment"] for each in facts["done"]["columns"]}
    assert treatments["income"] == "changed by Rounding"
    assert "masking methods left it" in facts["utility"]["note"]
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    # The plan is what was asked for, and what defends; the masks stand beside it.
    for sentence in ("veil run recipe.yaml", "Against whom", "Masking methods came first: Rounding."):
        assert sentence in page
    assert "make it harder" not in page
