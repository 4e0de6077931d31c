"""Research subsets: rows by number, by another table, by a query, by chance."""

from __future__ import annotations

import copy
import decimal
import pickle
import secrets
import weakref
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

import veil
from support import refusals
from support.judging import often, refused
from veil import KAnonymity, Plan
from veil.errors import InputError, ParameterError, PlanError
from veil.models.presence import DeltaPresence, Inclusion
from veil.models.subset import Matching, Random, RowNumbers, Where, row_numbers, subset_of
from veil.plan.prepare import prepare

PEOPLE = pa.table({"age": [30, 40, 30, None, 30], "sex": ["f", "m", "f", "f", None]})


def chosen(subset: Any, table: pa.Table = PEOPLE) -> list[int]:
    return np.flatnonzero(subset.mask(table)).tolist()


# --- by number ------------------------------------------------------------------------------------


def test_rows():
    assert chosen(RowNumbers([3, 0, 3])) == [0, 3]
    assert RowNumbers([1, 2]).mask(PEOPLE).dtype == bool
    assert chosen(RowNumbers([])) == []


@pytest.mark.parametrize(
    "rows", [np.array([0, 3]), range(0, 4, 3), {3, 0}, (0, 3), pd.Series([0, 3]), pl.Series([0, 3])]
)
def test_any_list_of_numbers(rows):
    assert chosen(RowNumbers(rows)) == [0, 3]


def test_a_row_out_of_range_is_named():
    with refused(r"`rows` of RowNumbers should be between 0 and 4, as the table has 5 rows, not 5"):
        RowNumbers([1, 5, 9]).mask(PEOPLE)
    with refused(r"should be greater than or equal to 0, not -1"):
        RowNumbers([-1])
    with refused(r"`rows.0` of RowNumbers should be a valid integer, not '1'"):
        RowNumbers(["1"])
    with refused("`rows` of RowNumbers should be a list of row numbers, not 'age'"):
        RowNumbers("age")


def test_many_rows_have_a_short_name():
    assert repr(RowNumbers([1, 2])) == "RowNumbers([1, 2])"
    assert repr(RowNumbers(range(1000))) == "RowNumbers([0, 1, 2, 3, 4, … 1000 row numbers])"


# --- by another table -----------------------------------------------------------------------------


def test_each_row_takes_one_equal_row():
    assert chosen(Matching(PEOPLE.slice(0, 1))) == [0]
    assert chosen(Matching(PEOPLE.take([2, 0]))) == [0, 2]
    assert chosen(Matching(PEOPLE.take([4, 3, 1]))) == [1, 3, 4]
    assert chosen(Matching(PEOPLE)) == [0, 1, 2, 3, 4]


def test_columns_in_another_order_and_other_types():
    other = pa.table({"sex": pa.array(["f", None]).dictionary_encode(), "age": ["30", "30"]})
    assert chosen(Matching(other)) == [0, 4]
    numbers = pa.table({"x": [decimal.Decimal("1.50"), decimal.Decimal("4.00")]})
    assert chosen(Matching(pa.table({"x": [4, 1.5]})), numbers) == [0, 1]
    assert chosen(Matching(pa.table({"x": [4]})), numbers) == [1]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_kind(frame):
    assert chosen(Matching(frame({"age": [40], "sex": ["m"]}))) == [1]


def test_a_file(tmp_path):
    path = tmp_path / "subset.csv"
    path.write_text("sex;age\nf;30\nm;40\nf;30\n")
    assert chosen(Matching(path)) == [0, 1, 2]
    assert chosen(Matching(str(path))) == [0, 1, 2]
    with refusals.refused(InputError, "no such file"):
        chosen(Matching(tmp_path / "subst.csv"))


def test_a_row_without_a_match_is_named(tmp_path):
    path = tmp_path / "subset.csv"
    path.write_text("age;sex\n30;f\n30;f\n40;m\n30;f\n50;m\n")
    with refusals.refused(PlanError, "subset.csv", "line 5", "row 3", "age 30", "sex 'f'", "only 2"):
        chosen(Matching(path))
    path.write_text('age;sex\n30;f\n50;"m"\n')
    with refusals.refused(PlanError, "subset.csv", "line 3", "row 1", "age 50", "sex 'm'", "no such row"):
        chosen(Matching(path))
    with refusals.refused(PlanError, "research subset", "row 0", "age 40", "sex 'f'"):
        chosen(Matching(pa.table({"age": [40], "sex": ["f"]})))


def test_the_line_counts_line_breaks_in_cells(tmp_path):
    path = tmp_path / "subset.csv"
    path.write_text('a;b\n"x\ny";1\nz;2\n')
    table = pa.table({"a": ["x\ny", "w"], "b": [1, 2]})
    with refusals.refused(PlanError, "line 4 (row 1)"):
        chosen(Matching(path), table)


def test_an_unknown_column_is_named():
    with refusals.refused(PlanError, "mean 'age'", "'agee'"):
        chosen(Matching(pa.table({"agee": [30]})))


