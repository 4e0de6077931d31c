"""Knowledge refinement: the figures of the thesis, the promise in exact distributions, and what was printed wrongly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.base.randomness import Randomness
from veil.dp.priors import Prior
from veil.dp.refinement import Refinement
from veil.errors import ParameterError

LN2 = "ln(2)"


Chances = Mapping[Hashable, float]


def variance(chances: Chances, center: float = 0.5) -> float:
    return math.fsum((float(x) - center) ** 2 * p for x, p in chances.items())  # type: ignore[arg-type]


def excess(one: Chances, other: Chances, epsilon: float) -> float:
    """The least delta for which no event is likelier by more than e^epsilon and delta."""
    return math.fsum(max(0.0, p - math.exp(epsilon) * other[x]) for x, p in one.items())


def prior_chances(prior: Prior) -> Chances:
    return {x: w / prior.total for x, w in zip(prior.points, prior.weights, strict=True)}


def test_a_rare_condition() -> None:
    question = Refinement(Prior.table({1: "0.01", 0: "0.99"}), 1, about="individual")
    assert question.probabilities(0)[1] == pytest.approx(0.0036788, abs=6e-8)
    assert question.probabilities(1)[1] == pytest.approx(0.0271828, abs=6e-8)


def test_a_fair_coin() -> None:
    """Example 8: the wrong answer."""
    question = Refinement(Prior.table({1: "1/2", 0: "1/2"}), 1, about="individual")
    assert question.probabilities(0)[1] == pytest.approx(0.1839397, abs=6e-8)


@pytest.mark.parametrize(
    ("epsilon", "spread", "mass"),
    [(0.1, 0.077193, 0.524979), (LN2, 0.046296, 0.666667), (1, 0.034467, 0.731059), (2, 0.012302, 0.880797)],
)
def test_table_5_5(epsilon, spread, mass) -> None:
    question = Refinement(Prior.uniform(0, 1), epsilon, about="individual")
    chances = question.probabilities(0.5)
    assert math.fsum(chances.values()) == pytest.approx(1)
    assert variance(chances) == pytest.approx(spread, abs=6e-7)
    border = float(question._shape().border)  # the share of the prior that is made likelier
    inside = math.fsum(p for x, p in chances.items() if abs(float(x) - 0.5) < border / 2)  # type: ignore[arg-type]
    assert inside == pytest.approx(mass, abs=2e-3)  # but for the cells at its ends
    assert border * math.exp(math.log(2) if epsilon == LN2 else epsilon) == pytest.approx(mass, abs=6e-7)


def test_the_sound_form_with_a_delta() -> None:
    question = Refinement(Prior.uniform(0, 1), LN2, delta="1/5", about="individual")
    assert float(question._shape().border) == pytest.approx(0.266667, abs=6e-7)
    assert variance(question.probabilities(0.5)) == pytest.approx(0.023704, abs=6e-7)


def test_factors_are_not_swapped() -> None:
    """Statistical, u = 4/3 and d = 2/3: half of the prior is made likelier, and has 2/3 then."""
    question = Refinement(Prior.uniform(0, 1), LN2, about="statistical", up="4/3")
    chances = question.probabilities(0.5)
    assert math.fsum(p for x, p in chances.items() if abs(float(x) - 0.5) < 0.25) == pytest.approx(2 / 3)  # type: ignore[arg-type]


def test_published_mass_moves_cost_more_than_they_say_and_sound_ones_do_not() -> None:
    """Uniform prior, epsilon = ln 2, delta = .2: the true delta of the sketch is .4 and .3."""
    prior = Prior.uniform(0, 1, cells=60)
    before = prior_chances(prior)
    rate = math.log(2)
    for as_published, delta in ((True, 0.4), (False, 0.2)):
        question = Refinement(prior, LN2, delta="1/5", about="individual", as_published=as_published)
        after = question.probabilities(0.5)
        found = max(excess(after, before, rate), excess(before, after, rate))
        assert found == pytest.approx(delta, abs=1e-12)
    for as_published, delta in ((True, 0.3), (False, 0.2)):
        question = Refinement(
            prior, LN2, delta="1/5", about="statistical", up="4/3", as_published=as_published
        )
        one, other = question.probabilities(1 / 6), question.probabilities(5 / 6)
        found = max(excess(one, other, rate), excess(other, one, rate))
        assert found == pytest.approx(delta, abs=1e-12)


def test_disjoint_people_cost_the_dearest_only_under_one_more_or_less() -> None:
    """Two questions about two people, epsilon = 1 each: if one record is changed, one may leave and the other enter."""
    question = Refinement(Prior.table({1: "1/2", 0: "1/2"}), 1, about="individual")

    def largest(*pairs: tuple[object, object]) -> float:
        ratios = [
            [math.log(question.probabilities(a)[x] / question.probabilities(b)[x]) for x in (0, 1)]
            for a, b in pairs
        ]
        return sum(max(each) for each in ratios)

    assert largest((1, None)) <= 1 + 1e-12  # the other person is in both tables, or in none
    moved = largest((1, None), (None, 1))
    assert 1 + 1e-3 < moved <= 2 + 1e-12


weights = st.lists(st.integers(0, 6), min_size=2, max_size=7).filter(lambda each: sum(each) > 0)


@st.composite
def questions(draw):
    given_weights = draw(weights)
    total = sum(given_weights)
    chances = {place: Fraction(each, total) for place, each in enumerate(given_weights)}
    prior = Prior.table(chances, draw(st.sampled_from(["absolute", "nominal", "ordinal"])))
    about = draw(st.sampled_from(["individual", "statistical"]))
    epsilon = draw(st.sampled_from([LN2, "1/10", "1", "ln(3)", "3"]))
    delta = draw(st.sampled_from(["0", "1/5", "1/100", "4/5"]))
    up = draw(st.sampled_from([None, "1", "21/20"])) if about == "statistical" else None
    return Refinement(prior, epsilon, delta=delta, about=about, up=up)


@settings(max_examples=150, deadline=None)
@given(questions())
def test_no_event_is_likelier_than_promised(question) -> None:
    """Every truth, also one that is no possible answer, and nobody; in exact distributions."""
    rate, delta = float(question.epsilon), float(question.delta)
    after = [question.probabilities(truth) for truth in [*question.prior.points, 100, None]]
    before = {x: p for x, p in prior_chances(question.prior).items() if p}
    for each in after:
        assert math.fsum(each.values()) == pytest.approx(1)
        assert min(each.values()) >= -1e-15
        assert set(each) == set(before)  # what is impossible is never an answer
    if question.about == "individual":
        pairs = [(each, before) for each in after]
    else:
        pairs = list(itertools.combinations(after, 2))
    for one, other in pairs:
        assert max(excess(one, other, rate), excess(other, one, rate)) <= delta + 1e-12
    dearer = question.cost("one changed")
    rate, delta = float(dearer.epsilon), float(dearer.delta)
    for one, other in itertools.combinations(after, 2):
        assert max(excess(one, other, rate), excess(other, one, rate)) <= delta + 1e-12


@settings(max_examples=150, deadline=None)
@given(questions())
def test_an_answer_is_never_farther_from_the_truth_than_the_prior(question) -> None:
    prior = question.prior
    for truth in prior.points:
        distances = dict(zip(prior.points, prior._distances(truth), strict=True))
        after = math.fsum(p * float(distances[x]) for x, p in question.probabilities(truth).items())
        before = math.fsum(p * float(distances[x]) for x, p in prior_chances(prior).items())
        assert after <= before + 1e-12


def slow_twin(prior: Prior, truth: object, up: Fraction, down: Fraction) -> dict[Hashable, Fraction]:
    """Algorithm 5.1 as it is written, with its misprints mended: largest balls, and a factor for the ring in between."""
    distances = prior._distances(truth)
    chances = {x: Fraction(w, prior.total) for x, w in zip(prior.points, prior.weights, strict=True)}
    near = (1 - down) / (up - down)
    radii = sorted(set(distances))

    def ball_of(radius: object) -> set[Hashable]:
        return {x for x, d in zip(prior.points, distances, strict=True) if d <= radius}  # type: ignore[operator]

    def mass(points: set[Hashable]) -> Fraction:
        return sum((chances[x] for x in points), Fraction(0))

    everything = set(prior.points)
    balls = [set(), *(ball_of(radius) for radius in radii)]
    inner = max((each for each in balls if mass(each) <= near), key=len)
    outer = max((everything - each for each in balls if mass(everything - each) <= 1 - near), key=len)
    middle = everything - inner - outer
    rest = mass(middle)
    between = (1 - up * mass(inner) - down * mass(outer)) / rest if rest else Fraction(1)
    return {x: p * (up if x in inner else down if x in outer else between) for x, p in chances.items() if p}


@settings(max_examples=100, deadline=None)
@given(weights, st.sampled_from(["absolute", "nominal", "ordinal"]), st.data())
def test_the_twin_agrees(drawn, distance, data) -> None:
    prior = Prior.table({x: Fraction(w, sum(drawn)) for x, w in enumerate(drawn)}, distance)
    truth = data.draw(st.sampled_from(prior.points))
    individual = Refinement(prior, LN2, about="individual").probabilities(truth)
    expected = slow_twin(prior, truth, Fraction(2), Fraction(1, 2))
    assert individual == pytest.approx({x: float(p) for x, p in expected.items()})
    statistical = Refinement(prior, LN2, about="statistical", up="3/2").probabilities(truth)
    expected = slow_twin(prior, truth, Fraction(3, 2), Fraction(3, 4))
    assert statistical == pytest.approx({x: float(p) for x, p in expected.items()})


def test_answers_have_their_probabilities() -> None:
    source = Randomness.for_testing(4)
    question = Refinement(
        Prior.table(dict.fromkeys(range(5), "1/5"), "absolute"), 1, about="individual", delta="1/10"
    )
    expected = question.probabilities(3)
    drawn = [question.answer(3, source) for _ in range(4000)]
    for x, p in expected.items():
        assert abs(drawn.count(x) - 4000 * p) <= 5 * math.sqrt(4000 * p * (1 - p)) + 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Prior.table({"a": 0.5, "b": 0.4}),
            "the probabilities of the prior should add up to 1, not 9/10",
        ),
        (lambda: Prior.table({"a": 1.5, "b": -0.5}), "the prior of 'b' should be at least 0, not -0.5"),
        (lambda: Prior.table({"a": math.nan}), "the prior of 'a' should be a probability, not nan"),
        (lambda: Prior.table({"a": 1}, "near"), "`distance` should be .* not 'near'"),  # type: ignore[arg-type]
        (lambda: Prior.table({"a": 1}, "absolute"), "`prior` should be a finite number, not 'a'"),
        (lambda: Prior.uniform(0, math.inf), "needs a bounded range with two ends, not 0, inf"),
        (lambda: Prior.uniform(1, 0), "should be ascending, not from 1 to 0"),
        (lambda: Prior.uniform([]), "the prior has no answers"),
        (lambda: Prior.cut(NormalDist(), -math.inf, math.inf), "needs a bounded range"),
        (lambda: Prior.cut(NormalDist(), 1000, 1001), "the prior has no probability from 1000 to 1001"),
        (lambda: Prior.uniform(0, 1, cells=0), "`cells` should be a whole number from 1"),
        (lambda: Refinement({"a": 1}, 1, about="individual"), "`prior` should be a Prior"),  # type: ignore[arg-type]
        (lambda: question_about(epsilon=0), "`epsilon` should be greater than 0, not 0"),
        (lambda: question_about(about="nobody"), "`about` should be"),
        (lambda: question_about(up="3"), "`up` should be from 1 to e.epsilon, not 3"),
        (lambda: question_about(up="2", about="individual"), "`up` is only for statistical questions"),
        (lambda: question_about(as_published=True), "only makes a difference with `delta`"),
        (lambda: question_about().answer(1, 7), "anyone who knows a seed"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(call, message) -> None:
    with pytest.raises(ParameterError, match=message):
        call()


def question_about(epsilon: object = 1, about: str = "statistical", **options: object) -> Refinement:
    return Refinement(Prior.uniform([0, 1]), epsilon, about=about, **options)  # type: ignore[arg-type]
