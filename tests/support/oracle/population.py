"""Population uniques estimated from a sample: Zayatz, slide negative binomial, Pitman, Dankar's rule.

A histogram maps a class size to the number of classes of that size. Estimates are numbers of uniques in the
population; 0 means "not available" unless the sample has no unique.

Differences from ARX: populations are not cut to 32 bits, and there is no clock (there, time limits make
borderline results depend on the machine). The solver's other limits and its restarts are kept, since they decide which
estimates exist. Pitman has no estimate where all records are unique, as the likelihood then has no maximum or is the
same everywhere, and no estimate is less than what is certain. The SNB equations and Pitman's range of alpha are those
of the papers, unless `like_arx` asks for ARX's, with the inconsistent second row of its SNB Jacobian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from .arithmetic import Number, exact

Histogram = dict[int, int]
Point = tuple[float, float]
Matrix = tuple[float, float, float, float]

ACCURACY = 1e-6
ITERATIONS = 1000
RESTARTS: tuple[Point, ...] = tuple((x, y) for x in (0.0, 0.33, 0.66, 0.99) for y in (0.0, 0.33, 0.66, 0.99))

REGIONS = {
    "Africa": 1100000000,
    "Australia": 23130900,
    "Brazil": 202656788,
    "Canada": 34834841,
    "China (PRC)": 1366040000,
    "Europe": 740000000,
    "European Union": 507420000,
    "France": 65820916,
    "Germany": 80767000,
    "India": 1210569573,
    "North America": 565265000,
    "South America": 385742554,
    "UK": 63705000,
    "USA": 317238626,
}


def population_size(sample: int, fraction: Number) -> int:
    """Return the population of which a sample is the given fraction, rounded half up."""
    return math.floor(Fraction(sample) / exact(fraction) + Fraction(1, 2))


def uniques(model: str, histogram: Histogram, population: int, like_arx: bool = False) -> float | Fraction:
    """Return the estimated number of population uniques under a model, 0 if there is no estimate.

    "Dankar" is the decision rule of the privacy criterion, "DankarAnalysis" falls back on Zayatz when
    Pitman fails.
    """
    histogram = {size: count for size, count in histogram.items() if count}
    if not histogram.get(1):
        return 0
    estimate = estimated(model, histogram, population, like_arx)
    unseen = population - sample_size(histogram)
    return max(estimate, histogram[1] - unseen) if estimate > 0 else estimate


def estimated(model: str, histogram: Histogram, population: int, like_arx: bool = False) -> float | Fraction:
    """Return what an estimator says, whether or not it can be."""
    match model:
        case "Zayatz":
            return zayatz(histogram, population)
        case "SNB":
            return snb(histogram, population, like_arx)
        case "Pitman":
            return pitman(histogram, population, like_arx)
        case "Dankar" | "DankarAnalysis":
            fallback = model == "DankarAnalysis"
            return dankar(histogram, population, fallback, like_arx)[1]
    raise ValueError(model)


def sample_size(histogram: Histogram) -> int:
    """Return n."""
    return sum(size * count for size, count in histogram.items())


def zayatz(histogram: Histogram, population: int) -> Fraction:
    """Return Zayatz's estimate, exactly."""
    n = sample_size(histogram)
    weights = {i: count * one_of_marked(i, n, population) for i, count in histogram.items()}
    chance = weights[1] / sum(weights.values())
    return histogram[1] * chance * Fraction(population, n)


def one_of_marked(i: int, n: int, population: int) -> Fraction:
    """Return the chance that drawing n of a population takes exactly one of i marked members."""
    chance = Fraction(i * n, population)
    for taken in range(i - 1):
        chance *= Fraction(population - n - taken, population - 1 - taken)
    return chance


