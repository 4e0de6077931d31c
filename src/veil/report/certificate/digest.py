"""The fingerprint of a table's content, which survives writing to a file and reading it back.

Every value counts as the text that a CSV file of Veil holds for it. A column of such a file gets a type only where
its values are spelled the same again, so that a table and the table read back from its file have equal fingerprints,
whatever happened to the types. Lists, which a CSV file cannot hold, count as JSON.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import OutputError
from veil.tables.arrow import normalize
from veil.tables.csv.text import spell

_ROWS = 1 << 18
"""Rows that are hashed at a time, so that no copy of a whole column is made."""


def content_digest(table: pa.Table) -> str:
    """Return the SHA-256 of the names, the order and the values of all columns.

    >>> people = pa.table({"age": [30, None], "sex": ["f", "m"]})
    >>> content_digest(people) == content_digest(people.set_column(0, "age", pa.array(["30", None])))
    True
    >>> content_digest(people) == content_digest(people.slice(1))
    False
    """
    return digest_of(column_digests(table), table.num_rows)


def digest_of(columns: dict[str, str], rows: int) -> str:
    """Return the digest of a table whose columns have the given ones."""
    text = json.dumps(["veil content 1", rows, list(columns.items())], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def column_digests(table: pa.Table) -> dict[str, str]:
    """Return the SHA-256 of the values of each column, by name."""
    table = normalize(table)
    return {name: _column(table[name], name) for name in table.column_names}


def _column(column: pa.ChunkedArray, name: str) -> str:
    made = hashlib.sha256()
    for start in range(0, len(column), _ROWS):
        text = _spell_column(column.slice(start, _ROWS), name).combine_chunks()
        if isinstance(text, pa.ChunkedArray):
            text = pa.concat_arrays(text.chunks)
        # What is there, how long it is, and the characters: no two columns share all three.
        made.update(np.packbits(np.array(pc.is_valid(text), dtype=np.bool_)).tobytes())
        plain = pc.fill_null(text, "")
        made.update(np.array(pc.binary_length(plain), dtype="<i8").tobytes())
        _, offsets, data = plain.buffers()
        if data is not None:
            bounds = np.frombuffer(offsets, np.int32)[plain.offset : plain.offset + len(plain) + 1]
            made.update(memoryview(data)[int(bounds[0]) : int(bounds[-1])])
    return made.hexdigest()


def _spell_column(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    try:
        return spell(column, name)
    except OutputError:
        texts = [
            None if value is None else json.dumps(value, ensure_ascii=True, default=str)
            for value in column.to_pylist()
        ]
        return pa.chunked_array([pa.array(texts, pa.string())])


def file_digest(path: Path) -> str | None:
    """Return the SHA-256 of the bytes of a file; None if it cannot be read any more."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
