from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.errors import InputError
from veil.models import (
    AlphaKAnonymity,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    Inclusion,
    KMAnonymity,
    TCloseness,
)
from veil.report import certificate_of, check_certificate, content_digest
from veil.report.certificate.digest import column_digests, kind_of
from veil.report.certificate.reading import as_certified
from veil.report.certificate.signature import signed
from veil.tables import Csv, read, write

PEOPLE = pa.table(
    {
        "name": ["Ann", "Bob", "Cleo", "Dan", "Eve", "Fay"],
        "age": [21, 23, 34, 38, 35, 61],
        "zip": ["02139", "02138", "10115", "10117", "10119", "99999"],
        "illness": ["flu", "cold", "flu", "gout", "cold", "flu"],
    }
)


def released(*models: Any, **changes: Any) -> Release:
    given: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(20, 40), "zip": h.redaction()},
        "sensitive": ["illness"],
        "identifying": ["name"],
        "models": models or [KAnonymity(2)],
        "suppression_limit": 0.2,
    }
    return veil.anonymize(PEOPLE, **{**given, **changes})


# --- the fingerprint --------------------------------------------------------------------------------------


def test_every_kind_of_frame_and_file_has_the_same_fingerprint(tmp_path: Path) -> None:
    table = PEOPLE.append_column("pay", pa.array([1.5, None, 2.0, 1e-7, 3.25, 4.0]))
    known = content_digest(table)
    for name in ("t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.xlsx"):
        write(table, tmp_path / name)
        assert content_digest(read(tmp_path / name).table) == known, name
    for frame in (pd.DataFrame(table.to_pandas()), pl.from_arrow(table)):
        assert content_digest(read(frame).table) == known


CELLS = {
    "text": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "truth": st.booleans(),
    "day": st.dates(date(1, 1, 2), date(9999, 12, 30)),
    "moment": st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    "money": st.decimals(-(10**9), 10**9, places=2),
    "digits": st.sampled_from(["02139", "1e5", "007", "NA", "", "true", "2020-01-01", "-0", "4.50", " 5"]),
}
TYPES = {
    "text": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "truth": pa.bool_(),
    "day": pa.date32(),
    "moment": pa.timestamp("us"),
    "money": pa.decimal128(12, 2),
    "digits": pa.string(),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 5))
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4, unique=True))
    column = {name: draw(st.lists(st.none() | CELLS[name], min_size=rows, max_size=rows)) for name in names}
    return pa.table({name: pa.array(values, TYPES[name]) for name, values in column.items()})