def dankar(
    histogram: Histogram, population: int, fallback: bool = False, like_arx: bool = False
) -> tuple[str, float | Fraction]:
    """Return which model Dankar's rule chooses, and its estimate."""
    if not histogram.get(1):
        return "Zayatz", 0
    n = sample_size(histogram)
    if Fraction(n, population) <= Fraction(1, 10):
        estimate = pitman(histogram, population, like_arx)
        if estimate or not fallback:
            return "Pitman", estimate
        return "Zayatz", zayatz(histogram, population)
    slide, simple = snb(histogram, population, like_arx), zayatz(histogram, population)
    return ("SNB", slide) if slide and slide <= simple else ("Zayatz", simple)


def snb(histogram: Histogram, population: int, like_arx: bool = False) -> float:
    """Return the slide negative binomial estimate."""
    solution = snb_solution(histogram, population, like_arx)
    if solution is None:
        return 0.0
    classes, a, b = solution
    return available(ieee(lambda: classes * power(b, a)))


def snb_solution(
    histogram: Histogram, population: int, like_arx: bool = False
) -> tuple[float, float, float] | None:
    """Return (K, a, b), or None when the solver finds nothing."""
    f = sample_size(histogram) / population
    c1, c2 = histogram[1], histogram.get(2, 0)
    k = ieee(lambda: population_classes(histogram, f, like_arx))

    def equations(a: float, b: float) -> Point:
        d = (1 - f) * (1 - b)
        e = 1 - d
        first = k * f * power(divide(b, e), a) * (divide(a * d, e) + 1) - c1
        second = 0.5 * k * a * power(b, a) * f**2 * (1 - b) * (2 - (1 - a) * d)
        second = second * power(e, a + 2) if like_arx else divide(second, power(e, a + 2))
        return first, second - c2

    def jacobian(a: float, b: float) -> Matrix:
        d = (1 - f) * (1 - b)
        e = 1 - d
        slope_e = 1 - f  # of e by b; that of d is its negative
        base = power(divide(b, e), a)
        factor = divide(a * d, e) + 1
        by_a = k * f * base * (math.log(divide(b, e)) * factor + divide(d, e))
        base_by_b = a * power(divide(b, e), a - 1) * divide(e - b * slope_e, e * e)
        factor_by_b = a * divide(-slope_e * e - d * slope_e, e * e)
        by_b = k * f * (base_by_b * factor + base * factor_by_b)
        # The second row belongs to the form divided by e^(a+2), not to that of ARX, which multiplies.
        half, rest = 0.5 * k * f**2, 2 - (1 - a) * d
        quotient = divide(a * power(b, a) * (1 - b) * rest, power(e, a + 2))
        quotient_by_a = quotient * (divide(1, a) + math.log(b) + divide(d, rest) - math.log(e))
        quotient_by_b = quotient * (
            divide(a, b) - divide(1, 1 - b) + divide((1 - a) * slope_e, rest) - divide((a + 2) * slope_e, e)
        )
        return by_a, by_b, half * quotient_by_a, half * quotient_by_b

    root = newton(
        equations, jacobian, (1.0, 1.0), lambda a, b: True, lambda a, b: like_arx or (a > 0 and 0 < b <= 1)
    )
    return None if root is None else (k, *root)


def population_classes(histogram: Histogram, f: float, like_arx: bool = False) -> float:
    """Return K, the estimated number of non-empty population classes."""
    if f == 1 and not like_arx:
        return sum(histogram.values())
    v1 = sum(i * f**2 * (1 - f**2) ** (i - 1) * count for i, count in histogram.items())
    if like_arx:
        v2 = sum((1 - f) ** i * (1 + f) ** i * count - 1 for i, count in histogram.items())
    else:
        v2 = sum((1 - f) ** i * ((1 + f) ** i - 1) * count for i, count in histogram.items())
    v3 = sum((1 - f) ** i * count for i, count in histogram.items())
    v4 = sum(i * f * (1 - f) ** (i - 1) * count for i, count in histogram.items())
    return sum(histogram.values()) + histogram[1] * divide(v1, v2) * divide(v3, v4) ** 2


