"""What counts as a value of a sensitive attribute, whichever model asks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.errors import InputError, VeilError

ASKING = [
    m.DistinctLDiversity("s", 2),
    m.EntropyLDiversity("s", 2),
    m.RecursiveCLDiversity("s", 3, 2),
    m.AlphaKAnonymity("s", 0.5, 2),
    m.DeltaDisclosure("s", 1),
    m.BetaLikeness("s", 1),
    m.TCloseness("s", 0.5),
]
PLAN = {"quasi_identifiers": {"q": h.suppression()}, "sensitive": "s", "suppression_limit": 1.0}


def two(values: pa.Array) -> pa.Table:
    return pa.table({"q": list("aabb"), "s": values})


@pytest.mark.parametrize(
    "kind", [pa.float16(), pa.float32(), pa.float64(), pa.dictionary(pa.int8(), pa.float64())]
)
@pytest.mark.parametrize("model", ASKING[:4], ids=lambda model: type(model).__name__)
def test_zero_is_one_value(model, kind):
    """-0.0 is what rounding makes of -0.3; it does not make a class of zeros diverse."""
    zeros = np.array([0.0, -0.0, 0.0, -0.0], np.float16) if kind == pa.float16() else [0.0, -0.0, 0.0, -0.0]
    plain = pa.array(zeros, kind.value_type if pa.types.is_dictionary(kind) else kind)
    table = two(plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain)
    published = veil.verify(table, veil.Plan(PLAN["quasi_identifiers"], model, sensitive="s"))
    assert not published.holds
    with pytest.raises(VeilError):
        veil.anonymize(table, models=model, **{**PLAN, "suppression_limit": 0.0}, order="input")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([["x"], ["y"], ["x"], ["y"]]),
        pa.array([["x"], ["y"], ["x"], ["y"]], pa.list_(pa.string(), 1)),
        pa.array(np.array([1, 2, 1, 2], np.float16)),
        pa.array([2**63 + 1, 2, 2**63 + 1, 2], pa.uint64()),
        pa.array([b"x", b"y", b"x", b"y"]),
    ],
    ids=lambda values: str(values.type),
)
@pytest.mark.parametrize("model", ASKING, ids=lambda model: type(model).__name__)
def test_values_of_many_types(model, values):
    release = veil.anonymize(two(values), models=model, **PLAN, order="input")
    assert release.arrow["q"].to_pylist() == list("aabb")
    assert release.verification.holds


def test_large_numbers_have_hierarchies():
    values = pa.array([2**63 + 1, 2, 2**63 + 1, 2], pa.uint64())
    model = m.TCloseness("s", 0.5, "hierarchical", h.suppression())
    assert veil.anonymize(two(values), models=model, **PLAN, order="input").verification.holds


@pytest.mark.parametrize(
    "values",
    [
        pa.array([{"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}]),
        pa.array([[["x"]], [["y"]], [["x"]], [["y"]]]),
        pa.array([[("a", 1)], [("b", 1)], [("a", 1)], [("b", 1)]], pa.map_(pa.string(), pa.int64())),
    ],
    ids=lambda values: str(values.type),
)
@pytest.mark.parametrize("model", ASKING, ids=lambda model: type(model).__name__)
def test_values_that_cannot_be_compared(model, values):
    with refused(InputError, "'s'", "cannot be compared"):
        veil.anonymize(two(values), models=model, **PLAN, order="input")
    with refused(InputError, "'s'", "cannot be compared"):
        veil.assess(two(values), quasi_identifiers="q", sensitive="s")
    with refused(InputError, "'s'", "cannot be compared"):
        veil.assess(two(values), quasi_identifiers=["q", "s"])
