"""Private tables as they leave: no order of the input, and of one record more or less nothing but cells."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil.hierarchies import Hierarchy
from veil.private_table import Corners, IndividualRanking, MarginalTree, private_table
from veil.recipe import Recipe

ROWS = 3000
FRAMES: dict[str, Any] = {
    "pandas": pa.Table.to_pandas,
    "polars": pl.DataFrame,
    "pyarrow": lambda table: table,
}
METHODS: dict[str, Any] = {
    "ranking": IndividualRanking(50),
    "ranking as published": IndividualRanking(50, as_published=True),
    "tree": MarginalTree(),
    "corners": Corners(300),
    "corners as published": Corners(300, as_published=True),
}
TOWNS = Hierarchy.from_rows([["x", "u", "*"], ["y", "u", "*"], ["z", "v", "*"]])


def private(method: str, table: Any, rows: int = ROWS) -> Any:
    tree = method == "tree"
    towns = {} if "corners" in method else {"town": TOWNS}
    return private_table(
        table,
        METHODS[method],
        50,
        neighbours="one changed",
        bounds={"visit": (0, rows)} | ({} if towns else {"age": (0, 120)}),
        domains=towns,
        missing=dict.fromkeys(towns, "x"),
        columns=["visit", "town" if towns else "age"],
        delta=1e-6 if tree else 0,
        person=None,
    )


def visits() -> pa.Table:
    """By date of the visit, which nobody shall learn from the place of a row."""
    return pa.table(
        {
            "visit": range(ROWS),
            "town": [["x", "y", "z"][i % 3] for i in range(ROWS)],
            "age": [i % 80 for i in range(ROWS)],
        }
    )


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("method", METHODS)
def test_rows_are_in_no_order_of_the_input(method: str, kind: str) -> None:
    """So little noise that every visit would be in its place: of 3,000 rows, chance correlates by 0.02, not by 0.15."""
    made = private(method, FRAMES[kind](visits())).table
    shown = np.asarray(made["visit"], float)
    assert shown.std() > ROWS / 5
    assert abs(np.corrcoef(shown, np.arange(len(shown)))[0, 1]) < 0.15
    if kind == "pandas":
        assert made.index.equals(pd.RangeIndex(len(made)))
        assert made.attrs == {}


def layout(path: Path) -> Any:
    """What a recipient sees of a file beside its cells and the number of rows."""
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        return file.schema_arrow, file.schema_arrow.metadata, file.num_row_groups
    if path.suffix == ".feather":
        return pa.feather.read_table(path, memory_map=False).schema
    if path.suffix == ".csv":
        return path.read_text().splitlines()[0]
    (sheet,) = openpyxl.load_workbook(path)
    return sheet.title, sheet.dimensions, [(cell.data_type, cell.number_format) for (cell,) in sheet.rows]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "xlsx"])
@pytest.mark.parametrize("other", ["7.5", "", "999"])
def test_one_record_changes_no_type_and_no_layout(ending: str, other: str, tmp_path: Path) -> None:
    """A fraction, nothing, or a number out of bounds makes another column of the CSV file that is read, and not of the table."""
    seen = []
    for number, cell in enumerate(("7", other)):
        source = tmp_path / f"{number}.csv"
        lines = [f"{i % 80}" for i in range(400)] + [cell]
        source.write_text("\n".join(["age", *(line or '""' for line in lines), ""]))
        target = tmp_path / f"made{number}.{ending}"
        step = {
            "kind": "PrivateTable",
            "method": {"kind": "IndividualRanking", "k": 20},
            "epsilon": 1,
            "neighbours": "one changed",
            "bounds": {"age": (0, 120)},
            "missing": {"age": 0},
        }
        veil.run(Recipe(input=str(source), output=str(target), person=None, steps=[step]))
        seen.append(layout(target))
    assert seen[0] == seen[1]


def test_frames_of_one_more_record_have_the_same_types() -> None:
    for frame in (
        lambda cells: pd.DataFrame({"age": cells}),
        lambda cells: pd.DataFrame({"age": pd.array(cells, "Float64")}),
        lambda cells: pl.DataFrame({"age": cells}, strict=False),
    ):
        whole = frame([float(i % 80) for i in range(400)])
        odd = frame([float(i % 80) for i in range(399)] + [None])
        made = [
            private_table(
                each,
                IndividualRanking(20),
                1,
                neighbours="one changed",
                bounds={"age": (0, 120)},
                missing={"age": 0},
                person=None,
            ).table
            for each in (whole, odd)
        ]
        assert list(map(str, made[0].dtypes)) == list(map(str, made[1].dtypes))
        assert len(pickle.dumps(made[0])) == len(pickle.dumps(made[1]))
