"""Sampling probability and smallest class against the papers and against the definition, written out."""

from __future__ import annotations

import itertools
import math
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import comb

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.dp.parameters import delta_of, parameters, plot_smoothness, smoothness
from veil.dp.symbolic import Symbolic
from veil.errors import MissingDependencyError, ParameterError

DELTAS = [f"1e-{m}" for m in range(1, 10)]


# --- the slow twins -------------------------------------------------------------------------------


def definition(beta: Fraction, shrink: Fraction, delta: Fraction) -> int:
    """The least k with a_n <= delta for all n >= n_m(k), in fractions only, for a rational e^-epsilon.

    All a_n are looked at up to the n from which the Chernoff bound, raised to the denominator of gamma so
    that it is rational, says that there is nothing to see.
    """
    gamma = 1 - (1 - beta) * shrink
    p, q = gamma.numerator, gamma.denominator
    bound = (beta / gamma) ** p * ((1 - beta) / (1 - gamma)) ** (q - p)
    last_failure, n = 0, 1
    while bound**n > delta**q:
        if a(n, beta, gamma) > delta:
            last_failure = n
        n += 1
    k = 1
    while math.ceil(k / gamma - 1) <= last_failure:
        k += 1
    return k


def a(n: int, beta: Fraction, gamma: Fraction) -> Fraction:
    return sum(
        (comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(math.floor(gamma * n) + 1, n + 1)),
        Fraction(0),
    )


def share_gamma_and_rate(beta: Fraction, epsilon: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    share = Decimal(beta.numerator) / Decimal(beta.denominator)
    gamma = (epsilon.exp() - 1 + share) / epsilon.exp()
    return share, gamma, gamma * (gamma / share).ln() - (gamma - share)


def loose_bound(k: int, beta: Fraction, epsilon: Decimal) -> Decimal:
    """c_n for n = n_m: the paper's upper bound on d(k, beta, epsilon) in one formula."""
    with localcontext(prec=60):
        _, gamma, rate = share_gamma_and_rate(beta, epsilon)
        return (-math.ceil(k / gamma - 1) * rate).exp()


def theorem_4(k: int, beta: Fraction, epsilon: Decimal) -> Decimal:
    """d(k, beta, epsilon) as the paper calculates it, with 60 digits: all a_n from n_m to c_n <= a_(n_m)."""
    with localcontext(prec=60):
        share, gamma, rate = share_gamma_and_rate(beta, epsilon)
        n = n_m = math.ceil(k / gamma - 1)
        sums: list[Decimal] = []
        while n == n_m or (-n * rate).exp() > sums[0]:
            first = math.floor(gamma * n) + 1
            term, total = comb(n, first) * share**first * (1 - share) ** (n - first), Decimal(0)
            for j in range(first, n + 1):
                total += term
                term *= share / (1 - share) * (n - j) / (j + 1)
            sums.append(total)
            n += 1
        return max(sums)


# --- what the papers say --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (1, [9, 21, 34, 47, 61, 74, 91, 104, 118]),
        ("ln(2)", [6, 17, 29, 41, 53, 66, 80, 92, 104]),
        (0.6931471805599453, [7, 19, 31, 43, 55, 67, 80, 94, 106]),
        (Fraction(math.log(2)), [7, 19, 31, 43, 55, 67, 80, 94, 106]),
    ],
)
def test_minimal_k(epsilon, expected):
    assert [parameters(epsilon, delta).k for delta in DELTAS] == expected


def test_no_k_is_above_those_of_bild_kuhn_prasser_2018_and_2020():
    """Section 8 (k of the data sets) and Table 2 of the later paper: the least k lies one or two below."""
    for delta, k in (("1e-5", 62), ("1e-6", 75), ("1e-7", 92)):
        assert k - 2 <= parameters(1, delta).k < k
    for epsilon, known in (
        ("ln(2)", [7, 18, 30, 42, 54, 67, 81, 93, 105]),
        (math.log(2), [8, 20, 32, 44, 56, 68, 81, 95, 107]),
    ):
        assert [parameters(epsilon, delta).k + 1 for delta in DELTAS] == known


def test_chances_of_bild_kuhn_prasser_2018():
    """Sections 4 and 7.3, Table 1."""
    beta = parameters(1, 1e-6).beta
    assert f"{delta_of(74, beta, 1):.4e}" == "8.9948e-07"
    assert f"{float(loose_bound(75, beta, Decimal(1))):.4e}" == "3.7042e-02"
    violations = [delta_of(k, beta, 2) for k in (62, 75, 92)]
    assert [f"{each:.3e}" for each in violations] == ["1.054e-09", "1.530e-11", "4.401e-14"]
    assert [f"{each:.0e}" for each in violations] == ["1e-09", "2e-11", "4e-14"]


