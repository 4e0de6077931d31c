"""Private tables of records that are no records: no cell is an error, changes a type, or what a run writes beside the table."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from support.cli import veil as run
from support.dp.poison import CELLS, LINES, PEOPLE, as_objects, some
from veil.hierarchies import Hierarchy
from veil.private_table import Corners, IndividualRanking, MarginalTree, private_table
from veil.private_table.sections import private_facts

ROWS = [(f"A{at}", str(30 + at), "fm"[at % 2]) for at in range(8)]
SEX = Hierarchy.from_rows([["f", "*"], ["m", "*"]])
DECLARED: dict[str, Any] = {
    "bounds": {"age": (0, 120)},
    "domains": {"sex": SEX},
    "missing": {"sex": "f"},
}
METHODS: dict[str, dict[str, Any]] = {
    "tree": {"method": MarginalTree(), "rho": 1, "neighbours": "one more or less", **DECLARED},
    "tree, changed": {"method": MarginalTree(), "rho": 1, "neighbours": "one changed", **DECLARED},
    "ranking": {"method": IndividualRanking(2), "epsilon": 1, "neighbours": "one changed", **DECLARED},
    "corners": {
        "method": Corners(2),
        "epsilon": 1,
        "neighbours": "one changed",
        "columns": ["age"],
        "bounds": DECLARED["bounds"],
    },
}
UNITS: dict[str, dict[str, Any]] = {
    "rows": {"person": None},
    "people": {"person": "patient", "rows_per_person": 1},
}


def told(made: Any) -> str:
    """All that is written beside the table, but for what is drawn."""
    facts = private_facts(made)
    for each in (
        "date",
        "rows",
        "notes",
        "proof",
    ):  # which follow from what is drawn, or from a public number of rows
        del facts[each]
    frame = made.table
    return repr((facts, type(frame), frame.schema if isinstance(frame, pa.Table) else list(frame.dtypes)))


def of(table: Any, method: str, unit: str) -> Any:
    given = {**METHODS[method], **UNITS[unit]}
    return private_table(table, **{"columns": ["age", "sex"], **given})


def as_csv(*added: tuple[str, bytes]) -> bytes:
    rows = [b",".join(each.encode() for each in row) for row in ROWS]
    rows += [b",".join([person.encode(), age, b"f"]) for person, age in added]
    return b"\n".join([b"patient,age,sex", *rows, b""])


def _place(method: str, unit: str) -> int:
    return len(UNITS) * list(METHODS).index(method) + list(UNITS).index(unit)


def _added() -> list[tuple[str, list[tuple[str, bytes]]]]:
    cells = [(name, [("B1", cell)]) for name, cell in CELLS.items()]
    people = [(name, [(each, b"34") for each in rows]) for name, rows in PEOPLE.items()]
    return [("nobody else", []), *cells, *people]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
def test_files(tmp_path: Path, method: str, unit: str) -> None:
    found = {}
    for name, added in some(_added(), _place(method, unit), 4):
        (tmp_path / "people.csv").write_bytes(as_csv(*added))
        found[name] = told(of(tmp_path / "people.csv", method, unit))
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize("method", [name for name in METHODS if name != "tree"])
def test_a_line_that_is_changed_stays_a_record(tmp_path: Path, method: str) -> None:
    """The number of records is public, and what follows from it; it may not tell that a line is none."""
    found = set()
    for line in LINES.values():
        rows = as_csv().splitlines()
        rows[4] = line
        (tmp_path / "people.csv").write_bytes(b"\n".join([*rows, b""]))
        made = of(tmp_path / "people.csv", method, "rows")
        public = "" if method == "tree, changed" else (made.records, made.proof, made.notes)
        found.add((told(made), str(public)))
    assert len(found) == 1, found


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
def test_frames(method: str, unit: str) -> None:
    columns = [[row[at] for row in ROWS] for at in range(3)]
    ages = [int(age) for age in columns[1]]
    whole = pd.DataFrame({"patient": columns[0], "age": ages, "sex": columns[2]})
    found = {"nobody": told(of(whole, method, unit))}
    for name, cell in some(list(as_objects().items()), _place(method, unit), 4):
        cells = [pd.Series([*column, cell], dtype=object) for column in (columns[0], ages, columns[2])]
        frame = pd.DataFrame(dict(zip(("patient", "age", "sex"), cells, strict=True)))
        found[name] = told(of(frame, method, unit))
    assert len(set(found.values())) == 1, found


def test_a_table_without_records_is_no_error() -> None:
    """Where it is a neighbour of one with a record, and where the number of records is public."""
    empty = pa.table({name: pa.array([], pa.string()) for name in ("patient", "age", "sex")})
    for method, unit in itertools.product(("tree", "tree, changed"), UNITS):
        some = told(
            of(
                pa.table(dict(zip(("patient", "age", "sex"), zip(*ROWS, strict=True), strict=True))),
                method,
                unit,
            )
        )
        assert told(of(empty, method, unit)) == some


@pytest.mark.parametrize("most", [1, 3])
def test_of_each_person_so_many_rows_take_part(most: int) -> None:
    """With a large budget, what leaves is what took part: of forty rows, so many."""
    rows = [*ROWS, *[("Z", "99", "f")] * 20, *[(" z\u200b", "99", "f")] * 20, (None, "99", "f")]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("patient", "age", "sex"))})
    made = private_table(
        table,
        MarginalTree({"age": list(range(1, 120))}),
        rho=10**9,
        neighbours="one more or less",
        person="patient",
        rows_per_person=most,
        **DECLARED,
    )
    expected = Counter({**{30 + at: 1 for at in range(8)}, 99: most})
    assert Counter(made.table["age"].to_pylist()) == expected
    assert "patient" not in made.table.column_names


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = set()
    for _, added in some(_added(), 0, 6):
        Path("people.csv").write_bytes(as_csv(*added))
        ran = run(
            *(
                "private-table",
                "people.csv",
                "-o",
                "private.parquet",
                "--report",
                "report.json",
                "--overwrite",
            ),
            *("--method", "marginal-tree", "--person", "patient", "--rows-per-person", "2", "--rho", "1"),
            *("--bounds", "age=0:120", "--domains", "sex=f|m", "--missing", "sex=f"),
            *("--neighbours", "one more or less"),
        )
        report = json.loads(Path("report.json").read_text())
        shown = re.sub(r"(?m)^ *rows +[0-9,]+ *$|Pairs that were counted: .*", "", ran.out)
        assert ran.code == 0, ran.err
        found.add(
            (
                shown,
                ran.err,
                str({**report, "date": "", "rows": 0, "notes": ""}),
                str(pa.parquet.read_schema("private.parquet")),
            )
        )
    assert len(found) == 1, found
