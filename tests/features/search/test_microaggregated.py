"""Quasi-identifiers of which one value is published for each class."""

from __future__ import annotations

import dataclasses
import datetime as dt
import statistics
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from support.samples import E1
from veil import DistinctLDiversity, KAnonymity, Recipe, SampleUniqueness
from veil import hierarchies as h
from veil.api.release import Release
from veil.errors import InputError, ParameterError, PlanError
from veil.models import DeltaPresence, Profitability
from veil.outcome.result import Origins
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.tables.rows import Rows
from veil.verification.release import verify_release

TABLE = pa.table(
    {
        "A": pa.array([int(row[0]) for row in E1.rows]),
        "G": [row[1] for row in E1.rows],
        "Z": [row[2] for row in E1.rows],
        "S": E1.sensitive["S"],
    }
)
HIERARCHIES = {"G": h.table(E1.hierarchies[1]), "Z": h.table(E1.hierarchies[2])}


def release(**changes: Any) -> Release:
    plan: dict[str, Any] = {
        "quasi_identifiers": HIERARCHIES,
        "microaggregated": {"A": "mean"},
        "sensitive": ["S"],
        "models": KAnonymity(3),
        "suppression_limit": 1.0,
        "order": "input",
    }
    return veil.anonymize(TABLE, **(plan | changes))


@pytest.mark.parametrize(
    ("how", "first", "second"),
    [
        ("mean", 22, 26),
        ("median", 21, 23),
        ("mode", 21, 21),
        ("interval", "[21, 23]", "[21, 35]"),
        ("set", "{21, 23}", "{21, 23, 35}"),
    ],
)
def test_worked_value_8_of_the_reference(how: str, first: Any, second: Any) -> None:
    """G on level 0, Z on level 1, 3-anonymity: classes {0, 1, 9} and {2, 3, 7}; the others are suppressed."""
    made = release(microaggregated={"A": how}).search.apply({"G": 0, "Z": 1})
    shown = made.arrow["A"].to_pylist()
    assert [shown[row] for row in (0, 1, 9)] == [first] * 3
    assert [shown[row] for row in (2, 3, 7)] == [second] * 3
    assert {shown[row] for row in (4, 5, 6, 8)} == {"*" if isinstance(first, str) else None}
    assert made.verification.holds
    assert f"column 'A' holds the {how} of its class" in str(made.verification)


def test_a_column_with_a_hierarchy_forms_classes_and_shows_their_mean() -> None:
    """Clustering and microaggregation: grouped along its hierarchy, published as a mean."""
    ages = h.table(E1.hierarchies[0])
    plain = release(quasi_identifiers={"A": ages, **HIERARCHIES}, microaggregated={}, models=KAnonymity(2))
    made = release(quasi_identifiers={"A": ages, **HIERARCHIES}, models=KAnonymity(2))
    assert made.transformation == plain.transformation
    assert made.score == plain.score
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, labels in enumerate(zip(*(plain.arrow[name].to_pylist() for name in "AGZ"), strict=True)):
        groups.setdefault(labels, []).append(row)
    original, shown = TABLE["A"].to_pylist(), made.arrow["A"].to_pylist()
    for labels, rows in groups.items():
        mean = int(statistics.mean(original[row] for row in rows) + 0.5)
        assert [shown[row] for row in rows] == [None if labels == ("*",) * 3 else mean] * len(rows)
    assert "A" not in made.search.mapping()["column"].to_pylist()
    assert made.risk()[1].highest <= 0.5


