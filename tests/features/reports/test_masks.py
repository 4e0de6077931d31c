"""Reports, certificates and risks of what was masked, or anonymized part by part: the same face as any release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.engines.people import HIERARCHIES, people
from support.refusals import refused
from support.report import FORMATS, everything_in
from veil import KAnonymity
from veil.api.release import Release
from veil.errors import InputError, PlanError
from veil.masking import (
    Anatomy,
    BucketizedTCloseness,
    KeyedPseudonyms,
    LocalSuppression,
    Mondrian,
    RandomPseudonyms,
    RandomSampling,
    RankSwapping,
    UncorrelatedNoise,
)
from veil.plan.plan import Plan
from veil.published.table import Published
from veil.report import certificate_of, check_certificate, collect_facts
from veil.synthetic import patients
from veil.tables.rows import Rows


def mondrian() -> Release:
    return veil.mask(patients(300), Mondrian(["age", "sex", "zip"], KAnonymity(5)))


def on_an_engine() -> Release:
    ibis = pytest.importorskip("ibis")
    held = ibis.duckdb.connect().create_table("people", people())
    return veil.mask(held, Mondrian(["age", "city"], KAnonymity(3)))


def in_parts() -> Release:
    ibis = pytest.importorskip("ibis")
    held = ibis.duckdb.connect().create_table("people", people())
    plan = Plan(
        {name: HIERARCHIES[name] for name in ("city", "smoker")},
        KAnonymity(3),
        others="keep",
        suppression_limit=0.2,
    )
    return veil.anonymize(held, plan, parts=3)


RELEASES = {
    "Mondrian": mondrian,
    "Mondrian on an engine": on_an_engine,
    "parts of an engine": in_parts,
    "Anatomy": lambda: veil.mask(patients(300), Anatomy("diagnosis", 3)),
    "buckets": lambda: veil.mask(
        pa.table({"sex": ["f", "m"] * 12, "income": [1000 + 37 * n for n in range(24)]}),
        BucketizedTCloseness("income", t=2, k=4),
        person=None,
    ),
    "several steps": lambda: veil.mask(
        patients(300),
        [RandomPseudonyms("name"), RankSwapping(["age", "cost"], p=10), RandomSampling(size=200)],
    ),
    "local suppression": lambda: veil.mask(patients(200), LocalSuppression(["age", "sex"], k=3)),
    "noise": lambda: veil.mask(
        pa.table({"age": [20, 31, 42] * 20, "cost": [*range(60)]}), UncorrelatedNoise(["cost"], 0.2)
    ),
}


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> Release:
    return RELEASES[request.param]()


def test_every_page_can_be_written(release: Release, tmp_path: Path) -> None:
    for format in FORMATS:
        told = everything_in(release.report(tmp_path / f"report.{format}"))
        for finding in release.verification.findings:
            assert finding.promise in " ".join(told.split())
    assert release._repr_html_().startswith("<h4>Release: ")
    assert [axes.get_ylabel() for axes in release.plot.risks().figure.axes] == ["share of the records"]


def test_the_certificate_checks_the_table(release: Release, tmp_path: Path) -> None:
    path = release.certificate(tmp_path / "certificate.json")
    found = check_certificate(path, release.table)
    assert not found.broken
    assert len(found.findings) > 1
    unchecked = [each.promise for each in found.findings if not each.checked]
    assert all(each in str(found).splitlines()[0] for each in unchecked)


def test_another_table_breaks_the_certificate(release: Release, tmp_path: Path) -> None:
    if release.outcome.is_condensed:
        pytest.skip("an engine holds the table, which have no fingerprint")
    path = release.certificate(tmp_path / "certificate.json")
    assert not check_certificate(path, release.arrow.slice(1)).holds


def test_risks_are_those_of_the_published_table(release: Release) -> None:
    before, after = release.risk()
    assert before.records == release.records
    assert after.records == release.outcome.by_records.records - release.suppressed
    names = release.outcome.quasi_identifiers
    if not release.outcome.is_condensed:
        again = Published(Rows.of(release.arrow), names, suppressed="none")
        assert after.classes == again.sizes.size
        _, alone = release.risk(quasi_identifiers=names[0])
        assert alone.classes == len(set(release.arrow[names[0]].to_pylist()))


def test_what_a_search_has_is_told_to_be_missing(release: Release) -> None:
    assert release.search is None
    for name in ("score", "transformation"):
        with pytest.raises(AttributeError, match=rf"`{name}`: .*`measures\(\)`"):
            getattr(release, name)
    assert release.measures()["classes"] == release.classes + bool(release.suppressed)


def test_utility_is_measured_where_rows_are_in_memory(release: Release) -> None:
    if release.outcome.is_condensed:
        with refused(InputError, "an engine"):
            release.utility()
    else:
        assert release.utility(queries=0).records == release.records


# --- what only some have ----------------------------------------------------------------------------


def test_models_that_a_later_step_breaks_are_not_certified() -> None:
    table = pa.table({"age": [20, 21, 22, 40, 41, 42] * 5})
    steps = [Mondrian(["age"], KAnonymity(5), labels="means"), UncorrelatedNoise(["age"], 0.5)]
    assert certificate_of(veil.mask(table, steps[0]))["promises"]["models"] == [
        {"kind": "KAnonymity", "k": 5}
    ]
    assert certificate_of(veil.mask(table, steps))["promises"]["models"] == []


def test_keys_and_secret_tables_stay_away(tmp_path: Path) -> None:
    key = "9f2c71e05ad84b36c1f7a40d2e8b9563"
    release = veil.mask(patients(50), [KeyedPseudonyms("name", key=key), RandomPseudonyms("occupation")])
    (tmp_path / "k.txt").write_text(key)
    told = json.dumps(collect_facts(release)) + release._repr_html_() + repr(release)
    assert key not in told
    assert "k.txt" not in told
    for value in release.apart["pseudonyms"]["value"].to_pylist():
        assert value not in told
    assert "apart" not in certificate_of(release)


def test_the_second_table_of_anatomy_has_its_fingerprint() -> None:
    release = veil.mask(patients(50), Anatomy("diagnosis", 2))
    found = certificate_of(release)["apart"]["confidential"]
    assert [each["name"] for each in found["columns"]] == ["group", "diagnosis"]
    assert (found["rows"], len(found["sha256"])) == (50, 64)


def test_the_published_view_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    release = veil.anonymize(
        patients(200),
        quasi_identifiers={"age": "auto", "sex": "suppression"},
        models=KAnonymity(3),
        others="keep",
    )
    built: list[Any] = []
    made = Published.__init__

    def counted(self: Published, table: pa.Table, names: Any, **options: Any) -> None:
        if table is release.arrow:
            built.append(names)
        made(self, table, names, **options)

    monkeypatch.setattr(Published, "__init__", counted)
    release.report(tmp_path / "report.html")
    assert len(built) <= 1


def test_a_mask_can_be_assessed_verified_and_analyzed() -> None:
    release = mondrian()
    found = {each.model: each.value for each in veil.assess(release)}
    assert found["KAnonymity"] >= 5
    plan = Plan(dict.fromkeys(["age", "sex", "zip"], "suppression"), KAnonymity(5), others="keep")
    assert veil.verify(release, plan).holds
    assert veil.risk.analyze(release).attackers.prosecutor.highest <= 0.2
    assert veil.utility.compare(release, queries=0).records == 300
    with refused(PlanError, "`verify`", "promises"):
        veil.verify(release)
