"""Modes of local recoding: parameters, and kinds told apart."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from veil.errors import ParameterError
from veil.recoding import FastIterative, Iterative, SinglePass
from veil.recoding.modes import LocalRecoding


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: SinglePass(1.5), "`factor` of SinglePass should be from 0 to 1, not 1.5"),
        (lambda: Iterative(iterations=0), "`iterations` of Iterative should be greater than or equal to 1"),
        (lambda: Iterative(adaptation=-1), "`adaptation` of Iterative should be from 0 to 1, not -1"),
        (lambda: FastIterative(0), "`share` of FastIterative should be more than 0 and at most 1, not 0"),
    ],
)
def test_parameters_out_of_range(make: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        make()


def test_modes_are_told_apart_by_kind() -> None:
    """What a recipe says is the mode that it names."""
    read = TypeAdapter(LocalRecoding).validate_python
    assert read({"kind": "FastIterative", "share": 0.2}) == FastIterative(0.2)
    assert read({"kind": "Iterative", "iterations": 7}) == Iterative(iterations=7)
    assert read({"kind": "SinglePass"}) == SinglePass()
