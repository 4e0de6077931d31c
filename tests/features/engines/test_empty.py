"""Quoted empty fields: what a person gets of a file is the same, whether memory or DuckDB reads it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import veil
from veil import hierarchies as h
from veil.tables import Csv, read

ROWS = [
    ("23", "f", "2020-01-01", "a", "1.5"),
    ("", "m", "", "b", "1.50"),
    ("34", "m", "2020-01-02", "", ""),
    ("38", "f", "2020-01-02", "a", "7"),
    ("", "", "", "", "1.5"),
    ("38", "f", "2020-01-01", "b", "7"),
]
NAMES = ("age", "sex", "seen", "word", "fee")


def quoted(path: Path, *, unquoted: str | None = None) -> Path:
    """Write everything in quotes; but for the empty fields of one column."""
    lines = [",".join(f'"{name}"' for name in NAMES)]
    for row in ROWS:
        cells = [
            "" if not each and name == unquoted else f'"{each}"'
            for name, each in zip(NAMES, row, strict=True)
        ]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
    return path


def released(path: Path, target: Path, **more: Any) -> Counter[str]:
    release = veil.anonymize(
        path,
        quasi_identifiers={
            "age": h.intervals(10, 20),
            "sex": h.suppression(),
            "seen": h.suppression(),
            "fee": h.suppression(),
        },
        sensitive=["word"],
        models=[veil.KAnonymity(2)],
        suppression_limit=1.0,
        **more,
    )
    release.save(target)
    return Counter(target.read_text().splitlines())


@pytest.mark.parametrize("unquoted", [None, "age", "word"])
def test_both_release_the_same(tmp_path: Path, unquoted: str | None) -> None:
    path = quoted(tmp_path / "table.csv", unquoted=unquoted)
    in_memory = released(path, tmp_path / "memory.csv")
    by_engine = released(path, tmp_path / "engine.csv", engine="duckdb")
    assert in_memory == by_engine


@pytest.mark.parametrize(
    "format",
    [Csv(types={"age": "integer"}), Csv(types={"age": "string"}), Csv(missing=("NA",))],
    ids=range(3),
)
def test_what_is_said_of_columns_counts(tmp_path: Path, format: Csv) -> None:
    path = quoted(tmp_path / "table.csv")
    options = {
        "quasi_identifiers": {"age": h.suppression(), "sex": h.suppression()},
        "others": "drop",
        "format": format,
    }
    made = [
        veil.anonymize(path, models=[veil.KAnonymity(2)], suppression_limit=1.0, engine=engine, **options)
        for engine in ("memory", "duckdb")
    ]
    for at, each in enumerate(made):
        each.save(tmp_path / f"{at}.csv")
    first, second = (read(tmp_path / f"{at}.csv").table.to_pylist() for at in range(2))
    assert Counter(map(str, first)) == Counter(map(str, second))
