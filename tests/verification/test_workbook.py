"""Forms of values in workbooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.styles import Font

import veil
from veil import KAnonymity
from veil.plan.plan import Plan

PLAN = Plan({"q": "suppression"}, KAnonymity(2), insensitive=["x"])


def forms(found: Any) -> str:
    return "; ".join(each.measured for each in found.broken if "one form" in each.promise)


def workbook(path: Path, *cells: Any) -> Any:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [("q", "x"), *(("a", each) for each in cells)]:
        sheet.append(row)
    book.save(path)
    return book


def test_forms_in_a_workbook(tmp_path: Path) -> None:
    workbook(tmp_path / "mixed.xlsx", 1, "1", 2)
    assert "(column 'x')" in forms(veil.verify(tmp_path / "mixed.xlsx", PLAN))
    book = workbook(tmp_path / "bold.xlsx", 1, 1, 2)
    book.active["B3"].font = Font(bold=True)
    book.save(tmp_path / "bold.xlsx")
    assert "(column 'x')" in forms(veil.verify(tmp_path / "bold.xlsx", PLAN))
    workbook(tmp_path / "plain.xlsx", 1, 1, 2)
    assert not forms(veil.verify(tmp_path / "plain.xlsx", PLAN))
