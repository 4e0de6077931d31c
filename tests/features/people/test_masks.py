"""Masks of tables in which people have several rows, judged by what is delivered: by an oracle that reads the frame."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support import oracle
from support.longitudinal import draw_table, owners
from support.oracle.people import Longitudinal, breaches
from support.refusals import refused
from veil import DistinctLDiversity, EntropyLDiversity, KAnonymity, TCloseness, masking
from veil import hierarchies as h
from veil.errors import ImpossibleError, InputError, NoSolutionError, PlanError, Say
from veil.masking import Method
from veil.recipe import Recipe
from veil.tables.rows import Owners, Rows

MANY = int(os.environ.get("VEIL_FUZZ", "0")) or 60

Found = Sequence[dict[str, Any]]


def visits(seed: int = 1) -> pa.Table:
    """Twenty patients with six visits each."""
    chance = random.Random(seed)
    rows = []
    for patient in range(20):
        age, sex = chance.randint(20, 80), chance.choice("fm")
        rows += [(f"P{patient}", age, sex, chance.choice(["flu", "cold", "gout"])) for _ in range(6)]
    columns = map(list, zip(*rows, strict=True))
    return pa.table(dict(zip(("who", "age", "sex", "dx"), columns, strict=True)))


def with_numbers(table: pa.Table, chance: random.Random) -> pa.Table:
    """The random table of other tests, with numbers that are there."""
    ages = [chance.randint(20, 80) if age is None else age for age in table["age"].to_pylist()]
    weights = [chance.choice([55.0, 61.5, 80.25, 99.0]) for _ in ages]
    return table.set_column(1, "age", pa.array(ages)).append_column("kg", pa.array(weights))


def draw_method(chance: random.Random, k: int) -> tuple[Method, list[str], list[Any]]:
    """A method that counts people, the columns it speaks of, and what it promises in the oracle's words."""
    promised: list[Any] = [oracle.KAnonymity(k)]
    columns = chance.sample(["age", "kg"], chance.randint(1, 2))
    known = chance.sample(["age", "sex", "zip", "kg"], chance.randint(1, 3))
    models: list[Any] = [KAnonymity(k)]
    if chance.random() < 0.5:
        model, ours = chance.choice(
            [
                (oracle.DistinctLDiversity("dx", 2), DistinctLDiversity("dx", 2)),
                (oracle.EntropyLDiversity("dx", 1.5, "Shannon"), EntropyLDiversity("dx", 1.5)),
                (oracle.TCloseness("dx", 0.5, "equal"), TCloseness("dx", 0.5, "equal")),
            ]
        )
        promised, models = [*promised, model], [*models, ours]
    trees = {"age": h.intervals(10, 40), "sex": h.suppression(), "zip": h.redaction(), "kg": h.intervals(20)}
    shown = chance.choice(["mean", "median", "interval", "set"])
    made: list[tuple[Method, list[str], list[Any]]] = [
        (masking.Mondrian(known, models, relaxed=chance.random() < 0.3), known, promised),
        (masking.Mondrian({name: trees[name] for name in known}, models), known, promised),
        (masking.TopDownSpecialization({name: trees[name] for name in known}, models), known, promised),
        (masking.LocalSuppression(known, k, missing="own_value"), known, promised[:1]),
        (
            masking.UnivariateMicroaggregation(columns[0], k, aggregate=shown, sizes="optimal"),
            columns[:1],
            promised[:1],
        ),
        (
            masking.UnivariateMicroaggregation(columns, k, "principal component", aggregate=shown),
            columns,
            promised[:1],
        ),
        (masking.MDAV([*columns, "sex"], k), [*columns, "sex"], promised[:1]),
        (masking.VMDAV(columns, k, gamma=1.1), columns, promised[:1]),
        (masking.KWard(columns, k, aggregate=shown), columns, promised[:1]),
        (masking.GeneticMicroaggregation(columns, k, generations=3), columns, promised[:1]),
    ]
    return chance.choice(made)


