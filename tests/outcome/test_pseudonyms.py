"""Pseudonyms of people in the same run: judged by what is handed over, a frame or a file, and the key alone."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.recipes import generalize
from support.refusals import refused
from veil import KAnonymity, Plan, masking
from veil import hierarchies as h
from veil.errors import PlanError
from veil.outcome.result import Origins
from veil.recipe import Recipe
from veil.recoding import FastIterative
from veil.verification.release import verify_links


def _visits(people: int = 30, seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(people), rng.integers(1, 4, people))
    rows = rows[rng.permutation(rows.size)]
    age = rng.integers(20, 60, people)
    return pa.table(
        {
            "patient": [f"P{i:04}" for i in rows],
            "age": age[rows],
            "ward": rng.choice(["a", "b"], rows.size),
            "note": rng.integers(0, 9, rows.size),
        }
    )


def _anonymize(table: Any, **more: Any) -> veil.Release:
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 40), "ward": h.suppression()},
        "insensitive": ["note"],
        "models": KAnonymity(2),
        "person": "patient",
        "knows": "all rows",
        "identifying": {"patient": "pseudonym"},
        "suppression_limit": 0.5,
    }
    return veil.anonymize(table, **{**plan, **more})


def _sets(rows: list[dict[str, Any]]) -> Counter[tuple[tuple[Any, ...], ...]]:
    """How many people have each collection of published rows, by the pseudonyms alone."""
    of: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        if row["patient"] not in (None, "*"):
            of.setdefault(row["patient"], []).append((row["age"], row["ward"]))
    return Counter(tuple(sorted(each, key=str)) for each in of.values())


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["blank", "drop"]))
def test_nobodys_linked_rows_are_shared_by_fewer_than_k_people(seed: int, suppressed: str) -> None:
    made = _anonymize(_visits(20, seed), suppressed_rows=suppressed)
    assert all(people >= 2 for people in _sets(made.table.to_pylist()).values())


def test_rows_of_a_person_have_one_pseudonym_and_the_key_turns_it_back() -> None:
    table = _visits()
    made = _anonymize(table, order="input")
    key = dict(
        zip(*(made.apart["pseudonyms"][name].to_pylist() for name in ("pseudonym", "value")), strict=True)
    )
    for before, after in zip(table["patient"].to_pylist(), made.table["patient"].to_pylist(), strict=True):
        assert after == "*" or key[after] == before
    assert made.suppressed > 0
    assert set(key) == set(made.table["patient"].to_pylist()) - {"*"}, "the key knows released people only"
    assert made.secret == {"pseudonyms"}


def test_pseudonyms_are_drawn_anew_and_tell_nothing_of_values_or_order() -> None:
    table = _visits(40)
    ranks = []
    for _ in range(30):
        made = _anonymize(table, models=KAnonymity(1))
        key = made.apart["pseudonyms"]
        by_value = [
            p for _, p in sorted(zip(*(key[n].to_pylist() for n in ("value", "pseudonym")), strict=True))
        ]
        ranks.append(np.argsort(np.argsort(by_value)))
    assert len({tuple(each) for each in ranks}) == 30
    # Every place is as likely for everybody: the mean of 30 ranks of 40 has a standard deviation of 2.1.
    assert np.abs(np.mean(ranks, axis=0) - 19.5).max() < 6 * 11.6 / 30**0.5


def test_frames_of_any_kind_get_pseudonyms_and_nothing_of_the_numbers() -> None:
    frame = _visits().to_pandas()
    frame["patient"] = frame["patient"].astype("category")
    made = _anonymize(frame).table
    assert isinstance(made, pd.DataFrame)
    assert not made["patient"].astype(str).str.startswith("P").any()
    assert made["patient"].str.fullmatch(r"[0-9a-f]{16}|\*").all()


@pytest.mark.parametrize("suppressed", ["keep cells", "blank"])
def test_suppressed_people_get_no_pseudonym(suppressed: str) -> None:
    made = _anonymize(_visits(), suppressed_rows=suppressed, order="input")
    hidden = made.outcome.suppressed_mask
    assert hidden.any()
    shown = np.array([each != "*" for each in made.table["patient"].to_pylist()])
    assert np.array_equal(shown, ~hidden)


def test_local_recoding_gives_one_pseudonym_across_parts() -> None:
    table = _visits(60)
    made = _anonymize(table, order="input", recoding=FastIterative())
    pairs = {
        pair
        for pair in zip(table["patient"].to_pylist(), made.table["patient"].to_pylist(), strict=True)
        if pair[1] != "*"
    }
    assert len(pairs) == len({p for p, _ in pairs}) == len({q for _, q in pairs})
    assert all(people >= 2 for people in _sets(made.table.to_pylist()).values())


def test_files_hold_the_release_and_the_key_stays_apart(tmp_path: Path) -> None:
    public, kept = tmp_path / "public", tmp_path / "kept"
    public.mkdir()
    kept.mkdir()
    made = _anonymize(_visits())
    made.save(public / "release.csv", apart=kept)
    with (public / "release.csv").open() as file:
        assert all(people >= 2 for people in _sets(list(csv.DictReader(file))).values())
    assert "P0" not in (public / "release.csv").read_text()
    assert "P0" in (kept / "pseudonyms.csv").read_text()
    made.save(public / "alone.csv")
    assert sorted(each.name for each in public.iterdir()) == ["alone.csv", "release.csv"]


def test_recipes_make_pseudonyms_and_throw_the_key_away_unless_told(tmp_path: Path) -> None:
    pd.DataFrame(_visits().to_pydict()).to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "recipe.yaml").write_text(
        generalize(
            "input: visits.csv\noutput: public/out.csv\nquasi_identifiers: {age: {kind: intervals, widths: [10, 40]}}\n"
            "identifying: {patient: pseudonym}\nperson: patient\nknows: all rows\nothers: drop\n"
            "models: [{kind: KAnonymity, k: 2}]\noverwrite: true\n"
        )
    )
    (tmp_path / "public").mkdir()
    veil.run(tmp_path / "recipe.yaml")
    assert "P0" not in (tmp_path / "public" / "out.csv").read_text()
    assert len(list(tmp_path.iterdir())) == 3
    (tmp_path / "kept").mkdir()
    veil.run(tmp_path / "recipe.yaml", apart=tmp_path / "kept")
    assert (tmp_path / "kept" / "pseudonyms.csv").exists()
    spelled = Recipe.of(Recipe.read(tmp_path / "recipe.yaml").plan()).spell(tmp_path)
    assert spelled["steps"][0]["identifying"] == {"patient": "pseudonym"}


def test_certificates_know_pseudonyms(tmp_path: Path) -> None:
    made = _anonymize(_visits())
    made.certificate(tmp_path / "c.json")
    found = veil.verify(made.table, certificate=tmp_path / "c.json")
    assert found.verification.holds if hasattr(found, "verification") else found.holds


def test_the_verifier_sees_pseudonyms_that_are_none_or_shared() -> None:
    table = pa.table({"patient": ["a", "a", "b"], "age": [1, 1, 1]})
    plan = veil.Plan(
        {"age": h.suppression()},
        KAnonymity(1),
        person="patient",
        knows="all rows",
        identifying={"patient": "pseudonym"},
    )
    nobody = np.zeros(3, np.bool_)

    def holds(*values: str) -> bool:
        made = pa.table({"patient": list(values), "age": [1, 1, 1]})
        return all(each.holds for each in verify_links(table, made, plan, Origins(3), nobody))

    one, two, three = "0" * 16, "1" * 16, "2" * 16
    assert holds(one, one, two)
    assert not holds(one, two, three)
    assert not holds(one, one, one)
    assert not holds(one, one, "*")
    assert not holds("*", "*", one)


def test_what_would_link_rows_unseen_is_refused() -> None:
    with pytest.raises(PlanError, match='knows="all rows"'):
        _anonymize(_visits(), knows="one row")
    with pytest.raises(PlanError, match='person="patient"'):
        _anonymize(_visits(), person=None, knows="one row")


def test_keyed_pseudonyms_are_those_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same person has the same one in every release, on an engine and in masks; nobody finds it without the key."""
    import ibis

    key = "9f2c71e05ad84b36c1f7a40d2e8b95630b1d5e6a7c8f92a3b4c5d6e7f8091a2b"
    (tmp_path / "veil.key").write_text(key, encoding="ascii")
    monkeypatch.setenv("VEIL_TEST_KEY", key)
    table = pa.table({"patient": [7, 7, 8, 8], "age": [30, 30, 31, 31]})
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10)},
        "models": KAnonymity(2),
        "person": "patient",
        "knows": "all rows",
        "identifying": {"patient": "pseudonym"},
    }
    masked = veil.mask(table, masking.KeyedPseudonyms("patient", key=key, length=16)).table
    expected = sorted(masked["patient"].to_pylist())
    held = ibis.duckdb.connect().create_table("visits", table)
    for source, where in (
        (table, str(tmp_path / "veil.key")),
        (table, "env:VEIL_TEST_KEY"),
        (held, "env:VEIL_TEST_KEY"),
    ):
        release = veil.anonymize(source, **plan, pseudonym_key=where)
        frame = release.table if source is table else release.table.to_pyarrow()
        assert sorted(frame["patient"].to_pylist()) == expected
        assert key not in str(release.plan) + str(Recipe.of(release.plan).spell())
    other = veil.anonymize(table, **plan)
    assert set(other.table["patient"].to_pylist()).isdisjoint(expected)


