"""Where a release is poor, somebody asks what would help: what they are told was tried out and is true."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

import veil
from support.cli import veil as command
from support.recipes import generalize
from veil import KAnonymity, Release, SafePub
from veil import hierarchies as h
from veil.api.advice import POOR, Advice
from veil.errors import PlanError
from veil.outcome.generalize import Choice
from veil.outcome.measures import kept_by_column
from veil.quality import Loss
from veil.synthetic import patients

HIERARCHIES = {
    "age": h.intervals(10, 20),
    "sex": "suppression",
    "zip": "redaction",
    "occupation": "suppression",
}


def poor(**changes: Any) -> Release:
    given: dict[str, Any] = {"quasi_identifiers": HIERARCHIES, "others": "drop", "models": KAnonymity(20)}
    return veil.anonymize(patients(400), **{**given, "suppression_limit": 0.02, **changes})


@pytest.fixture(scope="module")
def release() -> Release:
    return poor()


@pytest.fixture(scope="module")
def found(release: Release) -> Advice:
    return release.advice(time_limit=60)


def test_what_is_kept_is_counted_cell_by_cell() -> None:
    table = patients(400).filter(pa.compute.is_valid(patients(400)["age"]))
    release = veil.anonymize(
        table, quasi_identifiers={"age": h.intervals(10, 20), "sex": "suppression"}, others="drop",
        models=KAnonymity(30), suppression_limit=0.1,
    )  # fmt: skip
    ages, level = table["age"].to_pylist(), release.transformation["age"]
    hierarchy = release.outcome.hierarchies["age"]
    label = dict(zip(hierarchy.labels[0], hierarchy.label_map(level), strict=True))
    covered = [
        1.0 if gone else hierarchy.shares[level][label[str(age)]]
        for age, gone in zip(ages, release.suppressed_rows, strict=True)
    ]
    least = 1 / hierarchy.domain_size
    expected = 1 - (sum(covered) / len(covered) - least) / (1 - least)
    assert kept_by_column(release.outcome)["age"] == pytest.approx(expected)


def test_every_alternative_is_what_it_says(release: Release, found: Advice) -> None:
    assert found.complete
    assert found.released.kept == kept_by_column(release.outcome)
    assert release.search is not None
    seen = [release.transformation]
    for each in found.alternatives:
        if each.how.startswith("release.search.apply"):
            again = release.search.apply(each.transformation)
            assert again.within_limit
            assert not each.promises_less
            assert kept_by_column(again.outcome) == each.kept
            assert again.suppressed == each.suppressed
            assert each.transformation not in seen
            seen.append(each.transformation)
    assert len(seen) > 3


def test_poor_columns_are_named_and_what_costs_most_comes_first(release: Release, found: Advice) -> None:
    assert found.poor
    assert {name for name, kept in found.released.kept.items() if kept < POOR} == set(found.poor)
    gains = list(found.costs.values())
    assert gains == sorted(gains, reverse=True)
    assert all(gain > 0 for gain in gains)
    best = next(iter(found.costs))
    given_up = next(each for each in found.alternatives if each.what == f"{best} given up")
    others = [name for name in given_up.kept if name != best]
    gain = sum(given_up.kept[name] - found.released.kept[name] for name in others) / len(others)
    assert gain == pytest.approx(found.costs[best])


def test_parameters_weights_and_local_recoding_are_tried(release: Release, found: Advice) -> None:
    told = {each.what: each for each in found.alternatives}
    assert not any("limit 0.04" in what for what in told)  # which changes nothing
    assert found.released.kept == kept_by_column(poor(suppression_limit=0.04).outcome)
    weaker = told["with KAnonymity(k=10) instead of KAnonymity(k=20)"]
    assert weaker.promises_less
    assert weaker.kept == kept_by_column(poor(models=KAnonymity(10)).outcome)
    weights = dict.fromkeys(HIERARCHIES, 0.25) | dict.fromkeys(found.poor, 1.0)
    heavier = next(each for each in found.alternatives if "weighing four times as much" in each.what)
    assert heavier.kept == kept_by_column(poor(quality=Loss(weights=weights)).outcome)
    recoded = release.local_recoding()
    assert ("local recoding" in told) == (recoded.suppressed < release.suppressed)


@pytest.mark.slow
def test_local_recoding_that_runs_out_of_time_is_no_alternative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing may be suppressed, it begins with all records suppressed that do not fit the first transformation."""

    def is_tried(seconds: float) -> bool:
        found = poor(suppression_limit=0).advice(time_limit=seconds)
        return "local recoding" in [each.what for each in found.alternatives]

    assert is_tried(60)

    def slow(self: Release, *_: Any, time_limit: float, **__: Any) -> Release:
        time.sleep(time_limit + 0.1)
        return self  # as far as it got

    monkeypatch.setattr(Release, "local_recoding", slow)
    assert not is_tried(10)


def test_recoding_cell_by_cell_is_offered_where_a_release_may_be_far_from_the_best(
    release: Release, found: Advice, tmp_path: Path
) -> None:
    bound = release.lower_bound(time_limit=60)
    assert bound.lower_bound is not None
    assert bound.loss < 2 * bound.lower_bound
    assert any("no recoding with these hierarchies loses less than" in line for line in found.said())
    assert "recoding='cells'" not in [each.how for each in found.alternatives]

    far = poor(models=KAnonymity(3))
    advice = far.advice(time_limit=20)
    assert advice.bound is not None
    assert "recoding cell by cell might lose" in advice.bound
    (cells,) = [each for each in advice.alternatives if each.how == "recoding='cells'"]
    assert cells.recipe == {"recoding": "Cells"}
    assert not cells.promises_less
    assert cells.kept_on_average > advice.released.kept_on_average
    assert cells.suppressed <= 0.02 * far.records
    # Reports are passed on, and the bound is a figure of the input.
    for holder in (True, False):
        place = tmp_path / f"{holder}.json"
        facts = json.loads(far.report(place, for_the_data_holder=holder).read_text())["advice"]
        assert facts is None or "bound" not in facts
        assert facts is None or "recoding='cells'" not in [each["how"] for each in facts["alternatives"]]


