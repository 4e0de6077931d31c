"""Pseudonyms: keyed, random, format-preserving; and the one that does not protect."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import re
import string

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import refusals
from support.masking.running import masked, outcome
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import (
    FormatPreservingPseudonyms,
    GuessableWarning,
    KeyedPseudonyms,
    RandomPseudonyms,
    UnkeyedHash,
)
from veil.masking.pseudonyms.format_preserving import ALPHABETS, Permutation, form_of

KEY = "9f2c71e05ad84b36c1f7a40d2e8b9563"
NAMES = {"name": ["Alice", "Bob", "Axel", "Bob", None], "age": [25, 25, 26, 25, 30]}


# Keyed


@given(st.lists(st.text() | st.none(), min_size=1, max_size=10), st.text(max_size=5), st.integers(8, 64))
def test_a_keyed_pseudonym_is_an_hmac(values, context, length):
    def expected(value):
        if value is None:
            return None
        spelled = context.encode("utf-8", "surrogatepass")
        message = len(spelled).to_bytes(8, "big") + spelled + value.encode()
        return hmac.new(bytes.fromhex(KEY), message, hashlib.sha256).hexdigest()[:length]

    table = pa.table({"x": pa.array(values, pa.string())})
    made = outcome(KeyedPseudonyms("x", key=KEY, context=context, length=length), table)
    assert made.table["x"].to_pylist() == [expected(value) for value in values]


def test_the_same_person_has_the_same_pseudonym_in_every_column_and_table():
    method = KeyedPseudonyms(["id", "mother"], key=KEY)
    first = masked(method, {"id": [7, 8], "mother": [8, None]})
    second = masked(KeyedPseudonyms("patient", key=bytes.fromhex(KEY)), {"patient": ["8"]})
    assert first["id"][1] == first["mother"][0] == second["patient"][0]
    other = masked(KeyedPseudonyms("patient", key=KEY, context="study 2"), {"patient": ["8"]})
    assert other["patient"] != second["patient"]


def test_keys_from_files_and_variables(tmp_path, monkeypatch):
    (tmp_path / "veil.key").write_text(KEY.upper() + "\n")
    monkeypatch.setenv("VEIL_KEY", KEY)
    expected = masked(KeyedPseudonyms("name", key=KEY), NAMES)
    assert masked(KeyedPseudonyms("name", key_file=str(tmp_path / "veil.key")), NAMES) == expected
    assert masked(KeyedPseudonyms("name", key_variable="VEIL_KEY"), NAMES) == expected


def test_a_key_is_never_shown():
    for method in (KeyedPseudonyms("name", key=KEY), FormatPreservingPseudonyms("name", key=KEY)):
        assert KEY not in repr(method) + str(method)
        with pytest.raises(PlanError) as error:
            outcome(method, {"age": [1]})
        assert KEY not in str(error.value)
    with pytest.raises(ParameterError) as refused:
        KeyedPseudonyms("name", key="abcd")
    assert "abcd" not in str(refused.value)


HOW = 'To make one: python -c "import secrets; print'


@pytest.mark.parametrize("method", [KeyedPseudonyms, FormatPreservingPseudonyms])
def test_keys_that_are_none(method, tmp_path, monkeypatch):
    monkeypatch.delenv("VEIL_KEY", raising=False)
    (tmp_path / "short").write_text(KEY[:30])
    (tmp_path / "no hex").write_text("password")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for arguments, message in (
        ({}, f"{method.__name__} has no key: give `key_file`, `key_variable` or `key`. {HOW}"),
        ({"key": KEY, "key_file": "x"}, "has more than one key"),
        ({"key": "00" * 15}, f"`key` of {method.__name__} has 15 bytes, and at least 16 are needed. {HOW}"),
        ({"key": b"secret"}, "has 6 bytes, and at least 16 are needed"),
        ({"key": "password"}, "should be hexadecimal text"),
        ({"key_file": str(tmp_path / "none")}, "there is no such key file. To make one"),
        ({"key_file": str(tmp_path / "short")}, "has 15 bytes, and at least 16 are needed"),
        ({"key_file": str(tmp_path / "no hex")}, "should be hexadecimal text"),
        ({"key_file": str(tmp_path / "binary")}, "the key should be hexadecimal text"),
        ({"key_file": str(tmp_path)}, "the key cannot be read"),
        ({"key_variable": "VEIL_KEY"}, f"the environment variable VEIL_KEY is not set or empty. {HOW}"),
    ):
        with pytest.raises(PlanError, match=re.escape(message)):
            outcome(method("name", **arguments), {"name": ["0123456789"]})


def test_pseudonyms_that_collide_are_refused():
    with refusals.refused(ParameterError, "`length`", "KeyedPseudonyms", "8 to 64"):
        KeyedPseudonyms("x", key=KEY, length=4)
    many = {"x": list(range(200_000))}
    with refusals.refused(PlanError, "`length`", "same pseudonym"):
        outcome(KeyedPseudonyms("x", key=KEY, length=8), many)


# Random


def test_lecture_gerl_pseudonyms_with_a_bijective_mapping():
    """Alice, Bob and Axel get pseudonyms, and a table apart tells which; the other columns stay."""
    made = outcome(RandomPseudonyms("name", 4), NAMES)
    after = made.table.to_pydict()
    mapping = dict(zip(*made.apart["pseudonyms"].to_pydict().values(), strict=True))
    assert set(mapping) == {"Alice", "Bob", "Axel"}
    assert len(set(mapping.values())) == 3
    assert after["name"] == [mapping.get(name) for name in NAMES["name"]]
    assert all(re.fullmatch("[0-9a-f]{4}", each) for each in mapping.values())
    assert after["age"] == NAMES["age"]
    assert RandomPseudonyms.apart_is_secret
    assert outcome(RandomPseudonyms("name"), NAMES).table != made.table


def test_random_pseudonyms_are_different_even_when_nearly_all_are_taken():
    values = {"x": list(range(30_000)), "y": list(range(100, 30_100))}
    made = masked(RandomPseudonyms(["x", "y"], 4), values)
    assert len(set(made["x"] + made["y"])) == 30_100
    assert made["x"][100:] == made["y"][:-100]
    assert made["x"] != sorted(made["x"])
    with refusals.refused(PlanError, "40000 distinct", "`length`", "above 4"):
        outcome(RandomPseudonyms("x", 4), {"x": list(range(40_000))})


# Format-preserving


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


# The one that does not protect


def test_an_unkeyed_hash_warns():
    with refusals.refused(ParameterError, "guesses", "KeyedPseudonyms"):
        UnkeyedHash("name", although_values_can_be_guessed=False)
    with refusals.refused(ParameterError, "`although_values_can_be_guessed`", "UnkeyedHash", "required"):
        UnkeyedHash("name")
    with pytest.warns(GuessableWarning, match="protect name"):
        made = outcome(UnkeyedHash("name", although_values_can_be_guessed=True), NAMES)
    assert "does not protect" in made.facts["warning"]
    assert made.table["name"][1].as_py() == hashlib.sha256(b"Bob").hexdigest()
