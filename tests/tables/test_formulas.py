"""Formulas in cells: what the file holds, what the person who writes it is told, and what can be asked for."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest

import veil
from support.cli import veil as command
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import OutputError
from veil.tables import Csv, Excel, write
from veil.tables.formulas import FormulaWarning, count_formulas

EVIL = ["=HYPERLINK(1)", "+cmd|x", "-2+3+cmd", "@SUM(1)", "\tx", "=1"]
HARMLESS = ["-5", "+49 171", "-1.5e7", "a=b", "x@y", "[1, 2[", "", "-", None, "*"]


def test_what_counts_as_one() -> None:
    for dictionary in (False, True):
        column = pa.array([*EVIL, *HARMLESS])
        made = pa.chunked_array([column.dictionary_encode() if dictionary else column])
        assert count_formulas(made) == len(EVIL)
    assert count_formulas(pa.chunked_array([[-1, 2]])) == 0


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_by_default_one_is_warned_and_gets_what_was_verified(tmp_path: Path, name: str) -> None:
    table = pa.table({"q": ["x"] * 6, "note": EVIL})
    release = veil.anonymize(
        table, quasi_identifiers={"q": h.suppression()}, insensitive="note", models=KAnonymity(2)
    )
    with pytest.warns(FormulaWarning, match="'note'.*6 cells"):
        release.save(tmp_path / name)
    if name.endswith("csv"):
        with (tmp_path / name).open(newline="") as file:
            found = [row["note"] for row in csv.DictReader(file)]
    else:
        sheet = openpyxl.load_workbook(tmp_path / name).active
        assert all(
            row[1].data_type == "s" for row in sheet.iter_rows(min_row=2)
        )  # a text, which nothing computes
        found = [row[1] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert sorted(found) == sorted(EVIL)


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_they_are_refused_or_kept_on_request(tmp_path: Path, name: str) -> None:
    kind = Csv if name.endswith("csv") else Excel
    with pytest.raises(OutputError, match="column 'note'"):
        write(pa.table({"note": EVIL}), tmp_path / name, format=kind(formulas="refuse"))
    with pytest.raises(OutputError, match="column '=1'"):
        write(pa.table({"=1": ["x"]}), tmp_path / name, format=kind(formulas="refuse"))
    assert not (tmp_path / name).exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(pa.table({"note": EVIL}), tmp_path / name, format=kind(formulas="keep"))
        write(
            pa.table({"note": [each for each in HARMLESS if each]}),
            tmp_path / f"fine-{name}",
            format=Csv() if kind is Csv else Excel(),
        )


def test_the_command_line_warns_in_a_sentence(tmp_path: Path) -> None:
    source, target = tmp_path / "t.csv", tmp_path / "out.csv"
    source.write_text("q,note\nx,=1+1\nx,fine\n")
    plan = ("--qi", "q=suppression", "--insensitive", "note", "--model", "k-anonymity:2")
    for engine in ((), ("--engine", "duckdb")):
        ran = command("anonymize", source, "-o", target, *plan, *engine, "--overwrite")
        assert ran.code == 0, ran
        assert "warning:" in ran.err
        assert "'note'" in ran.err
        assert "(1 cell)" in ran.err
        assert "warnings.warn" not in ran.err
    target.unlink()
    ran = command("anonymize", source, "-o", target, *plan, "--format", "csv:formulas=refuse")
    assert (ran.code, target.exists()) == (2, False)
    assert "--format csv:formulas=keep" in ran.err
