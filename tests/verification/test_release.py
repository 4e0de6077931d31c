"""The verifier: silent on every honest release, and loud on every dishonest one."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil import Inclusion, KAnonymity, TCloseness
from veil import hierarchies as h
from veil.api.release import Release
from veil.errors import VerificationError
from veil.outcome.result import Origins
from veil.plan.plan import Plan
from veil.published.finding import Finding, Verification
from veil.tables.rows import Rows
from veil.verification.outcome import verify_outcome
from veil.verification.release import rows_of, verify_release

PEOPLE: dict[str, list[Any]] = {
    "name": ["Ann", "Bob", "Cid", "Dee", "Eve", "Fay", "Gus", "Hal"],
    "login": ["ann1", "bob2", "cid3", "dee4", "eve5", "fay6", "gus7", "hal8"],
    "age": [21, 23, 24, 35, 38, 36, 60, None],
    "zip": ["02139", "02138", "02139", "02141", "02142", "02141", "99999", "02139"],
    "visit": [dt.date(2020, 1, day) for day in range(1, 9)],
    "disease": ["flu", "cold", "flu", None, "gout", "flu", "cold", "flu"],
}
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(10, 20), "zip": h.redaction()},
    "identifying": {"name": "remove", "login": "mask"},
    "sensitive": ["disease"],
    "insensitive": ["visit"],
    "models": KAnonymity(3),
    "suppression_limit": 0.25,
}


def anonymize(frame: Any = None, **changes: Any) -> Release:
    table = pa.table(PEOPLE) if frame is None else frame
    return veil.anonymize(table, **(PLAN | {"progress": False, "order": "input"} | changes))


def check(release: Release, table: pa.Table | None = None, **changes: Any) -> Verification:
    """Verify a table that claims to be a release."""
    prepared = release.outcome.prepared
    arguments: dict[str, Any] = {
        "before": rows_of(prepared.table, None, release.plan),
        "table": release.arrow if table is None else table,
        "plan": release.plan,
        "levels": release.transformation,
        "hierarchies": dict(zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True)),
        "origins": release.outcome.link,
        "suppressed_mask": release.outcome.link.pick(release.outcome.suppressed_mask),
        "subset": prepared.subset,
        "flag": release.outcome.flag,
    }
    return verify_release(**(arguments | changes))


def broken(found: Verification) -> list[str]:
    return [str(finding) for finding in found.findings if not finding.holds]


def with_cell(table: pa.Table, column: str, row: int, value: Any) -> pa.Table:
    cells = table[column].to_pylist()
    cells[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(cells, table[column].type))


def with_column(table: pa.Table, column: str, cells: Any) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


@pytest.fixture(scope="module")
def release() -> Release:
    made = anonymize()
    assert made.suppressed == 2
    assert made.arrow["age"].to_pylist() == [*["[20, 30["] * 3, *["[30, 40["] * 3, "*", "*"]
    assert made.arrow["zip"].to_pylist() == [*["0213*"] * 3, *["0214*"] * 3, "*", "*"]
    return made


# --- honest releases ------------------------------------------------------------------------------


def test_every_promise_is_listed(release: Release) -> None:
    assert str(check(release)).splitlines() == [
        "holds: 3-anonymity (found: k = 3)",
        "holds: identifying column 'name' is removed (found: gone)",
        "holds: identifying column 'login' is masked (found: 1 distinct value(s))",
        "holds: the table has the columns of the plan and no others (found: 5 columns)",
        "holds: the table has 8 rows, as planned (found: 8 rows)",
        "holds: at most 2 records are suppressed (found: 2)",
        "holds: column 'age' is generalized to level 1 (found: every cell)",
        "holds: column 'zip' is generalized to level 1 (found: every cell)",
        "holds: column 'visit' is blank where records are suppressed, and otherwise unchanged (found: equal)",
        "holds: column 'disease' is blank where records are suppressed, and otherwise unchanged (found: equal)",
    ]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("rows", ["blank", "drop"])
def test_any_frame_is_verified_before_and_after(frame: Callable[..., Any], rows: str) -> None:
    made = anonymize(frame(PEOPLE), suppressed_rows=rows)
    assert made.verification.holds
    published = veil.verify(made.table, Plan(**PLAN))
    assert published.holds
    assert "2 distinct" not in str(published)


@pytest.mark.parametrize("rows", ["blank", "drop"])
@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_a_fully_generalized_table_is_not_suppressed(rows: str, limit: float) -> None:
    """It looks as if it were, but generalization alone made it so, and no limit is passed."""
    tops = {"age": h.suppression(), "zip": h.suppression()}
    made = anonymize(
        quasi_identifiers=tops, models=KAnonymity(8), suppression_limit=limit, suppressed_rows=rows
    )
    assert made.arrow["age"].to_pylist() == made.arrow["zip"].to_pylist() == ["*"] * 8
    assert made.suppressed == 0
    assert made.verification.holds
    assert re.search(
        rf"at most {int(8 * limit)} records? (is|are) suppressed \(found: 0\)", str(made.verification)
    )


@pytest.mark.parametrize("suppressed", ["blank", "drop"])
@pytest.mark.parametrize("change", [lambda rows: rows[[0, *range(len(rows) - 1)]], lambda rows: rows[1:]])
def test_nobody_is_in_it_twice_or_missing(suppressed: str, change: Any) -> None:
    """Drawn with replacement, say: two rows of one person look like two people, and all cells are right."""
    made = anonymize(suppressed_rows=suppressed)
    assert made.suppressed > 0
    places = change(np.arange(made.arrow.num_rows))
    found = check(
        made,
        made.arrow.take(pa.array(places)),
        origins=Origins.of(made.outcome.origins[places], len(places)),
        suppressed_mask=made.outcome.link.pick(made.outcome.suppressed_mask)[places],
    )
    dropped = len(places) < made.arrow.num_rows and suppressed == "drop"  # and counted
    assert ("records are suppressed" if dropped else "rows, as planned") in " ".join(broken(found))


@pytest.mark.parametrize("rows", ["blank", "drop"])
def test_everything_suppressed(rows: str) -> None:
    low = {"age": 0, "zip": 0}
    made = anonymize(suppression_limit=1.0, maximum_levels=low, suppressed_rows=rows)
    assert made.suppressed == 8
    assert made.arrow.num_rows == (8 if rows == "blank" else 0)
    assert made.verification.holds
    assert "at most 8 records are suppressed (found: 8)" in str(made.verification)
    assert broken(check(made, plan=Plan(**PLAN, maximum_levels=low, suppressed_rows=rows))) == [
        "BROKEN: at most 2 records are suppressed (found: 8)"
    ]


@pytest.fixture(scope="module")
def flagged() -> Release:
    """Ages stay numbers, and a person stays of whom nothing is known: a flag tells it from the suppressed."""
    ages, pay = [21, 21, 21, None, None, None, 60, 70], [1, 2, 3, 4, 5, None, 7, 8]
    made = anonymize(
        pa.table({"age": ages, "pay": pay}),
        quasi_identifiers={"age": h.intervals(10, 20)},
        identifying=(),
        sensitive=["pay"],
        insensitive=(),
        maximum_levels={"age": 0},
    )
    assert made.arrow["age"].to_pylist() == [21, 21, 21, None, None, None, None, None]
    assert made.arrow["suppressed"].to_pylist() == [False] * 6 + [True] * 2
    return made


def test_a_flag_tells_missing_from_suppressed(flagged: Release) -> None:
    assert flagged.verification.holds
    assert "column 'suppressed' shows which rows are suppressed (found: every row)" in str(
        flagged.verification
    )
    assert "at most 2 records are suppressed (found: 2)" in str(flagged.verification)
    assert "3-anonymity (found: k = 3)" in str(flagged.verification)


def test_missing_values_without_suppression_need_no_flag() -> None:
    """A row whose typed quasi-identifiers are all missing is no suppressed one if another column shows something."""
    ages = [21, 21, 21, 21, None, None, None, None]
    made = anonymize(
        pa.table(PEOPLE | {"age": ages}),
        quasi_identifiers={"age": h.intervals(10, 20)},
        insensitive=["visit", "zip"],
        suppression_limit=0.0,
    )
    assert made.arrow["age"].to_pylist() == ages
    assert "suppressed" not in made.arrow.column_names
    assert "at most 0 records are suppressed (found: 0)" in str(made.verification)


def test_not_a_number_equals_itself() -> None:
    costs = pa.array([1.5, float("nan"), None, 2.0, 3.0, 4.0, None, None])
    made = anonymize()
    before = made.outcome.prepared.table.append_column("cost", costs)
    after = made.arrow.append_column("cost", costs)
    plan = Plan(**(PLAN | {"insensitive": ["visit", "cost"]}))
    assert not broken(check(made, after, before=Rows.of(before), plan=plan))
    for cells in ([1.5, None, None], [1.5, float("nan"), float("nan")], [float("nan"), float("nan"), None]):
        changed = with_column(after, "cost", [*cells, *costs.to_pylist()[3:]])
        assert broken(check(made, changed, before=Rows.of(before), plan=plan)) == [
            "BROKEN: column 'cost' is blank where records are suppressed, and otherwise unchanged (found: different)"
        ]


# --- tampering ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("age", 0, "[30, 40["),  # somebody else's label
        ("age", 0, "21"),  # not generalized
        ("age", 3, "[20, 40["),  # of another level
        ("age", 3, "[30, 40[ "),  # not a label
        ("age", 3, None),
        ("age", 3, "*"),  # hidden, in a row that is not suppressed
        ("zip", 5, "02141"),
        ("zip", 6, "99999"),  # a suppressed row that still shows a value
        ("age", 7, "[20, 30["),
    ],
)
def test_a_changed_quasi_identifier(release: Release, column: str, row: int, value: Any) -> None:
    found = broken(check(release, with_cell(release.arrow, column, row, value)))
    assert f"BROKEN: column {column!r} is generalized to level 1 (found: 1 cell differs)" in found


def test_a_suppressed_row_that_shows_a_value_forms_a_class(release: Release) -> None:
    found = broken(check(release, with_cell(release.arrow, "zip", 6, "99999")))
    assert "BROKEN: 3-anonymity (found: k = 1)" in found
    assert "BROKEN: column 'zip' is generalized to level 1 (found: 1 cell differs)" in found


@pytest.mark.parametrize(
    ("column", "value"), [("disease", "gout"), ("disease", None), ("visit", dt.date(2021, 1, 1))]
)
def test_a_changed_other_value(release: Release, column: str, value: Any) -> None:
    found = broken(check(release, with_cell(release.arrow, column, 1, value)))
    assert found == [
        f"BROKEN: column {column!r} is blank where records are suppressed, and otherwise unchanged (found: different)"
    ]


@pytest.mark.parametrize(("column", "value"), [("disease", "cold"), ("visit", dt.date(2020, 1, 7))])
def test_a_suppressed_row_that_shows_another_column(release: Release, column: str, value: Any) -> None:
    found = broken(check(release, with_cell(release.arrow, column, 6, value)))
    assert found == [
        "BROKEN: 3-anonymity (found: k = 1)",
        f"BROKEN: column {column!r} is blank where records are suppressed, and otherwise unchanged (found: 1 row is not)",
    ]


def test_a_level_that_is_not_the_one(release: Release) -> None:
    """Each label is right on its level, and classes are larger than needed: still not what was said."""
    hierarchy = release.outcome.prepared.encoding.hierarchies[0]
    labels = {row[1]: row[2] for row in hierarchy.to_rows()} | {"*": "*"}
    coarser = with_column(release.arrow, "age", [labels[cell] for cell in release.arrow["age"].to_pylist()])
    found = broken(check(release, coarser))
    assert found == ["BROKEN: column 'age' is generalized to level 1 (found: 6 cells differ)"]
    assert not broken(check(release, coarser, levels={"age": 2, "zip": 1}))


def test_a_level_outside_the_bounds_of_the_plan(release: Release) -> None:
    bounded = Plan(**PLAN, minimum_levels={"age": 2}, maximum_levels={"zip": 1})
    assert broken(check(release, plan=bounded)) == [
        f"BROKEN: column 'age' is generalized to a level from 2 to {release.search.explored.maximum[0]} (found: level 1)"
    ]


def test_a_class_that_is_too_small(release: Release) -> None:
    assert broken(check(release, plan=Plan(**(PLAN | {"models": KAnonymity(4)})))) == [
        "BROKEN: 4-anonymity (found: k = 3)"
    ]


def test_a_model_that_nobody_asked_the_engine_about(release: Release) -> None:
    class Never(KAnonymity):
        def verify(self, published: Any) -> Finding:
            return Finding("never", False, "as expected")

    models = (KAnonymity(3), Never(3))
    assert broken(check(release, plan=Plan(**(PLAN | {"models": models})))) == [
        "BROKEN: never (found: as expected)"
    ]


def test_over_the_suppression_limit(release: Release) -> None:
    strict = Plan(**(PLAN | {"suppression_limit": 0.2}))
    assert broken(check(release, plan=strict)) == ["BROKEN: at most 1 record is suppressed (found: 2)"]
    assert not broken(check(release, plan=strict, over_limit=True))


def test_over_the_suppression_limit_by_rows_that_are_gone() -> None:
    made = anonymize(suppressed_rows="drop")
    assert made.arrow.num_rows == 6
    strict = Plan(**(PLAN | {"suppression_limit": 0.2, "suppressed_rows": "drop"}))
    assert broken(check(made, plan=strict)) == ["BROKEN: at most 1 record is suppressed (found: 2)"]


def test_the_limit_is_the_decimal_number_that_was_written() -> None:
    """0.29 of 100 records are 29, although 0.29 * 100 is below 29 in doubles."""
    ages = [20] * 71 + list(range(100, 129))
    made = veil.anonymize(
        pa.table({"age": ages}),
        quasi_identifiers={"age": h.suppression()},
        models=KAnonymity(2),
        maximum_levels={"age": 0},
        suppression_limit=0.29,
        progress=False,
    )
    assert "at most 29 records are suppressed (found: 29)" in str(made.verification)


@pytest.mark.parametrize("kind", ["dropped", "added", "doubled and dropped"])
def test_rows_that_are_not_the_ones(release: Release, kind: str) -> None:
    table = release.arrow
    if kind == "dropped":
        table = table.slice(0, 7)
    elif kind == "added":
        table = pa.concat_tables([table, table.slice(0, 1)])
    else:
        table = pa.concat_tables([table.slice(0, 1), table.slice(0, 7)])
    found = broken(check(release, table))
    if kind == "doubled and dropped":
        assert any(each.startswith("BROKEN: column 'visit' is blank where") for each in found)
    else:
        assert found == [f"BROKEN: the table has 8 rows, as planned (found: {table.num_rows} rows)"]


def test_reordered_rows(release: Release) -> None:
    swapped = release.arrow.take(pa.array([0, 1, 3, 2, 4, 5, 6, 7]))
    found = broken(check(release, swapped))
    assert "BROKEN: column 'age' is generalized to level 1 (found: 2 cells differ)" in found
    assert any(each.startswith("BROKEN: column 'disease' is blank where") for each in found)


@pytest.mark.parametrize("column", ["age", "disease", "login"])
def test_a_column_that_is_missing(release: Release, column: str) -> None:
    found = broken(check(release, release.arrow.drop_columns([column])))
    assert found == [
        f"BROKEN: the table has the columns of the plan and no others (found: without {column!r})"
    ]


def test_a_column_too_many(release: Release) -> None:
    """Under its own name, or under another."""
    names = pa.array(PEOPLE["name"])
    found = broken(check(release, release.arrow.append_column("name", names)))
    assert "BROKEN: identifying column 'name' is removed (found: there)" in found
    found = broken(check(release, release.arrow.append_column("note", names)))
    assert found == ["BROKEN: the table has the columns of the plan and no others (found: also 'note')"]
    for column in ("age", "login", "disease"):
        twice = release.arrow.append_column(column, names)
        assert "the columns of the plan and no others" in broken(check(release, twice))[0]


def test_an_identifier_that_is_not_masked(release: Release) -> None:
    found = broken(check(release, with_cell(release.arrow, "login", 4, "eve5")))
    assert found == ["BROKEN: identifying column 'login' is masked (found: 2 distinct value(s))"]
    named = with_column(release.arrow, "login", ["eve5"] * 8)
    assert (
        "BROKEN: identifying column 'login' is masked (found: 1 distinct value(s))"
        in broken(check(release, named))
    )  # fmt: skip


def test_masks_without_a_marker_are_missing_values() -> None:
    made = anonymize(marker=None)
    assert made.arrow["login"].null_count == 8
    assert made.verification.holds
    assert not check(made, with_column(made.arrow, "login", ["*"] * 8)).holds


@pytest.mark.parametrize(
    ("row", "age", "flag"),
    [
        (6, None, False),  # suppressed, and denied
        (6, 60, True),  # suppressed, and shown
        (6, 60, False),  # not suppressed at all
        (0, 21, True),  # shown, and called suppressed
        (3, None, True),  # missing, and called suppressed: one more than allowed
        (0, None, False),
        (0, 22, False),
    ],
)
def test_flags_that_lie(flagged: Release, row: int, age: int | None, flag: bool) -> None:
    table = with_cell(with_cell(flagged.arrow, "age", row, age), "suppressed", row, flag)
    assert table.equals(flagged.arrow) is False
    assert broken(check(flagged, table))


def test_a_flag_that_is_gone(flagged: Release) -> None:
    assert broken(check(flagged, flagged.arrow.drop_columns(["suppressed"]))) == [
        "BROKEN: the table has the columns of the plan and no others (found: without 'suppressed')"
    ]


def test_a_value_that_the_hierarchy_does_not_know(release: Release) -> None:
    """The original is not what the hierarchies were made for: nothing may slip through as it is."""
    original = with_cell(release.outcome.prepared.table, "age", 0, 99)
    found = broken(check(release, with_cell(release.arrow, "age", 0, "99"), before=Rows.of(original)))
    assert "BROKEN: column 'age' is generalized to level 1 (found: 1 cell differs)" in found


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_other_cell_is_noticed(release: Release, flagged: Release, data: st.DataObject) -> None:
    """Whatever cell is changed to whatever else occurs in its column, or to nothing."""
    made = data.draw(st.sampled_from([release, flagged]))
    column = data.draw(st.sampled_from(made.arrow.column_names))
    row = data.draw(st.integers(0, 7))
    old = made.arrow[column][row].as_py()
    others = [*made.arrow[column].unique().to_pylist(), None]
    if pa.types.is_string(made.arrow[column].type):
        others += [str(cell) for cell in PEOPLE.get(column, ())]
    new = data.draw(st.sampled_from([cell for cell in others if cell != old] or [old]))
    if column == "suppressed" and new is None:
        new = not old
    assert check(made, with_cell(made.arrow, column, row, new)).holds == (new == old)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_other_order_is_noticed(release: Release, flagged: Release, data: st.DataObject) -> None:
    made = data.draw(st.sampled_from([release, flagged]))
    order = data.draw(st.permutations(range(8)))
    assert check(made, made.arrow.take(pa.array(order))).holds == (list(order) == list(range(8)))


def test_every_cell_is_compared_where_nearly_all_values_differ() -> None:
    """A wrong label, a label of nobody, a value that is shown and a row that is not blank, each among many."""
    table = pa.table({"pay": np.random.default_rng(4).permutation(3000) / 7, "flag": ["x", "y"] * 1500})
    plan = {"quasi_identifiers": {"pay": h.auto(), "flag": h.identity()}, "models": [veil.KAnonymity(20)]}
    made = veil.anonymize(table, **plan, suppression_limit=0.05)
    labels = made.arrow["pay"].unique().to_pylist()
    outcome = made.outcome
    for row in (0, 1500, 2999):
        shown = made.arrow["pay"][row].as_py()
        other = next(label for label in labels if label not in (shown, "*"))
        for wrong in (other, "[0, 1[", str(table["pay"][int(outcome.origins[row])].as_py()), None):
            changed = outcome.changed(table=with_cell(made.arrow, "pay", row, wrong))
            found = {each.promise: each for each in verify_outcome(changed).findings}
            told = next(each for promise, each in found.items() if promise.startswith("column 'pay' is"))
            assert told.measured == "1 cell differs"


# --- what happens then ----------------------------------------------------------------------------


def test_a_broken_promise_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine goes wrong: it forgets to suppress. Nothing comes out."""

    def forgetful(prepared: Any, levels: Any, suppressed: Any, **options: Any) -> Any:
        return honest(prepared, levels, np.zeros_like(suppressed), **options)

    honest = veil.outcome.assemble.apply_levels
    monkeypatch.setattr(veil.outcome.assemble, "apply_levels", forgetful)
    with refused(VerificationError, "withheld", "3-anonymity", "k = 1"):
        anonymize()


