"""The check of a file before it is put in place: read back, it holds the verified cells and nothing else.

It is read by other programs than those that wrote it: Arrow's parser of CSV, its readers of Parquet and IPC,
and Python's XML parser for workbooks. An error names the channel, never its content.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import VerificationError
from veil.tables import Csv, Excel, Format, Parquet
from veil.tables.columns import is_text
from veil.tables.csv.text import spell
from veil.tables.formats import is_gzip
from veil.verification.delivered import SPELLED_TWICE, different_cells, has_metadata
from veil.verification.memory import hidden_in, unused_in
from veil.verification.workbook import in_workbook

_BLOCK = 1 << 22
"""Bytes of a CSV file that are read at a time."""

_WRITER = re.compile(
    r"(parquet-(cpp-arrow|cpp|mr|rs|go|java)|DuckDB|[Pp]olars|fastparquet(-python)?|impala|Trino) (version )?v?[0-9.]+(-[A-Z]+)?"
    r"( \(build [0-9a-f]*\))?"
)
"""Signatures of programs that write Parquet."""

_SOME = 1 << 10
"""Cells of a sample that shows whether a column repeats its values."""

_WORTH_THREADS = 1 << 14
"""Rows from which on columns are checked by several threads."""


def check_file(path: Path, format: Format, verified: pa.Table) -> None:
    """Refuse a file that shows or holds anything but the cells of a verified table."""
    try:
        complaint = next(in_file(path, format, verified), None)
    except pa.ArrowInvalid:  # its message may quote the content
        raise VerificationError(
            "the file is withheld: Arrow cannot read back what it wrote. Choose another format, or update pyarrow"
        ) from None
    if complaint is not None:
        raise VerificationError(f"the file is withheld: it holds {complaint}")


def in_file(path: Path, format: Format, verified: pa.Table) -> Iterator[str]:
    """Describe what a file holds besides the cells of a table, and forms of cells that differ."""
    if isinstance(format, Csv):
        return _in_csv(path, format, verified)
    if isinstance(format, Excel):
        return in_workbook(path, verified, header=format.header)
    return _in_parquet(path, verified) if isinstance(format, Parquet) else _in_feather(path, verified)


# --- CSV ------------------------------------------------------------------------------------------


def _in_csv(path: Path, format: Csv, verified: pa.Table) -> Iterator[str]:
    with path.open("rb") as file:
        if not is_gzip(path):
            yield from _in_csv_text(file, format, verified)
            return
        yield from in_gzip(path)
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield from _in_csv_text(unpacked, format, verified)  # type: ignore[arg-type]


_SYSTEMS = (0, 3, 7, 10, 11, 19, 255)
"""Codes of operating systems in gzip files: DOS, Unix, classic macOS, Windows (two), macOS, unknown."""

_ODD_HEAD = "a head that no program for gzip files writes"


def in_gzip(path: Path) -> Iterator[str]:
    """Describe what a gzip file holds besides one stream: name, comment, time, further streams or bytes."""
    with path.open("rb") as file:
        head = file.read(10)
        # Byte 3 has the flags of further fields, 4 to 7 the time, 8 the compression, 9 the operating system.
        if any(head[3:8]):
            yield "a name or a time of its own"
        if head[8] not in (0, 2, 4) or head[9] not in _SYSTEMS:
            yield _ODD_HEAD
        file.seek(0)
        stream = zlib.decompressobj(31)
        try:
            while not stream.eof and (data := file.read(_BLOCK)):
                while data:
                    stream.decompress(data, _BLOCK)
                    data = stream.unconsumed_tail
        except zlib.error:  # though the reader of the table accepts it
            yield _ODD_HEAD
            return
        if stream.unused_data or file.read(1):
            yield "several streams, or bytes behind them"


def csv_batches(
    file: BinaryIO, format: Csv, names: list[str], *, foreign: bool = False
) -> pa.RecordBatchReader:
    """Read a CSV file as text, piece by piece; a foreign one may have other names and blank lines."""
    from pyarrow import csv

    return csv.open_csv(
        file,
        read_options=csv.ReadOptions(
            block_size=_BLOCK,
            skip_rows=format.skip,
            encoding=format.encoding or "utf8",
            column_names=names if foreign or not format.header else None,
            skip_rows_after_names=int(foreign and format.header),
        ),
        parse_options=csv.ParseOptions(
            delimiter=format.separator or ",",
            quote_char=format.quote or False,
            double_quote=format.quote is not None,
            escape_char=format.escape or False,
            newlines_in_values=True,
            ignore_empty_lines=foreign and len(names) > 1,
        ),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=list(format.missing) or [""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _in_csv_text(file: BinaryIO, format: Csv, verified: pa.Table) -> Iterator[str]:
    names = verified.column_names
    parsed = csv_batches(file, format, names)
    spellings: list[dict[str, Any]] = [{} for _ in names]

    def describe_column(number: int, cells: pa.Array, verified: pa.ChunkedArray) -> str | None:
        return _different_texts(cells, verified, spellings[number], format)

    yield from _batches(parsed.schema.names, parsed, verified, describe_column)


def _different_texts(
    cells: pa.Array, verified: pa.ChunkedArray, spellings: dict[str, Any], format: Csv
) -> str | None:
    """Read texts as values of the verified type, and check that each value has one spelling only."""
    kind = verified.type.value_type if pa.types.is_dictionary(verified.type) else verified.type
    if is_text(kind):
        if format.quote is None:  # then an empty text and a missing one look the same
            cells, verified = cells.fill_null(""), verified.cast(pa.string()).fill_null("")
        return different_cells(cells, verified)
    coded = cells.dictionary_encode() if _has_repeated(cells) else None
    texts = cells if coded is None else coded.dictionary
    plain = pc.replace_substring(texts, ",", ".") if format.decimal == "," else texts
    try:
        values = plain.cast(kind)
    except pa.ArrowNotImplementedError:
        return different_cells(cells, verified.cast(pa.string()))
    except pa.ArrowInvalid:
        return "values of another type than was verified"
    if not _are_spelled_so(texts, values, format):
        # Instants as numbers: Python equates two times in the hour when clocks go back.
        keys = values.cast(pa.int64()) if pa.types.is_timestamp(kind) else values
        for text, value in zip(texts.to_pylist(), keys.to_pylist(), strict=True):
            if spellings.setdefault(value, text) != text:
                return SPELLED_TWICE
    return different_cells(values if coded is None else values.take(coded.indices), verified)


def _has_repeated(cells: pa.Array) -> bool:
    """Whether most cells of a sample occur again, so that it pays to compare different ones only."""
    some = cells.slice(0, _SOME)
    return 2 * len(some.unique()) < len(some)


def _are_spelled_so(texts: pa.Array, values: pa.Array, format: Csv) -> bool:
    """Whether each text is the default spelling of its value, so that no value has two."""
    again = spell(
        pa.chunked_array([values]), "", decimal=format.decimal, time_separator=format.time_separator or "T"
    )
    return bool(again.equals(pa.chunked_array([texts])))


# --- Parquet and Arrow IPC ------------------------------------------------------------------------


def _in_parquet(path: Path, verified: pa.Table) -> Iterator[str]:
    import pyarrow.parquet as pq

    texts = [name for name in verified.column_names if is_text(_value_type(verified[name].type))]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        head = file.metadata
        if set(head.metadata or {}) - {b"ARROW:schema"} or any(map(has_metadata, file.schema_arrow)):
            yield "metadata"
        if head.created_by and not _WRITER.fullmatch(head.created_by):
            yield "a name of its writer that no known one has"
        chunks = [
            head.row_group(group).column(column)
            for group in range(head.num_row_groups)
            for column in range(head.num_columns)
        ]
        size = 4 + sum(chunk.total_compressed_size for chunk in chunks) + head.serialized_size + 8
        if size != path.stat().st_size or any(
            chunk.has_offset_index or chunk.has_column_index or chunk.metadata for chunk in chunks
        ):
            yield "bytes besides its columns"
        wrong: list[str] = []
        yield from _batches(file.schema_arrow.names, _row_groups(file, wrong), verified, _in_columns)
        yield from wrong


def _row_groups(file: Any, wrong: list[str]) -> Iterator[pa.Table]:
    for number in range(file.num_row_groups):
        rows = file.read_row_group(number)
        group = file.metadata.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            statistics, name = chunk.statistics, chunk.path_in_schema
            if statistics is None or not statistics.has_min_max or name not in rows.column_names:
                continue
            if not _are_of(statistics, rows.column(name)):
                wrong.append(f"statistics of other cells than were verified (column {name!r})")
        yield rows


def _are_of(statistics: Any, column: pa.ChunkedArray) -> bool:
    """Whether the bounds in statistics are cells of a column."""
    pieces = [each.dictionary if pa.types.is_dictionary(each.type) else each for each in column.chunks]
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):  # beyond the years of Python
        bounds = [statistics.min_raw, statistics.max_raw]
        pieces = [each.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64()) for each in pieces]
    else:
        bounds = [statistics.min, statistics.max]
    if pa.types.is_float16(column.type):  # Arrow returns its bytes, and cannot compare it
        bounds = [float(np.frombuffer(each, "<f2")[0]) for each in bounds]
        pieces = [each.cast(pa.float32()) for each in pieces]
    return all(
        any(pc.any(pc.equal(each, pa.scalar(bound, each.type))).as_py() for each in pieces)
        for bound in bounds
    )


def _in_feather(path: Path, verified: pa.Table) -> Iterator[str]:
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as parsed:
        if (
            parsed.schema.metadata
            or any(map(has_metadata, parsed.schema))
            or getattr(parsed, "metadata", None)
        ):
            yield "metadata"
        if _has_gaps(path):
            yield "bytes besides its batches"
        batches = [parsed.get_batch_with_custom_metadata(each) for each in range(parsed.num_record_batches)]
        if any(each.custom_metadata for each in batches):
            yield "metadata"
        yield from _batches(parsed.schema.names, (each.batch for each in batches), verified, _in_memory)


def _has_gaps(path: Path) -> bool:
    """Whether an Arrow file has bytes before, between or after its messages, which no reader shows."""
    with pa.OSFile(str(path)) as file:
        size = file.size()
        head = file.read(8)
        file.seek(size - 10)
        footer = int.from_bytes(file.read(4), "little")
        file.seek(8)
        for _ in pa.ipc.MessageReader.open_stream(file):
            pass
        return bool(head != b"ARROW1\0\0" or file.tell() != size - 10 - footer)


def _in_memory(number: int, cells: pa.Array, verified: pa.ChunkedArray) -> str | None:
    return hidden_in(cells, verified) or different_cells(cells, verified)


def _in_columns(number: int, cells: pa.ChunkedArray, verified: pa.ChunkedArray) -> str | None:
    # The memory of decompressed cells is the reader's. A dictionary is that of the file.
    if pa.types.is_dictionary(cells.type) and (unused := unused_in(cells)):
        return unused
    return different_cells(cells, verified)


def _value_type(kind: Any) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


# --- all of them ----------------------------------------------------------------------------------


def _batches(names: list[str], batches: Iterable[Any], verified: pa.Table, describe: Any) -> Iterator[str]:
    """Compare a file piece by piece with the rows of the verified table."""
    if names != verified.column_names:
        yield "other columns than were verified"
        return
    at = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Arrow releases the lock of the interpreter
        for batch in batches:
            beside = verified.slice(at, batch.num_rows)
            at += batch.num_rows
            if beside.num_rows != batch.num_rows:
                break
            numbers = range(len(names))
            complaints = (map if batch.num_rows < _WORTH_THREADS else pool.map)(
                describe, numbers, batch.columns, beside.columns
            )
            for number, complaint in zip(numbers, complaints, strict=True):
                if complaint is not None:
                    yield f"{complaint} (column {names[number]!r})"
    if at != verified.num_rows:
        yield "another number of rows than was verified"