@pytest.mark.slow
def test_random_tables_and_methods() -> None:
    judged: dict[str, int] = {}
    for seed in range(MANY):
        chance = random.Random(seed)
        table = with_numbers(draw_table(chance), chance)
        method, known, promised = draw_method(chance, chance.randint(2, 4))
        try:
            release = veil.mask(table, method, person="who", progress=False)
        except (PlanError, NoSolutionError, veil.errors.VerificationError):
            continue
        assert "who" not in release.table.column_names
        rows, whose = release.table.to_pylist(), owners(release, table)
        everybody = [(row["who"], row) for row in table.to_pylist()]
        delivered = Longitudinal(rows, whose, known)
        wrong = [each for model in promised for each in breaches(model, delivered, everybody, all_rows=False)]
        assert wrong == [], f"seed {seed}: {method}"
        judged[type(method).__name__] = judged.get(type(method).__name__, 0) + 1
    assert sum(judged.values()) > MANY / 2
    assert len(judged) == 8 or MANY < 60


def matched_people(rows: Found, whose: Sequence[Any], known: Sequence[str]) -> int:
    """The fewest people that a record matches, where a missing cell matches everything."""
    return min(
        len(
            {
                person
                for other, person in zip(rows, whose, strict=True)
                if all(None in (row[name], other[name]) or row[name] == other[name] for name in known)
            }
        )
        for row in rows
    )


