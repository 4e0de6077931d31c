"""CountQuery error: counts and answers by the definition, queries as they were asked for."""

from __future__ import annotations

import statistics
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from support.utility import twins
from support.utility.cases import Case, cases
from support.utility.example import E1, TABLES, e1
from veil import KAnonymity
from veil import hierarchies as h
from veil.dp import SafePub
from veil.errors import ParameterError
from veil.masking import RandomSampling
from veil.utility import Comparison, compare, query_error
from veil.utility.queries import CountQuery, QueryComparison


def in_order(twin: twins.Attribute) -> list[str | None]:
    """The domain in the order of its type, a missing value last."""
    present = [row[0] for row in twin.rows if row[0] is not None]
    return sorted(present, key=int if twin.numeric else str) + [None] * any(
        row[0] is None for row in twin.rows
    )


def chance(twin: twins.Attribute, i: int, window: list[str | None]) -> Fraction:
    """How likely a record lies in a window if all that its text may stand for is equally likely.

    A text that stands for different things in different records stands for the most that it does.
    """
    alike = [j for j in twin.records if (twin.gone[i] and twin.gone[j]) or (
        not twin.gone[i] and not twin.gone[j] and twin.shown[j] == twin.shown[i])]  # fmt: skip
    if not twin.levels(i):
        covered = [row[0] for row in twin.rows]
    else:
        covered = max((twin.covered(j) for j in alike), key=len)
        # Which of two things of the same size is meant, nobody says.
        assume(all({*twin.covered(j)} == {*covered} for j in alike if len(twin.covered(j)) == len(covered)))
    return Fraction(sum(value in window for value in covered), len(covered))


@given(cases(), st.data())
@settings(max_examples=120)
def test_counts_and_answers_agree_with_the_slow_twin(case: Case, data):
    asked = QueryComparison(case.comparison)
    queries = []
    for _ in range(3):
        names = data.draw(st.lists(st.sampled_from(asked.names), min_size=1, unique=True))
        windows = []
        for name in sorted(names):
            size = case.comparison.columns[name].hierarchy.size
            first = data.draw(st.integers(0, size - 1))
            windows.append((name, first, data.draw(st.integers(first, size - 1))))
        queries.append(CountQuery(tuple(windows)))
    counts, answers = asked.counts(queries), asked.answers(queries)
    for query, count, answer in zip(queries, counts, answers, strict=True):
        windows = []
        for name, first, last in query.windows:
            twin = case.attributes[asked.names.index(name)]
            windows.append((twin, in_order(twin)[first : last + 1]))
        records = range(case.comparison.records)
        assert count == sum(all(twin.keys[i] in window for twin, window in windows) for i in records)
        expected = Fraction(0)
        for i in records:
            product = Fraction(1)
            for twin, window in windows:
                product *= chance(twin, i, window)
            expected += product
        assert answer == pytest.approx(float(expected))


def test_an_answer_by_hand():
    """Ages up to 23, women: five of nine records are 20-29, three of them women; one record may be anybody."""
    asked = QueryComparison(e1((1, 0, 1)))
    query = CountQuery((("A", 0, 1), ("G", 0, 0)))
    assert asked.counts([query]).tolist() == [3.0]
    assert asked.answers([query]).tolist() == pytest.approx([3 + 2 / 5 * 1 / 2])
    younger = CountQuery((("A", 0, 0),))
    assert asked.counts([younger]).tolist() == [3.0]
    assert asked.answers([younger]).tolist() == pytest.approx([5 / 2 + 1 / 5])


def test_released_numbers_that_are_no_values_of_the_domain_lie_inside_or_not():
    before = pa.table({"x": [10, 20, 30, 40]})
    after = pa.table({"x": [15.0, 15.0, 35.0, 35.0]})
    asked = QueryComparison(Comparison(before, after, "x"))
    assert asked.answers(
        [CountQuery((("x", 0, 1),)), CountQuery((("x", 1, 2),)), CountQuery((("x", 0, 3),))]
    ).tolist() == [
        2,
        0,
        4,
    ]


@given(cases(max_records=30), st.integers(0, 5), st.integers(1, 3))
@settings(max_examples=40)
def test_queries_are_as_they_were_asked_for(case: Case, seed, predicates):
    asked = QueryComparison(case.comparison)
    predicates = min(predicates, len(asked.names))
    records = case.comparison.records
    chosen, counts = asked.draw(20, predicates, (0.2, 0.6), np.random.default_rng(seed))
    assert len(chosen) <= 20
    assert counts.tolist() == asked.counts(chosen).tolist()
    assert all(0.2 * records <= count <= 0.6 * records for count in counts)
    for query in chosen:
        assert len({name for name, _, _ in query.windows}) == predicates
        for name, first, last in query.windows:
            assert 0 <= first <= last < case.comparison.columns[name].hierarchy.size