def test_a_recipe_finds_its_key(tmp_path: Path) -> None:
    (tmp_path / "veil.key").write_text(
        "9f2c71e05ad84b36c1f7a40d2e8b95630b1d5e6a7c8f92a3b4c5d6e7f8091a2b", encoding="ascii"
    )
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        generalize(
            "quasi_identifiers: {age: {kind: intervals, widths: [10]}}\nmodels: [{kind: KAnonymity, k: 2}]\nperson: patient\n"
            "knows: all rows\nidentifying: {patient: pseudonym}\npseudonym_key: veil.key\n"
        ),
        encoding="utf-8",
    )
    read = Recipe.read(recipe)
    assert read.plan().pseudonym_key == str(tmp_path / "veil.key")
    (tmp_path / "elsewhere").mkdir()
    read.save(tmp_path / "elsewhere" / "recipe.yaml")
    again = Recipe.read(tmp_path / "elsewhere" / "recipe.yaml").plan().pseudonym_key
    assert again is not None
    assert (
        Path(again).read_text(encoding="ascii")
        == "9f2c71e05ad84b36c1f7a40d2e8b95630b1d5e6a7c8f92a3b4c5d6e7f8091a2b"
    )


def test_a_key_without_pseudonyms_is_refused() -> None:
    with refused(PlanError, "no column"):
        Plan({"age": h.intervals(10)}, KAnonymity(2), pseudonym_key="veil.key")
    with refused(PlanError, "no such key"):
        veil.anonymize(
            pa.table({"patient": [1, 1, 2], "age": [30, 30, 30]}),
            quasi_identifiers={"age": h.intervals(10)},
            models=KAnonymity(1),
            person="patient",
            knows="all rows",
            identifying={"patient": "pseudonym"},
            pseudonym_key="nowhere.key",
        )