def test_a_choice_that_matters_is_not_made_by_chance():
    with refusals.refused(PlanError, "rows 2 and 3", "'age'"):
        chosen(Matching(pa.table({"sex": ["f"]})))
    assert chosen(Matching(pa.table({"sex": ["f", "f", "f"]}))) == [0, 2, 3]  # all of them
    assert chosen(Matching(pa.table({"sex": ["m"]}))) == [1]
    alike = pa.table({"age": [1, 1, 2], "sex": ["f", "f", "f"]})
    assert chosen(Matching(pa.table({"age": [1]})), alike) == [0]  # any is as good


CELLS = st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["x", "y", None]))


@often
@given(st.lists(CELLS, min_size=1, max_size=12), st.lists(CELLS, min_size=1, max_size=8))
def test_matching_agrees_with_taking_rows_one_by_one(have, wanted):
    def table(rows):
        return pa.table(
            {
                "a": pa.array([a for a, _ in rows], pa.int64()),
                "b": pa.array([b for _, b in rows], pa.string()),
            }
        )

    free = list(enumerate(have))
    expected: list[int] | None = []
    for row in wanted:
        found = next((place for place in free if place[1] == row), None)
        if found is None:
            expected = None
            break
        free.remove(found)
        expected.append(found[0])
    if expected is None:
        missing = next(
            i for i, row in enumerate(wanted) if Counter(wanted[: i + 1])[row] > Counter(have)[row]
        )
        with pytest.raises(PlanError, match=f"row {missing}"):
            chosen(Matching(table(wanted)), table(have))
    else:
        assert chosen(Matching(table(wanted)), table(have)) == sorted(expected)


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(5)
    columns = {f"c{j}": rng.permutation(1000) for j in range(12)}  # 10^36 combinations
    table = pa.table(columns)
    order = rng.permutation(1000)[:100]
    assert chosen(Matching(table.take(pa.array(order))), table) == sorted(order.tolist())
    assert [
        each.tolist() for each in row_numbers([table.slice(0, 3), table.slice(1, 2)], table.column_names)
    ] == [
        sorted_numbers := row_numbers([table.slice(0, 3)], table.column_names)[0].tolist(),
        sorted_numbers[1:],
    ]


def test_a_frame_is_no_part_of_a_recipe():
    model = Inclusion(PEOPLE)
    with pytest.raises(PydanticSerializationError, match="save it"):
        TypeAdapter(Inclusion).dump_python(model)


# --- by chance ------------------------------------------------------------------------------------


def test_every_table_is_drawn_once():
    table, other = (pa.table({"age": list(range(1000))}) for _ in range(2))
    mask = Random(0.5).mask(table)
    assert (Random(0.5).mask(table) == mask).all()  # another model of the same plan
    assert (Random(0.5).mask(other) != mask).any()
    assert (Random(0.25).mask(table) != mask).any()
    mask[:] = False
    assert Random(0.5).mask(table).any()  # what is handed out is a copy


def test_draws_are_forgotten_with_their_table():
    from veil.models import subset

    table = pa.table({"age": list(range(10))})
    Random(0.5).mask(table)
    number = id(table)
    assert number in subset._DRAWN
    del table
    Random(0.5).mask(PEOPLE)
    assert number not in subset._DRAWN or subset._DRAWN[number][0]() is not None


def test_a_new_table_at_an_old_address_is_drawn_anew():
    from veil.models import subset

    table, gone = pa.table({"age": list(range(100))}), pa.table({"age": [1]})
    stale = np.zeros(100, np.bool_)
    subset._DRAWN[id(table)] = (weakref.ref(gone), {(0.5, None): stale})
    del gone
    assert Random(0.5).mask(table).any()


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.999, 1])
def test_the_share_of_rows(probability):
    """Off by more than seven standard deviations once in 10^11 runs; a share off by 1 % is noticed."""
    table = pa.table({"age": np.zeros(1_000_000, np.int8)})
    drawn = Random(probability).mask(table).sum()
    deviation = (1_000_000 * probability * (1 - probability)) ** 0.5
    assert abs(drawn - 1_000_000 * probability) <= 7 * deviation


def test_neighbours_are_drawn_independently():
    mask = Random(0.5).mask(pa.table({"age": np.zeros(1_000_000, np.int8)}))
    assert abs(int((mask[1:] == mask[:-1]).sum()) - 500_000) < 7 * 500


def test_the_chance_is_exact(monkeypatch):
    """Where 64 random bits equal those of the probability, further ones decide."""
    first = int(Fraction(1, 10) * 2**64)
    second = int((Fraction(1, 10) * 2**64 - first) * 2**64)
    words = iter([[first - 1, first, first, first + 1, first], [second - 1, second, second + 1], [0]])
    monkeypatch.setattr(
        secrets.SystemRandom, "randbytes", lambda self, n: np.array(next(words), np.uint64).tobytes()
    )
    assert chosen(Random(0.1)) == [0, 1, 2]
    assert list(words) == []


