"""Comparisons of people with the same people at generalized ages."""

from __future__ import annotations

import pyarrow as pa

from veil import hierarchies as h
from veil.utility import Comparison


def generalized(people: pa.Table, hidden: int = 0, flag: bool = False) -> Comparison:
    ages = [
        "*" if i < hidden else "young" if a <= 40 else "old" for i, a in enumerate(people["age"].to_pylist())
    ]
    jobs = ["*" if i < hidden else job for i, job in enumerate(people["job"].to_pylist())]
    table = [[str(a), "young" if a <= 40 else "old", "*"] for a in range(20, 60)]
    after = people.set_column(0, "age", pa.array(ages)).set_column(1, "job", pa.array(jobs))
    return Comparison(people, after, {"age": h.table(table), "job": h.suppression()})
