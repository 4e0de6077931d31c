"""What is wrong with an outcome is called a broken promise, unless it is the cells that somebody wanted to keep."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import DistinctLDiversity, KAnonymity
from veil.errors import NoSolutionError, VerificationError
from veil.verification.outcome import verified

TABLE = pa.table({"age": ["20", "20", "30", "30", "40"], "illness": ["flu", "cold", "flu", "cold", "gout"]})
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": "identity"},
    "sensitive": ["illness"],
    "models": KAnonymity(2),
    "suppression_limit": 0.2,
    "order": "input",
}


def test_a_suppressed_record_that_shows_something_is_a_broken_promise() -> None:
    outcome = veil.anonymize(TABLE, **PLAN).outcome
    assert (outcome.suppressed, outcome.table["age"].to_pylist()[4]) == (1, "*")
    for column, cell in (("age", "40"), ("illness", "gout")):
        cells = [*outcome.table[column].to_pylist()[:4], cell]
        table = outcome.table.set_column(outcome.table.column_names.index(column), column, pa.array(cells))
        with pytest.raises(VerificationError):
            verified(outcome.changed(table=table))


def test_cells_that_are_kept_and_not_protected_are_refused_with_the_way_out() -> None:
    asked = PLAN | {
        "models": [KAnonymity(2), DistinctLDiversity("illness", 2)],
        "suppressed_rows": "keep cells",
    }
    with refused(NoSolutionError, "1 record", "drop the rows"):
        veil.anonymize(TABLE, **asked)


def test_a_broken_promise_that_is_none_of_kept_cells_stays_one() -> None:
    table = pa.concat_tables([TABLE, pa.table({"age": ["50"], "illness": ["flu"]})])
    asked = PLAN | {"suppressed_rows": "keep cells", "suppression_limit": 0.4}
    outcome = veil.anonymize(table, **asked).outcome
    assert (outcome.suppressed, outcome.table["illness"].to_pylist()[4:]) == (2, ["gout", "flu"])
    cells = ["20", "25", *outcome.table["age"].to_pylist()[2:]]
    table = outcome.table.set_column(outcome.table.column_names.index("age"), "age", pa.array(cells))
    with pytest.raises(VerificationError):
        verified(outcome.changed(table=table))
