"""The fingerprint of a table's content, which survives writing to a file and reading it back.

Every value counts by its canonical text: 1, 1.0 and 1.00 are one number, a day is its midnight, and an
instant is written in UTC. Files know fewer types than tables, so the kind of values of each column is
recorded (`kind_of`), and a table from a file is converted back (`veil.report.certificate.reading`). Lists,
which a CSV file cannot hold, count as JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import OutputError
from veil.tables.arrow import normalize
from veil.tables.columns import encode_values, is_number, is_text
from veil.tables.csv.text import spell
from veil.tables.text import canonical_text

Kind = Literal["text", "number", "truth", "time", "instant", "clock", "other"]
KINDS: tuple[str, ...] = get_args(Kind)

_ROWS = 1 << 18
"""Rows hashed at a time, to avoid a copy of a whole column."""

_ZEROS = re.compile(r"\.?0+$")


def kind_of(kind: pa.DataType) -> Kind:
    """Return the kind of values of a type, as far as every file format distinguishes them.

    >>> kind_of(pa.decimal128(7, 2)), kind_of(pa.date32()), kind_of(pa.timestamp("s", "UTC"))
    ('number', 'time', 'instant')
    """
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if is_text(kind):
        return "text"
    if is_number(kind):
        return "number"
    if pa.types.is_boolean(kind):
        return "truth"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "instant" if getattr(kind, "tz", None) is not None else "time"
    return "clock" if pa.types.is_time(kind) else "other"


def content_digest(table: pa.Table) -> str:
    """Return the SHA-256 of the names, the order and the values of all columns.

    >>> people = pa.table({"age": [30, None], "sex": ["f", "m"]})
    >>> content_digest(people) == content_digest(people.set_column(0, "age", pa.array([30.0, None])))
    True
    >>> content_digest(people) == content_digest(people.slice(1))
    False
    """
    return digest_of(column_digests(table), table.num_rows)


def digest_of(columns: dict[str, str], rows: int) -> str:
    """Return the digest of a table from the digests of its columns."""
    text = json.dumps(["veil content 2", rows, list(columns.items())], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(table: pa.Table) -> dict[str, Any]:
    """Return the digests, names and types of the columns of a table."""
    columns = column_digests(table)
    return {
        "sha256": digest_of(columns, table.num_rows),
        "rows": table.num_rows,
        "columns": [
            {
                "name": name,
                "kind": kind_of(table[name].type),
                "type": str(table[name].type),
                "sha256": digest,
            }
            for name, digest in columns.items()
        ],
    }


def column_digests(table: pa.Table) -> dict[str, str]:
    """Return the SHA-256 of the values of each column, by name."""
    table = normalize(table)
    return {name: column_digest(table[name], name) for name in table.column_names}


def column_digest(column: pa.ChunkedArray, name: str) -> str:
    """Return the SHA-256 of the canonical texts of a column."""
    digest = hashlib.sha256()
    for start in range(0, len(column), _ROWS):
        text = _spell_column(column.slice(start, _ROWS), name).combine_chunks()
        if isinstance(text, pa.ChunkedArray):
            text = pa.concat_arrays(text.chunks)
        # Validity, lengths and characters: no two columns share all three.
        digest.update(np.packbits(np.array(pc.is_valid(text), dtype=np.bool_)).tobytes())
        plain = pc.fill_null(text, "")
        digest.update(np.array(pc.binary_length(plain), dtype="<i8").tobytes())
        _, offsets, data = plain.buffers()
        if data is not None:
            bounds = np.frombuffer(offsets, np.int32)[plain.offset : plain.offset + len(plain) + 1]
            digest.update(memoryview(data)[int(bounds[0]) : int(bounds[-1])])
    return digest.hexdigest()


def _spell_column(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = kind_of(column.type)
    if kind in ("text", "other"):
        return _spell_plainly(column, name)
    values, codes = encode_values(column)
    texts = _spell_numbers(values, name) if kind == "number" else _spell_others(values, kind)
    return pa.chunked_array([texts.take(pa.array(codes))])


def _spell_numbers(values: pa.Array, name: str) -> pa.Array:
    """Spell numbers of any type with digits only, and without zeros at the end of a fraction."""
    text = spell(pa.chunked_array([values]), name).combine_chunks()
    text = pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+$|\.0+$", r"\1")
    far = pc.fill_null(pc.match_substring(text, "e"), False)  # Arrow spells these with an exponent
    if not pc.any(far).as_py():
        return text
    plain = [format(Decimal(each), "f") for each in text.filter(far).to_pylist()]
    return pc.replace_with_mask(text, far, pa.array(plain, pa.string()))


def _spell_others(values: pa.Array, kind: Kind) -> pa.Array:
    if kind == "clock":
        texts = [
            None if each is None else _ZEROS.sub("", each) if "." in each else each
            for each in values.cast(pa.string()).to_pylist()
        ]
    else:
        if kind == "instant":
            values = values.cast(pa.timestamp(values.type.unit, "UTC"))
        texts = [None if each is None else each.removesuffix("T00:00:00") for each in canonical_text(values)]
    return pa.array(texts, pa.string())


def _spell_plainly(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    try:
        return spell(column, name)
    except OutputError:
        texts = [
            None if value is None else json.dumps(value, ensure_ascii=True, default=str)
            for value in column.to_pylist()
        ]
        return pa.chunked_array([pa.array(texts, pa.string())])


def file_digest(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if it cannot be read any more."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
