"""Tables of people: one with every type, a plan for it, and what is compared of what comes out."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import veil
from veil import hierarchies as h
from veil import models as m
from veil.quality import Loss
from veil.tables.text import canonical_text

_POOL: list[tuple[Any, ...]] = [
    (31, 1.5, "Zürich", True, dt.date(1990, 2, 1), dt.datetime(2024, 1, 2, 3, 4, 5), Decimal("12.50")),
    (31, 1.5, "Zürich", True, dt.date(1990, 2, 1), dt.datetime(2024, 1, 2, 3, 4, 5), Decimal("12.50")),
    (38, float("nan"), "", False, dt.date(1990, 7, 9), dt.datetime(2024, 1, 2, 3, 4, 5), Decimal("12.50")),
    (38, None, "", False, dt.date(1990, 7, 9), dt.datetime(2024, 1, 2, 3, 4, 5), Decimal("0.10")),
    (None, 2.25, 'O\'Brien "x"', None, None, None, None),
    (None, 2.25, 'O\'Brien "x"', None, None, None, None),
    (55, -0.5, None, True, dt.date(1969, 12, 31), dt.datetime(1969, 12, 31, 23, 59, 59), Decimal("-3.00")),
    (52, -0.5, None, True, dt.date(1969, 12, 31), dt.datetime(1969, 12, 31, 23, 59, 59), Decimal("-3.00")),
    (70, 1.5, "*", True, dt.date(1990, 2, 1), dt.datetime(2024, 1, 2, 3, 4, 5), Decimal("12.50")),
    (71, 3.0, "Šiauliai; 'a', \\b", False, dt.date(2000, 1, 1), dt.datetime(2000, 1, 1), Decimal("99.99")),
]
_TYPES = {
    "age": pa.int64(),
    "height": pa.float64(),
    "city": pa.string(),
    "smoker": pa.bool_(),
    "born": pa.date32(),
    "seen": pa.timestamp("us"),
    "fee": pa.decimal128(8, 2),
}
TYPED = tuple(_TYPES)
HIERARCHIES: dict[str, Any] = {
    "age": h.intervals(10, 20),
    "height": h.intervals(1, 2),
    "city": h.suppression(),
    "smoker": h.suppression(),
    "born": h.dates("year"),
    "seen": h.dates("year"),
    "fee": h.intervals(10, 50),
}


def people(**further: Any) -> pa.Table:
    """Twenty records: some alone, some together, every type, and what engines stumble over."""
    rows = _POOL * 2
    columns = {
        name: pa.array([row[j] for row in rows], kind) for j, (name, kind) in enumerate(_TYPES.items())
    }
    columns["name"] = pa.array([f"person {number}" for number in range(len(rows))])
    columns["note"] = pa.array([None, "", "a,b", 'c"d'] * (len(rows) // 4 + 1), pa.string())[: len(rows)]
    columns["cost"] = pa.array([number * 1.25 if number % 5 else None for number in range(len(rows))])
    columns["diagnosis"] = pa.array((["flu", "gout", "flu", None, "cold"] * len(rows))[: len(rows)])
    return pa.table(columns | further)


def with_nobody(**further: Any) -> pa.Table:
    """People of whom some show nothing in any column, so that a flag has to tell who is suppressed."""
    table = people(**further)
    unknown = pc.is_null(table["age"])
    blank = {kind: pa.scalar("*" if kind == pa.string() else None, kind) for kind in table.schema.types}
    cells = {name: pc.if_else(unknown, blank[table[name].type], table[name]) for name in table.column_names}
    return pa.table(cells)


def plan(columns: Sequence[str] = ("age", "city"), **changes: Any) -> dict[str, Any]:
    """What to ask of `veil.anonymize`: some quasi-identifiers, everybody in classes of three."""
    options: dict[str, Any] = {
        "quasi_identifiers": {name: HIERARCHIES[name] for name in columns},
        "sensitive": ["diagnosis"],
        "identifying": {"name": "mask"},
        "others": "keep",
        "models": m.KAnonymity(3),
        "quality": Loss(factor=0.3),
        "suppression_limit": 1.0,
        "progress": False,
    }
    return options | changes


def records(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows of a table, by the values of their cells."""
    texts = []
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        texts.append([None if cell is None else _shortest(cell) for cell in canonical_text(column)])
    return Counter(zip(*texts, strict=True))


def _shortest(text: str) -> str:
    """A number without zeros at its end, as some engines keep the places of decimals and some do not."""
    try:
        Decimal(text)
    except ArithmeticError:
        return text
    return text.rstrip("0").rstrip(".") if "." in text else text


def in_memory(table: pa.Table, options: dict[str, Any]) -> Any:
    return veil.anonymize(table, **options)


def visits(people: int, seed: int, wards: Sequence[float]) -> pa.Table:
    """Some rows for each of some people, in two wards by their chances; `note` tells every row apart."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, 5, people))
    who = who[rng.permutation(who.size)]
    return pa.table(
        {
            "patient": [f"P{each:03}" for each in who],
            "age": 20 + rng.integers(0, 40, people)[who],
            "ward": rng.choice(["a", "b"], who.size, p=wards),
            "diagnosis": rng.choice(["flu", "cold", "gout"], who.size),
            "note": np.arange(who.size),
        }
    )


def without_nan(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table for an engine that does not know not-a-number, which is a missing value."""
    return [{name: None if cell != cell else cell for name, cell in row.items()} for row in table.to_pylist()]