@settings(max_examples=MANY // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), k=st.integers(2, 4))
def test_a_missing_cell_matches_everybody(seed: int, k: int) -> None:
    chance = random.Random(seed)
    table, known = draw_table(chance), ["age", "sex", "zip"]
    if len(set(table["who"].to_pylist())) < k:
        return
    release = veil.mask(
        table, masking.LocalSuppression(known, k, {"zip": 3}), person="who", order="random", progress=False
    )
    rows, whose = release.table.to_pylist(), owners(release, table)
    assert matched_people(rows, whose, known) >= k
    before = {
        row["input row"]: table.slice(row["input row"], 1).to_pylist()[0]
        for row in release.origins.to_pylist()
    }
    places = {row["release row"]: row["input row"] for row in release.origins.to_pylist()}
    for number, row in enumerate(rows):
        original = before[places[number]]
        for name in known:
            assert row[name] in (original[name], None)
            if row[name] is None and original[name] is not None:
                # Nor could the cell be shown again, here and in other rows of the person that were the same.
                twins = [
                    i
                    for i, other in enumerate(rows)
                    if whose[i] == whose[number]
                    and all(before[places[i]][each] == original[each] for each in known)
                ]
                again = [
                    rows[i] | {name: original[name]} if i in twins else rows[i] for i in range(len(rows))
                ]
                assert matched_people(again, whose, known) < k


def test_rows_of_one_patient_are_no_crowd() -> None:
    table = visits()
    rows = veil.mask(table, masking.Mondrian(["age", "sex"], KAnonymity(5)), person=None)
    assert rows.arrow.num_rows == 120
    release = veil.mask(table, masking.Mondrian(["age", "sex"], KAnonymity(5)), person="who")
    delivered = Longitudinal(release.table.to_pylist(), owners(release, table), ["age", "sex"])
    assert min(len(group) for group in delivered.groups(all_rows=False)) >= 5
    assert release.verification.findings[0].promise == "5-anonymity, counting people"
    assert release.people == 20


def test_people_with_one_row_each_get_what_rows_get() -> None:
    chance = random.Random(3)
    for _ in range(20):
        table = with_numbers(draw_table(chance), chance)
        table = table.set_column(0, "who", pa.array(range(table.num_rows)))
        method, _, _ = draw_method(chance, 2)
        try:
            expected = method.mask(Rows.of(table), veil.base.randomness.Randomness.for_testing(1)).table
        except (PlanError, NoSolutionError, veil.errors.VerificationError):
            continue
        found = method.mask(
            Rows.of(table, owners=Owners.of(table, "who")), veil.base.randomness.Randomness.for_testing(1)
        ).table
        assert found.equals(expected), method


COUNTING = [
    masking.Mondrian(["age"], KAnonymity(3)),
    masking.LocalSuppression(["age", "sex"], 3),
    masking.MDAV(["age"], 3),
]
ROW_BY_ROW = [
    masking.Anatomy("dx", 2),
    masking.BucketizedTCloseness("age", 2, 4),
    masking.ConfidentialAttributePartitioning("age", 3),
    masking.IndividualRankingSwapping("age", 3),
    masking.MDAVSwapping("age", 3),
    masking.WholeRecordSwapping("dx", 3, ["age"]),
    masking.TClosenessThroughMicroaggregation("age", 3, "dx", 0.5, "equal"),
    masking.RandomizedResponse("dx", ["flu", "cold", "gout"], "ln(3)"),
]


@pytest.mark.parametrize("method", [*COUNTING, *ROW_BY_ROW], ids=lambda each: type(each).__name__)
def test_repeated_identifiers_are_refused_without_a_word(method: Method) -> None:
    table = visits().rename_columns(["patient", "age", "sex", "dx"])
    with refused(PlanError, "the same people", Say("person", "patient")):
        veil.mask(table, method)
    if method in COUNTING:
        assert veil.mask(table, method, person="patient").people == 20
    else:
        with refused(PlanError, "protect people", "one row", "person=None"):
            veil.mask(table, method, person="patient")


def test_methods_that_promise_nothing_do_not_ask() -> None:
    table = visits().rename_columns(["patient", "age", "sex", "dx"])
    release = veil.mask(table, masking.RankSwapping("age", 10))
    assert release.table.num_rows == 120
    released = veil.mask(table, masking.RankSwapping("age", 10), person="patient").table
    assert released.column_names == ["age", "sex", "dx"]


def test_what_links_rows_is_refused() -> None:
    table = visits()
    with refused(PlanError, "to one person"):
        veil.mask(table, [masking.RandomPseudonyms("who"), COUNTING[0]], person="who")
    with refused(PlanError, "next to"):
        veil.mask(table, COUNTING[0], person="who", order="input")
    kept = veil.mask(table, masking.RandomPseudonyms("who"), person="who").table
    assert "who" in kept.column_names


def test_what_is_said_of_people_is_checked() -> None:
    table = visits()
    with refused(PlanError, "no column 'patient'", Say("person")):
        veil.mask(table, COUNTING[0], person="patient")
    lacking = table.set_column(0, "who", pa.array([None, *table["who"].to_pylist()[1:]]))
    with refused(InputError, "whose"):
        veil.mask(lacking, COUNTING[0], person="who")
    with refused(ImpossibleError, "21 people", "only 20"):
        veil.mask(table, masking.Mondrian(["age"], KAnonymity(21)), person="who")
    with refused(PlanError, "20 people", "too few", "of 21"):
        veil.mask(table, masking.KWard("age", 21), person="who")


def test_a_sample_of_rows_is_counted_in_the_people_who_are_left() -> None:
    table = visits()
    steps = [masking.RandomSampling(size=50), masking.Mondrian(["age", "sex"], KAnonymity(3))]
    release = veil.mask(table, steps, person="who")
    delivered = Longitudinal(release.table.to_pylist(), owners(release, table), ["age", "sex"])
    assert min(len(group) for group in delivered.groups(all_rows=False)) >= 3


def test_a_certificate_does_not_call_rows_people(tmp_path: Path) -> None:
    release = veil.mask(visits(), COUNTING[0], person="who")
    written = release.certificate(tmp_path / "certificate.json")
    release.save(tmp_path / "masked.csv")
    found = veil.verify(tmp_path / "masked.csv", certificate=written)
    assert any("counting people" in promise for promise in found.not_checked)


def test_recipe_says_who(tmp_path: Path) -> None:
    pa.csv.write_csv(visits(), tmp_path / "visits.csv")
    (tmp_path / "steps.yaml").write_text(
        "input: visits.csv\noutput: masked.csv\nperson: who\nsteps:\n  - {kind: KWard, columns: age, k: 4}\n",
        encoding="utf-8",
    )
    assert Recipe.read(tmp_path / "steps.yaml").person == "who"
    done = veil.run(tmp_path / "steps.yaml", progress=False)
    assert done.verification.findings[0].promise == "4-anonymity in 'age', counting people"
    assert pa.csv.read_csv(tmp_path / "masked.csv").column_names == ["age", "sex", "dx"]


@pytest.mark.parametrize("seed", range(5))
def test_people_whose_rows_are_all_the_same_are_cut_like_people_with_one(seed: int) -> None:
    table = visits(seed)
    once = table.take(pa.array(range(0, 120, 6)))
    methods: list[Method] = [
        masking.Mondrian(["age", "sex"], KAnonymity(4)),
        masking.TopDownSpecialization({"age": h.intervals(5, 20, 80), "sex": h.suppression()}, KAnonymity(4)),
        masking.LocalSuppression(["age", "sex"], 3, missing="own_value"),
    ]
    for method in methods:
        expected = veil.mask(once, method, person=None).table.select(["age", "sex"])
        found = veil.mask(table, method, person="who").table.select(["age", "sex"])
        assert sorted(map(str, found.to_pylist())) == sorted(6 * [str(row) for row in expected.to_pylist()])
