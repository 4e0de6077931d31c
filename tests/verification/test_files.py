"""Faults planted where a file is written: it is read back before it is put in place, and withheld if it holds anything else."""

from __future__ import annotations

import datetime as dt
import gzip
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import veil
from veil import KAnonymity
from veil.api import deliver
from veil.errors import VerificationError
from veil.tables import Csv, output_format, write
from veil.tables.arrow import in_new_memory
from veil.verification.files import check_file, in_gzip

SECRET = "Zwirbelingen"
ROWS = 10


def people() -> pa.Table:
    """Nine alike, and one who is rare and will be suppressed."""
    rare = ROWS - 1
    return pa.table(
        {
            "town": ["Ulm"] * rare + [SECRET],
            "age": [30] * rare + [77],
            "born": [dt.date(1990, 1, 1)] * rare + [dt.date(1901, 7, 7)],
            "seen": [dt.datetime(2020, 1, 1, 3, 4, 5)] * rare + [dt.datetime(1999, 9, 9)],
            "income": [0.1] * rare + [7777.125],
            "cost": [Decimal("1.50")] * rare + [Decimal("98.76")],
            "ill": [True] * rare + [False],
            "dose": pa.array(np.array([0.5] * rare + [7.75], np.float16)),
        }
    )


Write = Callable[[pa.Table, Path], None]


def save(path: Path, monkeypatch: pytest.MonkeyPatch, fault: Write | None = None) -> None:
    release = veil.anonymize(
        people(),
        quasi_identifiers={"town": "identity", "age": "identity"},
        models=KAnonymity(3),
        suppression_limit=0.1,
        others="keep",
        order="input",
    )
    if fault is not None:
        monkeypatch.setattr(deliver, "write", lambda table, made, **_: fault(table, made))
    release.save(path)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather", "xlsx"])
