"""One record marked by the way in which it is written: each mark is reported, and files without a mark are not."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil import KAnonymity
from veil.tables import Csv, Excel, Feather, Format, Parquet, read, write
from veil.tables.csv.writer import write_csv
from veil.verification.foreign_table import check_foreign_table
from veil.verification.layout import equal_but_last, layout_of

ROWS = 40
TABLE = pa.table(
    {
        "age": ["20-29", "30-39"] * (ROWS // 2),
        "ill": ["flu", "gout; chronic", None, 'so-called "cold"'] * (ROWS // 4),
        "days": list(range(100, 100 + ROWS)),
        "pay": pa.array(np.arange(ROWS) / 4 + 0.5),
    }
)


def _plain(table: pa.Table = TABLE, **options: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, **{"lineterminator": "\n", **options})
    writer.writerow(table.column_names)
    writer.writerows([["" if cell is None else cell for cell in row.values()] for row in table.to_pylist()])
    return out.getvalue()


def _veil(table: pa.Table = TABLE) -> str:
    out = io.BytesIO()
    write_csv(table, out, Csv())
    return out.getvalue().decode()


def _line(text: str, change: Callable[[str], str], number: int = 9, end: str = "\n") -> str:
    lines = text.split(end)
    lines[number] = change(lines[number])
    return end.join(lines)


def _open_questions(path: Path) -> list[str]:
    return check_foreign_table(read(path))[1]


def _marks(path: Path, format: Format) -> list[str]:
    """What is said of a file: by the rows in memory, and the same by its types alone, as for files of an engine."""
    source = read(path, format=format)
    assert source.format is not None
    said = list(layout_of(path, source.format, source.table))
    if source.format.kind == "csv":
        kinds = {field.name: field.type for field in source.table.schema}
        assert list(layout_of(path, source.format, kinds)) == said
    return said


WRITERS = {
    "veil": _veil(),
    "only what needs quotes": _plain(),
    "all quoted": _plain(quoting=csv.QUOTE_ALL),
    "texts quoted": _plain(quoting=csv.QUOTE_NONNUMERIC),
    "windows": _plain(lineterminator="\r\n"),
    "old mac": _plain(lineterminator="\r"),
    "windows, all quoted": _plain(lineterminator="\r\n", quoting=csv.QUOTE_ALL),
    "without a last line end": _plain().rstrip("\n"),
    "semicolons": _plain(delimiter=";"),
}
MARKS: dict[str, Callable[[str], str]] = {
    "quotes around a field": lambda text: _line(
        text, lambda line: line.replace("30-39", '"30-39"').replace("20-29", '"20-29"')
    ),
    "quotes around a number": lambda text: _line(text, lambda line: line.replace("108", '"108"')),
    "quotes around a record": lambda text: _line(text, lambda line: '"20-29",flu,"108","2.5"'),
    "another line end": lambda text: _line(text, lambda line: line + "\r"),
    "a blank line": lambda text: _line(text, lambda line: "\n" + line),
    "two blank lines at the end": lambda text: text + "\n\n",
    "a further field": lambda text: _line(text, lambda line: line + ","),
}


STYLES = {
    "veil": None,
    "only what needs quotes": "quotes only where they have to be",
    "all quoted": "quotes around every field",
    "texts quoted": "quotes around every text",
    "windows": "Windows line endings; quotes only where they have to be",
    "old mac": "line endings of old Macs",
    "windows, all quoted": "Windows line endings; quotes around every field",
    "without a last line end": "no line ending after the last record",
    "semicolons": "a decimal place in whole numbers",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_csv_file_of_another_writer_is_one_kind_question(writer: str, tmp_path: Path) -> None:
    path, style = tmp_path / "table.csv", STYLES[writer]
    path.write_text(WRITERS[writer], newline="")
    with gzip.GzipFile(tmp_path / "table.csv.gz", "wb", mtime=0) as file:
        file.write(WRITERS[writer].encode("utf-16"))
    for each in (path, tmp_path / "table.csv.gz"):
        marks = _marks(each, Csv())
        if style is None:
            assert marks == []
        else:
            (mark,) = marks
            assert mark.startswith("not written by Veil as it stands: ")
            assert style in mark
            assert not [each for each in _open_questions(path) if "marked by the way" in each]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-be", "utf-16-le", "utf-32", "cp1252", "shift_jis"])
def test_every_encoding_is_compared_byte_for_byte(encoding: str, tmp_path: Path) -> None:
    path, format = tmp_path / "table.csv", Csv(encoding=encoding)
    mark = "" if encoding in ("utf-8-sig", "utf-32", "cp1252", "shift_jis") else "\ufeff"
    path.write_bytes((mark + WRITERS["veil"]).encode(encoding))
    assert _marks(path, format) == []
    path.write_bytes((mark + MARKS["another line end"](WRITERS["veil"])).encode(encoding))
    assert _marks(path, format) == ["line endings of several kinds, first in line 10, column 'pay'"]


@pytest.mark.parametrize("writer", ["veil", "only what needs quotes"])
@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_record_of_a_csv_file_is_an_open_question(mark: str, writer: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(MARKS[mark](WRITERS[writer]), newline="")
    try:
        (said,) = _marks(path, Csv())
    except veil.errors.InputError:  # which nobody reads
        assert mark == "a further field"
    else:
        assert f"first in line {42 if mark.endswith('at the end') else 10}, column" in said, said


@pytest.mark.parametrize("writer", ["all quoted", "texts quoted", "windows, all quoted"])
def test_a_record_without_the_quotes_of_all_others_is_marked(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(_line(WRITERS[writer], lambda line: line.replace('"flu"', "flu")), newline="")
    assert _marks(path, Csv()) == ["quotes around some records only, first in line 10, column 'ill'"]


def test_verify_asks_about_a_marked_record_in_one_sentence(tmp_path: Path) -> None:
    path, plan = tmp_path / "table.csv", veil.Plan({"age": "suppression"}, KAnonymity(2), others="keep")
    path.write_text(WRITERS["veil"], newline="")
    assert not [each for each in veil.verify(path, plan).not_checked if "marked" in each]
    path.write_text(MARKS["quotes around a record"](WRITERS["veil"]), newline="")
    for engine in ("memory", "duckdb"):
        found = veil.verify(path, plan, engine=engine)
        (question,) = [each for each in found.open_questions if "marked" in each]
        assert "quotes around" in question
        assert found.holds == veil.verify(path, plan).holds  # it may just be another writer


@settings(max_examples=75, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.text(st.sampled_from('ab,;"\n\r|é '), max_size=4) | st.none()] * 3),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.data(),
)
def test_random_tables_are_silent_and_random_marks_are_not(
    rows: list[tuple[Any, ...]], end: str, quoting: int, data: st.DataObject
) -> None:
    table = pa.table(
        {name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate("xyz")}
    )
    path = Path(TEMPORARY, "random.csv")
    with path.open("wb") as file:
        write_csv(table, file, Csv(formulas="keep"))
    assert _marks(path, Csv()) == []
    lines = []
    for row in [("x", "y", "z"), *rows]:
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n", quoting=quoting).writerow(
            ["" if cell is None else cell for cell in row]
        )
        lines.append(out.getvalue().removesuffix("\r\n"))
    path.write_bytes("".join(line + end for line in lines).encode())
    assert not [each for each in _marks(path, Csv()) if "not written by Veil" not in each]
    at = data.draw(st.integers(1, len(rows)))
    other = [*lines[:at], "", *lines[at:]]
    path.write_bytes("".join(line + end for line in other).encode())
    assert _marks(path, Csv())
    if len(rows) > 1:
        ends = [end] * len(lines)
        ends[at] = "\n" if end == "\r\n" else "\r\n"
        path.write_bytes("".join(map("".join, zip(lines, ends, strict=True))).encode())
        assert _marks(path, Csv())


TEMPORARY = ""


@pytest.fixture(autouse=True)
def _somewhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    global TEMPORARY
    TEMPORARY = str(tmp_path_factory.mktemp("layout"))


# --- Parquet and Feather --------------------------------------------------------------------------


def _parquet(path: Path, sizes: list[int], **options: Any) -> None:
    with pq.ParquetWriter(path, TABLE.schema, **options) as writer:
        at = 0
        for size in sizes:
            writer.write_table(TABLE.slice(at, size))
            at += size


def test_a_row_group_of_its_own_is_an_open_question(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    for sizes in ([40], [20, 20], [15, 15, 10]):
        _parquet(path, sizes)
        assert _marks(path, Parquet()) == []
        assert not [each for each in _open_questions(path) if "marked" in each]
    for sizes in ([20, 1, 19], [1, 39], [39, 1, 0]):
        _parquet(path, sizes)
        assert "row groups" in _open_questions(path)[-1]


def test_a_batch_of_its_own_is_an_open_question(tmp_path: Path) -> None:
    path = tmp_path / "table.feather"
    feather.write_feather(TABLE, path, chunksize=15)
    assert _marks(path, Feather()) == []
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, TABLE.schema) as writer:
        for at, size in ((0, 20), (20, 1), (21, 19)):
            writer.write_table(TABLE.slice(at, size))
    assert _marks(path, Feather()) == ["batches of several sizes"]


def test_names_and_bytes_that_no_reader_shows_are_open_questions(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    write(TABLE, path)
    data, writer = path.read_bytes(), pq.read_metadata(path).created_by.encode()
    path.write_bytes(data.replace(writer, (b"Ann 1979 " + writer)[: len(writer)]))
    assert "its writer" in _open_questions(path)[0]
    path = tmp_path / "table.feather"
    write(TABLE, path)
    data = path.read_bytes()
    footer = len(data) - 10 - int.from_bytes(data[-10:-6], "little")
    assert _open_questions(path) == []
    for changed in (data[:6] + b"An" + data[8:], data[:footer] + b"Ann 1979" + data[footer:]):
        path.write_bytes(changed)
        assert "besides its batches" in _open_questions(path)[0]
    with contextlib.suppress(TypeError):  # of an Arrow that writes none
        with (
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, TABLE.schema, metadata={"a": "b"}) as file,
        ):
            file.write_table(TABLE)
        assert "metadata" in _open_questions(path)[0]


def test_pieces_are_equal_but_the_last() -> None:
    assert [equal_but_last(each) for each in ([], [3], [3, 3], [3, 2], [2, 3], [3, 3, 1], [3, 1, 3], [1, 3])] == [
        True, True, True, True, False, True, False, False,
    ]  # fmt: skip


# --- workbooks ------------------------------------------------------------------------------------


def _workbook(path: Path, change: Callable[[Any], None] | None = None) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(TABLE.column_names)
    for row in TABLE.to_pylist():
        sheet.append(list(row.values()))
    if change is not None:
        change(sheet)
    book.save(path)


def _bold(sheet: Any) -> None:
    from openpyxl.styles import Font

    sheet["C9"].font = Font(bold=True)


SHEET_MARKS: dict[str, Callable[[Any], None]] = {
    "a hidden row": lambda sheet: setattr(sheet.row_dimensions[9], "hidden", True),
    "a high row": lambda sheet: setattr(sheet.row_dimensions[9], "height", 40),
    "a bold cell": _bold,
    "a number as text": lambda sheet: setattr(sheet["C9"], "value", "107"),
    "a formula": lambda sheet: setattr(sheet["C9"], "value", "=100+7"),
    "a blank row": lambda sheet: sheet.insert_rows(9),
}


@pytest.mark.parametrize("mark", [None, *SHEET_MARKS])
def test_a_marked_row_of_a_workbook_is_an_open_question(mark: str | None, tmp_path: Path) -> None:
    path = tmp_path / "table.xlsx"
    _workbook(path, SHEET_MARKS.get(mark or ""))
    marks = [each for each in layout_of(path, Excel(), TABLE) if "not written by Veil" not in each]
    assert bool(marks) == (mark is not None)


SHEET, TEXTS = "xl/worksheets/sheet1.xml", "<t>flu</t>"
EDITS = {
    "a decimal place": (SHEET, "<v>107</v>", "<v>107.0</v>"),
    "an exponent": (SHEET, "<v>107</v>", "<v>1.07E2</v>"),
    "two runs": (SHEET, TEXTS, "<r><t>fl</t></r><r><t>u</t></r>"),
    "a comment of XML": (SHEET, '<row r="9"', '<!-- Ann --><row r="9"'),
    "an instruction of XML": (SHEET, '<row r="9"', '<?ann?><row r="9"'),
    "a blank before a row": (SHEET, '<row r="9"', ' <row r="9"'),
    "spans of one row": (SHEET, '<row r="9"', '<row r="9" spans="1:7"'),
    "a selected cell": (SHEET, 'activeCell="A1"', 'activeCell="C9"'),
    "a hidden column": (SHEET, "<sheetData>", '<cols><col min="2" max="2" hidden="1"/></cols><sheetData>'),
    "a font that no cell has": ("xl/styles.xml", "</fonts>", '<font><name val="Ann"/></font></fonts>'),
    "a name": ("docProps/app.xml", "<Application>", '<Application x="Ann">'),
    "a version": ("docProps/app.xml", "<AppVersion>", "<AppVersion>1979"),
    "a creator": ("docProps/core.xml", "</cp:core", "<creator>openpyxl Ann</creator></cp:core"),
    "a day": ("docProps/core.xml", "1980-01-01", "2024-05-06"),
    "a window": ("xl/workbook.xml", "<workbookView ", '<workbookView xWindow="1979" '),
    "a defined name": ("xl/workbook.xml", "<definedNames />", "<definedNames><definedName name='A'>1</definedName></definedNames>"),
}  # fmt: skip


@pytest.mark.parametrize(
    "edit", [None, *EDITS, "a time", "a comment", "bytes before", "bytes behind", "a part", "packing"]
)
def test_whatever_is_changed_in_a_workbook_is_an_open_question(edit: str | None, tmp_path: Path) -> None:
    path, other = tmp_path / "table.xlsx", tmp_path / "other.xlsx"
    write(TABLE.drop_columns(["pay"]).append_column("pay", pa.array([2.0, 1.25] * (ROWS // 2))), path)
    part, old, new = EDITS.get(edit or "", ("", "", ""))
    with zipfile.ZipFile(path) as package, zipfile.ZipFile(other, "w") as again:
        for each in package.infolist():
            text = package.read(each).decode()
            assert each.filename != part or old in text
            each.date_time = (2024, 5, 6, 7, 8, 10) if edit == "a time" else each.date_time
            each.compress_type = zipfile.ZIP_STORED if edit == "packing" else each.compress_type
            again.writestr(each, text.replace(old, new, 1) if each.filename == part else text)
        again.comment = b"Ann" if edit == "a comment" else b""
        if edit == "a part":
            again.writestr("xl/calcChain.xml", "<calcChain/>")
    before, behind = (b"Ann" if edit == f"bytes {where}" else b"" for where in ("before", "behind"))
    other.write_bytes(before + other.read_bytes() + behind)
    assert bool(_open_questions(other)) == (edit is not None)


# --- what Veil writes -----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather", "xlsx"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_what_veil_writes_leaves_nothing_to_ask(ending: str, engine: Any, tmp_path: Path) -> None:
    if engine == "duckdb" and ending in ("feather", "xlsx"):
        return
    rng = np.random.default_rng(5)
    rows = 400
    table = pa.table(
        {
            "age": rng.integers(20, 60, rows),
            "ill": rng.choice(["flu", "gout, chronic", None, 'a "cold"'], rows),
            "pay": rng.random(rows).round(3),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    plan = veil.Plan(
        {"age": veil.hierarchies.intervals(10, 20, 40)},
        KAnonymity(5),
        others="keep",
        person=None,
        suppression_limit=0.1,
    )
    path = tmp_path / f"out.{ending}"
    veil.anonymize(tmp_path / "in.parquet", plan=plan, engine=engine).save(path)
    assert not [each for each in check_foreign_table(read(path))[1] if "marked" in each]
    if engine == "duckdb" and ending == "parquet":
        veil.anonymize(tmp_path / "in.parquet", plan=plan, engine=engine).save(tmp_path / "folder/")
        found = veil.verify(tmp_path / "folder", plan, engine="duckdb")
        assert not [each for each in found.open_questions if "marked" in each]


@pytest.mark.parametrize(
    ("cells", "asks"),
    [
        (["370.0", "10", "20"], True),
        (["1e2", "10", "20"], True),
        (["1.50", "1.5", "2.25"], True),
        (["1.50", "2.00", "3.25"], None),  # two places everywhere
        (["370.0", "10.0", "0.25"], False),  # as pandas writes floats
        (["370.0", "10.0", "0.25", "1e-05", "1e+16"], False),
        (["370", "10"], None),
    ],
)
def test_a_number_that_is_spelled_in_its_own_way(cells: list[str], asks: bool | None, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("amount,sex\n" + "".join(f"{each},f\n" for each in cells))
    marks = _marks(path, Csv())
    assert [each.startswith("values of a column that are spelled in several ways") for each in marks] == (
        [] if asks is None else [asks]
    )
