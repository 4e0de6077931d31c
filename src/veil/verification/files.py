"""The check of a file before it is put in place: read back, it shows the cells that were verified, and holds nothing else.

Other programs than the ones that wrote it read it: Arrow's parser of CSV, its readers of Parquet and IPC, and for
workbooks the XML parser of Python. An error names the channel, and never what was found in it.
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
"""Bytes of a CSV file that are looked at together."""

_WRITER = re.compile(
    r"(parquet-(cpp-arrow|cpp|mr|rs|go|java)|DuckDB|[Pp]olars|fastparquet(-python)?|impala|Trino) (version )?v?[0-9.]+(-[A-Z]+)?"
    r"( \(build [0-9a-f]*\))?"
)
"""How programs that write Parquet sign."""

_SOME = 1 << 10
"""Cells that tell whether those of a column repeat each other."""

_WORTH_THREADS = 1 << 14
"""Rows from which on columns are looked at by several threads."""


def check_file(path: Path, format: Format, verified: pa.Table) -> None:
    """Refuse a file that shows or holds anything but the cells of a verified table."""
    try:
        complaint = next(in_file(path, format, verified), None)
    except pa.ArrowInvalid:  # whose words may hold what was found
        raise VerificationError(
            "the file is withheld: Arrow cannot read back what it wrote. Choose another format, or update pyarrow"
        ) from None
    if complaint is not None:
        raise VerificationError(f"the file is withheld: it holds {complaint}")


def in_file(path: Path, format: Format, verified: pa.Table) -> Iterator[str]:
    """Say what a file holds besides the cells of a table, and in which forms it holds these."""
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
"""What programs for gzip files call the system that they run on: DOS, Unix, classic macOS, Windows (two), macOS, unknown."""

_ODD_HEAD = "a head that no program for gzip files writes"


def in_gzip(path: Path) -> Iterator[str]:
    """Say what a gzip file holds besides one stream: a name, a comment or a time, further streams, or bytes behind them."""
    with path.open("rb") as file:
        head = file.read(10)
        # Flags say what else the head holds. The time stands behind them, then how it was packed, and on which system.
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
        except zlib.error:  # what has read the table does not mind
            yield _ODD_HEAD
            return
        if stream.unused_data or file.read(1):
            yield "several streams, or bytes behind them"


def csv_batches(
    file: BinaryIO, format: Csv, names: list[str], *, foreign: bool = False
) -> pa.RecordBatchReader:
    """Read the cells of a CSV file as text, piece by piece; a foreign one may have other names and blank lines."""
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

    def look(number: int, cells: pa.Array, verified: pa.ChunkedArray) -> str | None:
        return _different_texts(cells, verified, spellings[number], format)

    yield from _batches(parsed.schema.names, parsed, verified, look)


def _different_texts(
    cells: pa.Array, verified: pa.ChunkedArray, spellings: dict[str, Any], format: Csv
) -> str | None:
    """Read texts as values of the verified type, and see that each value has one spelling only."""
    kind = verified.type.value_type if pa.types.is_dictionary(verified.type) else verified.type
    if is_text(kind):
        if format.quote is None:  # then nothing tells an empty text from a missing one
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
        # Instants as numbers: Python takes two of the hour in which clocks go back for one.
        keys = values.cast(pa.int64()) if pa.types.is_timestamp(kind) else values
        for text, value in zip(texts.to_pylist(), keys.to_pylist(), strict=True):
            if spellings.setdefault(value, text) != text:
                return SPELLED_TWICE
    return different_cells(values if coded is None else values.take(coded.indices), verified)


def _has_repeated(cells: pa.Array) -> bool:
    """Whether most of some cells occur again, so that it pays to look at the different ones only."""
    some = cells.slice(0, _SOME)
    return 2 * len(some.unique()) < len(some)


def _are_spelled_so(texts: pa.Array, values: pa.Array, format: Csv) -> bool:
    """Whether each text is what its value is spelled like by itself, so that no value has two."""
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
            found, name = chunk.statistics, chunk.path_in_schema
            if found is None or not found.has_min_max or name not in rows.column_names:
                continue
            if not _are_of(found, rows.column(name)):
                wrong.append(f"statistics of other cells than were verified (column {name!r})")
        yield rows


def _are_of(found: Any, column: pa.ChunkedArray) -> bool:
    """Whether statistics name cells of a column."""
    pieces = [each.dictionary if pa.types.is_dictionary(each.type) else each for each in column.chunks]
    if pa.types.is_date(column.type) or pa.types.is_timestamp(
        column.type
    ):  # which Python has for some years only
        bounds = [found.min_raw, found.max_raw]
        pieces = [each.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64()) for each in pieces]
    else:
        bounds = [found.min, found.max]
    if pa.types.is_float16(column.type):  # of which Arrow tells the bytes, and compares none
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

        found = [parsed.get_batch_with_custom_metadata(each) for each in range(parsed.num_record_batches)]
        if any(each.custom_metadata for each in found):
            yield "metadata"
        yield from _batches(parsed.schema.names, (each.batch for each in found), verified, _in_memory)


def _has_gaps(path: Path) -> bool:
    """Whether bytes stand before, between or behind the messages of an Arrow file, where no reader looks."""
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
    # Of what was packed, the memory is the reader's own. A dictionary is that of the file.
    if pa.types.is_dictionary(cells.type) and (unused := unused_in(cells)):
        return unused
    return different_cells(cells, verified)


def _value_type(kind: Any) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


# --- all of them ----------------------------------------------------------------------------------


def _batches(names: list[str], batches: Iterable[Any], verified: pa.Table, look: Any) -> Iterator[str]:
    """Look at a file piece by piece beside the rows of the verified table."""
    if names != verified.column_names:
        yield "other columns than were verified"
        return
    at = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Arrow lets other threads run while it computes
        for batch in batches:
            beside = verified.slice(at, batch.num_rows)
            at += batch.num_rows
            if beside.num_rows != batch.num_rows:
                break
            numbers = range(len(names))
            found = (map if batch.num_rows < _WORTH_THREADS else pool.map)(
                look, numbers, batch.columns, beside.columns
            )
            for number, said in zip(numbers, found, strict=True):
                if said is not None:
                    yield f"{said} (column {names[number]!r})"
    if at != verified.num_rows:
        yield "another number of rows than was verified"