def test_errors_are_relative_to_the_count_but_not_to_tiny_ones():
    comparison = e1((1, 0, 1))
    found = query_error(comparison, queries=200, predicates=2, selectivity=(0.1, 0.6), seed=3)
    asked = QueryComparison(comparison)
    chosen, counts = asked.draw(200, 2, (0.1, 0.6), np.random.default_rng(3))
    errors = [abs(a - c) / c for a, c in zip(asked.answers(chosen), counts, strict=True)]
    assert found.queries == 200
    assert (found.mean, found.median) == pytest.approx((statistics.fmean(errors), statistics.median(errors)))
    assert found.largest == pytest.approx(max(errors))
    bounded = query_error(
        comparison, queries=200, predicates=2, selectivity=(0.1, 0.6), seed=3, sanity_bound=1.0
    )
    differences = [abs(a - c) / 10 for a, c in zip(asked.answers(chosen), counts, strict=True)]
    assert bounded.mean == pytest.approx(statistics.fmean(differences))


def test_more_general_releases_answer_worse():
    plan = {"quasi_identifiers": TABLES, "models": KAnonymity(1), "suppression_limit": 1.0}
    release = veil.anonymize(E1, **plan)
    errors = [
        query_error(Comparison.of(release.search.apply(levels)), queries=300, selectivity=(0.1, 0.5)).mean
        for levels in ((0, 0, 0), (0, 0, 1), (1, 1, 2), (2, 1, 3))
    ]
    assert errors[0] == 0
    assert errors == sorted(errors)
    assert errors[-1] > 0.2


def test_there_may_be_no_query_in_the_range():
    table = pa.table({"x": ["a"] * 5})
    found = query_error(Comparison(table, table, "x"), selectivity=(0.1, 0.5), queries=10)
    assert (found.queries, found.mean, found.median, found.largest) == (0, None, None, None)
    assert "no such query" in str(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selectivity": (0.5, 0.1)}, "`selectivity` should be two shares from 0 to 1"),
        ({"sanity_bound": 0}, "`sanity_bound` should be above 0"),
        ({"queries": 0}, "`queries` should be 1 or more, not 0"),
        ({"predicates": 0}, "`predicates` should be 1 or more, not 0"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        query_error(e1((1, 0, 1)), **options)


# --- samples ------------------------------------------------------------------------------------------------


def test_counts_of_a_sample_are_divided_by_its_share():
    """Otherwise whoever reads them is off by more than half: all but the tenth that was drawn were taken for anybody."""
    table = pa.table({"age": [age for age in range(20, 60) for _ in range(2500 if age < 30 else 100)]})
    kept = np.flatnonzero(np.random.default_rng(0).uniform(size=table.num_rows) < 0.1)
    sample = table.take(kept)
    found = query_error(Comparison(table, sample, "age", rows=kept, sampling_fraction=0.1), queries=200)
    assert found.mean < 0.05
    assert query_error(Comparison(table, sample, "age", rows=kept), queries=200).mean > 0.5
    asked = QueryComparison(Comparison(table, sample, "age", rows=kept, sampling_fraction=0.1))
    within = int(sum(20 <= age <= 24 for age in sample["age"].to_pylist()))
    assert asked.answers([CountQuery((("age", 0, 4),))])[0] == pytest.approx(within / 0.1)


def test_the_share_of_a_private_release_and_of_a_masked_sample_is_known():
    table = pa.table({"age": [age for age in range(20, 60) for _ in range(500)]})
    tens = h.table([[str(age), str(age // 10), "*"] for age in range(20, 60)])
    private = veil.anonymize(
        table,
        quasi_identifiers={"age": tens},
        models=SafePub(1.0, 1e-4, generalization={"age": 1}),
        person=None,
    )
    beta = float(SafePub(1.0, 1e-4, generalization={"age": 1}).parameters().beta)
    assert Comparison.of(private).sampling_fraction == beta
    # Random windows cut decades in two, of which any release of decades knows nothing; whole ones it knows.
    asked = QueryComparison(Comparison.of(private))
    for first in range(0, 40, 10):
        assert asked.answers([CountQuery((("age", first, first + 9),))])[0] == pytest.approx(5000, rel=0.1)
    assert compare(private, queries=100).queries == query_error(Comparison.of(private), queries=100)
    masked = veil.mask(table, RandomSampling(0.25))
    assert Comparison.of(masked, ["age"]).sampling_fraction == 0.25
    with refused(ParameterError, "`sampling_fraction`", "above 0", "most 1", "not 0"):
        Comparison(table, table, "age", sampling_fraction=0)