def test_a_seed_is_only_for_testing():
    masks = [Random(0.5, for_testing_seed=seed).mask(PEOPLE.take([0] * 100)) for seed in (1, 1, 2)]
    assert (masks[0] == masks[1]).all()
    assert (masks[0] != masks[2]).any()
    assert "for_testing_seed=1" in repr(Random(0.5, for_testing_seed=1))
    with refused("takes at most 1 positional"):
        Random(0.5, 1)


def test_probabilities_out_of_range():
    with refused("`probability` of Random should be more than 0 and at most 1, not 0"):
        Random(0)
    with refused("`probability` of Random should be more than 0 and at most 1, not 1.5"):
        Random(1.5)


# --- what users pass ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ([0, 5], RowNumbers([0, 5])),
        (range(3), RowNumbers([0, 1, 2])),
        (np.array([2, 1]), RowNumbers([2, 1])),
        ([True, False, True], RowNumbers([0, 2], 3)),
        (np.array([False, True]), RowNumbers([1], 2)),
        (pd.Series([False, True]), RowNumbers([1], 2)),
        ("age > 30", Where("age > 30")),
        ("name = 'a.csv' ", Where("name = 'a.csv' ")),
        ("subset.csv", Matching("subset.csv")),
        ("year=2020/part.parquet", Matching("year=2020/part.parquet")),
        (Path("subset.csv.gz"), Matching("subset.csv.gz")),
        (Path("no ending"), Matching("no ending")),
        (PEOPLE, Matching(PEOPLE)),
        (Random(0.5), Random(0.5)),
        ({"kind": "Random", "probability": 0.5}, Random(0.5)),
    ],
)
def test_subset_of(given_, expected):
    assert subset_of(given_) == expected
    assert Inclusion(given_).subset == expected


def test_a_mask_of_another_length_is_refused():
    with refused("`total` of RowNumbers should be 5, the number of rows of the table, not 2"):
        subset_of([True, False]).mask(PEOPLE)


@pytest.mark.parametrize("nonsense", [5, None, 3.5, object()])
def test_nonsense_is_refused(nonsense):
    with refused("a research subset should be row numbers, a mask, a query, a path or a frame, not"):
        subset_of(nonsense)


def test_errors_reach_the_model():
    with refused("`query` of Where, character 6"):
        Inclusion("age >")
    with refused("there is no kind 'Rnadom' of research subset. Did you mean 'Random'?"):
        Inclusion({"kind": "Rnadom"})
    with refused("`kind` is required"):
        Inclusion({"rows": [1]})
    with refused("`subset` of Inclusion is required"):
        Inclusion()


def test_values_can_be_copied_and_compared():
    for subset in (RowNumbers([1, 2]), Matching("a.csv"), Where("age = 1"), Random(0.5)):
        assert copy.deepcopy(subset) == subset
        assert pickle.loads(pickle.dumps(subset)) == subset
        assert hash(subset) == hash(copy.copy(subset))


# --- in recipes and plans -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subset",
    [
        RowNumbers([0, 2]),
        RowNumbers([1], 9),
        Matching("a.csv"),
        Where("age = 1"),
        Random(0.5),
        Random(0.5, for_testing_seed=3),
    ],
)
def test_written_down_and_read_again(subset):
    model = DeltaPresence(0.1, 0.9, subset)
    adapter = TypeAdapter(DeltaPresence)
    written = adapter.dump_python(model, exclude_defaults=True)
    assert written["subset"]["kind"] == type(subset).__name__
    assert adapter.validate_python(written) == model
    assert adapter.validate_json(adapter.dump_json(model)) == model


def test_the_schema_lists_the_forms():
    schema = TypeAdapter(DeltaPresence).json_schema()
    forms = schema["properties"]["subset"]["anyOf"]
    assert {form.get("type") for form in forms} >= {"string", "array", "null"}
    assert set(schema["$defs"]) >= {"RowNumbers", "Matching", "Where", "Random"}


def test_models_of_a_plan_share_one_subset():
    table = pa.table({"age": [str(age % 7) for age in range(200)]})

    def ready(*subsets):
        models = [KAnonymity(2), *(DeltaPresence(0, 1, subset) for subset in subsets)]
        return prepare(table, Plan({"age": "suppression"}, models))

    drawn = ready(Random(0.5), Random(0.5), None)
    assert drawn.sample.records == int(drawn.subset.sum())
    assert drawn.sample.rows == 200
    with refusals.refused(PlanError, "different research subsets"):
        ready(RowNumbers([1]), RowNumbers([2]))
    with refusals.refused(PlanError, "DeltaPresence", "empty"):
        ready(Where("age = 'none'"))


def test_only_the_subset_is_released():
    release = veil.anonymize(
        PEOPLE,
        quasi_identifiers={"age": veil.hierarchies.suppression(), "sex": veil.hierarchies.suppression()},
        models=[KAnonymity(2), Inclusion("age = 30 and sex = 'f'")],
    )
    assert release.table.to_pylist() == [{"age": 30, "sex": "f"}] * 2
    with refusals.refused(ParameterError, "between 0", "and 4"):
        veil.anonymize(PEOPLE, quasi_identifiers={"age": "suppression"}, models=Inclusion([7]), others="keep")
