"""Anatomy: two tables, tied by groups."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking.running import holds_the_same, outcome
from support.refusals import refused
from veil.api.mask import mask
from veil.base.randomness import Randomness
from veil.errors import NoSolutionError, ParameterError, PlanError
from veil.masking.ties.anatomy import Anatomy, diverse_groups
from veil.models import DistinctLDiversity, KAnonymity
from veil.published.table import Published
from veil.tables.rows import Rows
from veil.verification.steps.step import verify_step

PATIENTS = {
    "ethnicity": ["asian"] * 3 + ["black"] * 3 + ["white"] * 3,
    "born": [
        "09/27/64", "05/08/61", "04/18/64", "03/13/63", "03/18/63", "09/07/64", "05/14/61", "05/08/63", "09/15/61",
    ],
    "sex": ["female", "female", "male", "male", "male", "female", "male", "male", "female"],
    "problem": [
        "hypertension", "obesity", "chest pain",
        "hypertension", "shortness of breath", "obesity",
        "chest pain", "obesity", "shortness of breath",
    ],
}  # fmt: skip


def values_of(second: pa.Table, name: str) -> dict[int, list[object]]:
    found = defaultdict(list)
    for row in second.to_pylist():
        found[row["group"]].append(row[name])
    return dict(found)


def test_soria_comas_tables_7_2_to_7_4():
    """Nine patients, grouped by ethnicity; what is public stays as it was."""
    made = outcome(Anatomy("problem", by="ethnicity"), PATIENTS)
    first = made.table.to_pydict()
    groups = first.pop("group")
    assert first == {name: values for name, values in PATIENTS.items() if name != "problem"}
    one, two, three = groups[::3]
    assert groups == [one] * 3 + [two] * 3 + [three] * 3
    assert {one, two, three} == {1, 2, 3}
    assert {
        group: set(values) for group, values in values_of(made.apart["confidential"], "problem").items()
    } == {
        one: {"hypertension", "obesity", "chest pain"},
        two: {"hypertension", "shortness of breath", "obesity"},
        three: {"chest pain", "obesity", "shortness of breath"},
    }


def test_numbers_of_groups_do_not_tell_which_rows_came_first():
    """The first row of 3 groups gets each number about as often: 300 times, each about 100 times."""
    found = Counter(
        mask(pa.table(PATIENTS), Anatomy("problem", by="ethnicity"), order="input").table["group"][0].as_py()
        for _ in range(300)
    )
    assert all(50 < found[number] < 150 for number in (1, 2, 3))


def test_what_both_tables_promise():
    made = outcome(Anatomy("problem", by="ethnicity"), PATIENTS)
    published = Published(Rows.of(made.apart["confidential"]), ["group"], suppressed="none")
    assert KAnonymity(3).verify(published).holds
    assert DistinctLDiversity("problem", 3).verify(published).holds


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.integers(2, 5), st.integers(0, 2**32))
def test_no_value_makes_up_more_than_its_share_of_a_group(values, l, seed):
    table = {"row": list(range(len(values))), "ill": [str(value) for value in values]}
    if max(Counter(values).values()) * l > len(values):
        with refused(NoSolutionError, f"more than 1/{l}"):
            outcome(Anatomy("ill", l), table, seed)
        return
    made = outcome(Anatomy("ill", l), table, seed)
    groups = made.table["group"].to_pylist()
    inside = values_of(made.apart["confidential"], "ill")
    assert len(made.verification.findings) == 4
    for group, held in inside.items():
        rows = [row for row in range(len(values)) if groups[row] == group]
        assert Counter(held) == Counter(table["ill"][row] for row in rows)
        assert len(set(held)) == len(held) >= l
    assert holds_the_same(table["ill"], made.apart["confidential"]["ill"].to_pylist())


@pytest.mark.parametrize(
    ("groups", "holds", "worst"),
    [
        (["ab", "abc", "abcd"], True, "at most 1 of 2"),
        (["abc", "aabc", "bcd"], True, "at most 2 of 4"),
        (["abc", "bcd", "aab"], False, "at most 2 of 3"),
        (["d", "abcd"], False, "at most 1 of 1"),
    ],
)
def test_a_value_that_is_too_frequent_in_a_group_is_found_out(groups, holds, worst):
    """The check of the release, on second tables that the method would not make."""
    number = [at + 1 for at, held in enumerate(groups) for _ in held]
    values = list("".join(groups))
    before, after = pa.table({"n": number, "ill": values}), pa.table({"n": number, "group": number})
    second = pa.table({"group": number, "ill": values})
    found = verify_step(Anatomy("ill", 2), Rows.of(before), after, apart={"confidential": second}).findings[0]
    assert (found.holds, found.measured) == (holds, worst)


def test_the_second_table_is_sorted_so_that_its_order_tells_nothing():
    made = outcome(Anatomy("problem", by="ethnicity"), PATIENTS)
    rows = [tuple(row.values()) for row in made.apart["confidential"].to_pylist()]
    assert rows == sorted(rows)


def test_confidential_columns_stay_together():
    table = {"age": [1, 2, 3, 4], "ill": ["a", "a", "b", "b"], "cost": [1, 2, 1, 2]}
    made = outcome(Anatomy(["ill", "cost"], 2), table)
    pairs = [(row["ill"], row["cost"]) for row in made.apart["confidential"].to_pylist()]
    assert holds_the_same(pairs, list(zip(table["ill"], table["cost"], strict=True)))
    assert len(made.verification.findings) == 3


def test_which_records_get_together_is_left_to_chance():
    """Three pairs can be made of values a, a, b, b with each a beside either b: all of these occur."""
    values = np.array([0, 0, 1, 1])
    partners = Counter()
    randomness = Randomness.for_testing(1)
    for _ in range(400):
        groups = diverse_groups(values, 2, randomness, "")
        partners[int(np.flatnonzero((groups == groups[0]) & (values == 1))[0])] += 1
    assert set(partners) == {2, 3}
    assert abs(partners[2] - 200) < 60


def test_anatomy_as_a_step():
    made = mask(pa.table(PATIENTS), Anatomy("problem", 3))
    assert made.table.column_names == ["ethnicity", "born", "sex", "group"]
    assert made.apart["confidential"].column_names == ["group", "problem"]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Anatomy("problem"), ParameterError, "needs `l` or `by`, one of the two"),
        (lambda: Anatomy("problem", 2, by="sex"), ParameterError, "needs `l` or `by`, one of the two"),
        (lambda: Anatomy("problem", by="problem"), ParameterError, "should not name confidential columns"),
        (
            lambda: Anatomy("problem", 1),
            ParameterError,
            "`l` of Anatomy should be greater than or equal to 2",
        ),
        (
            lambda: Anatomy("problem", 2, group="sex"),
            PlanError,
            "already has a column 'sex'. Choose another name",
        ),
        (lambda: Anatomy(list(PATIENTS), 2), PlanError, "all columns are confidential"),
        (lambda: Anatomy("problems", 2), PlanError, "no column 'problems'. Did you mean 'problem'"),
        (lambda: Anatomy("problem", by="sexx"), PlanError, "no column 'sexx'. Did you mean 'sex'"),
        (lambda: Anatomy("sex", 3), NoSolutionError, "5 of 9 records have the value of row 3, more than 1/3"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(make, error, message):
    with pytest.raises(error, match=message):
        outcome(make(), PATIENTS)
