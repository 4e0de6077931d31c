"""The layout of a file: whether the way in which records are written marks one of them.

Cells are one thing, and how they are written another: quotes around one record, another line ending, a blank line before
it, a row group or a batch of its own. Whoever has two copies, or knows what to look for, finds that record again. Writers
differ, so that no particular layout is asked for, but one and the same for all records. What is odd is told by the channel,
and never by what was found in it.
"""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.tables import Csv, Excel, Format, Parquet
from veil.tables.columns import is_number
from veil.tables.csv.dialect import SEPARATORS
from veil.tables.csv.reader import read_csv
from veil.verification.workbook import layout_of_workbook

QUOTES = "quotes around some records only"
LINE_ENDS = "line endings of several kinds"
BLANK_LINES = "blank lines between records"
FIELDS = "records with another number of fields"
SPELLINGS = "numbers of a column that are spelled in several ways"
GROUPS = "row groups of several sizes"
BATCHES = "batches of several sizes"
ENCODINGS = "several encodings of a column"

_LARGEST = 1 << 28
"""Bytes of text that are looked through."""

_NEEDS, _MAY_NEED, _SHOWN = 1, 2, 4
"""What a field holds: what has to be quoted, what some writers quote, and anything at all."""


def layout_of(path: Path, format: Format) -> Iterator[str]:
    r"""Say how records of a file are written in more than one way.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text('age,ill\n20,flu\n30,"flu"\n')
    >>> list(layout_of(file, Csv()))
    ['quotes around some records only']
    """
    if isinstance(format, Csv):
        odd = list(_layout_of_csv(_text(path, format), format))
        yield from odd or _spellings(path, format)
    elif isinstance(format, Excel):
        yield from layout_of_workbook(path, header=format.header)
    elif isinstance(format, Parquet):
        yield from layout_of_parquet(path)
    else:
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as parsed:
            sizes = [parsed.get_batch(each).num_rows for each in range(parsed.num_record_batches)]
        if not equal_but_last(sizes):
            yield BATCHES


def equal_but_last(sizes: Sequence[int]) -> bool:
    """Whether pieces have one size, and the last no more than that.

    >>> equal_but_last([5, 5, 2]), equal_but_last([5, 1, 5]), equal_but_last([])
    (True, False, True)
    """
    return len(set(sizes[:-1])) <= 1 and all(size >= sizes[-1] > 0 for size in sizes[:-1])


# --- CSV ------------------------------------------------------------------------------------------


def _text(path: Path, format: Csv) -> bytes:
    """Return a file as UTF-8, without the mark and the lines that stand above the table."""
    if path.stat().st_size > _LARGEST:
        raise ValueError("too large to be looked through")
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = codecs.lookup(format.encoding or ("utf-16" if wide else "utf-8")).name
    if encoding != "utf-8":
        data = data.decode(encoding).encode()
    return data.removeprefix(codecs.BOM_UTF8)


def _layout_of_csv(data: bytes, format: Csv) -> Iterator[str]:
    """Look at where fields begin and end: what stands between them has to be the same everywhere."""
    for _ in range(format.skip):
        data = data.partition(b"\n")[2]
    if not data:
        return
    text = np.frombuffer(data if data.endswith((b"\n", b"\r")) else data + _first_end(data), np.uint8)
    outside = _outside_quotes(text, format)
    separator = ord(format.separator or ",")
    feed, turn = (text == ord("\n")) & outside, (text == ord("\r")) & outside
    pairs = np.zeros_like(feed)
    pairs[1:] = feed[1:] & turn[:-1]
    single = int(np.count_nonzero(feed)) - int(np.count_nonzero(pairs))
    lonely = int(np.count_nonzero(turn)) - int(np.count_nonzero(pairs))
    if np.count_nonzero([single, lonely, int(np.count_nonzero(pairs))]) > 1:
        yield LINE_ENDS
        return
    ends = np.flatnonzero(feed if single or pairs.any() else turn)
    between = ((text == separator) & outside) | feed | turn
    cuts = np.flatnonzero(between & ~pairs)  # of a pair the first ends the field
    fields = np.diff(np.searchsorted(cuts, np.append(-1, ends), side="right"))
    width = int(fields[0])
    lines = np.diff(np.append(-1, ends)) - (2 if pairs.any() else 1)
    if width > 1 and (lines == 0).any():
        yield BLANK_LINES
    elif (fields != width).any():
        yield FIELDS
    else:
        starts = np.append(0, cuts[:-1] + 1)
        if pairs.any():
            starts[width::width] += 1
        yield from _quotes(text, between, starts, cuts, width, format)