def as_column(cells: list[Any], kind: pa.DataType | None) -> pa.Array:
    if kind is None:
        return pa.array(cells)
    if pa.types.is_dictionary(kind):
        return pa.array(cells, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_float16(kind):
        return pa.array(cells, pa.float32()).cast(kind)
    return pa.array(cells, kind)


LARGE: dict[str, tuple[pa.Array, dict[str, list[Any]]]] = {
    "unsigned": (
        pa.array([2**64 - 1, 2**64 - 2, 5], pa.uint64()),
        {"mean": [12297829382473034411], "median": [2**64 - 2], "mode": [5], "interval": [f"[5, {2**64 - 1}]"]},
    ),
    "floats": (pa.array([1e308, 1.7e308, 1.5e308]), {"mean": [1.4e308], "geometric mean": [1.366e308]}),
    "short floats": (pa.array([0.1, 0.2, 0.4], pa.float32()), {"mean": [0.7 / 3], "median": [0.2]}),
    "categories": (pa.array([1, 1, 4]).dictionary_encode(), {"mean": [2], "median": [1], "set": ["{1, 4}"]}),
    "truth": (pa.array([True, False, None]), {"median": [None], "mode": [False], "set": ["{false, true}"]}),
    "clocks go back": (
        pa.array([dt.datetime(2020, 10, 25, 1, 10), dt.datetime(2020, 10, 25, 0, 20), None], pa.timestamp("s", "Europe/Berlin")),
        {"set": ["{2020-10-25T02:20:00+02:00, 2020-10-25T02:10:00+01:00}"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for name, (_, found) in LARGE.items() for how in found]
)
def test_values_at_the_edge_of_their_type(name: str, how: str) -> None:
    """Each of them was withheld by the verifier, or ended in an error, although nothing is wrong with it."""
    column, expected = LARGE[name]
    table = pa.table({"A": column, "G": ["x"] * 3})
    made = veil.anonymize(
        table, quasi_identifiers={"G": "identity"}, microaggregated={"A": how}, models=KAnonymity(3)
    )
    (shown,) = set(made.arrow["A"].to_pylist())
    (value,) = expected[how]
    assert shown == (pytest.approx(value, rel=1e-3) if isinstance(value, float) else value)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_all_promises_hold_whatever_the_column(data: st.DataObject) -> None:
    rows = data.draw(st.integers(2, 25))
    kinds = {
        "number": st.integers(-5, 90),
        "share": st.sampled_from([0.0, -0.0]) | st.floats(0, 1, allow_subnormal=False),
        "price": st.decimals(0, 99999, places=2),
        "day": st.dates(dt.date(2000, 1, 1), dt.date(2001, 1, 1)),
        "word": st.sampled_from(["a", "b", "*", "c, d"]),
        "truth": st.booleans(),
        "hour": st.integers(0, 5).map(
            lambda hour: dt.datetime(2020, 10, 24, 21 + hour % 3, 30 * (hour // 3))
        ),
        "wide": st.floats(0, allow_infinity=False, allow_nan=False),
    }
    kind = data.draw(st.sampled_from(list(kinds)))
    cells = st.lists(st.none() | kinds[kind], min_size=rows, max_size=rows)
    column = data.draw(cells.filter(lambda values: any(value is not None for value in values)))
    group = data.draw(st.lists(st.sampled_from("xyz"), min_size=rows, max_size=rows))
    types = {
        "number": [pa.int8(), pa.int64(), pa.dictionary(pa.int16(), pa.int32())],
        "share": [pa.float16(), pa.float32(), pa.float64(), pa.dictionary(pa.int8(), pa.float64())],
        "hour": [pa.timestamp("s"), pa.timestamp("us", "Europe/Berlin")],
        "wide": [pa.float64()],
    }
    cast = data.draw(st.sampled_from(types.get(kind, [None])))
    functions = ["mode", "set"] if kind == "word" else ["median", "mode", "interval", "set"]
    functions += ["mean"] * (kind not in ("word", "truth"))
    how = data.draw(st.sampled_from(functions + ["geometric mean"] * (kind in ("share", "price", "wide"))))
    clustered = data.draw(st.booleans())
    k = data.draw(st.integers(1, 3))
    if k > rows:
        return
    made = veil.anonymize(
        pa.table({"value": as_column(column, cast), "group": group}),
        quasi_identifiers={"group": h.suppression()} | ({"value": h.suppression()} if clustered else {}),
        microaggregated={"value": how},
        models=KAnonymity(k),
        suppression_limit=1.0,
        check_limit=30,
        order="input",
    )
    assert made.verification.holds
    shown = made.arrow.filter(pa.array(~made.suppressed_rows))
    if shown.num_rows:
        sizes = shown.group_by(["value", "group"]).aggregate([([], "count_all")])["count_all"]
        assert pc.min(sizes).as_py() >= k


@pytest.mark.parametrize("suppressed_rows", ["blank", "drop", "keep cells"])
@pytest.mark.parametrize("how", ["median", "mode"])
@pytest.mark.parametrize(
    "values", [[1, 2], [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]], ids=["numbers", "days"]
)
@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_which_no_record_is_left(
    ordered: bool, values: list[object], how: str, suppressed_rows: Any
) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(values), ordered=ordered)
    made = veil.anonymize(
        pa.table({"value": column, "group": ["x", "y"]}),
        quasi_identifiers={"group": h.suppression()},
        maximum_levels={"group": 0},
        microaggregated={"value": how},
        models=KAnonymity(2),
        suppression_limit=1.0,
        suppressed_rows=suppressed_rows,
    )
    assert made.suppressed == 2
    assert not made.table["value"].drop_null()


@pytest.mark.parametrize("how", ["mean", "median", "mode", "interval", "set", "geometric mean"])
def test_the_verifier_finds_a_wrong_aggregate(how: str) -> None:
    made = release(microaggregated={"A": how})
    kept = [row for row, gone in enumerate(made.suppressed_rows) if not gone]
    cells = made.arrow["A"].to_pylist()
    wrong = {"interval": "[0, 99]", "set": "{0, 99}"}.get(how, 99)
    for row in kept:
        cells[row] = wrong
    tampered = made.arrow.set_column(
        made.arrow.column_names.index("A"), "A", pa.array(cells, made.arrow["A"].type)
    )
    ready = prepare(TABLE, made.plan)
    found = verify_release(
        Rows.of(TABLE),
        tampered,
        made.plan,
        made.transformation,
        dict(zip(ready.encoding.names, ready.encoding.hierarchies, strict=True)),
        origins=Origins(TABLE.num_rows),
        suppressed_mask=made.suppressed_rows,
        flag=None,
    )
    assert not found.holds
    assert "classes differ" in str(found)


def test_it_works_together_with_models_of_sensitive_columns() -> None:
    made = release(models=[KAnonymity(2), DistinctLDiversity("S", 2)])
    assert made.verification.holds
    assert veil.verify(made.arrow, made.plan).holds


def test_recipe(tmp_path: Path) -> None:
    plan = Plan(HIERARCHIES, KAnonymity(3), microaggregated={"A": "geometric mean"}, sensitive=["S"])
    Recipe.of(plan).save(tmp_path / "recipe.yaml")
    assert Recipe.read(tmp_path / "recipe.yaml").plan().microaggregated == {"A": "geometric mean"}
    assert plan.role_of("A") == "quasi-identifying"


def test_errors() -> None:
    with pytest.raises(ParameterError, match="microaggregated"):
        release(microaggregated={"A": "average"})
    with refused(PlanError, "no column 'B'"):
        release(microaggregated={"B": "mean"})
    with refused(PlanError, "quasi-identifier", "sensitive"):
        release(microaggregated={"S": "mode"})
    with refused(InputError, "'G'", "string", "no mean"):
        release(quasi_identifiers={"Z": HIERARCHIES["Z"]}, microaggregated={"G": "mean"}, insensitive=["A"])
    for model in (
        SampleUniqueness(0.5),
        Profitability(),
        DeltaPresence(0.1, 0.9, subset=veil.models.subset.RowNumbers([1])),
    ):
        with refused(PlanError, "microaggregated columns"):
            release(models=[model])
    plan = Plan(HIERARCHIES, KAnonymity(2), microaggregated={"A": "mean"})
    assert dataclasses.replace(plan, suppression_limit=0.5).aggregated == ("A",)


@pytest.mark.parametrize("how", ["mean", "median", "mode", "interval", "set", "geometric mean"])
def test_an_aggregate_of_one_known_value_is_not_published(how: str) -> None:
    """Of five people of a class four have no value: the mean of the class would be that of the fifth."""
    table = pa.table(
        {"G": ["f"] * 5 + ["m"] * 5, "pay": [None, None, 7777, None, None, 1, 2, None, 2, 1], "S": ["a"] * 10}
    )
    made = veil.anonymize(
        table,
        quasi_identifiers={"G": "identity"},
        microaggregated={"pay": how},
        sensitive=["S"],
        models=KAnonymity(5),
    )
    shown = {(row["G"], row["pay"]) for row in made.table.to_pylist()}
    assert ("f", None) in shown
    assert len(shown) == 2
    assert all(pay is not None for sex, pay in shown if sex == "m")
    assert "7777" not in str(made.table.to_pydict())


def test_the_verifier_finds_an_aggregate_of_one_known_value() -> None:
    table = pa.table({"G": ["f"] * 3, "pay": [None, 7777, None]})
    plan = Plan({"G": "identity"}, KAnonymity(3), microaggregated={"pay": "mean"})
    made = veil.anonymize(table, plan)
    leaking = made.arrow.set_column(1, "pay", pa.array([7777] * 3))
    found = verify_release(
        Rows.of(table),
        leaking,
        plan,
        made.outcome.levels,
        made.outcome.hierarchies,
        origins=made.outcome.link,
        suppressed_mask=pc.is_null(leaking["G"]).to_numpy(),
        flag=None,
    )
    assert [each.promise for each in found.broken] == ["column 'pay' holds the mean of its class"]
