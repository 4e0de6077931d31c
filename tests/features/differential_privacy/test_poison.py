"""Questions to tables that differ in one person: what is not noise is the same, and the truth differs as much as noise hides.

Every source of a table x every cell that makes readers change their mind x every question: kinds of values, words, prices,
exit codes and errors are compared with those of the table without it. What is behind the noise is compared exactly.
"""

from __future__ import annotations

import functools
import json
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli import veil
from support.dp.poison import CELLS, LINES, PEOPLE, as_objects
from veil.base.randomness import Randomness
from veil.dp import Accountant
from veil.dp import unit as unit_module
from veil.errors import PlanError, VeilError
from veil.questions import Session
from veil.questions.mechanisms.totals import sum_reach
from veil.questions.session import constant_time
from veil.tables.cells import Cells
from veil.tables.source import read_cells

Row = tuple[str, Any]
"""Somebody and an age; the age as it stands in a file, or as an object."""

BASE: list[Row] = [("A0", b"1.0"), ("A1", b"34"), ("A1", b"70"), ("A2", b""), ("A3", b"34.50"), ("A4", b"7")]
ROWS = 2
"""Rows of a person at most."""


class Truth(Randomness):
    """Digits of which every noise is 0; of each person, the first rows are drawn, whoever else there is."""

    is_private = False

    def bits(self, size: int) -> np.ndarray:
        return np.full(size, 2**64 - 1, np.uint64)

    def permutation(self, size: int) -> np.ndarray:
        return np.arange(size)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda asked: asked.count(epsilon=1),
    "count of numbers": lambda asked: asked.count("age >= 34", epsilon=1),
    "count of texts": lambda asked: asked.count("age = '34' or not age = 'eighty'", epsilon=1),
    "count of days": lambda asked: asked.count("age < 2024-02-01", epsilon=1),
    "count of truths": lambda asked: asked.count("age = true", epsilon=1),
    "count of missing": lambda asked: asked.count("age is missing and person is not missing", epsilon=1),
    "histogram": lambda asked: asked.histogram("age", epsilon=1),
    "sum": lambda asked: asked.sum("age", epsilon=1),
    "mean": lambda asked: asked.mean("age", epsilon=1),
    "median": lambda asked: asked.quantiles("age", [0.5], epsilon=1, candidates=8),
    "record": lambda asked: asked.record("A1", "age", epsilon=1),
}


def open_session(
    source: Any, neighbours: str = "one more or less", rows: int = ROWS, **options: Any
) -> Session:
    return Session(
        source,
        Accountant(1000, neighbours=neighbours),  # type: ignore[arg-type]
        neighbours=neighbours,  # type: ignore[arg-type]
        person="person",
        rows_per_person=rows,
        bounds={"age": (-10, 120)},
        keys={"age": [1, 34.5, None, "eighty"]},
        missing={"age": "leave out"},
        constant_time=False,
        randomness=Truth(),
        **options,
    )


Seen = tuple[dict[tuple[str, str], Any], dict[str, Any]]
"""Everything about answers but their numbers, and the numbers."""


def look(source: Any) -> Seen:
    """Ask everything, for both relations; an error is part of what is seen."""
    seen: dict[tuple[str, str], Any] = {}
    truths: dict[str, Any] = {}
    for neighbours in ("one more or less", "one changed"):
        many, single = open_session(source, neighbours), open_session(source, neighbours, 1)
        for name, ask in QUESTIONS.items():
            asked = single if name == "record" else many
            try:
                answer = ask(asked)
            except VeilError as error:
                seen[name, neighbours] = (type(error), str(error))
                continue
            value, kinds = answer.value, None
            if isinstance(value, dict):
                kinds = {key: type(each) for key, each in value.items()}
            told = (answer.question, answer.mechanism, str(answer.loss), str(asked.accountant.remaining))
            seen[name, neighbours] = (type(value), kinds, told)
            truths.setdefault(name, value)
    bounded = many._declared.bounded("age")
    reach = sum_reach(open_session(source)._declared, bounded, None) * bounded.step
    return seen, {**truths, "reach": float(reach)}


