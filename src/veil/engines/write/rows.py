"""Writing a release in memory to the targets of engines: folders, databases, files."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from typing import Any

import pyarrow as pa

from veil.base.progress import Progress
from veil.engines.database import Database
from veil.engines.dialects import collect, new_duckdb
from veil.engines.relation import Relation
from veil.engines.scan.scan import EngineRows
from veil.engines.write.open import target_of
from veil.engines.write.writing import write
from veil.errors import VerificationError
from veil.outcome.written import Written
from veil.tables.arrow import normalize
from veil.tables.columns import encode_values, is_list
from veil.tables.formats import Format
from veil.tables.text import canonical_text


def write_rows(
    table: pa.Table,
    relation: Relation,
    target: str | os.PathLike[str] | Database,
    *,
    overwrite: bool = False,
    format: Format | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Written:
    """Write rows that were made of a relation, all or none; they are read back before they appear.

    The rows are in the order of the table, which does not depend on that of the engine.
    """
    target_of(target, relation, token="", overwrite=overwrite, format=format)  # which refuses the input
    backend = new_duckdb()
    rows = backend.create_table("release", decode(table))
    source = replace(
        relation, table=rows, backend=backend, scan=EngineRows(), origin=relation.original, note=None
    )

    def check(rows: Any) -> None:
        result = collect(rows._find_backend(), rows)
        if not rows_as_texts(result.select(table.column_names)).equals(rows_as_texts(table)):
            raise VerificationError(f"{target}: the written rows differ from the release, and were removed")

    return write(
        source,
        lambda some: some,
        target,
        check=check,
        token=secrets.token_hex(12),
        overwrite=overwrite,
        resume=False,
        format=format,
        progress=progress,
        **options,
    )


def rows_as_texts(table: pa.Table) -> pa.Table:
    """Return the rows of a table as texts, sorted, as tables of a database have no order."""
    table = normalize(table)
    texts = {}
    for name in table.column_names:
        values, codes = encode_values(table[name])
        spellings = values.to_pylist() if is_list(values.type) else canonical_text(values, column=name)
        strings = [None if each is None else str(each) for each in spellings]
        texts[name] = pa.array(strings, pa.string()).take(pa.array(codes))
    return pa.table(texts).sort_by([(name, "ascending") for name in texts])


def decode(table: pa.Table) -> pa.Table:
    """Return a table with the values themselves in place of dictionary codes."""
    plain = normalize(table).unify_dictionaries()
    return pa.table(
        {
            name: each.cast(each.type.value_type) if pa.types.is_dictionary(each.type) else each
            for name, each in zip(plain.column_names, plain.columns, strict=True)
        }
    )
