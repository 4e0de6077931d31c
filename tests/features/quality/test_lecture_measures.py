"""The measures of information loss that the lecture of A. Gerl works out, on its tree of illnesses."""

from __future__ import annotations

import pyarrow as pa
import pytest

import veil
from veil import hierarchies as h
from veil import quality as q
from veil.models import KAnonymity

ILLNESSES = h.table(
    [
        ["HIV", "virus infection", "*"],
        ["hepatitis", "virus infection", "*"],
        ["pelvic fracture", "fracture", "*"],
        ["skull fracture", "fracture", "*"],
        ["common cold", "bacterial infection", "*"],
    ]
)


def score(illness: str, quality: q.QualityModel, level: int) -> float:
    release = veil.anonymize(
        pa.table({"illness": [illness]}),
        quasi_identifiers={"illness": ILLNESSES},
        models=[KAnonymity(1)],
        quality=quality,
        minimum_levels={"illness": level},
        maximum_levels={"illness": level},
    )
    return float(release.score)


@pytest.mark.parametrize(
    ("illness", "level", "loss"), [("HIV", 1, 0.25), ("common cold", 1, 0), ("HIV", 2, 1), ("HIV", 0, 0)]
)
def test_lecture_gerl_loss_of_25_percent(illness, level, loss):
    """(M_P - 1) / (M - 1): one of the four other illnesses is a virus infection, too."""
    assert score(illness, q.Loss(), level) == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize(("level", "share"), [(0, 0), (1, 0.5), (2, 1)])
def test_lecture_gerl_height_of_50_percent(level, share):
    """h / (H - 1) with H = 3 levels, which here is a height of 2."""
    assert score("HIV", q.Height(), level) / ILLNESSES.height == share
    assert score("HIV", q.Precision(), level) == share
