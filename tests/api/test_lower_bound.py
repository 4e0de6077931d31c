"""A lower bound from input, plan and prices: checked again by the data holder, and by nobody else."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support import cli
from support.recoding_bound import UNIT, good_prices, tiny_table
from support.refusals import refused
from support.report import FORMATS, everything_in, words_of_html
from support.samples import E1
from veil import hierarchies as h
from veil import models as m
from veil.api.cell_search import CellSearch
from veil.api.lower_bound import LossBound
from veil.api.release import Release
from veil.errors import PlanError
from veil.outcome.lower_bound import LowerBound, describe_bound
from veil.outcome.price_table import NAME, price_table
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.recoding import FromTheStart
from veil.report.pages.language import Translator
from veil.report.texts import in_language
from veil.verification.lower_bound import prove_bound, verify_lower_bound

TABLE = pa.table(
    {name: [row[j] for row in E1.rows] for j, name in enumerate("AGZ")} | {"S": E1.sensitive["S"]}
)
PLAN = Plan(
    {name: h.table(E1.hierarchies[j]) for j, name in enumerate("AGZ")},
    [m.KAnonymity(2), m.DistinctLDiversity("S", 2)],
    sensitive=["S"],
    suppression_limit=0.1,
    person=None,
)
FILE = "lower-bound.csv"
CLAIM = "no recoding with these hierarchies loses less than "


def bounded() -> tuple[Release, LowerBound]:
    """A release with a bound that its search has found."""
    release = veil.anonymize(TABLE, PLAN)
    prepared = release.outcome.searched
    size = forced_size(prepared)
    assert isinstance(size, ForcedSize)
    proof = prove_bound(prepared, np.array(good_prices(tiny_table(prepared, size), 6)), UNIT // 10)
    assert isinstance(proof, LowerBound)
    last = release.outcome.last
    table = price_table(proof, prepared.table, prepared.encoding.names)
    return Release(release.outcome.changed(traces=(*last.traces, proof), apart=(*last.apart, table))), proof


def searched(**changes: Any) -> tuple[Release, LossBound]:
    """A full-domain release, and the bound that is sought for it alone."""
    release = veil.anonymize(TABLE, dataclasses.replace(PLAN, **changes))
    return release, release.lower_bound(time_limit=60)


def test_any_release_has_a_bound_with_prices_that_prove_it() -> None:
    for recoding in ("full-domain", "subtree", FromTheStart(3)):
        limit = 0 if isinstance(recoding, FromTheStart) else 0.1
        release, found = searched(recoding=recoding, suppression_limit=limit)
        assert found.lower_bound is not None
        assert found.gap is not None
        assert 0 < found.lower_bound <= found.loss
        assert found.gap == pytest.approx(1 - found.lower_bound / found.loss)
        assert repr(found) == f"LossBound({found.sentence})"
        assert (found.reason, NAME in release.apart) == ("", False)
        plan = dataclasses.replace(PLAN, suppression_limit=limit)
        finding = veil.verify(release.arrow, plan, original=TABLE, lower_bound=found.prices).findings[-1]
        assert (finding.holds, CLAIM in finding.promise) == (True, True)


def test_a_search_for_cells_has_its_own_bound() -> None:
    release, found = searched(recoding="cells", time_limit=1)
    assert isinstance(release.search, CellSearch)
    assert (found.loss, found.lower_bound) == (release.search.score, release.search.lower_bound)
    assert (found.gap, found.sentence) == (release.search.gap, release.search.sentence)
    assert found.prices is not None
    assert found.prices.equals(release.apart[NAME])


def test_without_a_bound_there_is_a_reason_and_no_price() -> None:
    _, found = searched(models=(m.TCloseness("S", 0.5),))
    assert (found.lower_bound, found.gap, found.prices) == (None, None, None)
    assert "TCloseness" in found.reason
    assert found.reason in found.sentence


def test_an_engine_finds_the_bound_of_the_same_rows_in_memory(tmp_path: Path) -> None:
    veil.tables.write(TABLE, tmp_path / "input.csv")
    bounds = [
        veil.anonymize(tmp_path / "input.csv", PLAN, engine=engine).lower_bound(time_limit=60)
        for engine in ("memory", "duckdb")
    ]
    assert bounds[0].loss == bounds[1].loss
    assert bounds[0].lower_bound == pytest.approx(bounds[1].lower_bound)


def claims(verification: Any) -> list[tuple[str, bool, str]]:
    return [
        (str(each.promise), each.holds, str(each.measured))
        for each in verification.findings
        if CLAIM in each.promise
    ]


def test_a_release_checks_its_bound_again() -> None:
    release, proof = bounded()
    assert proof.score > 0
    ((promise, holds, measured),) = claims(veil.verify(release))
    assert holds
    assert measured == f"{promise}, by its prices"
    assert claims(release.verification) == claims(release.outcome.verification) == []
    assert claims(veil.verify(release.arrow, PLAN)) == []


def test_a_bound_that_its_prices_do_not_prove_is_broken() -> None:
    release, proof = bounded()
    prepared = release.outcome.searched
    for part in ({"bound": proof.bound + 1}, {"prices": proof.prices // 2}, {"suppression_price": UNIT}):
        finding = verify_lower_bound(prepared, dataclasses.replace(proof, **part))
        assert finding.checked
        assert not finding.holds
    assert verify_lower_bound(prepared, dataclasses.replace(proof, bound=proof.bound - 1)).holds


def test_the_data_holder_checks_a_bound_with_input_plan_and_prices(tmp_path: Path) -> None:
    release, proof = bounded()
    (tmp_path / "kept").mkdir()
    (tmp_path / "out").mkdir()
    release.save(tmp_path / "out" / "release.csv", apart=tmp_path / "kept")
    file, table = tmp_path / "kept" / FILE, release.apart["lower bound"]
    assert file.stat().st_mode & 0o777 == 0o600
    for prices in (file, str(file), table):
        verification = veil.verify(tmp_path / "out" / "release.csv", PLAN, original=TABLE, lower_bound=prices)
        ((promise, holds, _),) = claims(verification)
        assert verification.holds
        assert promise.endswith(f"less than {describe_bound(proof.score, proof.score + 1).values['bound']}")
        assert holds
    other = TABLE.set_column(2, "Z", pa.array(["241"] * 10))
    assert not claims(veil.verify(release.arrow, PLAN, original=other, lower_bound=file))[0][1]
    strict = dataclasses.replace(PLAN, models=(m.TCloseness("S", 0.2),), suppression_limit=1)
    finding = veil.verify(release.arrow, strict, original=TABLE, lower_bound=file).findings[-1]
    assert (finding.holds, "(TCloseness)" in finding.measured) == (False, True)


def test_the_command_line_checks_a_bound(tmp_path: Path) -> None:
    release, proof = bounded()
    (tmp_path / "out").mkdir()
    (tmp_path / "kept").mkdir()
    veil.tables.write(TABLE, tmp_path / "input.csv")
    hierarchies = {}
    for j, name in enumerate("AGZ"):
        h.table(E1.hierarchies[j]).save(tmp_path / f"{name}.csv")
        hierarchies[name] = {"kind": "file", "path": f"{name}.csv"}
    recipe = {
        "input": "input.csv",
        "person": None,
        "steps": [
            {
                "kind": "Generalize",
                "quasi_identifiers": hierarchies,
                "sensitive": ["S"],
                "models": [
                    {"kind": "KAnonymity", "k": 2},
                    {"kind": "DistinctLDiversity", "attribute": "S", "l": 2},
                ],
                "suppression_limit": 0.1,
            }
        ],
    }
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    release.save(tmp_path / "out" / "release.csv", apart=tmp_path / "kept")
    place, prices = tmp_path / "out" / "release.csv", tmp_path / "kept" / FILE
    options = ("--recipe", tmp_path / "recipe.json", "--json")
    ran = cli.veil("verify", place, *options, "--lower-bound", prices)
    assert ran.code == 0, ran
    assert json.loads(ran.out)["findings"][-1]["promise"].startswith(CLAIM)
    prices.write_text(prices.read_text().replace(f",{proof.bound}\n", f",{proof.bound + UNIT}\n"))
    ran = cli.veil("verify", place, *options, "--lower-bound", prices)
    assert (ran.code, json.loads(ran.out)["findings"][-1]["verdict"]) == (1, "BROKEN")


def test_a_bound_without_its_input_is_refused() -> None:
    release, _ = bounded()
    table = release.apart["lower bound"]
    with refused(PlanError, "`original`"):
        veil.verify(release.arrow, PLAN, lower_bound=table)
    with refused(PlanError, "original table"):
        veil.verify(release.arrow, PLAN, original=TABLE)


@pytest.mark.parametrize("is_kept_apart", [True, False])
def test_recipients_get_neither_bound_nor_gap_nor_prices(tmp_path: Path, is_kept_apart: bool) -> None:
    """Nor if no price was ever sought by the search that made the release."""
    release, proof = bounded()
    if not is_kept_apart:
        release, found = searched()
        assert found.trace.proof is not None
        proof = found.trace.proof
    (tmp_path / "kept").mkdir()
    (tmp_path / "out").mkdir()
    loss = proof.score * 11 / 10
    figures = {proof.bound, proof.suppression_price, *proof.prices.tolist(), UNIT} - {0}
    shown = describe_bound(proof.score, loss).values
    needles = [*map(str, figures), str(shown["bound"])]
    if is_kept_apart:  # prices of a search are shares that other figures may have, too
        needles += [f"{figure / UNIT:.4f}" for figure in figures]
    needles += [
        f"{proof.score.numerator / proof.score.denominator:.6g}",
        "lower bound",
        "lower_bound",
        "untere Schranke",
    ]
    places = [release.certificate(tmp_path / "certificate.json"), release.criteria(tmp_path / "criteria.md")]
    places += [release.report(tmp_path / f"report.{ending}") for ending in FORMATS]
    texts = {
        place.name: place.read_text() if place.suffix == ".md" else everything_in(place) for place in places
    }
    for ending in ("csv", "parquet", "feather", "xlsx"):
        place = tmp_path / "out" / f"release.{ending}"
        release.save(place, apart=tmp_path / "kept" if ending == "csv" and is_kept_apart else None)
        texts[place.name] = place.read_bytes().decode("latin-1")
        texts[f"metadata of {ending}"] = repr(veil.tables.read(place).table.schema)
    texts["notebook"] = release._repr_html_()
    for name, text in texts.items():
        assert [each for each in needles if each in text] == [], name
    # The search itself is not blind.
    own = everything_in(release.report(tmp_path / "own.html", for_the_data_holder=True))
    kept = (tmp_path / "kept" / FILE).read_text() if is_kept_apart else own
    assert [each for each in needles if each in kept]


def test_the_report_of_the_data_holder_says_how_near_the_best_a_release_is(tmp_path: Path) -> None:
    release, found = searched()
    for language in ("en", "de"):
        place = release.report(
            tmp_path / f"{language}.html", for_the_data_holder=True, about={"language": language}
        )
        before, _, _ = in_language(language)["summary.bound"].partition("{")
        sentence = Translator(language).of(found.trace.sentence)
        assert before + sentence in " ".join(words_of_html(place).split())
    facts = json.loads(release.report(tmp_path / "own.json", for_the_data_holder=True).read_text())
    assert facts["summary"]["bound"] == found.sentence
    assert "bound" not in json.loads(release.report(tmp_path / "public.json").read_text())["summary"]
    private = veil.anonymize(
        TABLE.select(["A"]), quasi_identifiers={"A": h.table(E1.hierarchies[0]).build(TABLE["A"].unique(), [1] * 9, "A")},
        models=veil.SafePub(1.0, 1e-4), person=None,
    )  # fmt: skip
    place = private.report(tmp_path / "private.json", for_the_data_holder=True)
    assert "bound" not in json.loads(place.read_text())["summary"]
    _, without = searched(models=(m.TCloseness("S", 0.5),))
    german = Translator("de").of(without.trace.sentence)
    assert "TCloseness" in german
    assert without.reason not in german
