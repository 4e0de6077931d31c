"""Words by which columns are known."""

from __future__ import annotations

from veil.risk.identify.vocabulary import (
    CITIES,
    COLUMN_NAMES,
    FIRST_NAMES,
    LAST_NAMES,
    QUASI_IDENTIFYING_NAMES,
    SENSITIVE_NAMES,
    STATES,
    plain,
)


def test_the_lists_are_in_plain_spelling():
    lists = [FIRST_NAMES, LAST_NAMES, CITIES, STATES, QUASI_IDENTIFYING_NAMES, SENSITIVE_NAMES]
    for words in [*lists, *COLUMN_NAMES.values()]:
        assert all(plain(word) == word and word for word in words)
        assert all(word.isascii() for word in words)
