"""Staircase, Laplace, step and Gaussian noise: their figures, their promise in exact fractions, and the grid they are on."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.base.exact import rational
from veil.base.randomness import Randomness
from veil.dp.compare_noise import compare_noise
from veil.dp.gaussian import Gaussian, keeps, least_factor
from veil.dp.noise import Laplace, Noise
from veil.dp.staircase import Staircase
from veil.dp.step_noise import StepNoise
from veil.dp.symbolic import Symbolic
from veil.errors import ParameterError

LN2 = "ln(2)"


# --- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "variance"), [(0.1, 199.9167), (0.5, 7.9170), (1, 1.918104)])
def test_staircase_of_least_variance(epsilon, variance) -> None:
    """Table 4.1 of the thesis, with more places."""
    noise = Staircase(1, epsilon)
    assert noise.variance == pytest.approx(
        variance, abs=0.6 * 10 ** -(len(str(variance)) - str(variance).index(".") - 1)
    )
    if epsilon == 1:
        assert noise.d == pytest.approx(0.416737, abs=5e-7)


@pytest.mark.parametrize(
    ("epsilon", "length", "laplace"),
    [(0.1, 59.9105, 59.9146), (0.5, 11.9784, 11.9829), (1, 5.98653, 5.99146)],
)
def test_staircase_of_shortest_interval(epsilon, length, laplace) -> None:
    """Table 4.2 of the thesis, with more places."""
    noise = Staircase(1, epsilon, best=0.95)
    assert noise.interval_length(0.95) == pytest.approx(length, abs=6e-5 if epsilon < 1 else 6e-6)
    assert Laplace(1, epsilon).interval_length(0.95) == pytest.approx(
        laplace, abs=6e-5 if epsilon < 1 else 6e-6
    )
    assert 2 * noise.half_width(0.95) == pytest.approx(length, abs=1e-4)  # as drawn, on the grid
    if epsilon == 1:
        assert noise.d == pytest.approx(0.99326, abs=5e-6)


@pytest.mark.parametrize("best", ["variance", "absolute error", 0.2, 0.95])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_the_interval_of_the_staircase_holds_as_much_of_the_density_as_it_says(epsilon, best) -> None:
    noise = Staircase(2, epsilon, best=best)
    q = math.exp(-epsilon)
    height = 1 / (2 * (noise.d + 2 * q / (1 - q)))

    def within(end: float) -> float:
        """Add up the density, step by step."""
        held, start, stop, density = 0.0, 0.0, noise.d, height
        while start < end:
            held += 2 * density * (min(end, stop) - start)
            start, stop, density = stop, stop + 2, density * q
        return held

    for confidence in (0.02, 0.3, 0.5, 0.8, 0.95, 0.999):
        assert within(noise.interval_length(confidence) / 2) == pytest.approx(confidence)


def test_other_members_of_the_family() -> None:
    like = Staircase(1, 1, best="like Laplace")
    assert (like.d, like.variance) == pytest.approx((0.418023, 1.918105), abs=6e-7)
    error = Staircase(1, 1, best="absolute error")
    assert (error.d, error.mean_absolute_error) == pytest.approx((0.377541, 0.959517), abs=6e-7)
    assert error.d == pytest.approx(1 / (1 + math.exp(0.5)))
    assert Laplace(1, 1).mean_absolute_error == 1


def test_whole_numbers() -> None:
    noise = Staircase(4, 1, whole=True)
    assert noise.core == 2
    assert noise.variance == pytest.approx(30.63501, abs=6e-6)
    assert Laplace(4, 1, whole=True).variance == pytest.approx(31.83385, abs=6e-6)
    one = Staircase(1, 1, whole=True)  # is the geometric mechanism
    assert one.variance == pytest.approx(Laplace(1, 1, whole=True).variance)


def test_step_noise_of_example_5() -> None:
    noise = StepNoise([1, 10], 1, core=[0.1, 1])
    assert noise.height == pytest.approx(0.0180406, abs=6e-8)
    assert noise.variances == pytest.approx([4.03380, 403.380], rel=2e-6)
    assert [noise.region(each) for each in (0.99, 0.95, 0.9)] == pytest.approx(
        [1789.47, 916.89, 611.02], abs=6e-3
    )
    laplace = [compare_noise([1, 10], 1, confidence=each)[0].region for each in (0.99, 0.95, 0.9)]
    assert laplace == pytest.approx([10664.4, 5446.0, 3661.4], abs=0.06)


def test_step_noise_of_least_variance_in_a_square_and_as_epsilon_vanishes() -> None:
    noise = StepNoise([1, 1], 1)
    assert noise.core[0] == pytest.approx(0.697533, abs=6e-7)
    assert noise.variances == pytest.approx([3.970828, 3.970828], abs=6e-7)
    assert Laplace(2, 1).variance == 8
    for numbers in (1, 2, 5):
        variance = StepNoise([3] * numbers, "1e-4").variances[0]
        assert variance * 1e-8 == pytest.approx((numbers + 1) * (numbers + 2) * 9 / 3, rel=1e-6)


def test_gaussian_noise_is_the_least_that_balle_and_wang_allow() -> None:
    assert Gaussian(1, 1, "1e-6").sigma == pytest.approx(4.2247, abs=6e-5)
    for epsilon, delta in ((1, "1e-6"), ("ln(2)", "1/5"), (10, "1e-9"), ("1/100", "1e-3")):
        budget, chance = Symbolic.read(epsilon), Fraction(delta)
        factor = least_factor(budget, chance)
        assert keeps(factor, budget, chance)
        assert not keeps(factor * (1 - Fraction(1, 10**9)), budget, chance)


def test_figures_are_compared_before_anything_is_spent() -> None:
    found = {each.noise: each for each in compare_noise(1, 1, "1e-6")}
    assert min(found.values(), key=lambda each: each.variance).noise == "staircase, best variance"
    assert min(found.values(), key=lambda each: each.interval).noise == "staircase, best interval"
    assert found["gaussian"].variance[0] == pytest.approx(4.2247**2, rel=1e-4)
    assert [each.noise for each in compare_noise([1, 2], 1, "1e-6")] == ["laplace", "step", "gaussian"]
    assert all(fact in str(found["laplace"]) for fact in ("variance 2", "error 1"))


# --- the promise, in fractions --------------------------------------------------------------------


def chance(noise: Noise, steps: int) -> Fraction:
    """The probability of so many steps, from tails; exact but for 200 bits."""

    def tail(at: int) -> Fraction:
        return rational(noise.tail(at).mid())

    with ctx.workprec(300):
        both = tail(abs(steps)) - tail(abs(steps) + 1)
    return both / 2 if steps else both


def staircase_by_definition(steps: int, core: int, q: Fraction, at: int) -> Fraction:
    height = 1 / (2 * core - 1 + 2 * steps * q / (1 - q))
    return height if abs(at) < core else height * q ** ((abs(at) - core) // steps + 1)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.data())
def test_the_tail_of_the_staircase_is_that_of_its_definition(steps, data) -> None:
    core = data.draw(st.integers(1, steps))
    noise = Staircase(steps, LN2, d=core, whole=True)
    for at in range(-20, 21):
        expected = staircase_by_definition(steps, core, Fraction(1, 2), at)
        assert abs(chance(noise, at) - expected) < Fraction(1, 2**250)
    brute = [staircase_by_definition(steps, core, Fraction(1, 2), at) for at in range(-300, 301)]
    variance = float(sum(p * at * at for p, at in zip(brute, range(-300, 301), strict=True)))
    error = float(sum(p * abs(at) for p, at in zip(brute, range(-300, 301), strict=True)))
    assert noise.variance == pytest.approx(variance)
    assert noise.mean_absolute_error == pytest.approx(error)
    inside = sum(p for p, at in zip(brute, range(-300, 301), strict=True) if abs(at) <= noise.half_width(0.9))
    assert inside >= Fraction(9, 10) > inside - 2 * brute[300 + int(noise.half_width(0.9))]


@pytest.mark.parametrize(
    ("best", "figure"),
    [
        ("variance", lambda noise: noise.variance),
        ("absolute error", lambda noise: noise.mean_absolute_error),
        (0.9, lambda noise: noise.half_width(0.9)),
    ],
)
def test_no_other_core_is_better(best, figure) -> None:
    for steps, epsilon in itertools.product((2, 5, 9), (0.3, 1, 3)):
        chosen = figure(Staircase(steps, epsilon, best=best, whole=True))
        assert chosen == min(figure(Staircase(steps, epsilon, d=d, whole=True)) for d in range(1, steps + 1))


@pytest.mark.parametrize(
    "noise", [Laplace(1, 1, grid=2), Staircase(1, 1, grid=2), Gaussian(1, 1, "1e-6", grid=2)]
)
def test_half_a_step_of_rounding_is_within_the_half_width(noise) -> None:
    """The noise is so many quarters at most, with 95 %, and the value that it is added to was rounded to a quarter."""
    steps = next(steps for steps in itertools.count() if float(noise.tail(steps + 1)) <= 0.05)
    assert noise.half_width(0.95) == (steps + 0.5) / 4


WHOLE = [
    Laplace(3, LN2, whole=True),
    Staircase(3, LN2, whole=True),
    Staircase(3, LN2, best=0.95, whole=True),
    Laplace("3/8", LN2, grid=3),
    Staircase("3/8", LN2, grid=3),
]


@pytest.mark.parametrize(
    "noise", WHOLE, ids=["Laplace", "staircase", "interval", "Laplace, grid", "staircase, grid"]
)
def test_shifts_up_to_the_sensitivity_change_no_probability_by_more_than_the_factor(noise) -> None:
    """Exactly: the largest ratio is 2, and a shift by one step more exceeds it."""
    chances = {at: chance(noise, at) for at in range(-60, 61)}

    def largest(shift: int) -> Fraction:
        return max(chances[at] / chances[at + shift] for at in range(-50, 50 - shift))

    slack = Fraction(1, 2**200)
    assert 2 - slack < max(largest(shift) for shift in range(1, noise.steps + 1)) < 2 + slack
    assert largest(noise.steps + 1) > 2 + slack or noise.steps == 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_step_noise_falls_by_the_factor_from_box_to_box(sensitivities, data) -> None:
    """Twin: P(x) is proportional to q to the number of the first box that holds x, and shifts change it by at most 1/q."""
    core = [data.draw(st.integers(1, s)) for s in sensitivities]
    noise = StepNoise(sensitivities, LN2, core, whole=True)
    q = Fraction(1, 2)

    def box_of(point: tuple[int, ...]) -> int:
        return max(
            max(0, -((z - 1 - abs(x)) // s)) for x, z, s in zip(point, core, sensitivities, strict=True)
        )

    with ctx.workprec(300):
        tails = [rational(noise._tail(box).mid()) for box in range(60)]
    sizes = [
        math.prod(2 * (z + box * s) - 1 for z, s in zip(core, sensitivities, strict=True))
        for box in range(60)
    ]
    of_point = [
        sum(((tails[b] - tails[b + 1]) / sizes[b] for b in range(first, 59)), Fraction(0))
        for first in range(12)
    ]
    for one, other in itertools.pairwise(of_point):
        assert abs(other / one - q) < Fraction(1, 2**30)
    for point in itertools.product(*(range(4) for _ in core)):
        for shift in itertools.product(*(range(-s, s + 1) for s in sensitivities)):
            moved = tuple(x + by for x, by in zip(point, shift, strict=True))
            assert abs(box_of(moved) - box_of(point)) <= 1


def test_gaussian_noise_on_whole_numbers_is_the_rounded_one() -> None:
    noise = Gaussian(2, 1, "1e-3", whole=True)
    for at in range(5):
        low, high = (abs(at) - 0.5) / noise.sigma, (abs(at) + 0.5) / noise.sigma
        expected = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
        assert float(chance(noise, at)) == pytest.approx(expected)
    shifted = [(chance(noise, at), chance(noise, at + 2)) for at in range(-80, 80)]
    excess = math.fsum(max(0.0, float(p) - math.e * float(r)) for p, r in shifted)
    assert excess <= 1e-3


# --- the grid -------------------------------------------------------------------------------------

KINDS = [Laplace(1, 1), Staircase(1, 1), Gaussian(1, 1, "1e-6")]


@pytest.mark.parametrize("noise", KINDS, ids=lambda noise: noise.name)
def test_possible_results_are_the_same_for_neighbours_and_multiples_of_the_step(noise) -> None:
    """Whatever the values are, every multiple of the step is possible for both, and nothing else is."""
    for one, other in ((0.1, 0.3), (1 / 3, -2 / 3), (1e6, 1e6 + 1)):
        results = [{noise.grid.nearest(value) + by for by in range(-3, 4)} for value in (one, other)]
        for value, result in itertools.product((one, other), results[0] | results[1]):
            with ctx.workprec(200):
                far = abs(result - noise.grid.nearest(value))
                assert noise.tail(far) > noise.tail(far + 1) > 0
    for value in (0.1, 1 / 3, 12345.678):
        result = Fraction(noise.add(value))
        assert (result / noise.grid.step).denominator == 1


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.integers(-2, 12))
def test_rounding_adds_at_most_one_step_to_the_sensitivity(value, by, exponent) -> None:
    noise = Laplace(1, 1, grid=exponent)
    apart = abs(Fraction(value + by) - Fraction(value))
    if apart <= 1:
        assert abs(noise.grid.nearest(value + by) - noise.grid.nearest(value)) <= noise.steps
    assert noise.steps == math.floor(Fraction(2) ** exponent) + 1


@pytest.mark.parametrize("noise", [*KINDS, StepNoise([1, 10], 1)], ids=lambda noise: noise.name)
def test_draws_have_the_moments_and_intervals_that_are_told(noise) -> None:
    """2000 draws: within five standard errors."""
    source = Randomness.for_testing(11)
    if isinstance(noise, StepNoise):
        drawn = np.array([noise.add([0, 0], source)[1] for _ in range(2000)])
        variance, half = noise.variances[1], noise.half_width(1, 0.9)
    else:
        drawn = np.array([noise.add(0, source) for _ in range(2000)])
        variance, half = noise.variance, noise.half_width(0.9)
    assert abs(drawn.mean()) < 5 * math.sqrt(variance / 2000)
    assert abs((drawn**2).mean() - variance) < 5 * np.std(drawn**2) / math.sqrt(2000)
    assert abs((abs(drawn) <= half).mean() - 0.9) < 5 * math.sqrt(0.09 / 2000)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Staircase(1, 0), "`epsilon` should be greater than 0, not 0"),
        (lambda: Staircase(1, -1), "`epsilon` should be greater than 0, not -1"),
        (lambda: Staircase(1, math.inf), "`epsilon` should be a number such as"),
        (lambda: Staircase(math.inf, 1), "`sensitivity` should be a number such as .* not inf"),
        (lambda: Staircase(None, 1), "`sensitivity` is missing"),
        (lambda: Staircase(math.nan, 1), "`sensitivity` should be a number such as .* not nan"),
        (lambda: Staircase(1, 1, best="speed"), "`best` should be \"variance\", .* not 'speed'"),
        (lambda: Staircase(1, 1, d=2), "`d` should be from 0 to the sensitivity, 1, not 2"),
        (
            lambda: Staircase(1.5, 1, whole=True),
            "`sensitivity` of whole numbers should be a whole number, not 1.5",
        ),
        (lambda: Staircase(1, 1, whole=True, grid=3), "`grid` is for real numbers"),
        (lambda: Staircase(1, 1, grid=0.5), "`grid` should be a whole number g .* not 0.5"),  # type: ignore[arg-type]
        (lambda: Staircase(1, 1).add(math.nan), "`value` should be a finite number, not nan"),
        (lambda: Staircase(1, 1, whole=True).add(1.5), "`value` should be a whole number, not 1.5"),
        (lambda: Staircase(1, 1).add(1, 5), "anyone who knows a seed can remove the noise"),  # type: ignore[arg-type]
        (lambda: Staircase(1, 1, best=1.0), "`best` should be .* not 1.0"),
        (lambda: Staircase(1, 1, best=1.5), "`best` should be .* not 1.5"),
        (lambda: Laplace(1, 1).half_width(0), "`confidence` should be between 0 and 1, not 0"),
        (lambda: Staircase(1, 1).half_width(1), "`confidence` should be between 0 and 1, not 1"),
        (lambda: StepNoise([], 1), "`sensitivities` is empty"),
        (lambda: StepNoise([1, None], 1), "`sensitivities` is missing"),  # type: ignore[list-item]
        (lambda: StepNoise([1, 1], 1, [1]), "`core` should have 2 half-widths"),
        (lambda: StepNoise([1], 1, [2]), "`core` should be above 0 and at most the sensitivity, 1, not 2"),
        (lambda: StepNoise([1, 1], 1).add([1]), "`values` should be 2 numbers"),
        (lambda: Gaussian(1, 1), "`delta` is missing"),
        (lambda: Gaussian(1, 1, rho=1), "`rho` replaces `epsilon` and `delta`"),
        (lambda: compare_noise([], 1), "`sensitivity` is empty"),
    ],
)
def test_parameters_are_checked(call, message) -> None:
    with pytest.raises(ParameterError, match=message):
        call()
