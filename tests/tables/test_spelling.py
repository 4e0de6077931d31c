"""Texts that differ in blanks, case or Unicode form only are one identifier."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.tables.spelling import fold_text, fold_texts

_ALL = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE1000))]
"""All characters but those of planes that have nothing but Chinese characters, or nothing."""


@pytest.mark.parametrize(
    "text",
    [
        "A17",
        "A17 ",
        " A17",
        "a17",
        "Ａ17",
        "A１７",
        "A17\u200b",
        "\ufeffA17",
        "A17\xa0",
        "A\u202f17",
        "A\xad17",
        "A17️",
        "A17\x00",
        "A17\r",
        "\u3000a17\u3000",
        "A\u2060 17",
        "𝐀𝟏𝟕",
        "A¹⁷",
    ],
)
def test_one_patient_typed_in_many_ways_is_one(text: str) -> None:
    assert fold_text(text) == "a17"


@pytest.mark.parametrize(
    "pair", [("A17", "A18"), ("007", "7"), ("A-17", "A17"), ("José", "Jose"), ("A", "А"), ("Ω1", "ω2")]
)
def test_what_anybody_can_see_keeps_people_apart(pair: tuple[str, str]) -> None:
    assert fold_text(pair[0]) != fold_text(pair[1])


def test_every_character_folds_with_its_cases_and_its_forms() -> None:
    forms = ("NFC", "NFD", "NFKC", "NFKD")
    for sign in _ALL:
        variants = {sign.casefold(), *(unicodedata.normalize(form, sign) for form in forms)} - {sign}
        folded = fold_text(sign) if variants else sign
        assert {fold_text(each) for each in variants} <= {folded}, hex(ord(sign))


def test_blanks_and_characters_without_a_width_show_nothing() -> None:
    for sign in _ALL:
        if sign.isspace() or unicodedata.category(sign) in ("Cc", "Zs", "Zl", "Zp"):
            assert fold_text(f"a{sign}b") == "ab", hex(ord(sign))


@given(st.lists(st.none() | st.text() | st.text("aA \t\u00a0１ß\u0130", max_size=4)))
def test_many_texts_fold_like_each_of_them(texts: list[str | None]) -> None:
    obvious = [None if text is None else fold_text(text) for text in texts]
    assert fold_texts(pa.array(texts, pa.string())).to_pylist() == obvious


@given(st.text(), st.text("  \u200b\u00a0\t", max_size=3), st.sampled_from(("NFC", "NFD", "NFKC", "NFKD")))
def test_folding_is_stable(text: str, blank: str, form: str) -> None:
    folded = fold_text(text)
    assert fold_text(folded) == folded
    assert fold_text(unicodedata.normalize(form, text)) == folded
    assert fold_text(blank + text.casefold() + blank) == folded
