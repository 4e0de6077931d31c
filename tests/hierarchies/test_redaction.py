"""Redaction: postal codes, and declarations that cannot work."""

from __future__ import annotations

import pytest

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, ParameterError


def test_redaction_of_postal_codes(build):
    made = build(h.redaction(), ["8010", "8045", "1010"])
    assert made.to_rows()[1] == ("8010", "801*", "80**", "8***", "****")
    assert made.level_names == ("x", "3 characters", "2 characters", "1 character", "0 characters")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: h.redaction(character="**"), "at most 1 character"),
        (lambda: h.redaction(padding=""), "at least 1 character"),
        (lambda: h.redaction(alphabet=1), "greater than or equal to 2, not 1"),
        (lambda: h.redaction(length=5), "along with `alphabet` or `domain`"),
        (lambda: h.redaction(align="middle"), "'left' or 'right', not 'middle'"),
    ],
)
def test_redaction_declarations_that_cannot_work(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_redaction_of_values_longer_than_said(build):
    with refused(HierarchyError, "4 characters", "'8010'", "`length`", "3"):
        build(h.redaction(alphabet=10, length=3), ["8010"])
