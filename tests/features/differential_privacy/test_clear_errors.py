"""What is refused in differential privacy, in one place: each error names what is wrong, costs nothing and tells nothing."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from support.refusals import refused
from veil.base.randomness import Randomness
from veil.dp import Accountant, Gaussian, Laplace, Prior, Refinement, Staircase, StepNoise
from veil.errors import BudgetError, ParameterError, PlanError
from veil.hierarchies.hierarchy import Hierarchy
from veil.private_table import Corners, IndividualRanking, MarginalTree, private_table
from veil.questions import Session

PEOPLE = pa.table({"age": [34, 71, 68, 190], "job": ["a", "b", "c", "a"]})
JOBS = Hierarchy.from_rows([["a", "*"], ["b", "*"]])


def session(**options: Any) -> Session:
    given: dict[str, Any] = {
        "neighbours": "one more or less",
        "person": None,
        "bounds": {"age": (0, 120)},
        "missing": {"age": 0},
        "constant_time": False,
        **options,
    }
    return Session(PEOPLE, given.pop("accountant", Accountant(1)), **given)


def private(method: Any = None, epsilon: Any = 1, columns: tuple[str, ...] = ("age",), **options: Any) -> Any:
    given: dict[str, Any] = {
        "neighbours": "one changed",
        "person": None,
        "bounds": {"age": (0, 120)},
        **options,
    }
    return private_table(PEOPLE.select(columns), method or IndividualRanking(2), epsilon, **given)


NOISES = {
    "laplace": lambda sensitivity, epsilon: Laplace(sensitivity, epsilon),
    "staircase": lambda sensitivity, epsilon: Staircase(sensitivity, epsilon),
    "step": lambda sensitivity, epsilon: StepNoise([sensitivity], epsilon),
    "gaussian": lambda sensitivity, epsilon: Gaussian(sensitivity, epsilon, "1e-6"),
}


@pytest.mark.parametrize("noise", list(NOISES))
@pytest.mark.parametrize("bad", [0, -1, math.inf, -math.inf, math.nan, None, "much", True])
def test_every_noise_needs_an_epsilon_and_a_sensitivity_that_are_numbers_above_0(
    noise: str, bad: Any
) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        NOISES[noise](1, bad)
    with pytest.raises(ParameterError, match="sensitivit"):
        NOISES[noise](bad, 1)


@pytest.mark.parametrize("noise", list(NOISES))
def test_a_truth_that_is_no_number_gets_no_noise(noise: str) -> None:
    made = NOISES[noise](1, 1)
    for bad in (math.nan, math.inf):
        with pytest.raises(ParameterError, match="finite"):
            made.add([bad] if noise == "step" else bad)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Prior.table({"yes": 0.5, "no": 0.4}), "should add up to 1, not 9/10"),
        (
            lambda: Prior.table({"yes": 1.5, "no": -0.5}),
            "the prior of 'no' should be at least 0, not -0.5",
        ),
        (lambda: Prior.table({"yes": math.nan, "no": 1}), "the prior of 'yes' should be a probability"),
        (lambda: Prior.uniform(0, math.inf), "needs a bounded range"),
        (lambda: Prior.uniform(-math.inf, 0), "needs a bounded range"),
        (lambda: Prior.uniform(3, 1), "should be ascending"),
        (lambda: Refinement(Prior.uniform(0, 1), 0, about="individual"), "epsilon"),
        (lambda: Refinement(Prior.uniform(0, 1), math.inf, about="individual"), "epsilon"),
    ],
)
def test_priors(make: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        make()


@pytest.mark.parametrize("truth", ["c", "nobody has it", None])
def test_a_truth_outside_of_the_prior_is_neither_returned_nor_told(truth: Any) -> None:
    """Of prior 0, of none at all, or absent: an answer of the prior comes back, and no error."""
    question = Refinement(Prior.table({"a": 0.5, "b": 0.5, "c": 0}), 2, about="individual")
    source = Randomness.for_testing(1)
    assert {question.answer(truth, source) for _ in range(60)} == {"a", "b"}


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: session(bounds={}).sum("age", epsilon=1), ParameterError, "column 'age' has no bounds"),
        (lambda: private(bounds={}), ParameterError, "column 'age' has neither bounds nor a domain"),
        (lambda: session(bounds={"age": (120, 0)}), ParameterError, "a lower and a higher number"),
        (lambda: private(bounds={"age": (120, 0)}), ParameterError, "a lower and a higher number"),
        (lambda: session(bounds={"age": (0, math.nan)}), ParameterError, "finite"),
        (lambda: private(bounds={"age": (-math.inf, 0)}), ParameterError, "finite"),
        (lambda: private(IndividualRanking(5)), ParameterError, "`k` is 5, and the table has 4 records"),
        (lambda: private(Corners(5)), ParameterError, "`k` is 5, and the table has 4 records"),
        (
            lambda: private(columns=("job",), bounds={}, domains={"job": JOBS}),
            ParameterError,
            "say which value of its domain a cell of 'job' counts as",
        ),
        (
            lambda: private(MarginalTree(), None, ("job",), bounds={}, domains={"job": ["a", "b"]}, rho=1),
            ParameterError,
            "say which value of its domain a cell of 'job' counts as",
        ),
        (lambda: private(epsilon=0), ParameterError, "epsilon"),
        (lambda: private(epsilon=math.inf), ParameterError, "epsilon"),
        (lambda: session().count(epsilon=math.nan), ParameterError, "epsilon"),
        (lambda: session(randomness=7), ParameterError, r"should be Randomness.for_testing\(seed\)"),
        (lambda: Laplace(1, 1).add(3, 7), ParameterError, r"should be Randomness.for_testing\(seed\)"),  # type: ignore[arg-type]
        (
            lambda: session(neighbours="one changed"),
            PlanError,
            'the budget is for neighbours="one more or less"',
        ),
        (lambda: private(accountant=Accountant(9)), PlanError, "one more or less"),
    ],
)
def test_tables_bounds_sizes_and_ledgers(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_values_that_a_hierarchy_lacks_are_neither_an_error_nor_named() -> None:
    made = private(columns=("job",), bounds={}, domains={"job": JOBS}, missing={"job": JOBS.labels[0][0]})
    assert "'c'" not in f"{made} {made.declared}"


def test_violated_bounds_are_clamped_or_left_out_as_asked_and_never_reported() -> None:
    """An age of 190 and one of 120 lead to the same words, prices and kinds of answers."""
    for outside in ("clamp", "leave out"):
        answer = session(outside=outside).sum("age", epsilon=1)
        assert (str(answer.loss), answer.question) == ("epsilon = 1", "sum of age")
    assert max(private(epsilon=10**9).table["age"].to_pylist()) <= 120


def test_a_budget_that_is_used_up() -> None:
    budget = Accountant(1, neighbours="one changed")
    private(accountant=budget)
    with refused(BudgetError, "cost epsilon = 1", "epsilon = 0"):
        private(accountant=budget)
    asked = session(accountant=Accountant(1))
    asked.count(epsilon=1)
    with refused(BudgetError, "cost epsilon = 0.5"):
        asked.count(epsilon=0.5)
    with refused(BudgetError, "was refused"):
        asked.count(epsilon="1/1000000")
