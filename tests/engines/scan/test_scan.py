"""The ways in which rows of a relation are read: files, each by its state, and what an engine stores."""

from __future__ import annotations

from pathlib import Path

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from veil.engines import relation_of
from veil.engines.dialects import collect
from veil.engines.scan.scan import Scan
from veil.tables import Csv, Parquet
from veil.tables.cells import POINT, Marks


def test_row_numbers_are_those_of_the_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pq.write_table(
            pa.table({"x": [f"{name}{number}" for number in range(5)]}), tmp_path / f"{name}.parquet"
        )
    relation = relation_of(tmp_path)
    assert relation is not None
    assert isinstance(relation.scan, Scan)
    second = relation.scan.open(relation.backend, files=relation.scan.files[1:], row_numbers=True)
    picked = collect(relation.backend, second.filter(second.file_row_number >= 3).order_by("file_row_number"))
    assert picked["x"].to_pylist() == ["b3", "b4"]


def test_a_scan_names_its_files_with_the_types_to_read_them_by(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age;fee\n34;1,5\n", "utf-8")
    relation = relation_of(tmp_path / "people.csv", format=Csv(separator=";", decimal=","), engine="duckdb")
    assert relation is not None
    ((file, format, kinds),) = relation.scan.inputs
    assert (file, format.kind) == (tmp_path / "people.csv", "csv")
    assert kinds == {"age": pa.int64(), "fee": pa.decimal128(38, 1)}
    assert (relation.scan.marks, relation.scan.examples) == (Marks(",", None), ())
    pq.write_table(pa.table({"age": ["30"]}), tmp_path / "people.parquet")
    parquet = relation_of(tmp_path / "people.parquet", engine="duckdb")
    assert parquet is not None
    assert [each.schema.names for each in parquet.scan.examples] == [["age"]]
    assert (parquet.scan.format, parquet.scan.marks) == (Parquet(), POINT)


def test_a_table_of_an_engine_has_no_files_and_no_state() -> None:
    """Whatever asks for files, types or categories of a relation finds none, and need not ask which kind it is."""
    people = ibis.duckdb.connect().create_table("people", ibis.memtable({"age": [30, 41]}))
    relation = relation_of(people)
    assert relation is not None
    scan = relation.scan
    assert (scan.files, scan.inputs, scan.examples, scan.texts, scan.state) == ((), (), (), (), None)
    assert not scan.kinds
    assert not scan.categories
    assert scan.without_categories(["age"]) is scan
    (piece,) = scan.chunks(relation.table, relation.dialect, 10)
    assert collect(relation.backend, piece.table).num_rows == 2
