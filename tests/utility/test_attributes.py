"""Information left in one quasi-identifier."""

from __future__ import annotations

import pyarrow as pa
import pytest

from support.utility.example import e1
from veil import hierarchies as h
from veil.utility import Comparison, quality_measures


@pytest.mark.parametrize("dropped", ["blank", "drop"])
@pytest.mark.parametrize(
    ("measure", "values"),
    [
        ("granularity", (0.675, 0.9, 0.6)),
        ("intensity", (0.45, 0.9, 0.6)),
        ("entropy", (0.507369390, 1.0, 0.505196109)),
        ("squared_error", (0.898509867, 0.9, 0.742857143)),
    ],
)
def test_reference_section_7_item_3_attribute_measures_of_e1(measure, values, dropped):
    found = quality_measures(e1((1, 0, 1), suppressed_rows=dropped))
    assert [getattr(each, measure).quality for each in found.attributes] == pytest.approx(values, abs=1e-9)
    assert [each.missings for each in found.attributes] == [0.1] * 3


def test_one_quasi_identifier_is_measured_like_any_other():
    """Unlike in ARX, which takes every record for suppressed: each age covers two of five, one of two levels up."""
    found = quality_measures(e1((1,), "A")).attributes[0]
    assert (found.granularity.quality, found.intensity.quality) == pytest.approx((0.75, 0.5))


def test_lecture_gerl_precision_and_loss_of_one_illness():
    """A. Gerl: HIV becomes a virus infection, one of four other illnesses: 25 % lost, by height one half."""
    illnesses = [["HIV", "virus", "*"], ["hepatitis", "virus", "*"], ["hip fracture", "fracture", "*"],
                 ["skull fracture", "fracture", "*"], ["cold", "bacteria", "*"]]  # fmt: skip
    comparison = Comparison(pa.table({"x": ["HIV"]}), pa.table({"x": ["virus"]}), {"x": h.table(illnesses)})
    found = quality_measures(comparison).attributes[0]
    assert (found.granularity.quality, found.intensity.quality) == pytest.approx((0.75, 0.5))


def test_nothing_is_left_of_a_column_that_is_all_blank():
    """Some values become `*` sooner than others, which gave an intensity of 34 % and an entropy of 37.5 %."""
    paths = [["a", "*", "*", "*"], ["b", "b or c", "*", "*"], ["c", "b or c", "*", "*"], ["d", "d", "d", "*"]]
    before = pa.table({"x": ["a", "b", "c", "d"] * 2, "y": list("stuvwxyz")})
    for blank in (["*"] * 8, pa.nulls(8, pa.string())):
        after = before.set_column(0, "x", pa.array(blank))
        found = quality_measures(Comparison(before, after, {"x": h.table(paths), "y": h.suppression()}))
        for measure in ("granularity", "intensity", "entropy", "squared_error"):
            assert getattr(found.attributes[0], measure).quality == 0
            assert getattr(found.attributes[1], measure).quality == 1
        assert found.attributes[0].missings == 1