def _first_end(data: bytes) -> bytes:
    """Return the line ending of a file, for its last line, which may go without."""
    found = [data.find(mark) for mark in (b"\n", b"\r")]
    return b"\r\n" if b"\r\n" in data else b"\r" if found[0] < 0 <= found[1] else b"\n"


def _outside_quotes(text: NDArray[np.uint8], format: Csv) -> NDArray[np.bool_]:
    """Tell of each byte whether it stands outside of quotes and is not meant literally."""
    literal = np.zeros(text.size, np.bool_)
    if format.escape is not None:
        marks = text == ord(format.escape)
        for at in np.flatnonzero(marks).tolist():
            if not literal[at] and at + 1 < text.size:
                literal[at + 1] = True
    if format.quote is None:
        return ~literal
    quotes = (text == ord(format.quote)) & ~literal
    outside: NDArray[np.bool_] = ~(np.bitwise_xor.accumulate(quotes) | quotes | literal)
    return outside


def _quotes(
    text: NDArray[np.uint8],
    between: NDArray[np.bool_],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    width: int,
    format: Csv,
) -> Iterator[str]:
    """Say whether fields that hold the same kind of text are quoted in some records only."""
    if format.quote is None:
        return
    quote, filled = ord(format.quote), ends > starts
    quoted = filled & (text[np.minimum(starts, text.size - 1)] == quote)
    kinds = np.full(text.size, _SHOWN, np.uint8)
    kinds[np.isin(text, [ord(each) for each in SEPARATORS])] |= _MAY_NEED
    kinds[np.isin(text, [ord(format.separator or ","), quote, 10, 13])] |= _NEEDS
    kinds[between] = 0
    kinds[starts[quoted]] = kinds[ends[quoted] - 1] = 0
    held = np.bitwise_or.reduceat(kinds, starts)
    spelled = [each.encode() for each in format.missing if each]
    for at in np.flatnonzero(ends - starts <= max(map(len, spelled), default=-3) + 2).tolist():
        if text[starts[at] : ends[at]].tobytes().strip(format.quote.encode()) in spelled:
            held[at] = 0  # a text that looks like a missing value is told from one by its quotes
    rows = int(format.header)
    held, quoted = (each.reshape(-1, width)[rows:] for each in (held, quoted))
    free = (held & (_NEEDS | _SHOWN)) == _SHOWN
    may_need = (held & _MAY_NEED) > 0
    some = [quoted[free & may_need]]
    some += [quoted[:, column][(free & ~may_need)[:, column]] for column in range(width)]
    if any(each.any() and not each.all() for each in some):
        yield QUOTES


def _spellings(path: Path, format: Csv) -> Iterator[str]:
    """Say whether numbers of a column are spelled in several ways: 370.0 among whole numbers, 1.50 beside 1.5, 1e2."""
    typed, read = read_csv(path, format, may_be_empty=True)
    texts, _ = read_csv(path, read, as_text=True, may_be_empty=True)
    for name in typed.column_names:
        values = [each.lower() for each in pc.unique(texts[name]).drop_null().to_pylist()]
        needless = [_is_needless(each.replace(read.decimal, ".")) for each in values if "e" in each]
        if needless and all(needless):
            yield SPELLINGS
            return
        if not is_number(typed[name].type):
            continue
        fractions = {each.partition(read.decimal)[2] for each in values if "e" not in each}
        zeros = {each for each in fractions if not each.strip("0")}
        padded = any(each.strip("0") and each.endswith("0") for each in fractions)
        uneven = len({len(each) for each in fractions}) > 1 and (padded or len(zeros) > 1)
        if uneven:
            yield SPELLINGS
            return


def _is_needless(text: str) -> bool:
    """Whether a number is of a size that no writer gives an exponent."""
    try:
        return 1e-3 <= abs(float(text)) < 1e9
    except ValueError:
        return False


# --- Parquet --------------------------------------------------------------------------------------


def layout_of_parquet(path: Path, *, foreign: bool = True) -> Iterator[str]:
    """Say whether row groups of a file differ: in size, or in how a column is packed, which a foreign writer may choose."""
    import pyarrow.parquet as pq

    head = pq.read_metadata(path)
    groups = [head.row_group(each) for each in range(head.num_row_groups)]
    if not equal_but_last([group.num_rows for group in groups]):
        yield GROUPS
    for number in range(head.num_columns) if foreign else ():
        packed = {_packing(group.column(number)) for group in groups}
        if len(packed) > 1:
            yield f"{ENCODINGS} (column {head.schema.column(number).name!r})"


def _packing(chunk: Any) -> tuple[object, ...]:
    return (chunk.compression, frozenset(chunk.encodings), chunk.is_stats_set, chunk.has_dictionary_page)