@settings(max_examples=60, deadline=None)
@given(table=tables())
def test_the_fingerprint_survives_writing_and_reading(
    table: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    table = read(table).table  # where -0.0 is 0.0
    digests = column_digests(table)
    certified = [
        {"name": name, "kind": kind_of(table[name].type), "sha256": digests[name]} for name in digests
    ]
    for name in ("t.csv", "t.parquet"):
        write(table, folder / name)
        assert column_digests(as_certified(read(folder / name), certified).table) == digests


@settings(max_examples=60, deadline=None)
@given(table=tables(), data=st.data())
def test_any_other_cell_has_another_fingerprint(table: pa.Table, data: st.DataObject) -> None:
    known = content_digest(table)
    name = data.draw(st.sampled_from(table.column_names))
    row = data.draw(st.integers(0, table.num_rows - 1))
    values = table[name].to_pylist()
    old = values[row]
    values[row] = data.draw((st.none() | CELLS[name]).filter(lambda new: not _same(new, old)))
    place = table.column_names.index(name)
    changed = table.set_column(place, name, pa.array(values, TYPES[name]))
    assert content_digest(changed) != known
    if table.num_rows > 1:
        assert content_digest(table.slice(1)) != known


def _same(new: Any, old: Any) -> bool:
    return (
        bool(new == old)
        and (new is None) == (old is None)
        and not isinstance(new, bool) ^ isinstance(old, bool)
    )


def test_neighbouring_texts_are_told_apart() -> None:
    for one, other in (
        (["ab", "c"], ["a", "bc"]),
        ([None, ""], ["", None]),
        (["a\0b", "c"], ["a", "b\0c"]),
        (["1", "1"], ["11", ""]),
    ):
        assert content_digest(pa.table({"a": one})) != content_digest(pa.table({"a": other}))
    assert content_digest(pa.table({"a": ["x"], "b": ["y"]})) != content_digest(
        pa.table({"b": ["y"], "a": ["x"]})
    )


def test_types_do_not_matter_but_texts_do() -> None:
    known = content_digest(pa.table({"a": [1, 2]}))
    assert content_digest(pa.table({"a": ["1", "2"]})) == known
    assert content_digest(pa.table({"a": pa.array(["1", "2"]).dictionary_encode()})) == known
    assert content_digest(pa.table({"a": [1.0, 2.0]})) == known
    assert content_digest(pa.table({"a": [Decimal("1.0"), Decimal("2.0")]})) == known
    assert content_digest(pa.table({"a": ["1.0", "2.0"]})) != known


def test_lists_have_a_fingerprint(tmp_path: Path) -> None:
    table = pa.table({"items": [["a", "b"], [], None]})
    write(table, tmp_path / "t.parquet")
    assert content_digest(read(tmp_path / "t.parquet").table) == content_digest(table)
    assert content_digest(pa.table({"items": [["a"], ["b"], None]})) != content_digest(table)


def test_chunks_do_not_matter() -> None:
    whole = pa.table({"a": pa.array([str(i) for i in range(300_000)])})
    parts = pa.concat_tables([whole.slice(0, 7), whole.slice(7, 200_000), whole.slice(200_007)])
    assert content_digest(whole) == content_digest(parts)


# --- checking ---------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    release = released()
    release.save(tmp_path / "release.csv")
    return release.certificate(tmp_path / "certificate.json"), tmp_path / "release.csv"


def test_the_right_table_passes(files: tuple[Path, Path]) -> None:
    found = check_certificate(*files)
    assert found.holds
    assert [each.promise for each in found.findings][2:] == [
        "2-anonymity",
        "identifying column 'name' is removed",
        "models and roles of columns agree",
    ]


@pytest.mark.parametrize("suffix", ["html", "json"])
def test_a_report_can_be_checked_itself(suffix: str, tmp_path: Path) -> None:
    release = released(DistinctLDiversity("illness", 2))
    report = release.report(tmp_path / f"report.{suffix}")
    assert check_certificate(report, release.table).holds
    assert not check_certificate(report, release.arrow.slice(1)).holds


def test_a_pdf_holds_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF-1.4\xff")
    with refused(InputError, "as text", "JSON file"):
        check_certificate(path, PEOPLE)


def broken(certificate: Path, table: Any) -> list[str]:
    return [
        each.promise.split(" 'SHA")[0]
        for each in check_certificate(certificate, table).findings
        if not each.holds
    ]


def test_one_other_cell_breaks_it(files: tuple[Path, Path]) -> None:
    text = files[1].read_text()
    files[1].write_text(text.replace("gout", "flu"))
    found = check_certificate(*files)
    assert not found.findings[1].holds
    assert found.findings[1].measured == "column 'illness' differs"


def test_a_row_less_breaks_it(files: tuple[Path, Path]) -> None:
    lines = files[1].read_text().splitlines()
    files[1].write_text("\n".join(lines[:-1]) + "\n")
    assert check_certificate(*files).findings[1].measured == "5 rows instead of 6"


def test_a_column_more_breaks_it(files: tuple[Path, Path]) -> None:
    table = read(files[1]).table.append_column("name", PEOPLE["name"])
    found = {each.promise: each for each in check_certificate(files[0], table).findings}
    assert not found["identifying column 'name' is removed"].holds
    assert "2-anonymity" in broken(files[0], table)  # the suppressed record has got a name
    assert len(broken(files[0], table)) == 3


def test_a_higher_k_breaks_it(files: tuple[Path, Path]) -> None:
    text = files[0].read_text()
    assert text.count('"k": 2') == 1
    files[0].write_text(text.replace('"k": 2', '"k": 3'))
    assert broken(*files) == ["the certificate is undamaged", "3-anonymity"]


def test_a_higher_k_with_a_new_checksum_is_found_on_the_table(files: tuple[Path, Path]) -> None:
    data = json.loads(files[0].read_text())
    data["promises"]["models"][0]["k"] = 3
    data["found"][0]["checkable"] = False
    files[0].write_text(json.dumps(signed(data, None)))
    assert broken(*files) == ["3-anonymity"]


def test_other_columns_are_said_to_be_lacking(files: tuple[Path, Path]) -> None:
    found = check_certificate(files[0], read(files[1]).table.drop_columns(["zip"]))
    assert "without 'zip'" in [each.measured for each in found.findings]
    assert not found.holds


def test_whoever_gets_the_file_need_not_know_its_decimal_mark(tmp_path: Path) -> None:
    table = PEOPLE.append_column("pay", pa.array([1.5, 2.5, 3.5, 4.5, 5.5, 6.5]))
    write(table, tmp_path / "people.csv", format=Csv(separator=";", decimal=","))
    release = veil.anonymize(
        tmp_path / "people.csv",
        quasi_identifiers={"age": "suppression"},
        models=KAnonymity(2),
        others="keep",
        format=Csv(separator=";", decimal=","),
    )
    release.save(tmp_path / "release.csv")
    certificate = release.certificate(tmp_path / "certificate.json")
    assert veil.verify(tmp_path / "release.csv", certificate=certificate).holds
    again = read(tmp_path / "release.csv", format=Csv(separator=";", decimal=",")).table
    assert check_certificate(certificate, again).holds
    text = (tmp_path / "release.csv").read_text()
    (tmp_path / "release.csv").write_text(text.replace("4,5", "4,6"))
    found = veil.verify(tmp_path / "release.csv", certificate=certificate)
    assert found.broken
    (tmp_path / "release.csv").write_text(text.replace("4,5", "about 4"))
    found = veil.verify(tmp_path / "release.csv", certificate=certificate)
    assert "read as string: the file may only need to be read" in str(found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "contains no certificate"),
        ("[1]", "contains no certificate"),
        ("<html></html>", "contains no certificate"),
        ('{"veil_certificate": 99}', "of format 99, which this version of Veil"),
        ('{"veil_certificate": 1}', "the certificate is damaged"),
        ('{"veil_certificate": 1, "content": [], "promises": 3}', "the certificate is damaged"),
    ],
)
def test_what_is_no_certificate_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        check_certificate(path, PEOPLE)


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    with refused(InputError, "no such file"):
        check_certificate(tmp_path / "certificate.json", PEOPLE)


