"""Labels coarsened at random: every promise counted again on what is delivered, by plain group-bys, and real randomness."""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.api import attack
from veil.api.release import Release
from veil.errors import PlanError
from veil.recoding import Cells, recode
from veil.recoding.solution import RowRecoding

AGES = {str(age): (str(age), f"{age // 5 * 5}+", f"{age // 20 * 20}++", "*") for age in range(20, 60)}
TOWNS = {town: (town, town[0], "*") for town in ("ax", "ay", "az", "bx", "by", "cx")}
PATHS = {"age": AGES, "town": TOWNS}
ILLNESSES = ["flu", "flu", "flu", "cold", "gout", "acne"]


def people(r: random.Random, size: int) -> pa.Table:
    return pa.table(
        {
            "row": list(range(size)),
            "who": [str(r.randrange(1 + size // 3)) for _ in range(size)],
            "age": [str(int(r.triangular(20, 59, 25))) for _ in range(size)],
            "town": [r.choice([*TOWNS, "ax", "ax"]) for _ in range(size)],
            "ill": [r.choice(ILLNESSES) for _ in range(size)],
        }
    )


def coarsened(table: pa.Table, models: Any, loss: float, **options: Any) -> Release:
    defaults: dict[str, Any] = {"person": None, "time_limit": 0.15, "others": "keep", "progress": False}
    return veil.anonymize(
        table,
        quasi_identifiers={
            name: h.table([list(path) for path in paths.values()]) for name, paths in PATHS.items()
        },
        sensitive="ill",
        models=models,
        recoding=Cells(coarsening=loss),
        suppressed_rows="blank",
        **defaults | options,
    )


def classes_of(release: Release) -> dict[tuple[str, str], list[dict[str, Any]]]:
    result = defaultdict(list)
    for row in release.table.to_pylist():
        if row["row"] is not None:
            result[row["age"], row["town"]].append(row)
    return result


def loss_of(table: pa.Table, release: Release) -> float:
    """Return the mean over cells of the share of other values of the hierarchy that a label covers, 1 if suppressed."""
    total, records = 0.0, table.num_rows
    originals = {row["row"]: row for row in table.to_pylist()}
    for row in release.table.to_pylist():
        if row["row"] is None:
            total += 1
            continue
        for name, paths in PATHS.items():
            own = paths[originals[row["row"]][name]]
            assert row[name] in own  # a label of its value
            level = own.index(row[name])
            total += (
                (sum(path[level] == row[name] for path in paths.values()) - 1) / (len(paths) - 1) / len(PATHS)
            )
    return total / records


def distance(values: list[str], all_values: list[str]) -> float:
    one, other = Counter(values), Counter(all_values)
    return sum(abs(one[each] / len(values) - other[each] / len(all_values)) for each in other) / 2


def log_ratio(values: list[str], all_values: list[str]) -> float:
    one, other = Counter(values), Counter(all_values)
    return max(abs(math.log(one[each] / len(values) / (other[each] / len(all_values)))) for each in one)


PROMISES: dict[str, Any] = {
    "k": lambda r: None,
    "diverse": lambda r: m.DistinctLDiversity("ill", r.choice([2, 3])),
    "close": lambda r: m.TCloseness("ill", r.choice([0.3, 0.5])),
    "disclosure": lambda r: m.DeltaDisclosure("ill", 1.5),  # does not survive unions
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", PROMISES)
def test_promises_hold_on_what_is_delivered(kind: str, seed: int) -> None:
    r = random.Random(f"{kind} {seed}")
    table, k, limit = people(r, r.choice([80, 250])), r.choice([2, 3, 5]), r.choice([0.0, 0.1, 0.6])
    model = PROMISES[kind](r)
    models = [m.KAnonymity(k), *([] if model is None else [model])]
    try:
        release = coarsened(table, models, r.choice([0.02, 0.2, 1.0]), suppression_limit=limit)
    except veil.errors.NoSolutionError:
        assert kind == "disclosure"
        return
    classes, ill = classes_of(release), table["ill"].to_pylist()
    assert table.num_rows - sum(map(len, classes.values())) == release.suppressed <= limit * table.num_rows
    originals = {row["row"]: row for row in table.to_pylist()}
    for rows in classes.values():
        values = [row["ill"] for row in rows]
        assert values == [originals[row["row"]]["ill"] for row in rows]
        assert len(rows) >= k
        if isinstance(model, m.DistinctLDiversity):
            assert len(set(values)) >= model.l
        if isinstance(model, m.TCloseness):
            assert distance(values, ill) <= model.t + 1e-9
        if isinstance(model, m.DeltaDisclosure):
            assert log_ratio(values, ill) < model.delta
    search = release.search
    assert release.score == pytest.approx(loss_of(table, release), abs=1e-8)
    assert search.lower_bound is None or search.lower_bound <= release.score
    assert veil.verify(release).holds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_people_are_as_many_as_promised(knows: str, seed: int) -> None:
    r = random.Random(f"{knows} {seed}")
    table, k = people(r, 150), r.choice([2, 3])
    owner = dict(zip(table["row"].to_pylist(), table["who"].to_pylist(), strict=True))
    release = coarsened(table, m.KAnonymity(k), 1.0, person="who", knows=knows, suppression_limit=0.9)
    labels = defaultdict(list)
    for label, rows in classes_of(release).items():
        owners = {owner[row["row"]] for row in rows}
        assert knows == "all rows" or len(owners) >= k
        for row in rows:
            labels[owner[row["row"]]].append(label)
    alike = Counter(tuple(sorted(each)) for each in labels.values())
    assert knows == "one row" or min(alike.values(), default=k) >= k


@pytest.fixture
def fixed_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that always finds the same: whatever differs is due to coarsening."""
    solver, found = recode.recode_cells, list[RowRecoding]()

    def once(*args: Any, **options: Any) -> RowRecoding:
        found.extend([] if found else [solver(*args, **options)])
        return found[0]

    monkeypatch.setattr(recode, "recode_cells", once)


@pytest.mark.usefixtures("fixed_search")
@pytest.mark.parametrize("models", [[m.KAnonymity(2)], [m.KAnonymity(2), m.DistinctLDiversity("ill", 2)]])
def test_two_runs_differ_and_cost_no_more_than_the_budget(models: Any) -> None:
    table = people(random.Random(3), 250)
    exact = coarsened(table, models, 0.0).score
    releases = [coarsened(table, models, 0.01) for _ in range(6)]
    tables = {tuple(sorted(map(str, each.table.to_pylist()))) for each in releases}
    assert len(tables) > 1
    for each in releases:
        assert exact <= each.score <= exact + 0.01
        assert each.search.gap is None or each.search.gap > 0


def test_recipients_learn_that_labels_are_coarsened_and_no_number_of_them(tmp_path: Path) -> None:
    release = coarsened(people(random.Random(4), 250), m.KAnonymity(3), 0.0125)
    (stated,) = release.verification.open_questions
    assert "coarsened at random" in stated
    assert "0.0125" in stated
    certificate = json.loads(release.certificate(tmp_path / "certificate.json").read_text())
    assert certificate["promises"]["stated"] == [{"promise": stated, "found": "by construction, not checked"}]
    release.save(tmp_path / "release.csv")
    checked = veil.verify(tmp_path / "release.csv", certificate=tmp_path / "certificate.json")
    assert any("coarsened at random" in each for each in checked.not_checked)
    assert not checked.broken
    release.report(tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["recipe"]["steps"][-1]["recoding"]["coarsening"] == 0.0125
    assert any("coarsened at random" in each["promise"] for each in report["verification"])
    assert not coarsened(people(random.Random(4), 100), m.KAnonymity(3), 0.0).verification.open_questions


def test_the_half_that_is_attacked_is_coarsened_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plans, anonymize = [], attack.anonymize

    def note(table: Any, plan: Any, **options: Any) -> Release:
        plans.append(plan)
        return anonymize(table, plan, **options)

    monkeypatch.setattr(attack, "anonymize", note)
    release = coarsened(people(random.Random(5), 100), m.KAnonymity(2), 0.02)
    tried = release.attacks()
    assert [each.recoding for each in plans] == [Cells(coarsening=0.02)]
    assert [each.principle for each in tried.refinements] == ["price"]


def test_models_of_people_whose_groups_may_not_be_joined_are_refused() -> None:
    table = people(random.Random(6), 60)
    options = {"person": "who", "knows": "all rows"}
    with refused(PlanError, "`coarsening`", "TCloseness"):
        coarsened(table, [m.KAnonymity(2), m.TCloseness("ill", 0.9)], 0.1, **options)
    coarsened(table, [m.KAnonymity(2), m.TCloseness("ill", 0.9)], 0.0, suppression_limit=1, **options)
