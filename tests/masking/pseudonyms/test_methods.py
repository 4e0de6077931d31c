"""Pseudonyms: keyed, random, format-preserving; and the one that does not protect."""

from __future__ import annotations

import hashlib
import hmac
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import refusals
from support.masking.running import masked, outcome
from veil.errors import ParameterError, PlanError
from veil.masking import (
    FormatPreservingPseudonyms,
    GuessableWarning,
    KeyedPseudonyms,
    RandomPseudonyms,
    UnkeyedHash,
)

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
