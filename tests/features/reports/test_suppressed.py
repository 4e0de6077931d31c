"""Somebody holds release, certificate and report, and wants to know what suppressed records held."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.report import everything_in
from veil import AlphaKAnonymity, KAnonymity, Release
from veil import hierarchies as h
from veil.masking import RandomSampling
from veil.models import BetaLikeness, DeltaDisclosure, DistinctLDiversity, TCloseness
from veil.report import certificate_of, collect_facts
from veil.report.content import utility

ILLNESSES = ["cold", "flu", "gout"]
SENTINELS = ["Zoster77", "Quinsy88"]
ORDER = [*ILLNESSES, *SENTINELS]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is predicted matters here, not how well."""
    for name, number in (("TREES", 1), ("FOLDS", 2), ("QUERIES", 5)):
        monkeypatch.setattr(utility, name, number)


PLANS: dict[str, list[Any]] = {
    "k": [KAnonymity(5)],
    "diverse": [KAnonymity(5), DistinctLDiversity("illness", 2)],
    "close": [KAnonymity(5), TCloseness("illness", 1.0)],
    "close in order": [KAnonymity(5), TCloseness("illness", 1.0, "ordered", order=ORDER)],
    "disclosing": [KAnonymity(5), DeltaDisclosure("illness", 30)],
    "alike": [KAnonymity(5), BetaLikeness("illness", 500)],
}


def people(illness: list[str | None], pay: list[float | None], ward: list[str | None]) -> pa.Table:
    """Sixty people who are shown, and two who live where nobody else does."""
    return pa.table(
        {
            "town": ["Ulm", "Bonn"] * 30 + ["Jena", "Trier"],
            "age": [20 + i % 5 for i in range(60)] + [20, 24],
            "illness": [ILLNESSES[i % 3] for i in range(60)] + illness,
            "pay": pa.array([1000.0 + 10 * i for i in range(60)] + pay),
            "ward": [f"w{i % 4}" for i in range(60)] + ward,
        }
    )


def released(table: pa.Table, models: list[Any], rows: str, **changes: Any) -> Release:
    given: dict[str, Any] = {
        "quasi_identifiers": {"town": "suppression", "age": h.intervals(5)},
        "sensitive": ["illness"],
        "insensitive": ["pay", "ward"],
        "models": models,
        "suppression_limit": 0.1,
        "suppressed_rows": rows,
        "order": "input",
    }
    made = veil.anonymize(table, **{**given, **changes})
    assert made.suppressed == 2
    return made


def told(release: Release) -> dict[str, Any]:
    """All that the report tells, but for clocks."""
    found = collect_facts(release)
    found.pop("date")
    found["certificate"].pop("date")
    found["certificate"].pop("checksum")
    for each in found["curve"]:
        each.pop("seconds")
    return found


PLAIN = people(["flu", "cold"], [1100.0, 1200.0], ["w1", "w2"])


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["blank", "drop"])
@pytest.mark.parametrize("models", PLANS)
def test_no_figure_changes_with_what_suppressed_records_held(models: str, rows: str) -> None:
    known = told(released(PLAIN, PLANS[models], rows))
    for other in (
        people(SENTINELS, [9e9, -9e9], ["x", "y"]),
        people(["gout", "gout"], [1000.0, 1000.0], ["w0", "w0"]),
        people([None, None], [None, None], [None, None]),
    ):
        if models == "close in order" and other["illness"].null_count:
            continue  # not in the order
        found = told(released(other, PLANS[models], rows))
        for part in known:
            assert found[part] == known[part], part


@pytest.mark.parametrize("rows", ["blank", "drop"])
@pytest.mark.parametrize("models", ["diverse", "close in order"])
def test_sentinels_are_nowhere(models: str, rows: str, tmp_path: Path) -> None:
    release = released(people(SENTINELS, [987654.25, -987654.25], ["odd77", "odd88"]), PLANS[models], rows)
    certificate = release.certificate(tmp_path / "certificate.json")
    pages = [release.report(tmp_path / f"report.{ending}") for ending in ("html", "json", "pdf")]
    for path in (certificate, *pages):
        text = path.read_text() if path.suffix == ".json" else everything_in(path)
        for sentinel in (*SENTINELS, "odd77", "odd88", "987654", "987,654"):
            assert sentinel not in text, (path.name, sentinel)


def test_the_data_holder_is_told_on_request(tmp_path: Path) -> None:
    """The control: those figures do depend on it, so that the tests above can fail."""
    first, second = (
        collect_facts(released(table, PLANS["diverse"], "drop"), exact=True)
        for table in (PLAIN, people(["gout", "gout"], [9e9, -9e9], ["x", "y"]))
    )
    for part in ("associations", "utility", "input"):
        assert first[part] != second[part], part
    assert first["space"] is not None
    path = released(PLAIN, PLANS["k"], "drop").report(tmp_path / "r.json", for_the_data_holder=True)
    assert len(json.loads(path.read_text())["input"]["sha256"]) == 64


def test_a_dropped_diagnosis_does_not_move_an_association() -> None:
    """A table of few records, in which one more diagnosis made an association of .11 one of .71."""
    some = {"town": ["Ulm"] * 8 + ["Jena"], "age": [20, 21] * 4 + [24]}

    def association(illness: str, exact: bool) -> Any:
        table = pa.table(
            {**some, "illness": ["flu", "cold", "flu", "flu", "cold", "cold", "flu", "cold", illness]}
        )
        release = veil.anonymize(
            table,
            quasi_identifiers={"town": "suppression", "age": h.intervals(5)},
            sensitive=["illness"],
            models=KAnonymity(5),
            suppression_limit=0.2,
            suppressed_rows="drop",
        )
        assert release.suppressed == 1
        return collect_facts(release, exact=exact)["associations"]["before"]

    assert association("flu", False) == association("gout", False)
    assert association("flu", True) != association("gout", True)


def test_the_certificate_does_not_tell_whether_the_suppressed_would_do_as_a_class() -> None:
    """Silence would be an answer: of all ways the suppressed may be ill, the certificates tell the same."""
    found = set()
    for illnesses in itertools.product(["hiv", "flu"], repeat=3):
        table = pa.table(
            {
                "town": ["Ulm"] * 12 + ["a", "b", "c"],
                "illness": ["hiv", "flu", "cold", "flu"] * 3 + list(illnesses),
            }
        )
        release = veil.anonymize(
            table,
            quasi_identifiers={"town": "suppression"},
            sensitive=["illness"],
            models=[AlphaKAnonymity("illness", 0.7, 3, values=["hiv"]), BetaLikeness("illness", 9)],
            suppression_limit=0.5,
            maximum_levels={"town": 0},
        )
        assert release.suppressed == 3
        found.add(str(certificate_of(release)["promises"]["input"]))
    assert len(found) == 1


def test_sampled_records_leave_no_trace_in_kept_columns() -> None:
    def found(last: str) -> Any:
        table = pa.table({"age": [*range(40)], "illness": ["flu", "cold"] * 19 + ["flu", last]})
        release = veil.mask(table, RandomSampling(size=20), order="input", for_testing_seed=5)
        assert last not in release.arrow["illness"].to_pylist()
        facts = collect_facts(release)
        return facts["associations"], facts["distributions"]

    assert found("gout") == found("angina")
