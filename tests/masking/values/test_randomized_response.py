"""Randomized response: its ε is that of its matrix, draws have exactly these probabilities, estimates are unbiased.

The attacker sees an answer, knows everything else, and asks what the true value was.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import veil
from support import refusals
from support.cli import veil as command
from support.dp.stochastic import find_violation
from support.masking.running import masked, outcome
from veil.base.randomness import Randomness
from veil.dp import Accountant, fingerprint
from veil.dp.symbolic import Symbolic
from veil.errors import BudgetError, InputError, ParameterError, PlanError
from veil.masking import RandomizedResponse
from veil.recipe import Recipe
from veil.tables.rows import Rows

YES_NO = ("yes", "no")
COIN = [[0.75, 0.25], [0.25, 0.75]]


def worst_ratio(matrix: list[list[Fraction]]) -> Fraction:
    """The slow twin: of each answer, how much likelier it is for any one value than for any other."""
    places = range(len(matrix))
    return max(
        matrix[one][answer] / matrix[other][answer]
        for one, other, answer in itertools.product(places, repeat=3)
    )


def test_the_coin_of_the_textbook_costs_ln_3():
    by_matrix = RandomizedResponse("smokes", YES_NO, matrix=COIN)
    by_budget = RandomizedResponse("smokes", YES_NO, "ln(3)")
    assert by_matrix.local_epsilon == by_budget.local_epsilon == "ln(3)"
    assert (
        by_matrix.transitions
        == by_budget.transitions
        == [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    )


@settings(max_examples=80, deadline=None)
@given(st.data(), st.integers(2, 5))
def test_epsilon_of_a_matrix_is_the_logarithm_of_its_worst_ratio(data, size):
    rows = data.draw(
        st.lists(st.lists(st.integers(1, 9), min_size=size, max_size=size), min_size=size, max_size=size)
    )
    matrix = [[Fraction(each, sum(row)) for each in row] for row in rows]
    method = RandomizedResponse("x", [str(i) for i in range(size)], matrix=matrix)
    assert method.transitions == matrix
    assert Symbolic.read(method.local_epsilon).exponential() == worst_ratio(matrix)


@settings(max_examples=80, deadline=None)
@given(st.one_of(st.floats(0.001, 20), st.sampled_from(["ln(3)", "ln(7)/2", "1/3", 1])), st.integers(2, 40))
def test_the_matrix_of_a_budget_keeps_it_and_wastes_nothing(epsilon, size):
    method = RandomizedResponse("x", [str(i) for i in range(size)], epsilon)
    matrix = method.transitions
    assert all(sum(row) == 1 for row in matrix)
    ratio, budget = worst_ratio(matrix), Symbolic.read(epsilon)
    exact = budget.exponential()
    if exact is not None:
        assert ratio == exact
    else:
        assert Symbolic.read(f"ln({ratio})") < budget
    assert math.isclose(math.log(ratio), float(budget), rel_tol=1e-9)


def test_draws_have_the_probabilities_of_the_matrix():
    matrix = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], ["1/3", "1/3", "1/3"]]
    method, runs = RandomizedResponse("x", tuple("abc"), matrix=matrix), 20_000
    made = masked(method, {"x": list("abc") * runs}, seed=5)["x"]
    for number, row in enumerate(method.transitions):
        found = Counter(made[number::3])
        statistic = sum(
            (found[name] - runs * p) ** 2 / (runs * p) for name, p in zip("abc", map(float, row), strict=True)
        )
        assert chi2.sf(statistic, 2) > 1e-6


@pytest.mark.slow
def test_a_tester_finds_no_fault_and_would_find_one():
    """Neighbours differ in one answer; events are what the release shows."""

    def published(epsilon: Any, randomness: Randomness) -> Any:
        method = RandomizedResponse("x", YES_NO, epsilon)
        return lambda cell: method.mask(Rows.of(pa.table({"x": [cell]})), randomness).table["x"][0].as_py()

    seeded = Randomness.for_testing(3)
    assert find_violation(published("ln(3)", seeded), [YES_NO], math.log(3), runs=2000) is None
    assert find_violation(published("ln(4)", seeded), [YES_NO], math.log(3), runs=6000) is not None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any))
def test_estimates_undo_what_is_expected_of_the_draws(counts):
    """t(i) = Σ over the answers that are expected, exactly: those of 40 * 20 people for each count."""
    method = RandomizedResponse("x", tuple("abc"), matrix=[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    expected = [
        sum(10 * n * row[j] for n, row in zip(counts, method.transitions, strict=True)) for j in range(3)
    ]
    assert all(each.denominator == 1 for each in map(Fraction, expected))
    answers = [name for name, n in zip("abc", expected, strict=True) for _ in range(int(n))]
    found = method.estimate(pa.table({"x": answers}))
    assert list(found.values()) == pytest.approx([n / sum(counts) for n in counts])


def test_estimates_come_close():
    truth = ["yes"] * 3000 + ["no"] * 17_000
    method = RandomizedResponse("x", YES_NO, 1)
    found = method.estimate(outcome(method, {"x": truth}, seed=8).table)
    assert found["yes"] == pytest.approx(0.15, abs=0.04)
    assert sum(found.values()) == pytest.approx(1)
    with refusals.refused(ParameterError, "cannot be estimated"):
        RandomizedResponse("x", YES_NO, matrix=[[0.5, 0.5], [0.5, 0.5]]).estimate(pa.table({"x": ["yes"]}))


def test_the_type_of_the_column_follows_from_the_declaration():
    """Numbers, and categories that nobody has any more, would tell who answered what."""
    method = RandomizedResponse("x", ["0", "1", "2"], 1)
    for column in (pa.array([0, 1]), pa.array(["0", "1"]).dictionary_encode(), pa.array([1.0, 0.0])):
        assert outcome(method, pa.table({"x": column, "y": [1, 2]})).table["x"].type == pa.string()


def test_the_dtype_does_not_tell_whether_all_answers_are_true():
    column = pd.Series(["yes"], dtype=pd.ArrowDtype(pa.large_string()))
    kinds = {True: set(), False: set()}
    for seed in range(12):
        method = RandomizedResponse("x", YES_NO, "ln(2)")
        shown = veil.mask(pd.DataFrame({"x": column}), method, for_testing_seed=seed).table["x"]
        kinds[shown[0] == "yes"].add(shown.dtype)
    assert kinds[True] == kinds[False] == {pd.ArrowDtype(pa.string())}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomizedResponse("x", YES_NO), "needs `epsilon` or `matrix`, one of the two"),
        (lambda: RandomizedResponse("x", YES_NO, 1, COIN), "needs `epsilon` or `matrix`, one of the two"),
        (lambda: RandomizedResponse("x", ["a"], 1), "`categories` of RandomizedResponse"),
        (lambda: RandomizedResponse("x", ["a", "a"], 1), "names 'a' twice"),
        (lambda: RandomizedResponse("x", YES_NO, 0), "`epsilon` of RandomizedResponse should be above 0 and at most 30"),
        (lambda: RandomizedResponse("x", YES_NO, 31), "should be above 0 and at most 30, not 31"),
        (lambda: RandomizedResponse("x", YES_NO, "much"), "`epsilon` should be a number such as"),
        (lambda: RandomizedResponse("x", YES_NO, matrix=[[1, 0], [0.5, 0.5]]), "'no' never comes from 'yes'"),
        (lambda: RandomizedResponse("x", YES_NO, matrix=[[0.5, 0.6], [0.5, 0.5]]), "'yes' should add up to exactly 1, not 1.1"),
        (lambda: RandomizedResponse("x", YES_NO, matrix=[[1]]), "should have 2 rows of 2 probabilities"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_values_that_were_not_declared_are_refused():
    method = RandomizedResponse("x", YES_NO, 1)
    with refusals.refused(PlanError, "mean 'yes'", "`categories`", "'yess'"):
        outcome(method, {"x": ["yes", "yess"]})
    with refusals.refused(InputError, "missing values", "revealing"):
        outcome(method, {"x": ["yes", None]})


# --- as a step ------------------------------------------------------------------------------------

PEOPLE = pa.table({"smokes": ["yes", "no"] * 20, "drinks": ["no", "no", "yes", "no"] * 10, "age": range(40)})
STEPS = [RandomizedResponse("smokes", YES_NO, matrix=COIN), RandomizedResponse("drinks", YES_NO, "ln(2)")]


def test_an_account_is_charged_with_the_sum():
    account = Accountant("ln(6)", neighbours="one changed")
    release = veil.mask(PEOPLE, STEPS, accountant=account)
    assert [entry.label for entry in account.ledger] == ["randomized response of smokes, drinks"]
    assert account.remaining.epsilon == Symbolic.read(0)
    said = release.verification.open_questions
    assert not any("ε" in finding.promise for finding in release.verification.findings)
    assert any("ε of ln(3)" in each for each in said)
    assert any("at most ln(6)" in each for each in said)
    with refusals.refused(BudgetError, "'randomized response of smokes'", "cost"):
        veil.mask(PEOPLE, STEPS[0], accountant=account)
    with refusals.refused(PlanError, "`accountant`", "RandomizedResponse"):
        veil.mask(PEOPLE, veil.masking.RandomSampling(size=3), accountant=account)


def test_the_number_of_answers_is_no_secret_so_that_only_a_changed_answer_is_hidden():
    account = Accountant(2)
    with pytest.raises(PlanError, match="one changed"):
        veil.mask(PEOPLE, STEPS, accountant=account)
    assert not account.ledger


def test_the_account_is_that_of_the_table(tmp_path):
    account = Accountant.create(
        tmp_path / "b.json", 2, fingerprint=fingerprint(PEOPLE), neighbours="one changed"
    )
    with refusals.refused(PlanError, "budget", "the data set"):
        veil.mask(PEOPLE.slice(1), STEPS, accountant=account)
    assert not account.ledger
    veil.mask(PEOPLE, STEPS, accountant=account)


def test_recipes_and_the_command_line_know_it(tmp_path):
    recipe = Recipe(
        steps=[
            {"kind": "RandomizedResponse", "column": "smokes", "categories": ["yes", "no"], "matrix": [["3/4", 0.25], [0.25, "3/4"]]},
            {"kind": "RandomizedResponse", "column": "drinks", "categories": ["yes", "no"], "epsilon": "ln(2)"},
        ]
    )  # fmt: skip
    assert recipe.steps == STEPS
    table, budget = tmp_path / "people.csv", tmp_path / "people.csv.budget.json"
    table.write_text("smokes\n" + "yes\nno\n" * 20)
    assert command("budget", table, "--epsilon", "ln(3)", "--neighbours", "one changed").code == 0
    step = "randomized-response:smokes,categories=yes|no,matrix=0.75+0.25|0.25+0.75"
    given = ("mask", table, "--step", step, "--budget", budget)
    masked_table, report = tmp_path / "out.csv", tmp_path / "out.json"
    shown = command(*given, "-o", masked_table, "--report", report)
    assert shown.code == 0, shown.err
    assert "ε of ln(3)" in " ".join(shown.out.split())
    assert set(masked_table.read_text().split()[1:]) <= {"yes", "no"}
    found = json.loads(report.read_text())["verification"]
    assert any("ε of ln(3)" in each["promise"] for each in found)
    refused = command(*given, "-o", tmp_path / "again.csv")
    assert refused.code != 0
    assert "epsilon = ln(3)" in " ".join(refused.err.split())