def pitman(histogram: Histogram, population: int, like_arx: bool = False) -> float:
    """Return Pitman's estimate."""
    if histogram[1] == sample_size(histogram):
        return 0.0
    root = pitman_solution(histogram, like_arx)
    if root is None:
        return 0.0
    theta, alpha = root
    if alpha == 0:
        return theta if theta <= population and not like_arx else 0.0
    forms: list[Callable[[], float]] = [
        lambda: math.exp(log_gamma(theta + 1) - log_gamma(theta + alpha)) * power(population, alpha),
        lambda: divide(math.gamma(theta + 1), math.gamma(theta + alpha)) * power(population, alpha),
    ]
    values = [ieee(form) for form in forms]
    return available(max((value for value in values if 0 <= value <= population), default=math.nan))


def ewens_theta(n: int, u: int) -> float:
    """Return the theta with which Ewens' formula expects u classes among n records."""
    low, high = 0.0, 1e15
    for _ in range(200):
        theta = (low + high) / 2
        expected = 1 + sum(theta / (theta + i) for i in range(1, n))
        low, high = (theta, high) if expected < u else (low, theta)
    return high


def pitman_solution(histogram: Histogram, like_arx: bool = False) -> Point | None:
    """Return (theta, alpha): from closed forms if the explicit sums agree there, else from explicit sums.

    Unless ARX is asked for, alpha lies from 0 to 1: 0 where the likelihood falls from there on.
    """
    n, u = sample_size(histogram), sum(histogram.values())
    c1 = histogram[1]
    c = c1 * (c1 - 1) / (histogram.get(2, 0) or 1)
    theta = divide(n * u * c - c1 * (n - 1) * (2 * u + c), 2 * c1 * u + c1 * c - n * c)
    start = (theta, divide(theta * (c1 - n) + (n - 1) * c1, n * u))
    larger = {size: count for size, count in histogram.items() if size > 1}

    def explicit(theta: float, alpha: float) -> Point:
        first = sum(1 / (theta + i * alpha) for i in range(1, u)) - sum(1 / (theta + i) for i in range(1, n))
        second = sum(i / (theta + i * alpha) for i in range(1, u))
        second -= sum(count * sum(1 / (j - alpha) for j in range(1, k)) for k, count in larger.items())
        return first, second

    def explicit_slopes(theta: float, alpha: float) -> Matrix:
        by_theta = sum((theta + i) ** -2 for i in range(1, n)) - sum(
            (theta + i * alpha) ** -2 for i in range(1, u)
        )
        mixed = -sum(i * (theta + i * alpha) ** -2 for i in range(1, u))
        by_alpha = -sum(i * i * (theta + i * alpha) ** -2 for i in range(1, u))
        by_alpha -= sum(count * sum((j - alpha) ** -2 for j in range(1, k)) for k, count in larger.items())
        return by_theta, mixed, mixed, by_alpha

    def inverse_sum(theta: float, alpha: float) -> float:
        """Return the sum of 1/(theta + i alpha) for i < u."""
        return (digamma(u + theta / alpha) - digamma(theta / alpha + 1)) / alpha

    def closed(theta: float, alpha: float) -> Point:
        total = inverse_sum(theta, alpha)
        first = total - (digamma(n + theta) - digamma(theta + 1))
        second = (u - 1 - theta * total) / alpha
        second -= sum(count * (digamma(k - alpha) - digamma(1 - alpha)) for k, count in larger.items())
        return first, second

    def closed_slopes(theta: float, alpha: float) -> Matrix:
        total = inverse_sum(theta, alpha)
        squares = (trigamma(theta / alpha + 1) - trigamma(u + theta / alpha)) / alpha**2
        by_theta = trigamma(theta + 1) - trigamma(n + theta) - squares
        mixed = (total - theta * squares) / alpha
        by_alpha = (u - 1 - 2 * theta * total + theta**2 * squares) / alpha**2
        by_alpha += sum(count * (trigamma(1 - alpha) - trigamma(k - alpha)) for k, count in larger.items())
        return by_theta, -mixed, -mixed, -by_alpha

    def allowed(theta: float, alpha: float) -> bool:
        return theta >= 0

    def acceptable(theta: float, alpha: float) -> bool:
        return like_arx or 0 < alpha < 1

    if not like_arx:
        edge = ewens_theta(n, u)
        if explicit(edge, 0.0)[1] <= 0:
            return edge, 0.0
    root = newton(closed, closed_slopes, start, allowed, acceptable)
    if root is not None and all(abs(value) <= ACCURACY for value in safely(explicit, *root)):
        return root
    return newton(explicit, explicit_slopes, start, allowed, acceptable)


