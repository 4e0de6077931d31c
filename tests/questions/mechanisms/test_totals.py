"""Sums and means."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest

from support.dp.sessions import open_session
from veil.dp import Laplace
from veil.questions.mechanisms.totals import sum_reach


def test_bounds_of_half_more_than_the_maximum_are_data() -> None:
    """As the thesis chose them: a record of 100 beside one of 1 makes the noise a hundred times wider, which tells of it."""
    chances = []
    for values in ([1], [1, 100]):
        high = 1.5 * max(values)
        noise = Laplace(Fraction(high), 1, grid=4)
        steps = 16 * 1000 - noise.grid.nearest(sum(values))  # a result of 1000
        chances.append(float(noise.tail(steps) - noise.tail(steps + 1)))
    assert math.log(chances[1] / chances[0]) > 500  # where 1 was promised


def test_a_public_number_makes_means_better() -> None:
    ages = pa.table({"age": [50] * 1000})
    widths = {}
    for neighbours in ("one more or less", "one changed"):
        session = open_session(
            ages, neighbours=neighbours, bounds={"age": (0, 100)}, keys={}, missing={"age": 0}
        )
        low, high = session.mean("age", epsilon=1).interval(0.95)
        widths[neighbours] = high - low
    assert widths["one changed"] == pytest.approx(2 * 100 * math.log(20) / 1000, rel=1e-2)
    assert widths["one more or less"] > widths["one changed"]


@pytest.mark.parametrize(
    ("missing", "outside", "where", "public"),
    [
        (0, "clamp", None, True),
        ("leave out", "clamp", None, False),
        (0, "leave out", None, False),
        (0, "clamp", "age > 30", False),
    ],
)
def test_the_number_of_records_is_public_only_if_nobody_is_left_out(missing, outside, where, public) -> None:
    """Where somebody may be left out, who is one changed record away changes how many count."""
    ages = pa.table({"age": [50] * 100})
    session = open_session(
        ages,
        neighbours="one changed",
        bounds={"age": (80, 100)},
        keys={},
        missing={"age": missing if missing else 80},
        outside=outside,
    )
    mean = session.preview.mean("age", where=where, epsilon=1).accuracy()
    assert ("the number of records is within" in mean) != public
    total = session.preview.sum("age", where=where, epsilon=1).accuracy()
    reach = 20 if public else 100
    bounded = session._declared.bounded("age")
    assert sum_reach(session._declared, bounded, where) * bounded.step == reach
    assert float(total.rsplit("± ", 1)[1]) == pytest.approx(reach * math.log(20), rel=1e-3)