@pytest.mark.parametrize(("rate", "k"), [(0.01, 4), (0.1, 9), (0.3, 22), (0.7, 74), (1, 74)])
def test_a_table_that_is_a_sample_already_needs_smaller_classes(rate, k):
    chosen = parameters(1, 1e-6, acquired=rate)
    assert chosen.k == k
    assert chosen.drawn * chosen.acquired == chosen.beta
    assert (chosen.drawn == 1) == (rate <= 0.3)
    assert delta_of(k, chosen.beta, 1) <= 1e-6 < delta_of(k - 1, chosen.beta, 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(1, 20), st.sampled_from(["1e-1", "1e-2", "1e-3", "1e-5"]))
def test_minimal_k_of_a_sample_is_that_of_the_definition(times, share, delta):
    """ε = ln(times), a rate from 1/40 to 1/2: the slow twin looks at all a_n."""
    rate = Fraction(share, 40)
    chosen = parameters(f"ln({times})", delta, acquired=rate)
    assert chosen.beta == min(rate, 1 - Fraction(1, times))
    assert chosen.k == definition(chosen.beta, Fraction(1, times), Fraction(delta))


def test_two_samples_are_one():
    """Drawing from a sample is drawing with the product of the rates, one record at a time; exact."""
    chosen = parameters("ln(2)", "0.1", acquired="5/8")
    for j, n in itertools.combinations_with_replacement(range(6), 2):
        twice = sum(binomial(n, m, chosen.acquired) * binomial(m, j, chosen.drawn) for m in range(j, n + 1))
        assert twice == binomial(n, j, chosen.beta)


def binomial(n: int, j: int, rate: Fraction) -> Fraction:
    return comb(n, j) * rate**j * (1 - rate) ** (n - j)


def test_budgets_of_two_releases_of_one_sample_do_not_add_up():
    """One person, alone in a fine class and among 101 in a coarse one. Both releases together tell who is there.

    That the coarse class shows one more than the fine ones never happens without the person.
    """
    chosen, others = parameters(1, "0.001", acquired="0.1"), 100
    shown = sum(binomial(others, j, chosen.beta) for j in range(chosen.k, others + 1))
    assert chosen.drawn == 1
    assert shown * chosen.beta > Fraction(9, 100) > 2 * chosen.delta


def test_the_sampling_probability_is_the_largest_allowed():
    assert parameters("ln(2)", 0.01).beta == Fraction(1, 2)
    assert parameters("2*ln(3)/2", 0.01).beta == Fraction(2, 3)
    for epsilon in (0.01, 1, "ln(3)/2", 5, 1e-12):
        beta = parameters(epsilon, 0.01).beta
        assert math.isclose(beta, -math.expm1(-float(Symbolic.read(epsilon))), rel_tol=1e-15)
        delta_of(5, beta, epsilon)  # not above the largest allowed
        above = beta * (1 + Fraction(1, 2**62))
        with refused(ParameterError, "`epsilon`", "at least"):
            delta_of(5, above, epsilon)


def test_every_budget_of_the_papers_and_beyond_takes_a_moment(monkeypatch):
    """A thousand steps or so (sizes that are decided, terms that are summed), where k is up to seven million."""
    module = sys.modules[parameters.__module__]
    steps = 0

    def counted(*bounds):
        nonlocal steps
        for each in range(*bounds):
            steps += 1
            yield each

    monkeypatch.setattr(module, "range", counted, raising=False)
    module._calculate.cache_clear()
    for epsilon in ("0.01", "0.1", "0.5", "ln(2)", "0.75", "1", "ln(3)", "1.25", "1.5", "2", "1e-9", "12"):
        for m in range(1, 21):
            steps = 0
            parameters(epsilon, f"1e-{m}")
            assert 0 < steps < 1500


# --- against the definition -----------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([Fraction(1, 2), Fraction(2, 3), Fraction(1, 3), Fraction(3, 4), Fraction(4, 7)]),
    st.fractions(Fraction(1, 500), Fraction(9, 10), max_denominator=1000),
)
@example(Fraction(1, 2), Fraction(1, 2))
def test_minimal_k_is_that_of_the_definition_in_fractions(shrink, delta):
    found = parameters(f"-ln({shrink})", delta)
    assert found.beta == 1 - shrink
    assert found.k == definition(found.beta, shrink, delta)


