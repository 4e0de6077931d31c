"""A lower bound from input, plan and prices: checked again by the data holder, and by nobody else."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import veil
from support import cli
from support.recoding_bound import UNIT, good_prices, tiny_table
from support.refusals import refused
from support.report import FORMATS, everything_in
from support.samples import E1
from veil import hierarchies as h
from veil import models as m
from veil.api.release import Release
from veil.errors import PlanError
from veil.outcome.lower_bound import LowerBound, describe_bound
from veil.outcome.price_table import price_table
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
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


def test_recipients_get_neither_bound_nor_gap_nor_prices(tmp_path: Path) -> None:
    release, proof = bounded()
    (tmp_path / "kept").mkdir()
    (tmp_path / "out").mkdir()
    loss = proof.score * 11 / 10
    figures = {proof.bound, proof.suppression_price, *proof.prices.tolist(), UNIT} - {0}
    shown = describe_bound(proof.score, loss).values
    needles = [*map(str, figures), *(f"{figure / UNIT:.4f}" for figure in figures), str(shown["bound"])]
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
        release.save(place, apart=tmp_path / "kept" if ending == "csv" else None)
        texts[place.name] = place.read_bytes().decode("latin-1")
        texts[f"metadata of {ending}"] = repr(veil.tables.read(place).table.schema)
    texts["notebook"] = release._repr_html_()
    for name, text in texts.items():
        assert [each for each in needles if each in text] == [], name
    # The search itself is not blind.
    kept = (tmp_path / "kept" / FILE).read_text()
    assert [each for each in needles if each in kept]
