"""Releases whose records have labels of their own: what they say of loss and bound, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import hierarchies as h
from veil.api.cell_search import CellSearch
from veil.api.release import Release
from veil.errors import PlanError, Say
from veil.plan.recoding import Cells
from veil.recoding import recode
from veil.recoding.cells.recode import recode_cells
from veil.recoding.problem import UNIT
from veil.recoding.solution import RowRecoding

RNG = np.random.default_rng(7)
PEOPLE = pa.table(
    {
        "age": RNG.integers(20, 60, 200),
        "zip": [str(each) for each in RNG.integers(530, 560, 200)],
        "ill": RNG.choice(["flu", "cold", "gout"], 200),
    }
)
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(5, 10, 20), "zip": "redaction"},
    "models": veil.KAnonymity(3),
    "others": "keep",
    "person": None,
    "progress": False,
    "recoding": "cells",
    "time_limit": 1,
}


def priced(price: float) -> Any:
    """Return the solver of cells with one price for all rows."""

    def solver(prepared: Any, models: Any, **options: Any) -> RowRecoding:
        solution = recode_cells(prepared, models, **options)
        prices = np.full(prepared.table.num_rows, int(price * UNIT), np.int64)
        return dataclasses.replace(solution, prices=prices, curve=((0.5, UNIT * prepared.records()),))

    return solver


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Release:
    monkeypatch.setitem(recode.SOLVERS, Cells, priced(0.01))
    return veil.anonymize(PEOPLE, **PLAN)


def cell_loss(release: Release) -> float:
    """Return the arithmetic mean over cells, cell by cell."""
    total = 0.0
    outcome = release.outcome
    place = {int(row): at for at, row in enumerate(outcome.origins)}
    for name, hierarchy in outcome.hierarchies.items():
        for row, cell in enumerate(PEOPLE[name].to_pylist()):
            shown = str(outcome.table[name][place[row]].as_py())
            at = hierarchy.labels[0].index(str(cell))
            levels = range(hierarchy.height + 1)
            (size, *_) = [
                sum(hierarchy.label_map(level) == hierarchy.label_map(level)[at])
                for level in levels
                if hierarchy.labels[level][hierarchy.label_map(level)[at]] == shown
            ]
            total += (size - 1) / (hierarchy.size - 1) if hierarchy.size > 1 else 0
    return total / PEOPLE.num_rows / len(outcome.hierarchies)


def test_loss_is_the_mean_over_cells() -> None:
    release = veil.anonymize(PEOPLE, **PLAN)
    plain = {
        name: h.table([[v, *labels] for v, *labels in each.to_rows()])
        for name, each in release.outcome.hierarchies.items()
    }
    release = veil.anonymize(PEOPLE, **PLAN | {"quasi_identifiers": plain})
    assert release.suppressed == 0
    assert release.score == pytest.approx(cell_loss(release))
    whole = veil.anonymize(
        PEOPLE,
        **PLAN | {"quasi_identifiers": plain, "recoding": "full-domain"},
        quality=veil.quality.Loss(aggregate="arithmetic_mean"),
    )
    assert release.score <= whole.score


def test_without_a_proof_there_is_a_reason() -> None:
    close = {"others": None, "sensitive": "ill", "models": veil.models.TCloseness("ill", 0.5)}
    search = veil.anonymize(PEOPLE, **PLAN | close).search
    assert isinstance(search, CellSearch)
    assert (search.lower_bound, search.gap, search.proven_optimal) == (None, None, False)
    assert "no bound" in search.sentence
    assert "forces no number of records" in search.sentence


def test_prices_prove_a_bound_that_is_checked_again(bounded: Release, tmp_path: Path) -> None:
    search = bounded.search
    assert search.lower_bound is not None
    assert 0 < search.lower_bound <= 0.01 < search.score
    assert search.gap == pytest.approx(1 - search.lower_bound / search.score)
    assert search.curve == [(0.5, 1.0)]
    assert search.sentence in repr(bounded)
    assert veil.verify(bounded).holds
    assert any("loses less than" in each.promise for each in veil.verify(bounded).findings)


def test_figures_of_the_input_stay_with_the_data_holder(bounded: Release, tmp_path: Path) -> None:
    assert "lower bound" in bounded.secret
    bounded.certificate(tmp_path / "certificate.json")
    for name, holder in (("public.json", False), ("own.json", True)):
        bounded.report(tmp_path / name, for_the_data_holder=holder)
    bound = "no recoding with these hierarchies loses less"
    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert bound in texts["own.json"]
    assert bound not in texts["public.json"]
    assert bound not in texts["certificate.json"]
    assert "as the mean over cells" in json.loads(texts["public.json"])["summary"]["cells"]
    bounded.report(tmp_path / "own.html", for_the_data_holder=True)
    assert "Records have labels of their own" in (tmp_path / "own.html").read_text()


@pytest.mark.parametrize("verb", ["apply", "neighbours", "nodes", "level_costs", "mapping"])
def test_there_is_no_lattice_to_walk(verb: str) -> None:
    release = veil.anonymize(PEOPLE, **PLAN)
    with refused(PlanError, "Cells()", Say("recoding", "full-domain")):
        getattr(release.search, verb)()


def test_what_needs_one_transformation_is_refused() -> None:
    release = veil.anonymize(PEOPLE, **PLAN)
    assert release.lattice is None
    with pytest.raises(AttributeError, match="transformations of their own"):
        _ = release.transformation
    with refused(PlanError, Say("recoding", "full-domain")):
        release.advice()
    with refused(PlanError, "Cells()", Say("suppression_limit")):
        release.local_recoding()


def test_the_limit_of_suppression_holds() -> None:
    """Passes may suppress more: the optimum for all records alike then takes their place."""
    few = PEOPLE.slice(0, 7)
    for limit in (0.0, 0.3, 1.0):
        release = veil.anonymize(few, **PLAN, suppression_limit=limit)
        assert release.within_limit
        assert release.suppressed <= 7 * limit


def test_people_and_several_tables() -> None:
    visits = PEOPLE.append_column("who", pa.array([number % 60 for number in range(200)]))
    for knows in ("one row", "all rows"):
        release = veil.anonymize(visits, **PLAN | {"person": "who", "knows": knows, "suppression_limit": 0.5})
        assert release.verification.holds
    tables = {"a": visits.select(["who", "age", "zip"]), "b": visits.select(["who", "ill"])}
    several = veil.anonymize(tables, **PLAN | {"person": "who", "suppression_limit": 0.9})
    assert several.verification.holds
    assert isinstance(several.search, CellSearch)
