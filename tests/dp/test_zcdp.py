"""zCDP: the tight conversion, ledgers that mix it with epsilon, and a filter that no adaptive choice outwits."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.dp.accountant import Accountant
from veil.dp.gaussian import least_factor
from veil.dp.symbolic import Symbolic
from veil.dp.zcdp import divergence_of, epsilon_of_rho, order_of_budget, rho_of_epsilon, surcharge
from veil.errors import BudgetError, ParameterError


def least_by_search(rho: float, delta: float) -> float:
    """The least over many orders, in doubles."""
    orders = (1 + 10 ** (i / 400) for i in range(-1600, 2400))
    return min(rho * a - math.log(a * delta) / (a - 1) + math.log1p(-1 / a) for a in orders)


def test_the_conversion_is_that_of_canonne_kamath_and_steinke() -> None:
    assert round(float(epsilon_of_rho("1/64", "1e-9")), 4) == 1.0225
    simple = 1 / 64 + 2 * math.sqrt(math.log(1e9) / 64)
    assert round(simple, 4) == 1.1537


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 20), st.floats(1e-12, 0.4))
def test_it_is_the_least_of_all_orders_and_never_below(rho: float, delta: float) -> None:
    found = float(epsilon_of_rho(Fraction(rho), Fraction(delta)))
    searched = max(0.0, least_by_search(rho, delta))
    assert searched * (1 - 1e-3) - 1e-9 <= found <= searched * (1 + 1e-9) + 1e-12


@settings(max_examples=30, deadline=None)
@given(st.fractions(Fraction(1, 100), 5, max_denominator=100), st.sampled_from(["1e-9", "1e-6", "1e-2"]))
def test_it_is_never_below_what_gaussian_noise_really_costs(rho: Fraction, delta: str) -> None:
    epsilon = epsilon_of_rho(rho, delta)
    factor = least_factor(Symbolic(epsilon), Fraction(delta))
    assert 1 / (2 * factor**2) >= rho * (
        1 - Fraction(1, 10**9)
    )  # noise of rho is at least as much as it needs


def test_there_and_back() -> None:
    for epsilon, delta in ((1, "1e-6"), ("ln(3)", "1e-9"), (10, "1e-3")):
        rho = rho_of_epsilon(epsilon, delta)
        assert epsilon_of_rho(rho, delta) <= Fraction(float(Symbolic.read(epsilon))) * (
            1 + Fraction(1, 10**9)
        )
        assert float(epsilon_of_rho(rho, delta)) == pytest.approx(float(Symbolic.read(epsilon)), rel=1e-6)


def test_a_mixed_ledger_takes_the_better_of_both() -> None:
    """A hundred releases of 1/10 cost 10 by adding up, and (1/10)^2 / 2 each in zCDP."""
    accountant = Accountant(6, "1e-6", zcdp_delta="1e-6")
    for number in range(100):
        accountant.spend(f"question {number}", "1/10")
    concentrated = float(accountant.spent.epsilon)
    assert float(epsilon_of_rho("1/2", "1e-6")) <= concentrated < 6
    assert accountant.spent.delta == Fraction(1, 10**6)
    few = Accountant(6, "1e-6", zcdp_delta="1e-6")
    few.spend("one", 5)
    assert few.spent.epsilon == Symbolic.read(5)
    assert few.spent.delta == 0
    few.spend("another", 1)  # to the very end by adding up
    with refused(BudgetError, "rho = 0.01", "rho = 0 is"):
        few.spend("gaussian", rho="1/100")


def test_rho_is_spent_to_the_end_and_not_beyond() -> None:
    accountant = Accountant(1, "1e-6", zcdp_delta="1e-6")
    most = accountant.remaining_rho
    assert most == pytest.approx(float(rho_of_epsilon(1, "1e-6")))
    for _ in range(3):
        accountant.spend("third", rho=most / 3)
    assert accountant.spent.epsilon <= Symbolic.read(1)
    with pytest.raises(BudgetError):
        accountant.spend("crumb", rho=most / 10**6)
    with pytest.raises(BudgetError):
        accountant.spend("crumb", "1/1000000")


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_filter_keeps_one_order_whatever_is_asked_next(data) -> None:
    """What is accepted has, at the order fixed beforehand, a divergence that converts to the budget: or it adds up."""
    budget, chance = Fraction(2), Fraction(1, 10**5)
    accountant, accepted = Accountant(budget, chance, zcdp_delta=chance), []
    order = order_of_budget(Symbolic(budget), chance)
    for _ in range(data.draw(st.integers(1, 12))):
        price = data.draw(st.fractions(Fraction(1, 50), 1, max_denominator=50))
        kind = data.draw(st.sampled_from(["rho", "epsilon"]))
        price = price / 20 if kind == "rho" else price
        tried = [*accepted, (kind, price)]
        divergences = [
            order * each if name == "rho" else min(each, order * each**2 / 2) for name, each in tried
        ]
        adds_up = all(name == "epsilon" for name, _ in tried) and sum(each for _, each in tried) <= budget
        fits = adds_up or sum(divergences) + surcharge(order, chance) <= budget
        try:
            accountant.spend("x", **{kind: price})
            assert fits
            accepted = tried
        except BudgetError:
            assert not fits


def test_divergence_is_rounded_up() -> None:
    order = Fraction(10)
    assert divergence_of(Symbolic.read("1/10"), order) == Fraction(1, 20)
    assert divergence_of(Symbolic.read(1), order) == 1
    assert float(divergence_of(Symbolic.read("ln(2)/10"), order)) == pytest.approx(math.log(2) ** 2 / 20)
    assert divergence_of(Symbolic.read("ln(2)"), Fraction(2)) ** 2 > Fraction("0.48045301391820142") ** 2


def test_one_changed_is_four_times_rho_and_files_keep_it(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    made = Accountant.create(
        file, 4, "1e-6", fingerprint="ab" * 32, neighbours="one changed", zcdp_delta="1e-6"
    )
    entry = made.spend("x", rho="1/100", neighbours="one more or less")
    assert entry.rho == Fraction(1, 25)
    opened = Accountant.open(file, fingerprint="ab" * 32)
    assert opened.ledger == (entry,)
    assert opened.remaining_rho == made.remaining_rho > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Accountant(1, "1e-6").spend("x", rho="1/10"),
            "`rho` needs a budget that was started with `zcdp_delta`",
        ),
        (
            lambda: Accountant(1, "1e-6", zcdp_delta="1e-5"),
            "`zcdp_delta` is a part of delta, .* at most 1e-06",
        ),
        (lambda: Accountant(1, "1e-6", zcdp_delta="1e-6").spend("x", 1, rho=1), "or as `rho`, not both"),
        (lambda: Accountant(1).spend("x", rho=-1), "`rho` should be a rational number of at least 0, not -1"),
        (lambda: epsilon_of_rho(0, "1e-6"), "`rho` should be a rational number greater than 0, not 0"),
        (lambda: epsilon_of_rho(1, 1), "`delta` should be a number above 0 and below 1, not 1"),
    ],
)
def test_what_cannot_be_is_refused(call, message) -> None:
    with pytest.raises(ParameterError, match=message):
        call()