@settings(max_examples=40, deadline=None)
@given(st.decimals("0.1", "2.5", places=3), st.integers(1, 400), st.integers(0, 5))
def test_minimal_k_keeps_the_bound_and_one_less_does_not(epsilon, digits, m):
    delta = Decimal(digits) / 401 * Decimal(10) ** -m
    found = parameters(epsilon, delta)
    worst = theorem_4(found.k, found.beta, epsilon)
    assert worst <= delta
    assert math.isclose(worst, found.reached, rel_tol=1e-12)
    assert Decimal(str(found.reached)) >= worst
    if found.k > 1:
        assert theorem_4(found.k - 1, found.beta, epsilon) > delta


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.decimals("0.05", "2", places=2), st.decimals("0", "2", places=2))
def test_chances_are_those_of_theorem_4_for_any_k_and_larger_epsilon(k, epsilon, more):
    beta = parameters(epsilon, 0.5).beta
    found, exact = delta_of(k, beta, epsilon + more), theorem_4(k, beta, epsilon + more)
    assert 0 <= Decimal(str(found)) - exact <= exact * Decimal("1e-12")
    assert delta_of(k, beta, epsilon) >= found
    assert loose_bound(k, beta, epsilon + more) * (1 + Decimal("1e-12")) >= Decimal(str(found))


def test_equality_is_enough_and_is_recognized():
    # beta = 1/2 and gamma = 3/4: for t = 2 the largest class has 2 records, both drawn with a chance of 1/4.
    assert delta_of(2, Fraction(1, 2), "ln(2)") == pytest.approx(0.25, rel=1e-15)
    assert parameters("ln(2)", "1/4").k == 2
    assert parameters("ln(2)", Fraction(1, 4) - Fraction(1, 10**40)).k > 2


def test_what_stays_open_is_decided_strictly(monkeypatch):
    def at_least_five(n: int) -> float:
        return sum(comb(n, j) * 3 ** (n - j) for j in range(5, n + 1)) / 4**n

    calculate, quarter = parameters.__globals__["_calculate"], Fraction(1, 4)
    assert parameters("ln(2)", "1/4").k == 2
    # gamma = 5/8: with 5 of 8 drawn nothing is exceeded yet.
    assert delta_of(5, quarter, "ln(2)") == pytest.approx(at_least_five(7), rel=1e-15)
    monkeypatch.setattr("veil.base.exact.PRECISIONS", (64, 128))  # too coarse for equality to be asked for
    monkeypatch.setattr("veil.dp.parameters._calculate", calculate.__wrapped__)  # without what it remembers
    assert parameters("ln(2)", "1/4").k == 3
    monkeypatch.setattr(Symbolic, "exponential", lambda self: None)
    assert delta_of(5, quarter, "ln(2)") == pytest.approx(at_least_five(8), rel=1e-15)


# --- the curve ------------------------------------------------------------------------------------


def test_the_curve_falls_as_theorem_11_says():
    chosen = parameters(1, 1e-6)
    curve = smoothness(chosen.k, chosen.beta, [1 + Fraction(i, 20) for i in range(41)])
    assert curve[0] == chosen.reached <= 1e-6
    assert all(later <= earlier for earlier, later in pairwise(curve))
    assert curve[-1] < 1e-13


def test_the_picture_shows_the_curves():
    pytest.importorskip("matplotlib")
    chosen = [parameters(1, delta) for delta in ("1e-4", "1e-6")]
    figure = plot_smoothness(chosen, until=2)
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    assert [line.get_label() for line in axes.lines] == [
        "ε = 1, δ = 0.0001, k = 47",
        "ε = 1, δ = 1e-06, k = 74",
    ]
    last = axes.lines[1].get_xydata()[-1]
    assert list(last) == [2, delta_of(74, chosen[1].beta, 2)]
    assert len(plot_smoothness(chosen[0]).axes[0].lines) == 1
    with refused(ParameterError, "`until`", "epsilon = 1", "not 0.5"):
        plot_smoothness(chosen, until=0.5)


def test_without_matplotlib_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"veil-anonymizer\[plot\]"):
        plot_smoothness(parameters(1, 0.1))


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0, -1, "ln(1)", "ln(1/2)", "1 - ln(3)"])
def test_epsilon_must_be_positive(epsilon):
    with refused(ParameterError, "`epsilon`", "greater than 0"):
        parameters(epsilon, 0.1)


@pytest.mark.parametrize("delta", [0, -0.1, 1, 1.5, "ln(2)"])
def test_delta_must_be_a_chance(delta):
    with refused(ParameterError, "`delta`", "above 0", "below 1"):
        parameters(1, delta)


@pytest.mark.parametrize("value", [math.inf, math.nan, "abc", None, True, [1]])
def test_what_is_no_number_is_refused(value):
    with refused(ParameterError, "`epsilon`", "a number"):
        parameters(value, 0.1)
    with refused(ParameterError, "`delta`", "a number"):
        parameters(1, value)


def test_other_parameters_are_named():
    with refused(ParameterError, "`k`", "1 or more", "not 0"):
        delta_of(0, "1/2", 1)
    with refused(ParameterError, "`beta`", "below 1", "not 1"):
        delta_of(1, 1, 1)