# --- where tables are -----------------------------------------------------------------------------------


def as_csv(rows: list[Row], place: Path) -> Any:
    lines = [b"person,age", *(f"{person},".encode() + age for person, age in rows), b""]
    (place / "people.csv").write_bytes(b"\n".join(lines))
    return place / "people.csv"


def _texts(rows: list[Row]) -> dict[str, list[Any]]:
    ages = [
        None if age == b"" else age.decode("utf-8", "replace") if isinstance(age, bytes) else age
        for _, age in rows
    ]
    return {"person": [person for person, _ in rows], "age": ages}


def as_pandas(rows: list[Row], place: Path) -> Any:
    return pd.DataFrame(_texts(rows), dtype=object)


def as_numbers(rows: list[Row], place: Path) -> Any:
    """A frame whose column gets its type from what pandas finds in it."""
    ages = [
        float(age) if isinstance(age, bytes) and age.replace(b".", b"").isdigit() else age for _, age in rows
    ]
    ages = [
        int(age) if isinstance(age, float) and age.is_integer() else None if age == b"" else age
        for age in ages
    ]
    plain = [age.decode("utf-8", "replace") if isinstance(age, bytes) else age for age in ages]
    column = (
        plain if all(isinstance(age, int | float | None) for age in plain) else pd.Series(plain, dtype=object)
    )
    return pd.DataFrame({"person": [person for person, _ in rows], "age": column})


def as_polars(rows: list[Row], place: Path) -> Any:
    return pl.DataFrame(_texts(rows), schema={"person": pl.String, "age": pl.String})


def as_categories(rows: list[Row], place: Path) -> Any:
    table = pa.table(_texts(rows), schema=pa.schema({"person": pa.string(), "age": pa.string()}))
    return table.set_column(1, "age", table["age"].dictionary_encode())


def as_parquet(rows: list[Row], place: Path) -> Any:
    pq.write_table(
        pa.table(_texts(rows), schema=pa.schema({"person": pa.string(), "age": pa.string()})),
        place / "p.parquet",
    )
    return place / "p.parquet"


def as_excel(rows: list[Row], place: Path) -> Any:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(("person", "age"))
    for person, age in rows:
        text = None if age == b"" else age.decode("utf-8", "replace").replace("\0", "").replace('"', "'")
        number = text is not None and text.replace(".", "").isdigit() and text.isascii() and len(text) < 9
        book.active.append((person, float(text) if number and text else text))
    book.save(place / "people.xlsx")
    return place / "people.xlsx"


def as_sqlite(rows: list[Row], place: Path) -> Any:
    pytest.importorskip("ibis")
    file = place / "people.db"
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as database:
        database.execute("create table people (person text, age integer)")
        values = [(person, None if age == b"" else age.decode("utf-8", "replace")) for person, age in rows]
        database.executemany("insert into people values (?, ?)", values)
    database.close()
    return f"sqlite:///{file}#people"


MEMORY = [as_csv, as_pandas, as_numbers, as_polars, as_categories, as_parquet]
SLOW = [as_excel, as_sqlite]
"""Of which a few cells have to do: of texts, all of which take the same way."""
FEW = (
    "a text among numbers",
    "a decimal",
    "nothing",
    "a day",
    "a huge number",
    "a formula",
    "another encoding",
)
CASES = [(make, cell) for make in MEMORY for cell in CELLS] + [(make, cell) for make in SLOW for cell in FEW]


@pytest.mark.parametrize(("make", "cell"), CASES, ids=lambda each: getattr(each, "__name__", each))
def test_no_cell_shows_but_by_the_noise(make: Callable[..., Any], cell: str, tmp_path: Path) -> None:
    """The same kinds of answers, words and prices, and no error; and the truth differs by what is hidden."""
    seen, less = look_at_base(make)
    beside, more = look(make([*BASE, ("B1", CELLS[cell])], tmp_path))
    assert not [each for each in seen.values() if issubclass(each[0], VeilError)]
    assert beside == seen
    check_hidden(less, more, 1)


