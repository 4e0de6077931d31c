"""Global recoding: by a hierarchy, by a mapping, by breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, InputError, ParameterError, PlanError
from veil.masking import GlobalRecoding

PATIENTS = {
    "age": [25, 25, 26, 27, 27, 28],
    "sex": ["M", "F", "M", "M", "F", "M"],
    "zip": ["53711", "53712", "53711", "53710", "53712", "53711"],
    "disease": ["Flu", "Hepatitis", "Bronchitis", "Broken Arm", "AIDS", "Hang Nail"],
}


def test_lecture_gerl_global_recoding_example():
    """Single-dimensional partitions: age {[25-28]}, zip code {[53710-53711], 53712}."""
    ages = h.table([[str(age), "[25-28]"] for age in range(25, 29)])
    made = masked(GlobalRecoding("age", ages), PATIENTS)
    made = masked(
        GlobalRecoding("zip", mapping={"53710": "[53710-53711]", "53711": "[53710-53711]"}),
        {**made},
    )
    assert made == {
        **PATIENTS,
        "age": ["[25-28]"] * 6,
        "zip": ["[53710-53711]", "53712", "[53710-53711]", "[53710-53711]", "53712", "[53710-53711]"],
    }


def test_lecture_gerl_merging_categories():
    """A widower of 18 hides among the divorced."""
    statuses = {"status": ["Single", "Widow/er", "Divorced", None]}
    both = "Widow/er or divorced"
    made = masked(GlobalRecoding("status", mapping={"Widow/er": both, "Divorced": both}), statuses)
    assert made["status"] == ["Single", both, both, None]


def test_lecture_gerl_intervals():
    """Weight 121.2345 kg becomes 100 to 130 kg."""
    made = masked(GlobalRecoding("kg", breaks=[70, 100, 130]), {"kg": [121.2345, 70.0, 69.9, 130.0]})
    assert made["kg"] == ["[100, 130[", "[70, 100[", "<70", ">=130"]


@given(
    st.lists(st.integers(-50, 50) | st.none(), min_size=1, max_size=30),
    st.lists(st.integers(-40, 40), min_size=1, max_size=5, unique=True).map(sorted),
)
def test_breaks_agree_with_the_definition(values, breaks):
    def label(value):
        if value is None:
            return None
        if value < breaks[0]:
            return f"<{breaks[0]}"
        if value >= breaks[-1]:
            return f">={breaks[-1]}"
        low = max(each for each in breaks if each <= value)
        return f"[{low}, {breaks[breaks.index(low) + 1]}["

    if all(value is None for value in values):
        return
    assert masked(GlobalRecoding("x", breaks=breaks), {"x": values})["x"] == [
        label(value) for value in values
    ]


def test_labels_and_levels():
    made = masked(
        GlobalRecoding("x", breaks=[18, 65], labels=["minor", "adult", "senior"]), {"x": [17, 18, 65]}
    )
    assert made["x"] == ["minor", "adult", "senior"]
    zips = {"x": ["53711", "53712"]}
    assert masked(GlobalRecoding("x", h.redaction(), 2), zips)["x"] == ["537**", "537**"]
    assert masked(GlobalRecoding("x", "redaction", 0), zips) == zips
    assert masked(GlobalRecoding("x", {"kind": "suppression"}), zips)["x"] == ["*", "*"]
    facts = outcome(GlobalRecoding("x", h.redaction(), 2), zips).facts
    assert facts == {"values before": 2, "values after": 1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GlobalRecoding("x"), "needs `hierarchy`, `mapping` or `breaks`, one of the three"),
        (lambda: GlobalRecoding("x", h.auto(), breaks=[1]), "one of the three"),
        (
            lambda: GlobalRecoding("x", breaks=[2, 1]),
            r"`breaks` of GlobalRecoding should ascend, not \[2.0, 1.0\]",
        ),
        (lambda: GlobalRecoding("x", breaks=[1, 1]), r"should ascend, not \[1.0, 1.0\]"),
        (lambda: GlobalRecoding("x", breaks=[1], labels=["a"]), "with one more label than breaks, not 1"),
        (
            lambda: GlobalRecoding("x", breaks=[float("nan")]),
            "`breaks.0` of GlobalRecoding should be a finite number",
        ),
        (
            lambda: GlobalRecoding("x", "redact"),
            "there is no kind of hierarchy 'redact'. Did you mean 'redaction'?",
        ),
    ],
)
def test_parameters_that_contradict_each_other(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_bad_tables():
    with refused(PlanError, "level 9", "0 to 5"):
        outcome(GlobalRecoding("zip", h.redaction(), 9), PATIENTS)
    with refused(PlanError, "`mapping`", "'sex'", "'M', 'F'"):
        outcome(GlobalRecoding("sex", mapping={"m": "*"}), PATIENTS)
    with refused(InputError, "'sex'", "string", "numbers are needed"):
        outcome(GlobalRecoding("sex", breaks=[1]), PATIENTS)
    with refused(InputError, "'x'", "row 2", "inf"):
        outcome(GlobalRecoding("x", breaks=[1]), {"x": [1.0, float("inf")]})
    with pytest.raises(HierarchyError):
        outcome(GlobalRecoding("age", h.table([["25", "*"]])), PATIENTS)