def test_a_published_table_is_judged_without_the_original(release: Release) -> None:
    plan = Plan(**PLAN)
    assert veil.verify(release.arrow, plan).holds
    for column, row, value in (("zip", 6, "99999"), ("age", 0, "21"), ("login", 0, "ann1")):
        assert not veil.verify(with_cell(release.arrow, column, row, value), plan).holds
    shown = release.arrow.append_column("suppressed", pa.array([True] * 8))
    assert veil.verify(shown, plan).holds
    original = pa.table(PEOPLE).drop_columns(["name", "login"])
    assert not veil.verify(original.append_column("suppressed", pa.array([True] * 8)), plan).holds


def test_ordered_closeness_with_a_research_subset_counts_the_values_of_everybody() -> None:
    """The distance is scaled by the number of values in the whole table, not only in the subset."""
    people = pa.table({"sex": ["f", "f", "m", "m", "f", "m"], "pay": [1, 2, 1, 2, 9, 8]})
    release = veil.anonymize(
        people,
        quasi_identifiers={"sex": h.suppression()},
        sensitive=["pay"],
        models=[Inclusion([0, 1, 2, 3]), TCloseness("pay", 0.1, "ordered")],
    )
    assert release.transformation == {"sex": 0}
    assert release.verification.holds


def test_categories_of_suppressed_records_are_blanked() -> None:
    frame = pd.DataFrame({"q": list("aaaab"), "s": pd.Categorical(list("xyxyx"))})
    plan = {"quasi_identifiers": {"q": "suppression"}, "sensitive": "s", "models": KAnonymity(2)}
    release = veil.anonymize(frame, **plan, suppression_limit=0.5)
    assert sorted(release.arrow["s"].to_pylist()) == ["*", "x", "x", "y", "y"]


@pytest.mark.parametrize("how", ["blank", "drop", "keep cells"])
def test_a_kept_column_that_was_changed_is_not_called_unchanged(how: Any) -> None:
    release = anonymize(models=KAnonymity(1), suppressed_rows=how)
    assert not release.suppressed
    for name, value in (("visit", dt.date(1999, 9, 9)), ("disease", "plague"), ("disease", None)):
        cells = release.arrow[name].to_pylist()
        cells[2] = value
        at = release.arrow.column_names.index(name)
        changed = release.arrow.set_column(at, name, pa.array(cells, release.arrow[name].type))
        (found,) = [
            each
            for each in check(release, changed).findings
            if each.promise == f"column {name!r} is unchanged"
        ]
        assert (found.holds, found.measured) == (False, "different")
        (same,) = [
            each for each in check(release).findings if each.promise == f"column {name!r} is unchanged"
        ]
        assert (same.holds, same.measured) == (True, "equal")
