"""Exact decisions against brute force."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.base import exact
from veil.base.exact import (
    ball,
    decimal_fraction,
    float_above,
    float_at_least,
    is_at_most,
    is_less,
    largest_count,
    largest_fraction,
    least_count,
    product_is_one,
    sign,
    sign_of_logs,
)

often = settings(max_examples=300, deadline=None)
shares = st.fractions(0, 3, max_denominator=10**6)


def test_a_number_is_what_was_written():
    assert decimal_fraction(0.1) == Fraction(1, 10)
    assert decimal_fraction(1e-7) == Fraction(1, 10**7)
    assert decimal_fraction(np.float64(0.3)) == Fraction(3, 10)
    assert decimal_fraction(np.float32(0.3)) == Fraction(3, 10)
    assert decimal_fraction(np.int64(3)) == 3
    assert decimal_fraction(Decimal("0.25")) == Fraction(1, 4)
    assert decimal_fraction("1/3") == Fraction(1, 3)
    assert decimal_fraction(Fraction(2, 7)) == Fraction(2, 7)
    assert type(decimal_fraction(np.int64(3)).numerator) is int


@often
@given(
    st.integers(1, 400),
    st.integers(0, 400),
    st.one_of(st.floats(0, 1), st.fractions(0, 1, max_denominator=99)),
)
def test_a_share_of_the_records_is_a_number_of_them(records, part, other):
    """One by one: which counts have a share that is not above the limit, and which one that is not below it."""
    for share in (min(part, records) / records, Fraction(min(part, records), records), other):
        own = Fraction if isinstance(share, Fraction) else float
        parts = [own(Fraction(count, records)) for count in range(records + 1)]
        assert largest_count(share, records) == max(
            count for count, each in enumerate(parts) if each <= share
        )
        assert least_count(share, records) == min(count for count, each in enumerate(parts) if each >= share)
    written = decimal_fraction(round(part / 400, 2))
    assert largest_count(float(written), records) == math.floor(written * records)


@often
@given(shares)
def test_doubles_next_to_a_fraction(bound):
    least, more = float_at_least(bound), float_above(bound)
    assert decimal_fraction(least) >= bound
    assert decimal_fraction(more) > bound
    assert more <= math.nextafter(math.nextafter(float(bound), 9), 9)
    assert least <= more


@often
@given(st.fractions(0, 3, max_denominator=200), st.integers(1, 60), st.booleans())
def test_largest_fraction_is_the_largest(bound, size, below):
    candidates = (Fraction(p, q) for q in range(1, size + 1) for p in range(-q, 3 * q + 1))
    truth = max(c for c in candidates if (c < bound if below else c <= bound))
    assert largest_fraction(bound, size, below=below) == truth


@often
@given(shares, st.integers(1, 10**7), st.integers(0, 10**7), st.data())
def test_largest_fraction_replaces_the_bound(bound, size, f, data):
    n = data.draw(st.integers(1, size))
    # Aim at the bound, where the test is hard.
    f = data.draw(st.sampled_from([f, math.floor(bound * n), math.ceil(bound * n)]))
    limit = largest_fraction(bound, size)
    assert limit.denominator <= size
    assert (f * limit.denominator <= limit.numerator * n) == (Fraction(f, n) <= bound)
    limit = largest_fraction(bound, size, below=True)
    assert (f * limit.denominator <= limit.numerator * n) == (Fraction(f, n) < bound)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 50), st.integers(1, 300))
def test_largest_fraction_below_a_root(number, size):
    if math.isqrt(number) ** 2 == number:
        number += 1
    truth = max(Fraction(math.isqrt(number * q * q), q) for q in range(1, size + 1))
    assert largest_fraction(lambda bits: ball(number).sqrt(), size) == truth


def test_a_rational_bound_must_be_given_as_one():
    with pytest.raises(ArithmeticError, match="a Fraction"):
        largest_fraction(lambda bits: ball(2).log() / ball(4).log(), 10)


def test_close_calls():
    tenth = lambda bits: ball(10).log() / ball(10).log() / 10  # noqa: E731
    assert is_less(tenth, "0.1" + "0" * 30 + "1")
    assert not is_less("0.1" + "0" * 30 + "1", tenth)
    assert is_at_most(tenth, "0.1" + "0" * 3000 + "1")
    # Equal, which balls alone cannot tell: not fulfilled, unless there is a proof.
    assert not is_at_most(tenth, 0.1)
    assert is_at_most(tenth, 0.1, equal=lambda: True)
    assert not is_less(tenth, 0.1, equal=lambda: True)
    assert sign(lambda bits: tenth(bits) - ball(0.1)) is None


@often
@given(shares, shares)
def test_rationals_are_compared_as_such(left, right):
    assert is_at_most(left, right) == (left <= right)
    assert is_less(left, right) == (left < right)


exponents = st.fractions(-5, 5, max_denominator=4)
numbers = st.fractions(Fraction(1, 12), 12, max_denominator=12)


@often
@given(st.lists(st.tuples(st.integers(-6, 6), numbers), max_size=5))
def test_signs_of_logs_are_those_of_products(terms):
    product = math.prod((number**weight for weight, number in terms), start=Fraction(1))
    assert sign_of_logs(terms) == (product > 1) - (product < 1)
    assert product_is_one([(Fraction(w), n) for w, n in terms]) == (product == 1)


@often
@given(numbers, numbers, st.integers(1, 5), st.integers(1, 5))
def test_products_that_are_one(a, b, m, n):
    """ln(a^m b^n) / m - ln a - n/m ln b vanishes, whatever the numbers."""
    terms = [(Fraction(1, m), a**m * b**n), (Fraction(-1), a), (Fraction(-n, m), b)]
    assert sign_of_logs(terms) == 0
    assert sign_of_logs(terms, constant="1e-40") == 1
    assert sign_of_logs(terms, constant="-1e-400") == -1


def test_the_working_precision_comes_back():
    before = ctx.prec
    sign(lambda bits: ball(4).log() - 2 * ball(2).log())
    assert ctx.prec == before


def test_threads_do_not_spoil_each_others_precision():
    before = ctx.prec
    found = []

    def decide(n):
        def difference(bits):
            time.sleep(0.001)  # long enough for other threads to set their own precision
            found.append(ctx.prec == bits)
            return ball(4).log() - 2 * ball(2).log() + ball(f"1e-{20 * n}")

        return sign(difference)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(decide, range(1, 60))) == {1}
    assert all(found)
    assert ctx.prec == before


def test_flint_waits_until_it_is_needed():
    code = "import sys, veil.base.exact; assert 'flint' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert exact.PRECISIONS[-1] > 10000
