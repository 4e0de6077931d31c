"""Label functions: means, common prefixes and options."""

from __future__ import annotations

from datetime import date

import pytest

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, ParameterError
from veil.hierarchies import LabelFunction


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("set", "{6, 12, 3}"),
        ("interval", "[3, 12]"),
        ("bounds", "[6, 3]"),
        ("mean", "7"),
        ("mean_of_bounds", "4"),
        ("geometric_mean", "6"),
        ("geometric_mean_of_bounds", "4"),
        ("prefixes", "6-1-3"),
        (LabelFunction("prefixes", length=2), "6-12-3"),
        ("prefix", ""),
        (LabelFunction("prefix", fill="#"), "##"),
        (LabelFunction("constant", text="all"), "all"),
    ],
)
def test_label_functions(build, label, expected):
    made = build(h.ordering(3, order=[6, 12, 3], label=label), [3, 6, 12])
    assert made.labels[1] == (expected,)


def test_means_of_other_types(build):
    assert build(h.ordering(2, label="mean"), [0.5, 1.0]).labels[1] == ("0.75",)
    assert build(h.ordering(3, label="mean"), [1.0, 2.0, 2.5]).labels[1] == ("1.8333333333333333",)
    assert build(h.ordering(2, label="mean"), [date(2020, 1, 1), date(2020, 1, 4)]).labels[1] == (
        "2020-01-02",
    )
    assert build(h.ordering(2, label="geometric_mean"), [0.5, 2.0]).labels[1] == ("1",)
    with refused(HierarchyError, "'a'", "'x'", "not a number"):
        build(h.ordering(2, label="mean"), ["a", "b"])
    with refused(HierarchyError, "-1", "geometric", "from 0"):
        build(h.ordering(2, label="geometric_mean"), [-1, 4])


def test_common_prefix(build):
    made = build(h.ordering(2, label=LabelFunction("prefix", fill="*")), ["8010", "8045", "80451"])
    assert made.labels[1] == ("80**", "80451")


def test_label_options():
    with refused(ParameterError, "`text` of Label"):
        LabelFunction("constant")
    with refused(ParameterError, "`text` of Label"):
        LabelFunction("set", text="x")
    with pytest.raises(ParameterError, match="not 'sum'"):
        h.ordering(2, label="sum")
    with pytest.raises(ParameterError, match="groups"):
        h.ordering()
