"""The reference's example E1 as a table, and its releases at given levels."""

from __future__ import annotations

import pyarrow as pa

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.utility import Comparison

AGES = [21, 23, 21, 35, 38, 35, 38, 23, 35, 21]


E1 = pa.table(
    {
        "A": AGES,
        "G": list("ffmmmffmmf"),
        "Z": ["110", "112", "110", "110", "241", "243", "241", "112", "243", "110"],
    }
)
TABLES = {
    "A": h.table(
        [
            ["21", "20-29", "*"],
            ["23", "20-29", "*"],
            ["35", "30-39", "*"],
            ["38", "30-39", "*"],
            ["47", "40-49", "*"],
        ]
    ),
    "G": h.table([["f", "*"], ["m", "*"]]),
    "Z": h.table([[z, z[:2] + "*", z[:1] + "**", "***"] for z in ("110", "112", "241", "243")]),
}


def e1(levels: tuple[int, ...], names: str = "AGZ", **options: object) -> Comparison:
    release = veil.anonymize(
        E1.select(list(names)),
        quasi_identifiers={name: TABLES[name] for name in names},
        models=KAnonymity(2),
        suppression_limit=1.0,
        **options,
        order="input",
    )
    return Comparison.of(release.search.apply(levels))
