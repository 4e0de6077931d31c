"""Swapping of whole confidential records: what it keeps, and how sure a link can be."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.masking.running import outcome
from veil.base.randomness import Randomness
from veil.errors import InputError, ParameterError, PlanError
from veil.masking.microaggregation.mdav import maximum_distance_to_average_vector
from veil.masking.ties.probabilistic import linkage_probabilities, swapping_likelihoods
from veil.masking.ties.whole_record_swapping import WholeRecordSwapping
from veil.tables.rows import Rows
from veil.verification.steps.step import verify_step

numbers = st.one_of(st.integers(-3, 3), st.integers(-(10**9), 10**9))
ROWS = st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 8))
def test_groups_keep_their_confidential_records_and_others_are_untouched(rows, k):
    k = min(k, len(rows))
    table = {name: [row[at] for row in rows] for at, name in enumerate(["pay", "tax", "age"])}
    method = WholeRecordSwapping(["pay", "tax"], k)
    made = outcome(method, table)
    after = made.table.to_pydict()
    assert after["age"] == table["age"]
    groups = maximum_distance_to_average_vector(method.records(pa.table(table), ["age"]), k)
    assert min(Counter(groups.tolist()).values()) >= k

    def held(columns):
        return Counter(zip(groups.tolist(), columns["pay"], columns["tax"], strict=True))

    assert held(after) == held(table)
    if len(rows) <= 12:  # how sure a link can be, from all assignments
        assert max(map(max, linkage_probabilities(swapping_likelihoods(groups)))) * k <= 1


def test_every_order_of_a_group_is_equally_likely():
    table = pa.table({"age": [1, 2, 3], "pay": ["a", "b", "c"], "tax": [10, 20, 30]})
    drawn = Counter(
        tuple(
            WholeRecordSwapping(["pay", "tax"], 3)
            .mask(Rows.of(table), Randomness.for_testing(seed))
            .table["pay"]
            .to_pylist()
        )
        for seed in range(600)
    )
    assert len(drawn) == 6
    assert max(abs(count - 100) for count in drawn.values()) < 50  # five and a half standard deviations


def test_groups_are_told():
    made = outcome(WholeRecordSwapping("pay", 2), {"age": [30, 31, 70, 71, 72], "pay": list("abcde")})
    assert made.facts == {"groups": 2, "smallest group": 2, "largest group": 3}


def test_a_record_that_was_torn_apart_is_found_out():
    table = pa.table({"age": [1, 2], "pay": ["a", "b"], "tax": [10, 20]})
    torn = pa.table({"age": [1, 2], "pay": ["a", "b"], "tax": [20, 10]})
    method = WholeRecordSwapping(["pay", "tax"], 2)
    assert verify_step(method, Rows.of(table), table).holds
    assert not verify_step(method, Rows.of(table), torn).holds


def test_what_a_person_receives(tmp_path):
    patients = pa.table({"age": [30, 31, 52, 53], "pay": [9, 1, 50, 70], "tax": [90, 10, 500, 700]})
    release = veil.mask(patients, [WholeRecordSwapping(["pay", "tax"], 2, ["age"])])
    assert {10 * pay for pay in release.table["pay"].to_pylist()} == set(release.table["tax"].to_pylist())
    assert [10 * each for each in release.table["pay"].to_pylist()] == release.table["tax"].to_pylist()
    release.report(tmp_path / "report.html")
    assert "no confidential value" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("method", "error", "message"),
    [
        (lambda: WholeRecordSwapping("pay", 0), ParameterError, "`k` of WholeRecordSwapping should be"),
        (lambda: WholeRecordSwapping("pay", 9), InputError | PlanError, "9"),
        (lambda: WholeRecordSwapping("pays", 2), PlanError, "no column 'pays'. Did you mean 'pay'"),
        (
            lambda: WholeRecordSwapping("pay", 2, ["pay"]),
            PlanError,
            "both confidential and a quasi-identifier",
        ),
        (
            lambda: WholeRecordSwapping(["pay", "age"], 2),
            PlanError,
            "no column is left to compare records by",
        ),
    ],
)
def test_clear_errors(method, error, message):
    with pytest.raises(error if isinstance(error, type) else (InputError, PlanError), match=message):
        method().mask(Rows.of(pa.table({"age": [1, 2, 3], "pay": [1, 2, 3]})), Randomness())
