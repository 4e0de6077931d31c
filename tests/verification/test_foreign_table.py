"""What Veil sees to in its own deliveries, it finds in a table that somebody else made."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from openpyxl.comments import Comment

import veil
from veil import KAnonymity
from veil.plan.plan import Plan

PLAN = Plan({"q": "suppression"}, KAnonymity(2), insensitive=["x"])
NAN = float("nan")


def objects(*cells: Any) -> pd.DataFrame:
    made = np.empty(len(cells), object)
    made[:] = cells
    return pd.DataFrame({"q": ["a"] * len(cells), "x": pd.Series(made, dtype=object)})


def table(cells: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"q": ["a"] * len(cells), "x": cells if kind is None else pa.array(cells, kind)})


def forms(found: Any) -> str:
    return "; ".join(each.measured for each in found.broken if "one form" in each.promise)


TWO_FORMS = {
    "NaN beside null, Arrow": table([1.5, None, NAN], pa.float64()),
    "NaN beside null, polars": pl.DataFrame({"q": ["a"] * 3, "x": [1.5, None, NAN]}),
    "two zeros": table([0.0, -0.0], pa.float64()),
    "1 beside 1.0": objects(1, 1.0, 2),
    "1 beside numpy's 1": objects(1, np.int64(1), 2.0, 1),
    "1.5 beside 1.50": objects(Decimal("1.5"), Decimal("1.50")),
    "None beside NaN": objects("a", None, NAN),
    "NA beside None": objects("a", None, pd.NA),
}


@pytest.mark.parametrize("case", TWO_FORMS)
def test_forms_of_a_frame(case: str) -> None:
    assert "(column 'x')" in forms(veil.verify(TWO_FORMS[case], PLAN))


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
@pytest.mark.parametrize("case", ["NaN beside null, Arrow", "two zeros"])
def test_forms_of_a_file(case: str, name: str, tmp_path: Path) -> None:
    write = pq.write_table if name.endswith("parquet") else pa.feather.write_feather
    write(TWO_FORMS[case], tmp_path / name)
    assert "(column 'x')" in forms(veil.verify(tmp_path / name, PLAN))


@pytest.mark.parametrize("cells", [("1.5", "1.50", "2.25"), ("1", "1.0", "2.5"), ("1.5", "NA", "")])
@pytest.mark.parametrize("packed", [False, True])
def test_spellings_in_a_csv_file(cells: tuple[str, ...], packed: bool, tmp_path: Path) -> None:
    text = ("q,x\n" + "".join(f"a,{each}\n" for each in cells)).encode()
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    format = veil.tables.Csv(missing=("", "NA"))
    assert "spellings (column 'x')" in forms(veil.verify(path, PLAN, format=format))


def workbook(path: Path, *cells: Any) -> Any:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [("q", "x"), *(("a", each) for each in cells)]:
        sheet.append(row)
    book.save(path)
    return book


def asked(found: Any) -> str:
    return "; ".join(each for each in found.not_checked if each.startswith("what else the"))


def test_what_stands_beside_the_cells_of_a_frame() -> None:
    plain = pd.DataFrame({"q": ["a", "a"], "x": [1, 2]})
    assert not asked(veil.verify(plain, PLAN))
    plain.attrs["made of"] = "patients.csv"
    assert "attributes" in asked(veil.verify(plain, PLAN))
    noted = table([1, 2]).replace_schema_metadata({"names": "Ann, Bob"})
    assert "metadata" in asked(veil.verify(noted, PLAN))
    known = pd.DataFrame({"q": ["a", "a"], "x": pd.Categorical(["u", "u"], categories=["u", "HIV"])})
    assert "categories" in asked(veil.verify(known, PLAN))


def test_what_stands_below_the_cells_of_a_file(tmp_path: Path) -> None:
    valid = pa.py_buffer(np.packbits([1, 0, 1], bitorder="little").tobytes())
    below = pa.Array.from_buffers(pa.int64(), 3, [valid, pa.py_buffer(np.array([1, 77, 2], "<i8"))])
    pa.feather.write_feather(table(below), tmp_path / "t.feather", compression="uncompressed")
    assert "below blank cells" in asked(veil.verify(tmp_path / "t.feather", PLAN))
    pq.write_table(table([1, 2]).replace_schema_metadata({"names": "Ann"}), tmp_path / "t.parquet")
    assert "metadata" in asked(veil.verify(tmp_path / "t.parquet", PLAN))
    book = workbook(tmp_path / "t.xlsx", 1, 2)
    book.active["B2"].comment = Comment("this is Ann", "me")
    book.save(tmp_path / "t.xlsx")
    assert "besides its sheet" in asked(veil.verify(tmp_path / "t.xlsx", PLAN))
    (tmp_path / "t.csv").write_text("made of patients.csv\nq,x\na,1\na,2\n")
    found = veil.verify(tmp_path / "t.csv", PLAN, format=veil.tables.Csv(skip=1))
    assert "above the table" in asked(found)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.feather", "t.xlsx"])
def test_of_a_release_there_is_nothing_to_say(name: str, tmp_path: Path) -> None:
    """With a certificate and with a plan: a file of Veil's own is as it looks."""
    cells = {"x": [1.5, 2.5, None] * 4, "y": ["a", "b", None] * 4, "z": [1, 2, 3] * 4}
    plan = {"quasi_identifiers": {"q": "suppression"}, "insensitive": list("xyz"), "models": [KAnonymity(2)]}
    release = veil.anonymize(pa.table({"q": ["a"] * 12, **cells}), **plan)
    release.save(tmp_path / name)
    certificate = release.certificate(tmp_path / "c.json")
    for given in (release.table, release.table.to_pandas(), pl.from_arrow(release.table), tmp_path / name):
        for found in (veil.verify(given, release.plan), veil.verify(given, certificate=certificate)):
            assert not forms(found), (found, given)
            assert not asked(found) or "pandas" in type(given).__module__, (found, given)


def test_a_certificate_is_checked_on_the_same(tmp_path: Path) -> None:
    release = veil.anonymize(table([1.5, None, None, 1.5]), plan=PLAN)
    certificate = release.certificate(tmp_path / "c.json")
    told = release.table["x"].to_pylist()
    told[told.index(None)] = NAN
    assert "two kinds" in forms(veil.verify(table(told, pa.float64()), certificate=certificate))
