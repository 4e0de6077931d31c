"""The tree of illnesses of the lecture of A. Gerl, and the score of one of them."""

from __future__ import annotations

import pyarrow as pa

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
