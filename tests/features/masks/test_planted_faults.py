"""Nobody certifies himself: for every masking method, an output that breaks its promise is refused by the verifier.

The cases are listed by kind, and the list has to be that of the registry: a method without a case, or without a check,
fails here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.base.randomness import Randomness
from veil.errors import VerificationError
from veil.masking import METHODS, Method, Outcome
from veil.outcome.outcome import Outcome as _Outcome
from veil.outcome.result import Origins
from veil.tables.rows import Owners, Rows
from veil.verification.outcome import verify_outcome
from veil.verification.steps.step import CHECKS

ROWS = 24
KEY = "9f2c71e05ad84b36c1f7a40d2e8b9563"
rng = np.random.default_rng(7)
TABLE = pa.table(
    {
        "age": rng.permutation(np.arange(20, 20 + ROWS)),
        "income": rng.permutation(np.arange(1000, 1000 + 37 * ROWS, 37)),
        "sex": ["f", "m"] * (ROWS // 2),
        "ill": [["flu", "gout", "cold", "ache"][n % 4] for n in range(ROWS)],
        "name": [f"Ann-{n:06}" for n in range(ROWS)],
        "goods": ["a,b", "a,b", "b,c", "b,c", "a,c", "a,c"] * (ROWS // 6),
        "patient": [n // 2 for n in range(ROWS)],
        "seen": pa.array(
            [datetime(2024, 3, 20) + timedelta(days=int(n)) for n in rng.permutation(ROWS) * 3],
            pa.timestamp("us", "Europe/Berlin"),
        ),
        "kept": list(range(ROWS)),
    }
)

Change = Callable[[Outcome], Outcome]


def cell(name: str, value: Any, row: int = 3) -> Change:
    """Change a cell of the output."""

    def change(made: Outcome) -> Outcome:
        cells = made.table[name].to_pylist()
        cells[row] = value(cells) if callable(value) else value
        column = pa.array(cells, made.table[name].type)
        at = made.table.column_names.index(name)
        return made.changed(table=made.table.set_column(at, name, column))

    return change


def column(name: str, new: Callable[[pa.ChunkedArray], Any]) -> Change:
    """Change a column of the output."""

    def change(made: Outcome) -> Outcome:
        at = made.table.column_names.index(name)
        return made.changed(table=made.table.set_column(at, name, pa.array(new(made.table[name]))))

    return change


def as_it_was(name: str) -> Change:
    """Leave a column as it came in."""
    return lambda made: column(name, lambda _: made.source.table[name].combine_chunks())(made)


def apart(name: str, new: Callable[[pa.Table], pa.Table]) -> Change:
    """Change a table that goes with the release, or is kept apart."""
    return lambda made: made.changed(
        apart=tuple(
            each._replace(table=new(each.table)) if each.name == name else each for each in made.last.apart
        )
    )


def swapped(name: str, one: int = 0, other: int | None = None) -> Callable[[pa.Table], pa.Table]:
    """Exchange two cells of a column, by default of rows that differ in other columns, too: else it might be no fault."""

    def change(table: pa.Table) -> pa.Table:
        cells = table[name].to_pylist()
        beside = [each for each in ("sex", "ill") if each in table.column_names and each != name]
        rows = table.select(beside).to_pylist() if beside else [{}] * len(cells)
        differs = (
            at for at in range(1, len(cells)) if all(rows[at][each] != rows[one][each] for each in beside)
        )
        last = next(differs) if other is None else other
        cells[one], cells[last] = cells[last], cells[one]
        return table.set_column(table.column_names.index(name), name, pa.array(cells, table[name].type))

    return change


def fewer(made: Outcome) -> Outcome:
    """Leave out a row."""
    rows = np.delete(made.origins, 0)
    return made.changed(table=made.table.slice(1), origins=Origins(rows.size, rows))


def twice(made: Outcome) -> Outcome:
    """Let two rows come from one."""
    rows = made.origins.copy()
    rows[0] = rows[1]
    return made.changed(origins=Origins(rows.size, rows))


def _odd_one(cells: list[Any]) -> Any:
    """A value that no other row has."""
    return cells[0] + 0.125


def _outlier(cells: list[Any]) -> Any:
    return 9999


def _next_day(cells: list[Any]) -> Any:
    return cells[3] + timedelta(days=1)


_OF_NAMES = [
    cell("name", lambda cells: cells[0]),
    as_it_was("name"),
    cell("name", "Ann-000003"),
    cell("name", None),
]
_MICRO = [cell("age", _odd_one), as_it_was("age")]
_HISTORY = "history.json"

CASES: dict[str, tuple[dict[str, Any], list[Change]]] = {
    "RandomSampling": ({"size": 9}, [fewer, cell("age", _outlier)]),
    "StratifiedSampling": ({"columns": "sex", "fraction": 0.5}, [fewer, cell("age", _outlier)]),
    "BernoulliSampling": ({"probability": 0.9}, [cell("age", _outlier)]),
    "GlobalRecoding": (
        {"column": "age", "hierarchy": h.intervals(10)},
        [cell("age", "[90, 100["), cell("age", "21"), cell("age", None)],
    ),
    "TopCoding": (
        {"column": "age", "quantile": 0.8},
        [as_it_was("age"), cell("age", _outlier), cell("age", lambda cells: max(cells) + 1)],
    ),
    "BottomCoding": (
        {"column": "age", "threshold": 25},
        [as_it_was("age"), cell("age", 3), cell("age", lambda cells: min(cells) - 1)],
    ),
    "Rounding": (
        {"columns": "income", "base": 100},
        [as_it_was("income"), cell("income", lambda cells: cells[3] + 100), cell("income", None)],
    ),
    "DateShifting": (
        {"columns": "seen", "person": "patient", "days": 30, "least": 1},
        [
            cell("seen", _next_day),
            cell("seen", lambda cells: cells[3] + timedelta(hours=1)),
            column(
                "seen",
                lambda cells: pa.array(
                    [each and each + timedelta(days=40) for each in cells.to_pylist()], cells.type
                ),
            ),
            cell("seen", None),
        ],
    ),
    "DaysSinceFirst": (
        {"columns": "seen", "person": "patient"},
        [cell("seen", lambda cells: cells[3] + 1), cell("seen", None)],
    ),
    "LocalSuppression": (
        {"columns": ["sex", "ill"], "k": 7, "linked": {"goods": "ill"}},
        [cell("ill", "rare"), as_it_was("goods"), cell("sex", lambda cells: "fm"[cells[3] == "f"])],
    ),
    "ItemGeneralization": (
        {"column": "goods", "k": 4, "m": 2, "left_out": 1},
        [cell("goods", "a,x"), cell("goods", "a,b,c"), cell("age", _outlier)],
    ),
    "Mondrian": (
        {"quasi_identifiers": ["age"], "models": KAnonymity(4)},
        [
            cell("age", "[1, 2]"),
            column(
                "age", lambda cells: [label.replace("[2", "[3") for label in cells.to_pylist()]
            ),  # above a value
            column(
                "age", lambda cells: [label.replace("[20", "[19") for label in cells.to_pylist()]
            ),  # off the grid
        ],
    ),
    "TopDownSpecialization": (
        {"quasi_identifiers": {"age": h.intervals(4, 8)}, "models": KAnonymity(3)},
        [cell("age", "[1, 2[")],
    ),
    "UnivariateMicroaggregation": ({"columns": "age", "k": 3}, _MICRO),
    "MDAV": ({"columns": ["age", "income"], "k": 3}, _MICRO),
    "VMDAV": ({"columns": ["age", "income"], "k": 3}, _MICRO),
    "KWard": ({"columns": ["age"], "k": 3}, _MICRO),
    "GeneticMicroaggregation": ({"columns": ["age"], "k": 3, "generations": 3}, _MICRO),
    "TClosenessThroughMicroaggregation": (
        {"columns": ["age"], "k": 3, "confidential": "income", "t": 0.3},
        [
            *_MICRO,
            column("age", lambda cells: [float(n // 3) for n in np.argsort(np.argsort(TABLE["income"]))]),
        ],
    ),
    "ConfidentialAttributePartitioning": (
        {"columns": "income", "k": 4},
        [
            apart("confidential", swapped("income", 0, ROWS - 1)),
            apart("confidential", swapped("income")),
            cell("group", 99),
        ],
    ),
    "BucketizedTCloseness": (
        {"confidential": "income", "t": 2, "k": 4},
        [
            cell("group", 99),
            # Groups of one bucket each: two that change places may make groups that are as good.
            apart(
                "confidential",
                lambda table: table.set_column(1, "income", pa.array(sorted(table["income"].to_pylist()))),
            ),
            apart(
                "confidential", lambda table: table.set_column(1, "income", TABLE["income"].cast(pa.string()))
            ),
        ],
    ),
    "Anatomy": (
        {"columns": "ill", "l": 3},
        [
            apart("confidential", swapped("ill")),
            apart("confidential", lambda table: table.slice(1)),
            apart("confidential", lambda table: table.set_column(1, "ill", pa.array(["flu"] * ROWS))),
            lambda made: made.changed(table=swapped("group", 0, 5)(made.table)),
        ],
    ),
    "MInvariance": (
        {"attribute": "ill", "m": 2, "quasi_identifiers": ["age"], "person": "name", "history": _HISTORY},
        [
            cell("group", 99),
            apart(
                "confidential", lambda table: table.set_column(1, "ill", pa.array(["flu"] * table.num_rows))
            ),
            apart("confidential", lambda table: table.slice(1)),
            apart("counterfeits", lambda _: pa.table({"group": [1], "counterfeits": [5]})),
        ],
    ),
    "IndividualRankingSwapping": (
        {"columns": "income", "k": 4},
        [cell("income", _outlier), column("income", lambda cells: cells.to_pylist()[::-1])],
    ),
    "MDAVSwapping": ({"columns": "income", "k": 4}, [cell("income", _outlier)]),
    "WholeRecordSwapping": (
        {"columns": ["income", "ill"], "k": 4},
        [
            cell("income", _outlier),
            lambda made: made.changed(table=swapped("income")(made.table)),
        ],
    ),
    "UncorrelatedNoise": (
        {"columns": "income", "alpha": 0.1},
        [as_it_was("income"), cell("income", float("nan"))],
    ),
    "CorrelatedNoise": (
        {"columns": ["income", "age"], "alpha": 0.1},
        [as_it_was("income"), as_it_was("age"), cell("age", None)],
    ),
    "DataSwapping": (
        {"columns": "income", "share": 1.0, "within": "sex"},
        [
            cell("income", _outlier),
            lambda made: made.changed(table=swapped("income")(made.table)),
        ],
    ),
    "RankSwapping": (
        {"columns": "income", "p": 20},
        [cell("income", _outlier), column("income", lambda cells: cells.to_pylist()[::-1])],
    ),
    "PRAM": (
        {
            "column": "ill",
            "matrix": {
                "flu": {"flu": "1/2", "gout": "1/2"},
                "gout": {"gout": 1},
                "cold": {"cold": 1},
                "ache": {"ache": 1},
            },
        },
        [cell("ill", "plague"), column("ill", lambda cells: ["cold"] * ROWS), cell("ill", None)],
    ),
    "RandomizedResponse": (
        {"column": "ill", "categories": ["flu", "gout", "cold", "ache"], "epsilon": 1},
        [cell("ill", "plague"), cell("ill", None)],
    ),
    "Shuffling": ({"columns": "income", "given": "age"}, [cell("income", _outlier)]),
    "ColumnShuffling": (
        {"columns": "income", "within": "sex"},
        [
            cell("income", _outlier),
            lambda made: made.changed(table=swapped("income")(made.table)),
        ],
    ),
    "KeyedPseudonyms": ({"columns": "name", "key": KEY}, _OF_NAMES),
    "RandomPseudonyms": (
        {"columns": "name"},
        [*_OF_NAMES, apart("pseudonyms", lambda table: table.slice(1))],
    ),
    "FormatPreservingPseudonyms": (
        {"columns": "name", "key": KEY},
        [*_OF_NAMES[:2], _OF_NAMES[3], cell("name", "x")],
    ),
    "UnkeyedHash": ({"columns": "name", "although_values_can_be_guessed": True}, _OF_NAMES),
}


def _method(kind: str, folder: Path) -> Method:
    given = dict(CASES[kind][0])
    if "history" in given:
        given["history"] = str(folder / _HISTORY)
    made: Method = METHODS[kind](**given)
    return made


@pytest.fixture(autouse=True)
def _quiet(recwarn: Any) -> None:
    """UnkeyedHash warns, as it should."""


def test_every_method_has_a_check_and_a_case() -> None:
    assert set(METHODS.names) == set(CHECKS) == set(CASES)


@pytest.mark.parametrize("kind", list(CASES))
def test_what_a_method_makes_holds_and_what_breaks_its_promise_is_refused(kind: str, tmp_path: Path) -> None:
    made = _method(kind, tmp_path).mask(Rows.of(TABLE), Randomness())
    found = verify_outcome(made)
    assert found.holds, found
    others = [cell("kept", _outlier, row=0), twice]
    if kind not in ("RandomSampling", "StratifiedSampling", "BernoulliSampling", "ItemGeneralization"):
        others.append(fewer)
    for number, change in enumerate([*CASES[kind][1], *others]):
        broken = verify_outcome(change(made)).broken
        assert broken, f"change {number} of {kind} is not noticed"


@pytest.mark.parametrize("kind", list(CASES))
def test_in_a_random_order_and_without_the_column_of_people_the_same_is_found(
    kind: str, tmp_path: Path
) -> None:
    method = _method(kind, tmp_path)
    release = veil.mask(
        TABLE.drop_columns(["patient"]) if "person" not in CASES[kind][0] else TABLE, method, person=None
    )
    assert release.verification.holds
    assert release.verification.open_questions == method.by_construction


def test_a_method_that_says_that_it_holds_is_not_believed() -> None:
    class Liar(type(METHODS["Rounding"]("income", 100))):  # type: ignore[misc]
        def mask(self, rows: Rows, randomness: Randomness) -> _Outcome:
            from veil.published.finding import Finding, Verification

            made = super().mask(rows, randomness).changed(table=rows.table)
            return dataclasses.replace(made, verification=Verification((Finding("rounded", True, "all"),)))

    with refused(VerificationError, "BROKEN", "'income'", "rounded"):
        veil.mask(TABLE, Liar("income", 100), person=None)


def test_people_are_counted_where_they_have_several_rows() -> None:
    """Four rows of two people look alike: a class of k = 4 rows, and of k - 2 people."""
    method = METHODS["UnivariateMicroaggregation"]("age", 4)
    after = TABLE.set_column(0, "age", pa.array([float(n // 4) for n in range(ROWS)]))
    from veil.verification.steps.step import verify_step

    assert verify_step(method, Rows.of(TABLE), after).holds
    rows = Rows.of(TABLE, owners=Owners.of(TABLE, "patient"))
    assert verify_step(method, rows, after.drop_columns("patient"), removed="patient").broken