def test_several_tables_get_advice_without_a_bound() -> None:
    visits = pa.table({"id": [i % 60 for i in range(90)], "ward": [f"w{i % 7}" for i in range(90)]})
    release = veil.anonymize(
        {"visits": visits}, person="id", quasi_identifiers={"ward": "suppression"}, models=KAnonymity(5),
        suppression_limit=0.5,
    )  # fmt: skip
    assert release.advice(time_limit=20).bound is None


def test_what_changes_nothing_is_no_alternative() -> None:
    """A higher limit helps where somebody stands apart, and not where nobody does."""
    for ages, helps in (([20, 20, 30, 30] * 10, False), ([20, 20, 30, 30] * 10 + [90], True)):
        release = veil.anonymize(
            pa.table({"age": ages}),
            quasi_identifiers={"age": "suppression"},
            models=KAnonymity(2),
            person=None,
        )
        told = release.advice(time_limit=20)
        assert all(each.promises_less or not each.is_like(told.released) for each in told.alternatives)
        assert any("suppression limit" in each.what for each in told.alternatives) == helps


def test_a_report_tells_it_where_little_is_left(tmp_path: Path, release: Release) -> None:
    page = release.report(tmp_path / "report.html").read_text()
    assert 'id="alternatives"' in page
    assert "costs most" in page
    fine = veil.anonymize(
        pa.table({"sex": ["f", "m"] * 20}), quasi_identifiers={"sex": "suppression"}, models=KAnonymity(2)
    )
    assert 'id="alternatives"' not in fine.report(tmp_path / "fine.html").read_text()


def test_the_nodes_that_advice_tries_are_no_part_of_the_search() -> None:
    """A second report counted those of the advice in the first as checked by the search."""
    release = poor()
    before = set(release.outcome.trace(Choice).found.space.evaluated)
    assert any(tuple(each.transformation.values()) not in before for each in release.advice().alternatives)
    assert set(release.outcome.trace(Choice).found.space.evaluated) == before


def test_what_was_chosen_privately_gets_no_advice() -> None:
    age = h.intervals(20, 40).build(pa.array(range(120)), [1] * 120, "age")
    people = pa.table({"age": [20 + i % 50 for i in range(500)]})
    private = veil.anonymize(people, quasi_identifiers={"age": age}, models=SafePub(1.0, 1e-4), person=None)
    with pytest.raises(PlanError, match="chosen privately"):
        private.advice()


def test_the_command_tells_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{20 + i % 40},{i % 97:02}" for i in range(200)]
    (tmp_path / "people.csv").write_text("age,zip\n" + "\n".join(lines) + "\n")
    (tmp_path / "recipe.yaml").write_text(
        generalize(
            "input: people.csv\nquasi_identifiers: {age: {kind: intervals, widths: [10, 20]}, zip: redaction}\n"
            "models: [{kind: KAnonymity, k: 10}]\n"
        )
    )
    ran = command("advise", "recipe.yaml", "--json")
    told = json.loads(ran.out)
    assert "zip" in told["poor"] or "age" in told["poor"]
    assert told["alternatives"]
    assert "loses less than" in told["bound"]
    printed = command("advise", "recipe.yaml").out
    assert "How much of each column is kept" in printed
    assert "As the mean over cells: no recoding with these hierarchies loses less than" in printed
    assert {each.name for each in tmp_path.iterdir()} == {"people.csv", "recipe.yaml"}
    recipe = yaml.safe_load((tmp_path / "recipe.yaml").read_text())

    def changed(recipe: dict[str, Any], alternative: dict[str, Any]) -> list[dict[str, Any]]:
        fields = dict(alternative["recipe"])
        further = fields.pop("steps", ["…"])[1:]
        return [{**recipe["steps"][0], **fields}, *further]

    for each in told["alternatives"]:
        (tmp_path / "again.yaml").write_text(
            json.dumps({**recipe, "steps": changed(recipe, each), "output": "release.csv", "overwrite": True})
        )
        again = json.loads(command("anonymize", "again.yaml", "--json").out)
        assert again["suppressed"] == each["suppressed"], each["what"]


def test_several_tables_are_verified_by_what_is_tried(tmp_path: Path) -> None:
    people = pa.table({"id": range(60), "age": [20 + i for i in range(60)]})
    visits = pa.table({"id": [i % 60 for i in range(90)], "ward": [f"w{i % 7}" for i in range(90)]})
    release = veil.anonymize(
        {"people": people, "visits": visits},
        person="id",
        quasi_identifiers={"age": h.intervals(10, 20), "ward": "suppression"},
        models=KAnonymity(5),
        suppression_limit=0.2,
    )
    found = release.advice(time_limit=20)
    weaker = next(each for each in found.alternatives if each.promises_less)
    assert weaker.what == "with KAnonymity(k=2) instead of KAnonymity(k=5)"
    assert weaker.kept_on_average >= found.released.kept_on_average
    release.report(tmp_path / "report.html")