@functools.cache
def look_at_base(make: Callable[..., Any]) -> Seen:
    with tempfile.TemporaryDirectory() as place:
        return look(make(BASE, Path(place)))


def check_hidden(less: dict[str, Any], more: dict[str, Any], rows: int) -> None:
    for name in QUESTIONS:
        if name.startswith("count"):
            assert abs(less[name] - more[name]) <= rows, name
    assert sum(abs(less["histogram"][key] - more["histogram"][key]) for key in less["histogram"]) <= rows
    assert abs(less["sum"] - more["sum"]) <= less["reach"] * rows / ROWS


@pytest.mark.parametrize("name", list(as_objects()))
def test_no_object_of_a_frame_shows_but_by_the_noise(name: str, tmp_path: Path) -> None:
    seen, less = look_at_base(as_numbers)
    beside, more = look(as_numbers([*BASE, ("B1", as_objects()[name])], tmp_path))
    assert beside == seen
    check_hidden(less, more, 1)


@pytest.mark.parametrize("make", [as_csv, as_numbers, as_sqlite])
@pytest.mark.parametrize("people", list(PEOPLE))
def test_no_person_shows_but_by_the_noise(make: Callable[..., Any], people: str, tmp_path: Path) -> None:
    """Also one with forty rows, and one whose names differ in case and blanks only."""
    added = [(person, b"34") for person in PEOPLE[people]]
    # Without the person altogether, and with all the rows that are theirs.
    again = people in ("somebody again", "somebody in other cases and with blanks")
    without = [row for row in BASE if row[0] != "A1"] if again else BASE
    (seen, less), (beside, more) = (look(make(rows, tmp_path)) for rows in (without, [*BASE, *added]))
    assert beside == seen
    check_hidden(less, more, 0 if people == "nobody" else ROWS)


@pytest.mark.parametrize("make", [as_csv, as_polars, as_categories, as_parquet, as_sqlite])
def test_an_empty_table_is_answered_like_any_other(make: Callable[..., Any], tmp_path: Path) -> None:
    assert look(make([], tmp_path))[0] == look_at_base(make)[0]


def test_one_record_does_not_make_a_thousand_others_match(tmp_path: Path) -> None:
    """1,000 cells 1.0 in a file, and one 7: the type that the column gets decided whether they were the key 1."""
    for make in (as_csv, as_pandas, as_sqlite):
        counts = []
        for more in ([], [("B", b"7")], [("B", b"34.5")], [("B", b"eighty")]):
            source = make([*((f"A{i}", b"1.0") for i in range(1000)), *more], tmp_path)
            counts.append(open_session(source).histogram("age", epsilon=1).value[1])
        assert counts == [1000] * 4


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_changed_stays_a_record(name: str, tmp_path: Path) -> None:
    """Where the number of records is public, a mean is a sum divided by it: that of all lines, whatever they hold."""
    lines = [b"patient,age,sex", b"A,120,f", LINES[name], b'B,"120",m', b"C,120,f", b""]
    (tmp_path / "people.csv").write_bytes(b"\n".join(lines))
    numbers = {}
    for neighbours in ("one changed", "one more or less"):
        session = Session(
            tmp_path / "people.csv",
            Accountant(9, neighbours=neighbours),  # type: ignore[arg-type]
            neighbours=neighbours,  # type: ignore[arg-type]
            person=None,
            bounds={"age": (0, 120)},
            missing={"age": 0},
            constant_time=False,
            randomness=Truth(),
        )
        numbers[neighbours] = session.count(epsilon=1).value
        if neighbours == "one changed":
            mean = session.mean("age", epsilon=1).value
            assert abs(mean * 4 - 360) <= 120
    assert numbers["one changed"] == 4
    assert numbers["one more or less"] in (3, 4)


