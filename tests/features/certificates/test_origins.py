"""Every number and every hash in what goes to a recipient has an origin: it is released, or it was declared.

A release of each kind is certified, and the certificate is walked. Each place of a certificate has a rule that says which
numbers and hashes may stand there, computed from the released file and from what was declared; a place without a rule,
or a figure that its rule does not know, is a leak.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from support.origins import leaves, tokens
from support.policies import datum, model, policy
from veil import DistinctLDiversity, KAnonymity, TCloseness
from veil import hierarchies as h
from veil.api.release import Release
from veil.masking import LocalSuppression, Mondrian, RandomPseudonyms, RankSwapping
from veil.policy import apply, processing_record
from veil.policy.documents.elements import Retention
from veil.report import certificate_of, check_certificate, content_digest
from veil.report.certificate.digest import column_digests
from veil.report.certificate.keys import PrivateKey
from veil.report.certificate.signature import checksum_of
from veil.tables import read

RNG = np.random.default_rng(7)
TABLE = pa.table(
    {
        "age": [*RNG.integers(20, 60, 57), 91, 93, 97],
        "ward": [*RNG.choice(["a", "b"], 57), "x", "y", "z"],
        "ill": RNG.choice(["flu", "cold", "gout"], 60),
        "who": [f"n{at // 2}" for at in range(60)],
        "cost": RNG.permutation(60) * 13.25,
    }
)
HIERARCHIES = {"age": h.intervals(10, 40), "ward": h.suppression()}
PLAN: dict[str, Any] = {
    "quasi_identifiers": HIERARCHIES,
    "sensitive": ["ill"],
    "models": [KAnonymity(4), DistinctLDiversity("ill", 2), TCloseness("ill", 0.45)],
    "suppression_limit": 0.1,
}
SEVERAL = {
    "patients": pa.table({"id": np.arange(30), "age": RNG.integers(20, 60, 30)}),
    "visits": pa.table({"id": np.arange(30).repeat(1), "ill": RNG.choice(["flu", "cold"], 30)}),
}


def under_policies() -> Release:
    people = {
        f"p{at}": policy(
            f"p{at}",
            (datum("age", "QID"), datum("ill", "SD")),
            (model("k-Anonymity", k=3),),
            retention=Retention("fixedDate", f"20{31 + at}-05-06"),
        )
        for at in range(8)
    }
    table = TABLE.select(["age", "ill"]).slice(0, 8).append_column("policy_id", pa.array(list(people)))
    return apply(table, people, purpose="research", recipient="lab", on=date(2026, 6, 1))


class Case(NamedTuple):
    """A release, and the numbers that were declared for it."""

    make: Callable[[], Any]
    declared: str


CASES = {
    "search": Case(lambda: veil.anonymize(TABLE.drop_columns(["who", "cost"]), **PLAN), "4 2 0.45"),
    "search, rows dropped": Case(
        lambda: veil.anonymize(TABLE.drop_columns(["who", "cost"]), **PLAN, suppressed_rows="drop"), "4 2 0.45"
    ),
    "people": Case(
        lambda: veil.anonymize(
            TABLE.drop_columns(["cost"]), **(PLAN | {"models": [KAnonymity(4)]}), person="who", knows="one row"
        ),
        "4",
    ),
    "swapping": Case(lambda: veil.mask(TABLE.select(["cost"]), RankSwapping(["cost"], 10)), "6"),  # 10 % of 60 rows
    "suppression of cells": Case(lambda: veil.mask(TABLE.select(["age", "ward"]), LocalSuppression(["age", "ward"], k=3)), "3"),
    "partitioning": Case(lambda: veil.mask(TABLE.select(["age", "cost"]), Mondrian(["age"], KAnonymity(5))), "5"),
    "pseudonyms": Case(lambda: veil.mask(TABLE.select(["who", "ill"]), RandomPseudonyms(["who"])), ""),
    "policies": Case(under_policies, "3"),
}  # fmt: skip


def leaks(certificate: dict[str, Any], file: Path, case: Case) -> list[str]:
    """List the numbers and hashes of a certificate without an origin, and everything that looks like a path."""
    table = read(file).table
    declared = tokens(case.declared) | tokens(" ".join(table.column_names))
    rows = {str(table.num_rows)}
    hashes = {content_digest(table), *column_digests(table).values()}
    found = {one for each in check_certificate_of(certificate, file) for one in tokens(each)}
    rules: dict[
        str, set[str] | None
    ] = {  # None: the clock, the version or the format, which nobody's cell decides
        "veil_certificate|veil|date": None,
        r"promises\.(models|roles|quasi_identifiers|identifying|person|marker|flag|label).*": declared,
        r"promises\.input(\..*)?": rows,
        r"promises\.stated.*": declared,
        r"promises(\.(untouched|every_row_judged))?": declared,
        r"found(\[\])?(\..*)?": declared | found,
        r"content\.columns\[\]\.type": {"8", "16", "32", "64"},  # as in int64: that of the released column
        r"content(\..*)?": hashes | rows | declared,
        r"acknowledged(\[\])?": declared,
        "checksum": {checksum_of(certificate)},
        r"signature(\..*)?": None,
    }
    made = []
    for path, value in leaves(certificate):
        rule = next((each for each in rules if re.fullmatch(each, path)), None)
        if rule is None:
            made.append(f"{path}: no origin is registered")
            continue
        allowed = rules[rule]
        if allowed is not None and (odd := tokens(value) - allowed - {"sha256"} - tokens("sha256")):
            made.append(f"{path}: {sorted(odd)}")
        if (
            isinstance(value, str)
            and not path.startswith("signature.")  # base 64, which may begin with a slash
            and re.search(r"(^|\s)(/|[A-Za-z]:\\|file:)", value)
        ):
            made.append(f"{path}: a path, {value!r}")
    return made


def check_certificate_of(certificate: dict[str, Any], file: Path) -> list[str]:
    """What somebody finds who has the file and the certificate, and nothing else."""
    place = file.with_name("certificate.json")
    place.write_text(json.dumps(certificate))
    return [each.measured for each in check_certificate(place, file).findings]


@pytest.fixture(scope="module", params=CASES)
def certified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    case = CASES[request.param]
    release = case.make()
    file = tmp_path_factory.mktemp("out") / "release.csv"
    release.save(file)
    return case, release, file


def test_every_figure_of_a_certificate_has_an_origin(certified: Any) -> None:
    case, release, file = certified
    assert leaks(certificate_of(release), file, case) == []
    assert leaks(certificate_of(release, sign=PrivateKey.new()), file, case) == []


def test_a_planted_leak_is_found(certified: Any) -> None:
    case, release, file = certified
    genuine = certificate_of(release)
    for place, value in (
        (("suppressed",), 7919),
        (("policies",), [["ab" * 32]]),
        (("content", "sha256"), content_digest(TABLE)),
        (("content", "columns", 0, "sha256"), "cd" * 32),
        (("promises", "marker"), "17 cells"),
        (("promises", "roles", "n7919"), []),
        (("acknowledged",), ["nearly unique: 7919"]),
        (("promises", "flag"), "/home/ada/patients.csv"),
    ):
        made = copy.deepcopy(genuine)
        inner: Any = made
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        rest = {key: each for key, each in made.items() if key != "checksum"}
        made["checksum"] = checksum_of(rest)
        try:
            assert leaks(made, file, case), place
        except veil.errors.VeilError:  # the form of a certificate already refuses it
            assert place[0] == "promises"


def test_a_parquet_file_says_nothing_beside_its_rows(certified: Any) -> None:
    _, release, file = certified
    release.save(file.with_suffix(".parquet"))
    about = pq.read_metadata(file.with_suffix(".parquet"))
    assert list(about.metadata) == [b"ARROW:schema"]  # names and types of what is released
    assert pq.read_schema(file.with_suffix(".parquet")).metadata is None
    assert about.num_rows == read(file).table.num_rows


def test_several_tables_have_fingerprints_of_what_is_released_only(tmp_path: Path) -> None:
    release: Any = veil.anonymize(
        SEVERAL,
        person="id",
        quasi_identifiers={"age": h.intervals(20, 40)},
        sensitive=["ill"],
        models=KAnonymity(3),
        suppression_limit=0.5,
    )
    certificate = certificate_of(release)
    for name, each in release.tables.items():
        assert certificate["tables"][name]["sha256"] == content_digest(read(each).table)
    known = {str(len(each)) for each in release.tables.values()} | {"3"}
    for path, value in leaves({key: certificate[key] for key in ("promises", "found")}):
        assert tokens(value) <= known | {one for each in certificate["found"] for one in tokens(each)}, path


def test_the_record_of_processing_has_the_declared_numbers_only(tmp_path: Path) -> None:
    tree = json.loads(processing_record(under_policies(), tmp_path / "record.jsonld").read_text())
    tree.pop("@context")
    told = {one for path, value in leaves(tree) if path != "dct:issued.@value" for one in tokens(value)}
    assert told == {"3"}
