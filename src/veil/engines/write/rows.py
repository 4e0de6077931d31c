"""A release whose rows were read into memory, written to the places that engines write to: folders, databases, files."""

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
    """Write rows that were made of those of a relation, all or none; what was written is read again before it appears.

    The order of the rows is that of the table, and says nothing of the order that the engine has.
    """
    target_of(target, relation, token="", overwrite=overwrite, format=format)  # which refuses what is read
    backend = new_duckdb()
    rows = backend.create_table("release", _plain(table))
    held = replace(relation, table=rows, backend=backend, scan=None, origin=relation.original, note=None)

    def check(staged: Any) -> None:
        found = collect(staged._find_backend(), staged)
        if not rows_as_texts(found.select(table.column_names)).equals(rows_as_texts(table)):
            raise VerificationError(f"{target}: the written rows differ from the release, and were removed")

    return write(
        held,
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
    """The rows of a table as text, in an order of their own: tables of a database have none."""
    table = normalize(table)
    texts = {}
    for name in table.column_names:
        values, codes = encode_values(table[name])
        spelled = values.to_pylist() if is_list(values.type) else canonical_text(values, column=name)
        told = [None if each is None else str(each) for each in spelled]
        texts[name] = pa.array(told, pa.string()).take(pa.array(codes))
    return pa.table(texts).sort_by([(name, "ascending") for name in texts])


def _plain(table: pa.Table) -> pa.Table:
    """The cells themselves, where a column has codes of them."""
    plain = normalize(table).unify_dictionaries()
    return pa.table(
        {
            name: each.cast(each.type.value_type) if pa.types.is_dictionary(each.type) else each
            for name, each in zip(plain.column_names, plain.columns, strict=True)
        }
    )