def test_a_sheet_has_no_public_number_of_rows(tmp_path: Path) -> None:
    """A blank row at its end is not seen; of people by their keys it is nobody's."""
    sheet = as_excel(BASE, tmp_path)
    given: dict[str, Any] = {"neighbours": "one changed", "constant_time": False}
    with pytest.raises(PlanError, match="blank row"):
        Session(sheet, Accountant(1, neighbours="one changed"), person=None, **given)
    account = Accountant(1, neighbours="one changed")
    Session(sheet, account, person="person", rows_per_person=2, **given).count(epsilon=1)


# --- the command line -----------------------------------------------------------------------------------

ASKED = (
    *(
        "--count",
        "--where",
        "age >= 34",
        "--histogram",
        "age",
        "--sum",
        "age",
        "--mean",
        "age",
        "--quantiles",
        "age=0.5",
    ),
    *(
        "--bounds",
        "age=-10:120",
        "--keys",
        "age=1|34.5|eighty",
        "--missing",
        "age=leave out",
        "--epsilon",
        "1",
        "--json",
    ),
    *("--person", "person", "--rows-per-person", "2"),
)


def shape(found: Any) -> Any:
    """Return a document with the kinds of its numbers."""
    if isinstance(found, dict):
        return {key: shape(each) for key, each in found.items()}
    return (
        [shape(each) for each in found]
        if isinstance(found, list)
        else found
        if isinstance(found, str)
        else type(found)
    )


def run(rows: list[Row], make: Callable[..., Any], place: Path) -> tuple[int, str, Any]:
    source = str(make(rows, place))
    budget = place / "budget.json"
    budget.unlink(missing_ok=True)
    assert veil("budget", source, "--epsilon", "9", "--file", str(budget)).code == 0
    ran = veil("ask", source, "--budget", str(budget), *ASKED)
    return ran.code, ran.err, shape(json.loads(ran.out)) if ran.code == 0 else ran.out


@pytest.mark.parametrize("make", [as_csv, as_excel, as_sqlite])
def test_exit_codes_messages_and_documents_are_the_same(
    make: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constant_time.time, "sleep", lambda seconds: None)
    expected = run(BASE, make, tmp_path)
    assert expected[0] == 0, expected
    cells = (
        FEW
        if make is not as_csv
        else [*FEW, "a quote that never closes", "a field too many", "a byte of nothing"]
    )
    for cell in cells:
        assert run([*BASE, ("B1", CELLS[cell])], make, tmp_path) == expected, cell
    assert run([*BASE, *(("B1", b"34") for _ in range(40))], make, tmp_path) == expected


# --- whether these tests would notice -------------------------------------------------------------------


def test_a_bound_that_nobody_keeps_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        unit_module, "draw_rows_of_people", lambda people, most, chance: np.arange(people.size)
    )
    with pytest.raises(AssertionError, match="count"):
        test_no_person_shows_but_by_the_noise(as_csv, "somebody with forty rows", tmp_path)


def test_a_key_that_is_taken_as_written_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(unit_module, "fold_texts", lambda texts: texts)
    with pytest.raises(AssertionError):
        test_no_person_shows_but_by_the_noise(as_csv, "somebody in other cases and with blanks", tmp_path)


def test_a_type_that_is_found_from_all_cells_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def typed(source: Any, *, format: Any = None) -> Any:
        found = read_cells(source, format=format)
        ages = Cells.of(found.table["age"])
        if all(each is not None for text, each in zip(ages.texts, ages.numbers, strict=True) if text):
            return found
        raise VeilError("column 'age' holds text")

    monkeypatch.setattr("veil.engines.questions.read_cells", typed)
    with pytest.raises(VeilError):
        test_no_cell_shows_but_by_the_noise(as_csv, "a text among numbers", tmp_path)