def newton(
    equations: Callable[[float, float], Point],
    jacobian: Callable[[float, float], Matrix],
    start: Point,
    allowed: Callable[[float, float], bool],
    acceptable: Callable[[float, float], bool],
) -> Point | None:
    """Find an acceptable root in the plane, restarting from a fixed grid; None when all restarts are used up.

    The last restart gets a single step: the tool gives up as soon as it has handed that point out.
    """
    x, y = start
    restarts = list(RESTARTS)
    steps = 0
    while True:
        first, second = safely(equations, x, y)
        if abs(first) <= ACCURACY and abs(second) <= ACCURACY and acceptable(x, y):
            return x, y
        a, b, c, d = safely(jacobian, x, y, count=4)
        determinant = a * d - b * c
        x -= divide(d * first - b * second, determinant)
        y -= divide(a * second - c * first, determinant)
        steps += 1
        if not restarts:
            return None
        if not (math.isfinite(x) and math.isfinite(y) and allowed(x, y)) or steps >= ITERATIONS:
            x, y = restarts.pop(0)
            steps = 0


# --- arithmetic that answers NaN where Python raises ----------------------------------------------


def ieee(compute: Callable[[], float]) -> float:
    """Return a result, or NaN if it has none."""
    try:
        return float(compute())
    except (ArithmeticError, ValueError):
        return math.nan


def safely(
    function: Callable[[float, float], tuple[float, ...]], x: float, y: float, count: int = 2
) -> tuple[float, ...]:
    """Evaluate at a point, NaN where it has no value."""
    try:
        return function(x, y)
    except (ArithmeticError, ValueError):
        return (math.nan,) * count


def divide(a: float, b: float) -> float:
    """Divide; by zero is NaN."""
    return a / b if b else math.nan


def power(base: float, exponent: float) -> float:
    """Raise to a real power; NaN for a negative base with a fractional exponent."""
    return ieee(lambda: math.pow(base, exponent))


def available(value: float) -> float:
    """Return an estimate, or 0 in place of NaN."""
    return 0.0 if math.isnan(value) else value


def log_gamma(x: float) -> float:
    """Return ln Gamma(x); NaN for x <= 0."""
    return math.lgamma(x) if x > 0 else math.nan


def digamma(x: float) -> float:
    """Return psi(x): recurrence up to 12, then the asymptotic series; by reflection from far below zero."""
    if x < -1000:  # where the solver's iterates run away to, now and then
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - math.floor(x)))
    total = 0.0
    while x < 12:
        total -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return total + math.log(x) - 0.5 / x - series


def trigamma(x: float) -> float:
    """Return psi'(x): recurrence up to 12, then the asymptotic series; by reflection from far below zero."""
    if x < -1000:
        return (math.pi / math.sin(math.pi * (x - math.floor(x)))) ** 2 - trigamma(1 - x)
    total = 0.0
    while x < 12:
        total += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    tail = y / 2 + (1 / x) * (1 + y * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y / 30))))
    return total + tail
