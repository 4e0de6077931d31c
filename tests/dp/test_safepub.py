"""SafePub: budgets, the sample, and the whole mechanism on small tables."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from support.dp import definitions
from support.dp.definitions import Hierarchies, Output, Table
from support.dp.scores import TWO, encoding_of, scores_of
from support.dp.stochastic import find_violation, neighbouring_pairs
from support.refusals import refused
from veil import quality
from veil.base.randomness import Randomness
from veil.dp.publish import Mechanism
from veil.dp.safepub import SafePub, draw_sample
from veil.dp.walk import FINAL_SHARE
from veil.errors import ParameterError
from veil.published.table import Published
from veil.tables.rows import Rows

# --- declaration --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SafePub(0, 1e-4), "`epsilon` of SafePub should be greater than 0, not 0"),
        (lambda: SafePub(-1.5, 1e-4), "`epsilon` of SafePub should be greater than 0, not -1.5"),
        (lambda: SafePub("ln(1/2)", 1e-4), r"`epsilon` of SafePub should be greater than 0, not ln\(1/2\)"),
        (lambda: SafePub("much", 1e-4), "`epsilon` should be a number such as"),
        (lambda: SafePub(True, 1e-4), "`epsilon` should be a number such as"),
        (lambda: SafePub(math.nan, 1e-4), "`epsilon` should be a number such as"),
        (lambda: SafePub(1, 0), "`delta` of SafePub should be above 0 and below 1, not 0"),
        (lambda: SafePub(1, -1e-5), "`delta` of SafePub should be above 0 and below 1, not -1e-05"),
        (lambda: SafePub(1, 1), "`delta` of SafePub should be above 0 and below 1, not 1"),
        (lambda: SafePub(1, "ln(2)"), "`delta` of SafePub should be above 0 and below 1"),
        (lambda: SafePub(1, 1e-4, search_epsilon=1.0), "should be above 0 and below `epsilon` = 1, not 1.0"),
        (lambda: SafePub(1, 1e-4, search_epsilon=2), "should be above 0 and below `epsilon` = 1, not 2"),
        (lambda: SafePub(1, 1e-4, search_epsilon=0), "should be above 0 and below `epsilon` = 1, not 0"),
        (lambda: SafePub("ln(2)", 1e-4, search_epsilon="ln(4)/2"), "should be above 0 and below `epsilon`"),
        (
            lambda: SafePub(1, 1e-4, search_epsilon=0.1, generalization={}),
            "no effect with a fixed `generalization`",
        ),
        (
            lambda: SafePub(1, 1e-4, acquisition_sampling=1, generalization={"age": 1}),
            "`acquisition_sampling` of SafePub should be above 0 and below 1, not 1",
        ),
        (
            lambda: SafePub(1, 1e-4, acquisition_sampling="ln(2)", generalization={"age": 1}),
            "above 0 and below 1",
        ),
        (
            lambda: SafePub(1, 1e-4, acquisition_sampling=0.1),
            "needs a fixed `generalization`, chosen without looking",
        ),
        (lambda: SafePub(1, 1e-4, steps=0), "`steps` of SafePub should be greater than or equal to 1, not 0"),
        (lambda: SafePub(1, 1e-4, generalization={"age": -1}), "greater than or equal to 0"),
        (lambda: SafePub(1, 1e-4, final="best"), "`final` of SafePub should be 'private' or 'as_published'"),
        (lambda: SafePub(), "`epsilon` of SafePub is required"),
        (lambda: SafePub(1, 1e-5, 0.1), "at most 2 positional"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_budgets_are_split_exactly():
    search, anonymization, delta = SafePub(1.0, 1e-5).budgets()
    assert (str(search), str(anonymization), delta) == ("0.1", "0.9", Fraction(1, 10**5))
    search, anonymization, _ = SafePub("ln(2)", 1e-6).budgets()
    assert (str(search), str(anonymization)) == ("0.1*ln(2)", "0.9*ln(2)")
    search, anonymization, _ = SafePub("ln(2)", 1e-6, generalization={"age": 1}).budgets()
    assert (str(search), str(anonymization)) == ("0", "ln(2)")
    search, anonymization, _ = SafePub(Fraction(1, 3), "1e-6", search_epsilon="1/12").budgets()
    assert (search.rational, anonymization.rational) == (Fraction(1, 12), Fraction(1, 4))


def test_delta_is_never_taken_from_the_table():
    """One record more or less would change the power of ten of their number, and with it k and β, for certain."""
    with refused(ParameterError, "`delta`", "SafePub", "required"):
        SafePub(1)
    model = SafePub(1, 1e-5)
    for records in (9_999, 10_000):
        table = pa.table({"age": ["1"] * records})
        assert model.verify(Published(Rows.of(table), ["age"])).promise.startswith(
            "every record looks like at least 57 others"
        )


def test_a_fixed_scheme_leaves_the_whole_budget_to_the_sample():
    assert SafePub(1, 1e-6, generalization={"age": 1}).parameters().k == 74
    assert SafePub("ln(2)", 1e-6, generalization={"age": 1}).parameters().beta == Fraction(1, 2)


def test_statement_in_plain_words():
    said = SafePub(1.0, 1e-5).statement()
    assert "With a probability of at least 40.6 % your record is not in the data at all" in said
    assert "if it is, it is hidden among at least 57 others" in said
    assert "0.1 of ε was spent to choose how coarse the data are" in said
    assert "NOT PROVEN" not in said
    assert "NOT PROVEN" in SafePub(1.0, 1e-5, final="as_published").statement()
    fixed = SafePub("ln(2)", 1e-6, generalization={"age": 1}, final="as_published").statement()
    assert "no result becomes more than 2 times as likely" in fixed
    assert "NOT PROVEN" not in fixed
    assert "spent" not in fixed


# --- the sample ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "beta", [Fraction(1, 2), Fraction(1, 1000), Fraction(999, 1000), SafePub(1, 1e-5).parameters().beta]
)
def test_each_record_is_drawn_with_its_probability(beta):
    n = 40_000
    drawn = draw_sample(n, beta, Randomness())
    assert len(set(drawn.tolist())) == drawn.size
    assert binomtest(drawn.size, n, float(beta)).pvalue > 1e-9


def test_records_are_drawn_independently_and_come_in_any_order():
    """Of three records, every subset in every order: sixteen outcomes."""
    randomness, beta, runs = Randomness.for_testing(4), Fraction(1, 3), 6000
    found = Counter(tuple(draw_sample(3, beta, randomness).tolist()) for _ in range(runs))
    assert len(found) == 16
    statistic = 0.0
    for outcome, times in found.items():
        size = len(outcome)
        expected = runs * float(beta**size * (1 - beta) ** (3 - size)) / math.factorial(size)
        statistic += (times - expected) ** 2 / expected
    assert chi2.sf(statistic, 15) > 1e-9


class Scripted(Randomness):
    """Draws that are written down."""

    def __init__(self, *rounds: list[int]) -> None:
        self.rounds = list(rounds)

    def bits(self, size: int) -> Any:
        if not self.rounds:  # the order of what has been drawn
            return np.arange(size, dtype=np.uint64)
        drawn = self.rounds.pop(0)
        assert len(drawn) == size
        return np.array(drawn, np.uint64)


def test_equal_digits_are_decided_by_further_ones():
    """beta = 1/3 is 0x5555... in binary: the first record ties twice, the second once."""
    third = 0x5555555555555555
    bits = Scripted([third, third, third - 1, third + 1], [third, third + 1], [third - 1])
    assert draw_sample(4, Fraction(1, 3), bits).tolist() == [0, 2]
    assert not bits.rounds
    # One half is 0x8000... and nothing after it: a tie is decided at once.
    assert draw_sample(2, Fraction(1, 2), Scripted([2**63, 2**63 - 1])).tolist() == [1]


# --- the whole mechanism on small tables --------------------------------------------------------------

SMALL: Hierarchies = [TWO, TWO]
MODEL = SafePub("1.5", "0.4", search_epsilon="0.5", steps=1)
"""An operator with k = 2, so that something is shown even of tiny tables."""


def mechanism_on(table: Table, model: SafePub, measure: quality.QualityModel) -> Mechanism:
    encoding = encoding_of(SMALL)
    places = [{row[0]: i for i, row in enumerate(rows)} for rows in SMALL]
    codes = [np.array([p[record[j]] for record in table], np.int32) for j, p in enumerate(places)]
    return Mechanism(model, encoding, codes, (0, 0), (1, 1), measure)


def distribution(table: Table, measure: quality.QualityModel) -> dict[Output, float]:
    """Every output of the private mechanism with its probability, from the definitions."""
    mechanism = mechanism_on(table, MODEL, measure)
    scores = scores_of(mechanism.function, table, SMALL)
    chosen = definitions.private_choice(scores, mechanism.function.spread, 0.5, 1, FINAL_SHARE)
    found: Counter[Output] = Counter()
    for probability, sample in definitions.samples(table, float(mechanism.beta)):
        for levels, chance in chosen.items():
            found[definitions.published_table(sample, SMALL, levels, mechanism.smallest)] += (
                probability * chance
            )  # type: ignore[assignment]
    return dict(found)


def run(mechanism: Mechanism, table: Table, randomness: Randomness) -> Output:
    rows, levels, _ = mechanism.run(randomness)
    return definitions.published_table([table[row] for row in rows], SMALL, levels, mechanism.smallest)


@pytest.mark.parametrize(
    "measure", [quality.AverageClassSize(), quality.Loss(), quality.Classification(["q0"])], ids=repr
)
def test_no_event_is_likelier_by_more_than_epsilon_and_delta(measure):
    """Exact probabilities, for all neighbours among tables of up to four records."""
    assert mechanism_on((("a", "a"),), MODEL, measure).smallest == 2
    known: dict[Table, dict[Output, float]] = {(): {((1, 1), ()): 0.0}}
    worst = 0.0
    for pair in neighbouring_pairs([("a", "a"), ("a", "b"), ("b", "b")], 4):
        if () in pair:
            continue
        for table in pair:
            if table not in known:
                known[table] = distribution(table, measure)
                assert math.fsum(known[table].values()) == pytest.approx(1)
        one, other = known[pair[0]], known[pair[1]]
        worst = max(worst, definitions.excess(one, other, 1.5), definitions.excess(other, one, 1.5))
    assert 0.01 < worst <= 0.4


def test_outputs_are_as_frequent_as_the_definitions_say():
    table = (("a", "a"), ("a", "a"), ("a", "b"), ("b", "b"))
    measure, runs, randomness = quality.AverageClassSize(), 3000, Randomness.for_testing(9)
    mechanism = mechanism_on(table, MODEL, measure)
    found = Counter(run(mechanism, table, randomness) for _ in range(runs))
    expected = distribution(table, measure)
    assert set(found) <= set(expected)
    common = [output for output, p in expected.items() if p * runs >= 10]
    statistic = sum((found[each] - expected[each] * runs) ** 2 / (expected[each] * runs) for each in common)
    assert chi2.sf(statistic, len(common)) > 1e-9


def test_the_tester_finds_no_fault_with_the_default():
    tables = [
        (("a", "a"), ("a", "b")),
        (("a", "a"), ("a", "a"), ("a", "b")),
        (("a", "a"), ("a", "a"), ("a", "a"), ("a", "b")),
    ]
    randomness = Randomness.for_testing(11)
    mechanisms = {table: mechanism_on(table, MODEL, quality.AverageClassSize()) for table in tables}

    def publish_small(table: Table) -> Output:
        return run(mechanisms[table], table, randomness)

    pairs = list(zip(tables[1:], tables, strict=False))
    assert find_violation(publish_small, pairs, "1.5", "0.4", runs=1500) is None
    # It would notice a tenth of the budget.
    assert find_violation(publish_small, pairs, "0.15", "0.04", runs=1500) is not None


def test_the_published_variant_searches_the_sample():
    model = SafePub("1.5", "0.4", search_epsilon="0.5", steps=1, final="as_published")
    table = (("a", "a"), ("a", "a"), ("a", "b"), ("b", "b"))
    mechanism = mechanism_on(table, model, quality.AverageClassSize())
    randomness, runs = Randomness.for_testing(2), 2000
    found = Counter(run(mechanism, table, randomness) for _ in range(runs))
    expected: Counter[Output] = Counter()
    for probability, sample in definitions.samples(table, float(mechanism.beta)):
        scores = scores_of(mechanism.function, sample, SMALL)
        for levels, chance in definitions.published_choice(scores, Fraction(1), 0.5, 1).items():
            expected[definitions.published_table(sample, SMALL, levels, 2)] += probability * chance  # type: ignore[assignment]
    common = [output for output, p in expected.items() if p * runs >= 10]
    statistic = sum((found[each] - expected[each] * runs) ** 2 / (expected[each] * runs) for each in common)
    assert set(found) <= set(expected)
    assert chi2.sf(statistic, len(common)) > 1e-9


# --- verification -------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 120), min_size=1, max_size=4), st.integers(0, 60))
def test_verification_finds_classes_that_are_too_small(sizes, stars):
    model = SafePub(1, 1e-6, generalization={"age": 1})
    values = [str(i) for i, size in enumerate(sizes) for _ in range(size)] + ["*"] * stars
    finding = model.verify(Published(Rows.of(pa.table({"age": pa.array(values, pa.string())})), ["age"]))
    assert finding.holds == all(size == 0 or size >= 74 for size in [*sizes, stars])
