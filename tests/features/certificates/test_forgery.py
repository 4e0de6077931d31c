"""Certificates in the hands of a forger, who wants a table to pass that keeps no promise, and has the checksum right."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import InputError
from veil.models import DeltaPresence, DistinctLDiversity, TCloseness
from veil.published.finding import Verification
from veil.report import PrivateKey, certificate_of, check_certificate
from veil.report.certificate.signature import signed

RAW = pa.table(
    {
        "age": ["21", "23", "34", "38", "35", "61"],
        "zip": ["02139", "02138", "10115", "10117", "10119", "99999"],
        "illness": ["flu", "cold", "flu", "gout", "cold", "flu"],
    }
)
MODELS = [KAnonymity(2), DistinctLDiversity("illness", 2), TCloseness("illness", 0.9)]


def release_of(table: pa.Table, **changes: Any) -> veil.Release:
    given: dict[str, Any] = {
        "quasi_identifiers": {"age": h.redaction(), "zip": h.redaction()},
        "sensitive": ["illness"],
        "models": MODELS,
        "suppression_limit": 0.4,
    }
    return veil.anonymize(table, **{**given, **changes})


@pytest.fixture(scope="module")
def genuine() -> dict[str, Any]:
    return certificate_of(release_of(RAW))


@pytest.fixture(scope="module")
def forged(genuine: dict[str, Any]) -> dict[str, Any]:
    """The promises of an honest release, put on a table that keeps none of them."""
    raw = certificate_of(release_of(RAW, models=KAnonymity(1), order="input"))
    return {**genuine, "content": raw["content"]}


@pytest.fixture(scope="module")
def bare(forged: dict[str, Any]) -> pa.Table:
    return release_of(RAW, models=KAnonymity(1), order="input").arrow


def check(made: dict[str, Any], table: Any, folder: Path, **options: Any) -> Verification:
    path = folder / "certificate.json"
    path.write_text(json.dumps(made))
    return check_certificate(path, table, **options)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*at, key))


GONE = object()
OTHERS: list[Any] = [GONE, None, True, False, 0, 1, -1, 99, "", "x", "age", "illness", [], {}, ["age"], {"kind": "KAnonymity", "k": 1}]  # fmt: skip


def altered(made: dict[str, Any], place: tuple[Any, ...], other: Any) -> dict[str, Any]:
    new = copy.deepcopy(made)
    inside = new
    for key in place[:-1]:
        inside = inside[key]
    if other is GONE:
        del inside[place[-1]]
    else:
        inside[place[-1]] = other
    return new


def test_no_change_of_a_field_makes_a_bad_table_pass(
    forged: dict[str, Any], bare: pa.Table, tmp_path: Path
) -> None:
    """Every field, each with many other values. Only a promise that asks for less may hold, and says what it asks for."""
    found = check(signed(forged, None), bare, tmp_path)
    assert [each.holds for each in found.findings] == [True, True, False, False, False, True]
    tried = held = 0
    for place in places(forged):
        for other in OTHERS:
            tried += 1
            try:
                found = check(signed(altered(forged, place, other), None), bare, tmp_path)
            except InputError:
                continue
            promised = {each.promise for each in found.findings if each.holds}
            assert not promised & {
                "2-anonymity",
                "distinct 2-diversity of 'illness'",
            }, (place, other)
            assert not found.holds, (place, other)
            held += len(promised)
    assert tried > 1000
    assert held > 0


FURTHER: list[Any] = [GONE, None, True, 1, "x", "one row", "remove", "mask", "pseudonym", "patient", [], {}, ["patient"], {"column": "patient", "knows": "one row"}, {"whole": True, "records": 10**6, "chosen": False}]  # fmt: skip

VISITS = {
    "patients": pa.table({"patient": range(8), "age": ["21", "22", "23", "24", "35", "36", "37", "38"]}),
    "visits": pa.table({"patient": [i // 2 for i in range(16)], "ward": [f"w{i // 4}" for i in range(16)]}),
}
PEOPLE: dict[str, Any] = {"person": "patient", "suppression_limit": 1.0}


def of_several(k: int) -> Any:
    known = {"age": h.redaction(), "ward": h.suppression()}
    return veil.anonymize(VISITS, quasi_identifiers=known, models=KAnonymity(k), **PEOPLE)


def of_people(k: int) -> Any:
    ward = pa.array([f"w{i // 2}" for i in range(16)])  # two rows, and one person
    linked: Any = {"knows": "all rows", "identifying": {"patient": "pseudonym"}}
    table = VISITS["visits"].set_column(1, "ward", ward)
    known = {"ward": h.suppression()}
    return veil.anonymize(table, quasi_identifiers=known, models=KAnonymity(k), **PEOPLE, **linked)


def of_an_engine(k: int) -> Any:
    return release_of(ibis.duckdb.connect().create_table("people", RAW), models=KAnonymity(k))


@pytest.mark.parametrize("of", [of_several, of_people, of_an_engine])
def test_nor_does_one_of_several_tables_of_people_or_of_an_engine(of: Any, tmp_path: Path) -> None:
    """A table of which nothing holds that needs two people: no field helps, other than one that asks for less."""
    honest, bare = certificate_of(of(2)), of(1)
    forged = honest | {
        key: certificate_of(bare).get(key, {}) for key in ("content", "tables") if key in honest
    }
    assert check(signed(forged, None), bare, tmp_path).broken
    tried = 0
    for place in places(forged):
        for other in FURTHER:
            tried += 1
            try:
                found = check(signed(altered(forged, place, other), None), bare, tmp_path)
            except InputError:
                continue
            asks_for_less = place == ("promises", "models", 0, "k") and other == 1
            assert not found.holds or asks_for_less, (place, other)
    assert tried > 500


def test_no_change_of_a_signed_certificate_passes(genuine: dict[str, Any], tmp_path: Path) -> None:
    release, key = release_of(RAW, models=KAnonymity(2)), PrivateKey.new()
    made = certificate_of(release, sign=key)
    assert check(made, release.arrow, tmp_path, signed_by=key.public).holds
    for place in places(made):
        for other in OTHERS:
            new = altered(made, place, other)
            if new == made and json.dumps(new) == json.dumps(made):
                continue
            try:
                found = check(new, release.arrow, tmp_path, signed_by=key.public)
            except InputError:
                continue
            assert not found.holds, (place, other)


def test_a_certificate_without_promises_is_refused(
    genuine: dict[str, Any], bare: pa.Table, tmp_path: Path
) -> None:
    empty = altered(altered(genuine, ("promises", "models"), []), ("found",), [])
    with refused(InputError, "promises nothing"):
        check(signed(empty, None), bare, tmp_path)


def test_promises_that_are_called_uncheckable_are_checked_all_the_same(
    forged: dict[str, Any], bare: pa.Table, tmp_path: Path
) -> None:
    made = copy.deepcopy(forged)
    for each in made["found"]:
        each["checkable"] = False
    assert "2-anonymity" in [each.promise for each in check(signed(made, None), bare, tmp_path).broken]


def test_a_promise_that_nobody_can_check_is_the_first_thing_said(
    forged: dict[str, Any], bare: pa.Table, tmp_path: Path
) -> None:
    made = copy.deepcopy(forged)
    made["promises"]["models"] = [
        {"kind": "DeltaPresence", "subset": {"kind": "RowNumbers", "withheld": {"rows": 3}}}
    ]
    made["found"] = [{"promise": "(0, 0.5)-presence", "found": "0.3", "checkable": True}]
    found = check(signed(made, None), bare, tmp_path)
    assert not found.holds
    assert str(found).startswith(
        "NOT CHECKED: the certificate states: (0, 0.5)-presence; who made the certificate"
    )
    made["promises"]["models"] = [{"kind": "PerfectPrivacy"}]
    found = check(signed(made, None), bare, tmp_path)
    assert found.findings[2].measured == "this Veil knows no model 'PerfectPrivacy'"
    assert not found.holds


def test_a_model_that_judges_another_column_than_the_roles_say(tmp_path: Path) -> None:
    """Judged on the town, which is as diverse as one likes, where the illness is the secret."""
    table = RAW.append_column("town", pa.array(["a", "b", "c", "d", "e", "f"]))
    release = release_of(
        table, models=[KAnonymity(2), DistinctLDiversity("town", 2)], sensitive=["illness", "town"]
    )
    made = certificate_of(release)
    assert check(made, release.arrow, tmp_path).holds
    made["promises"]["roles"] = {
        "quasi-identifying": ["age", "zip"],
        "sensitive": ["illness"],
        "insensitive": ["town"],
    }
    found = check(signed(made, None), release.arrow, tmp_path)
    assert [each.measured for each in found.broken] == [
        "DistinctLDiversity judges 'town', which is not sensitive"
    ]


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ({"quasi-identifying": ["age", "zip"]}, "'illness' has no role"),
        ({"quasi-identifying": ["age"], "sensitive": ["illness"], "insensitive": ["zip"]}, "quasi-identifiers that are judged"),
        ({"quasi-identifying": ["age", "zip"], "sensitive": ["illness", "age"]}, "'age' has two roles"),
        ({"quasi-identifying": ["age", "zip"], "sensitive": ["illness"], "identifying": ["name"]}, "identifying columns are others"),
    ],
)  # fmt: skip
def test_roles_that_do_not_fit(
    roles: dict[str, Any], told: str, genuine: dict[str, Any], tmp_path: Path
) -> None:
    made = altered(genuine, ("promises", "roles"), roles)
    found = check(signed(made, None), RAW, tmp_path)
    assert told in found.findings[-1].measured
    assert not found.findings[-1].holds


def test_a_quasi_identifier_that_is_not_judged_is_found(tmp_path: Path) -> None:
    release = release_of(RAW)
    made = certificate_of(release)
    made["promises"]["quasi_identifiers"] = ["age"]
    found = check(signed(made, None), release.arrow, tmp_path)
    assert "the quasi-identifiers that are judged are others" in str(found.broken[-1])


def test_files_that_a_certificate_names_are_not_opened(
    tmp_path: Path, bare: pa.Table, forged: dict[str, Any]
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("flu;*\n")
    made = copy.deepcopy(forged)
    spec = {"kind": "TCloseness", "attribute": "illness", "t": 0.9, "distance": "hierarchical"}
    made["promises"]["models"][2] = {**spec, "hierarchy": {"kind": "file", "path": str(secret)}}
    assert check(signed(made, None), bare, tmp_path).findings[4].verdict == "not checked"


def test_what_is_said_twice_is_refused(genuine: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(genuine).replace('"date"', '"marker": "a", "marker": "b", "date"', 1))
    with refused(InputError, "twice"):
        check_certificate(path, RAW)


# --- what is withheld ---------------------------------------------------------------------------------


def withheld_release(rows: list[int]) -> veil.Release:
    register = pa.table({"age": [str(20 + i % 4) for i in range(12)], "illness": ["flu", "cold", "HIV"] * 4})
    return veil.anonymize(
        register,
        quasi_identifiers={"age": "suppression"},
        sensitive=["illness"],
        models=[DeltaPresence(0.0, 1.0, subset=rows), TCloseness("illness", 0.9, "ordered", order=["flu", "cold", "HIV"])],
        suppression_limit=1.0,
        suppressed_rows="drop",
        minimum_levels={"age": 1},
    )  # fmt: skip


def test_a_guess_of_the_subset_cannot_be_tried(tmp_path: Path) -> None:
    """Two subsets of which the release shows the same: nothing in certificate or report tells which it was."""

    def told(rows: list[int]) -> tuple[Any, Any]:
        release = withheld_release(rows)
        report = json.loads(release.report(tmp_path / f"{rows[0]}.json", overwrite=True).read_text())
        made = report["certificate"]
        return made["promises"], report["recipe"]

    assert told([0, 1]) == told([3, 4])
    assert "HIV" not in json.dumps(told([0, 1]))
    assert "sha256" not in json.dumps(told([0, 1]))


def test_the_number_of_what_is_withheld_stays() -> None:
    spec = certificate_of(withheld_release([0, 1]))["promises"]["models"]
    assert spec[0]["subset"] == {"kind": "RowNumbers", "withheld": {"rows": 2}}
    assert spec[1]["order"] == ["flu", "cold"]
