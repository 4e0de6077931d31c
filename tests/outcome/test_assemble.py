"""Levels of every row: parts of rows, and the table that shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from veil import hierarchies as h
from veil.models import KAnonymity
from veil.outcome.assemble import assemble
from veil.outcome.result import CellLevels, RecodedPart
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.tables import read
from veil.tables.text import canonical_text
from veil.verification.recoded import MOST_PARTS, verify_recoded

AGES = h.intervals(10, 20)
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": AGES, "zip": "redaction", "sex": "suppression"},
    "models": KAnonymity(1),
    "insensitive": ["ill"],
    "suppression_limit": 1,
    "order": "input",
}
ROW = st.tuples(
    st.sampled_from([23, 27, 34, 61]), st.sampled_from(["537", "538", "61", None]), st.sampled_from("fm")
)
LEVELS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[bool]]:
    rows = draw(st.lists(ROW, min_size=1, max_size=12))
    size = len(rows)
    levels = draw(st.lists(LEVELS, min_size=size, max_size=size))
    return rows, levels, draw(st.lists(st.booleans(), min_size=size, max_size=size))


def prepared_of(rows: list[Any], **changes: Any) -> tuple[Any, Any]:
    ages, zips, sexes = map(list, zip(*rows, strict=True))
    columns = {"age": ages, "zip": pa.array(zips, pa.string()), "sex": sexes}
    source = read(pa.table(columns | {"ill": [f"ill {at}" for at in range(len(rows))]}))
    return source, prepare(source.table, Plan(**PLAN | changes))


def capped(prepared: Any, levels: list[Any]) -> np.ndarray:
    heights = [each.height for each in prepared.encoding.hierarchies]
    return np.minimum(np.array(levels), heights).astype(np.uint8)


@given(cases())
def test_levels_are_a_sequence_of_parts(case: tuple[list[Any], list[Any], list[bool]]) -> None:
    _, levels, suppressed = case
    by_row, mask = np.array(levels, np.uint8), np.array(suppressed)
    made = CellLevels.by_row(by_row, mask)
    expected: dict[Any, list[int]] = {}
    for row, each in enumerate(levels):
        if not suppressed[row]:
            expected.setdefault(each, []).append(row)
    parts = {part.levels: part.rows.tolist() for part in made if part.rows.size}
    assert parts == expected
    assert (made.of_rows[~mask] == by_row[~mask]).all()
    again = CellLevels.of(list(made), mask.size)
    assert (again.part == made.part).all()
    for cut in (slice(1, None), slice(None, -1)):
        fewer = [(part.levels, part.rows.tolist()) for part in list(made)[cut]]
        assert [(part.levels, part.rows.tolist()) for part in made[cut]] == fewer


@given(cases(), st.sampled_from(["blank", "drop", "keep cells"]))
def test_every_cell_is_the_label_of_its_row(
    case: tuple[list[Any], list[Any], list[bool]], suppressed_rows: str
) -> None:
    """The twin looks up each cell by itself."""
    rows, levels, suppressed = case
    source, prepared = prepared_of(rows, suppressed_rows=suppressed_rows)
    by_row, mask = capped(prepared, levels), np.array(suppressed)
    outcome = assemble(source, prepared, CellLevels.by_row(by_row, mask), mask)
    shown = [row for row in range(len(rows)) if not (suppressed[row] and suppressed_rows == "drop")]
    assert outcome.origins.tolist() == shown
    for j, name in enumerate(prepared.encoding.names):
        hierarchy, table = outcome.hierarchies[name], prepared.table
        texts = canonical_text(table[name].combine_chunks())
        cells = canonical_text(outcome.table[name].combine_chunks())
        for cell, row in zip(cells, shown, strict=True):
            place = hierarchy.labels[0].index(texts[row])
            label = hierarchy.labels[by_row[row, j]][hierarchy.label_map(by_row[row, j])[place]]
            if suppressed[row]:
                assert cell in (None, "*")
            else:
                assert cell == label
    assert all(each.holds for each in verify_recoded(outcome, None).findings)


@given(cases())
def test_parts_of_the_same_levels_make_the_same_table(case: tuple[list[Any], list[Any], list[bool]]) -> None:
    rows, levels, suppressed = case
    assume(not all(suppressed))
    source, prepared = prepared_of(rows)
    by_row, mask = capped(prepared, levels), np.array(suppressed)
    parts = [
        RecodedPart(tuple(by_row[row].tolist()), np.array([row])) for row in np.flatnonzero(~mask).tolist()
    ]
    one, other = (assemble(source, prepared, each, mask) for each in (CellLevels.by_row(by_row, mask), parts))
    assert {name: one.table[name].to_pylist() for name in one.table.column_names} == {
        name: other.table[name].to_pylist() for name in other.table.column_names
    }


@pytest.mark.parametrize("column", ["age", "zip", "sex", "ill"])
def test_one_wrong_cell_among_many_parts_is_found(column: str) -> None:
    rng = np.random.default_rng(1)
    rows = [(23, "537", "f"), (34, "538", "m"), (61, "61", "f")] * 40
    source, prepared = prepared_of(rows)
    by_row = capped(prepared, rng.integers(0, [4, 4, 2], (len(rows), 3)).tolist())
    mask = np.zeros(len(rows), np.bool_)
    levels = CellLevels.by_row(by_row, mask)
    assert len(levels) > MOST_PARTS
    outcome = assemble(source, prepared, levels, mask)
    verification = verify_recoded(outcome, None)
    promise = f"120 records are generalized cell by cell, to {len(levels)} combinations of levels"
    assert any(each.promise.startswith(promise) for each in verification.findings)
    assert all(each.holds for each in verification.findings)
    cells = outcome.table[column].to_pylist()
    cells[7] = "nothing of the kind"
    at = outcome.table.column_names.index(column)
    changed = outcome.changed(table=outcome.table.set_column(at, column, pa.array(cells, pa.string())))
    (broken,) = [each for each in verify_recoded(changed, None).findings if not each.holds]
    assert broken.promise.startswith(promise)
    assert broken.measured == f"column {column!r}: 1 cell differs"


def test_a_level_that_the_plan_does_not_allow_is_found() -> None:
    source, prepared = prepared_of([(23, "537", "f"), (34, "538", "m")], maximum_levels={"age": 1})
    levels = CellLevels(np.array([[2, 0, 0]], np.uint8), np.zeros(2, np.int32))
    outcome = assemble(source, prepared, levels, np.zeros(2, np.bool_))
    broken = [each for each in verify_recoded(outcome, None).findings if not each.holds]
    assert [each.measured for each in broken] == ["a level that the plan does not allow"]