# --- what it holds ----------------------------------------------------------------------------------------


def test_it_knows_nothing_of_the_input() -> None:
    release = released(suppressed_rows="drop")
    text = json.dumps(certificate_of(release))
    assert content_digest(PEOPLE) not in text
    assert '"rows": 6' not in text
    assert release.suppressed == 1
    assert certificate_of(release)["content"]["rows"] == 5


MODELS: list[tuple[Any, bool]] = [
    (KAnonymity(2), True),
    (DistinctLDiversity("illness", 2), True),
    (EntropyLDiversity("illness", 1.5), True),
    (TCloseness("illness", 0.9), True),
    (AlphaKAnonymity("illness", 0.9, 2, values=["flu"]), True),
    (DeltaPresence(0.1, 1.0, subset=[0, 1, 2, 3]), False),
]


@pytest.mark.parametrize(("model", "checkable"), MODELS, ids=lambda each: getattr(each, "kind", str(each)))
def test_models_are_verified_again_where_the_table_suffices(
    model: Any, checkable: bool, tmp_path: Path
) -> None:
    release = released(model, suppression_limit=1.0)
    path = release.certificate(tmp_path / "certificate.json")
    stated = json.loads(path.read_text())["found"][0]
    assert stated["checkable"] is checkable
    found = check_certificate(path, release.arrow)
    assert not found.broken
    assert found.holds is found.findings[2].checked is checkable
    assert found.findings[2].promise.startswith("the certificate states") is not checkable
    assert (found.findings[2].promise in str(found).splitlines()[0]) is not checkable


def test_a_model_that_lists_a_value_that_is_not_released_is_not_checkable(tmp_path: Path) -> None:
    illness = pa.array([*PEOPLE["illness"].to_pylist()[:5], "plague"])
    release = veil.anonymize(
        PEOPLE.set_column(3, "illness", illness),
        quasi_identifiers={"age": h.intervals(20), "zip": h.redaction()},
        sensitive=["illness"],
        identifying=["name"],
        models=AlphaKAnonymity("illness", 0.9, 2, values=["plague"]),
        suppression_limit=0.2,
        suppressed_rows="drop",
    )
    path = release.certificate(tmp_path / "certificate.json")
    assert "plague" not in path.read_text()
    assert check_certificate(path, release.arrow).findings[2].verdict == "not checked"


def test_sets_of_items_are_certified(tmp_path: Path) -> None:
    table = pa.table({"sex": ["f"] * 4, "items": [["a"], ["a", "b"], ["b"], ["a", "b"]]})
    release = veil.anonymize(
        table, quasi_identifiers={"sex": "identity"}, sensitive="items", models=KMAnonymity("items", 2, 1)
    )
    assert check_certificate(release.certificate(tmp_path / "c.json"), release.table).holds


def test_an_empty_release_is_certified(tmp_path: Path) -> None:
    release = released(
        KAnonymity(6), suppression_limit=1.0, suppressed_rows="drop", maximum_levels={"age": 0, "zip": 0}
    )
    assert release.arrow.num_rows == 0
    assert check_certificate(release.certificate(tmp_path / "c.json"), release.arrow).holds


def test_a_research_subset_is_certified(tmp_path: Path) -> None:
    release = released(KAnonymity(2), Inclusion([0, 1, 2, 3]), suppression_limit=1.0)
    found = check_certificate(release.certificate(tmp_path / "c.json"), release.arrow)
    assert not found.broken
    assert [each.verdict for each in found.findings[2:4]] == ["holds", "not checked"]


def test_a_local_recoding_is_certified(tmp_path: Path) -> None:
    release = released(quality=veil.quality.Loss(factor=0.0), suppression_limit=1.0).local_recoding()
    assert check_certificate(release.certificate(tmp_path / "c.json"), release.table).holds


def test_dates_are_those_of_today() -> None:
    made = datetime.fromisoformat(certificate_of(released())["date"])
    assert timedelta() <= datetime.now(made.tzinfo) - made < timedelta(minutes=5)
