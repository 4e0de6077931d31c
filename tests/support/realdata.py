"""The real tables beside the checkout, where they are there."""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from veil import hierarchies as h
from veil.tables import read

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[3] / "shared"))

QUASI_IDENTIFIERS = {
    "adult": [
        "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
    ],
    "fars": ["iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "iinjury"],
}  # fmt: skip

needs_data = pytest.mark.skipif(
    not (SHARED / "data" / "adult" / "adult.csv").exists(),
    reason=f"needs the tables adult and fars in {SHARED.name}/data beside the checkout (or VEIL_SHARED)",
)


@functools.cache
def source(name: str) -> Any:
    """The table, read once."""
    folder = SHARED / "data" / name
    return read(folder / ("adult.csv" if name == "adult" else "fars_int.csv"))


@functools.cache
def hierarchy(name: str, column: str) -> h.Hierarchy:
    """The hierarchy of one column, read once."""
    prefix = "adult_hierarchy_" if name == "adult" else "fars_int_hierarchy_"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fars lists an age twice, on purpose
        return h.read(SHARED / "data" / name / f"{prefix}{column}.csv")


def hierarchies(name: str, columns: list[str]) -> dict[str, h.Hierarchy]:
    """The hierarchies of some columns."""
    return {column: hierarchy(name, column) for column in columns}
