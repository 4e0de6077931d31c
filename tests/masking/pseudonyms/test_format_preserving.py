"""Format-preserving pseudonyms: permutations of the values of a form."""

from __future__ import annotations

import itertools
import string

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import refusals
from support.masking.running import masked, outcome
from veil.errors import InputError
from veil.masking import FormatPreservingPseudonyms
from veil.masking.pseudonyms.format_preserving import ALPHABETS, Permutation, form_of

KEY = "9f2c71e05ad84b36c1f7a40d2e8b9563"


@pytest.mark.parametrize("form", ["999", "1-9", "aA", "A", "9a", "-199"])
def test_every_form_is_permuted(form):
    values = [""]
    for each in form:
        values = [value + sign for value in values for sign in ALPHABETS.get(each, each)]
    permutation = Permutation(bytes(16), "", form)
    assert permutation.size == len(values)
    made = [permutation(value) for value in values]
    assert sorted(made) == sorted(values)
    assert made != values or len(values) < 3


def test_numbers_up_to_the_largest_are_permuted_among_themselves():
    """The largest is one of them: two numbers with one pseudonym would be two people with one."""
    permutation = Permutation(bytes(16), "", "-199")
    values = [f"-{number}" for number in range(100, 524)]
    assert sorted(permutation.walk(value, 523) for value in values) == values
    assert [permutation.walk(value, None) for value in values] == [permutation(value) for value in values]


def test_the_permutation_depends_on_key_context_and_form():
    values = [f"{number:03}" for number in range(1000)]
    made = {
        tuple(Permutation(key, context, "999")(value) for value in values)
        for key in (bytes(16), bytes(15) + b"\1")
        for context in ("", "x")
    }
    assert len(made) == 4
    # About one value in a thousand stays where it is, as in a random permutation.
    assert all(sum(a == b for a, b in zip(each, values, strict=True)) < 8 for each in made)
    # Neighbours go far apart: first digits are as good as independent.
    for each in made:
        same = sum(a[0] == b[0] for a, b in itertools.pairwise(each))
        assert 60 < same < 145


identifiers = st.text(alphabet=string.ascii_letters + string.digits + "-/. @é", min_size=1, max_size=40)


@given(st.lists(identifiers, min_size=1, max_size=8, unique=True))
def test_the_form_stays_and_different_values_stay_different(values):
    bad = [
        each for each in values if form_of(each) is None or Permutation(b"", "", form_of(each)).size < 10**6
    ]
    method = FormatPreservingPseudonyms("x", key=KEY)
    if bad:
        with pytest.raises(InputError, match="row"):
            outcome(method, {"x": values})
        return
    made = masked(method, {"x": values})["x"]
    assert [form_of(each) for each in made] == [form_of(each) for each in values]
    assert len(set(made)) == len(values)


@given(st.lists(st.integers(10**6, 2**31 - 1) | st.integers(-(2**31) + 1, -(10**6)), min_size=1, max_size=10))
def test_integers_stay_integers_of_as_many_digits(values):
    for kind in (pa.int32(), pa.int64()):
        made = outcome(
            FormatPreservingPseudonyms("x", key=KEY), pa.table({"x": pa.array(values, kind)})
        ).table["x"]
        assert made.type == kind
        assert [len(str(each)) for each in made.to_pylist()] == [len(str(each)) for each in values]
        assert len(set(made.to_pylist())) == len(set(values))
        assert [each < 0 for each in made.to_pylist()] == [each < 0 for each in values]


def test_forms_with_too_few_members_are_refused_without_showing_the_value():
    for value, form, size in (("AB-12", "AA-99", "67,600"), ("99999", "99999", "100,000"), ("--", "--", "1")):
        with pytest.raises(InputError) as refused:
            outcome(FormatPreservingPseudonyms("x", key=KEY), {"x": ["123456789", None, value]})
        message = str(refused.value)
        assert (
            f"column 'x', row 3: a value with the format {form!r} has only {size} possible pseudonyms"
            in message
        )
        assert "Use RandomPseudonyms" in message
        assert value == form or value not in message
    with refusals.refused(InputError, "row 1", "letter or digit"):
        outcome(FormatPreservingPseudonyms("x", key=KEY), {"x": ["Zoë Müller"]})
    with refusals.refused(InputError, "double", "text or integers"):
        outcome(FormatPreservingPseudonyms("x", key=KEY), {"x": [1.5]})
    assert outcome(FormatPreservingPseudonyms("x", key=KEY), {"x": ["0123456"]}).facts == {
        "forms": 1,
        "pseudonyms of the smallest form": 10_000_000,
    }