def test_without_a_fault_the_file_is_put_in_place(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"release.{ending}"
    save(path, monkeypatch, lambda table, made: write(table, made))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


# --- faults ---------------------------------------------------------------------------------------


def of(change: Callable[[pa.Table], pa.Table]) -> Write:
    """Write another table than the verified one."""
    return lambda table, made: write(change(table), made)


def put(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def below(name: str) -> Callable[[pa.Table], pa.Table]:
    """Blank the last cell as Arrow does, which leaves the value below."""
    column = people()[name].chunk(0)
    shown = pa.array([True] * (ROWS - 1) + [False]).buffers()[1]
    blanked = pa.Array.from_buffers(column.type, ROWS, [shown, *column.buffers()[1:]])
    return lambda table: put(table, name, blanked)


def edited(change: Callable[[str], str]) -> Write:
    """Write a text file and change its text."""

    def fault(table: pa.Table, made: Path) -> None:
        write(table, made)
        made.write_text(change(made.read_text()))

    return fault


def packed_with_a_name(table: pa.Table, made: Path) -> None:
    plain = made.with_suffix("")
    write(table, plain)
    with made.open("wb") as file, gzip.GzipFile(filename=SECRET, mode="wb", fileobj=file) as packed:
        packed.write(plain.read_bytes())
    plain.unlink()


def unused_category(table: pa.Table) -> pa.Table:
    codes = pa.array([0] * (ROWS - 1) + [1])
    return put(table, "town", pa.DictionaryArray.from_arrays(codes, pa.array(["Ulm", "*", SECRET])))


def with_bytes_between(table: pa.Table, made: Path) -> None:
    """Bytes before the footer, which points to its place by its length from the end."""
    pq.write_table(table, made)
    content = made.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    made.write_bytes(content[:-footer] + SECRET.encode() + content[-footer:])


def with_statistics(right: bytes, other: bytes) -> Write:
    """Name another least and largest value in the footer, where values stand behind their length."""

    def fault(table: pa.Table, made: Path) -> None:
        write(table, made)
        content = made.read_bytes()
        footer = len(content) - int.from_bytes(content[-8:-4], "little") - 8
        length = bytes([len(right)])
        changed = content[footer:].replace(length + right, length + other)
        assert changed != content[footer:]
        made.write_bytes(content[:footer] + changed)

    return fault


def with_batch_metadata(table: pa.Table, made: Path) -> None:
    with pa.OSFile(str(made), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_batch(table.to_batches()[0], custom_metadata={"from": SECRET})


def book(change: Callable[[Any], Any]) -> Write:
    """Write a workbook, open it and save it with a change."""

    def fault(table: pa.Table, made: Path) -> None:
        write(table, made)
        found = openpyxl.load_workbook(made)
        change(found)
        found.save(made)

    return fault


def with_part(name: str, content: str) -> Write:
    def fault(table: pa.Table, made: Path) -> None:
        write(table, made)
        with zipfile.ZipFile(made, "a") as package:
            package.writestr(name, content)

    return fault


def set_property(found: Any) -> None:
    found.properties.creator = SECRET


def set_title(found: Any) -> None:
    found.properties.title = SECRET


def set_cell(found: Any) -> None:
    found.active["B11"] = 77


def add_column(found: Any) -> None:
    found.active["Z3"] = SECRET


def add_row(found: Any) -> None:
    found.active["A12"] = SECRET


def hide_sheet(found: Any) -> None:
    found.create_sheet("hidden").sheet_state = "hidden"


def define_name(found: Any) -> None:
    from openpyxl.workbook.defined_name import DefinedName

    found.defined_names[SECRET] = DefinedName(SECRET, attr_text="Sheet1!$A$1")


def add_comment(found: Any) -> None:
    found.active["A2"].comment = openpyxl.comments.Comment(SECRET, SECRET)


SHARED = (
    f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>{SECRET}</t></si></sst>'
)

FAULTS: dict[str, tuple[str, Write, str]] = {
    "csv: another cell": ("csv", of(lambda t: put(t, "town", people()["town"])), "other cells"),
    "csv: another number": ("csv", of(lambda t: put(t, "age", people()["age"])), "other cells"),
    "csv: another column": ("csv", of(lambda t: t.append_column("name", pa.nulls(ROWS))), "other columns"),
    "csv: an index": (
        "csv",
        of(lambda t: t.add_column(0, "row", pa.array(range(ROWS)))),
        "other columns",
    ),
    "csv: another row": ("csv", of(lambda t: pa.concat_tables([t, t[:1]])), "number of rows"),
    "csv: a row less": ("csv", of(lambda t: t[: ROWS - 1]), "number of rows"),
    "csv: another order": ("csv", of(lambda t: t.take(pa.array(range(ROWS))[::-1])), "other cells"),
    "csv: two spellings": ("csv", edited(lambda text: text.replace("0.1,", "0.10,", 1)), "several spellings"),
    "csv: a text for a number": ("csv", edited(lambda text: text.replace(",30,", ",x,", 1)), "another type"),
    "csv.gz: a name": ("csv.gz", packed_with_a_name, "a name or a time"),
    "parquet: another cell": ("parquet", of(lambda t: put(t, "age", people()["age"])), "other cells"),
    "parquet: metadata": (
        "parquet",
        lambda table, made: pq.write_table(table.replace_schema_metadata({"from": SECRET}), made),
        "metadata",
    ),
    "parquet: metadata of pandas": (
        "parquet",
        lambda table, made: table.to_pandas().to_parquet(made),
        "metadata",
    ),
    "parquet: unused categories": (
        "parquet",
        lambda table, made: pq.write_table(unused_category(table), made),
        "categories that no cell has",
    ),
    "parquet: page index": (
        "parquet",
        lambda table, made: pq.write_table(table, made, write_page_index=True),
        "bytes besides",
    ),
    "parquet: bytes between": ("parquet", with_bytes_between, "bytes besides"),
    "parquet: statistics of others": (
        "parquet",
        with_statistics((30).to_bytes(8, "little"), (77).to_bytes(8, "little")),
        "statistics of other cells",
    ),
    "parquet: statistics of others, short": (
        "parquet",
        with_statistics(np.float16(0.5).tobytes(), np.float16(7.75).tobytes()),
        "statistics of other cells",
    ),
    "parquet: another short number": (
        "parquet",
        of(lambda t: put(t, "dose", people()["dose"])),
        "other cells",
    ),
    "parquet: cut short": (
        "parquet",
        lambda table, made: (write(table, made), made.write_bytes(made.read_bytes()[:-9])),
        "cannot read back",
    ),
    "feather: short numbers below": (
        "feather",
        lambda table, made: feather.write_feather(below("dose")(table), made),
        "below blank cells",
    ),
    "feather: integers below": (
        "feather",
        lambda table, made: feather.write_feather(below("age")(table), made),
        "below blank cells",
    ),
    "feather: dates below": (
        "feather",
        lambda table, made: feather.write_feather(below("born")(table), made),
        "below blank cells",
    ),
    "feather: metadata": (
        "feather",
        lambda table, made: feather.write_feather(table.replace_schema_metadata({"from": SECRET}), made),
        "metadata",
    ),
    "feather: metadata of a batch": ("feather", with_batch_metadata, "metadata"),
    "feather: unused categories": (
        "feather",
        lambda table, made: feather.write_feather(unused_category(table), made),
        "categories that no cell has",
    ),
    "feather: another cell": ("feather", of(lambda t: put(t, "age", people()["age"])), "other cells"),
    "xlsx: a creator": ("xlsx", book(set_property), "document properties"),
    "xlsx: a title": ("xlsx", book(set_title), "document properties"),
    "xlsx: another cell": ("xlsx", book(set_cell), "other cells"),
    "xlsx: another column": ("xlsx", book(add_column), "other columns"),
    "xlsx: another row": ("xlsx", book(add_row), "number of rows"),
    "xlsx: a row less": ("xlsx", of(lambda t: t[: ROWS - 1]), "number of rows"),
    "xlsx: a hidden sheet": ("xlsx", book(hide_sheet), "besides its sheet"),
    "xlsx: a name": ("xlsx", book(define_name), "besides its sheet"),
    "xlsx: a comment": ("xlsx", book(add_comment), "besides its sheet"),
    "xlsx: another part": ("xlsx", with_part("docProps/custom.xml", SECRET), "besides its sheet"),
    "xlsx: unused texts": ("xlsx", with_part("xl/sharedStrings.xml", SHARED), "texts that no cell has"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_and_nothing_is_put_in_place(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, plant, channel = FAULTS[fault]
    with pytest.raises(VerificationError, match=channel) as caught:
        save(tmp_path / f"release.{ending}", monkeypatch, plant)
    for told in (SECRET, "77", "98.76", "1999", "1901", "7.75"):
        assert told not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# --- no false alarm -------------------------------------------------------------------------------


EVERY_TYPE = pa.table(
    {
        "text": ["a,b", "", '"', None],
        "lines": ["x\ny", "é", "=1+1", "\\"],
        "integer": [1, None, -5, 0],
        "small": pa.array([1, None, 255, 0], pa.uint8()),
        "float": [0.1, None, 1e300, 1 / 3],
        "short": pa.array([0.1, None, 2.5, 1 / 3], pa.float32()),
        "half": pa.array([np.float16(0.1), None, np.float16(2.5), np.float16(-7)], pa.float16()),
        "decimal": [Decimal("0.00000001"), None, Decimal("1.00000000"), Decimal("0E-8")],
        "day": [dt.date(2020, 1, 1), None, dt.date(1880, 1, 1), dt.date(2000, 2, 29)],
        "time": [dt.time(1, 2, 3), None, dt.time(0), dt.time(23, 59, 59)],
        "instant": [dt.datetime(2020, 1, 1, 3, 4, 5, 678000), None, *[dt.datetime(1999, 1, 1)] * 2],
        "zoned": pa.array([1, None, 10**15, 0], pa.timestamp("us", "Europe/Berlin")),
        "truth": [True, None, False, True],
        "category": pa.array(["u", None, "v", "u"]).dictionary_encode(),
        "nothing": pa.nulls(4, pa.string()),
        "last": ["q"] * 4,
    }
)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather", "xlsx"])
def test_every_type_is_read_back(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"release.{ending}"
    table = EVERY_TYPE.drop_columns("text") if ending == "xlsx" else EVERY_TYPE  # which knows no empty text
    write(table, path)
    check_file(path, output_format(path), table)


@pytest.mark.parametrize(
    "format",
    [
        Csv(separator=";", decimal=",", time_separator=" "),
        Csv(quote=None, escape="\\"),
        Csv(escape="\\"),
        Csv(quote="'"),
        Csv(header=False),
        Csv(encoding="utf-16"),
        Csv(encoding="latin-1"),
        Csv(missing=("NA", "")),
    ],
    ids=str,
)
def test_every_dialect_is_read_back(format: Csv, tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    # Without quotes, an empty text and a missing one would be written alike.
    table = EVERY_TYPE if format.quote else put(EVERY_TYPE, "text", pa.array(["a,b", "", '"', "c"]))
    write(table, path, format=format)
    check_file(path, format, table)
    write(put(table, "integer", pa.array([1, None, -5, 77])), path, format=format)
    with pytest.raises(VerificationError, match="other cells"):
        check_file(path, format, table)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_nested_and_long_tables_are_read_back(ending: str, tmp_path: Path) -> None:
    nested = pa.table(
        {
            "list": [[1, 2], None, []] * 50_000,
            "struct": [{"a": 1, "b": None}, None, {"a": 2, "b": "x"}] * 50_000,
            "text": [f"{i}" for i in range(150_000)],
        }
    )
    path = tmp_path / f"release.{ending}"
    table = in_new_memory(nested)
    write(table, path)
    check_file(path, output_format(path), table)


def test_what_parquet_says_of_its_cells_names_no_suppressed_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics and dictionaries are written from memory, which may hold more than the cells do."""
    path = tmp_path / "release.parquet"
    save(path, monkeypatch)
    with pq.ParquetFile(path, read_dictionary=["town"]) as file:
        group = file.metadata.row_group(0)
        chunks = [group.column(number) for number in range(group.num_columns)]
        assert set(file.read()["town"].chunk(0).dictionary.to_pylist()) <= {"Ulm", "*"}
    told = {each.path_in_schema: (each.statistics.min, each.statistics.max) for each in chunks}
    shown, hidden = people().to_pylist()[0], people().to_pylist()[-1]
    assert set(told) >= {*shown}
    for name, value in shown.items():
        if name == "dose":  # of which the bytes are told
            assert told[name] == (np.float16(value).tobytes(),) * 2
        elif name == "town":
            assert SECRET not in told[name]
        else:
            assert told[name] == (value, value) != (hidden[name], hidden[name])


@pytest.mark.parametrize(
    ("at", "value"), [(3, 0x20), (3, 0x02), (8, 17), (9, 17)], ids=["flag", "checksum", "packing", "system"]
)
def test_bytes_of_a_gzip_head_that_no_reader_looks_at_are_asked_about(
    tmp_path: Path, at: int, value: int
) -> None:
    content = bytearray(gzip.compress(b"age\n34\n", mtime=0))
    file = tmp_path / "table.csv.gz"
    file.write_bytes(content)
    assert list(in_gzip(file)) == []
    content[at] = value
    if value == 0x02:
        content[10:10] = b"zz"  # a checksum of the head that is not its own
    file.write_bytes(content)
    assert "a head that no program for gzip files writes" in list(in_gzip(file))
