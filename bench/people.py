"""Optimal search in people beside the same search in rows: 1.2 million rows of 200,000 people.

    python bench/people.py
    python bench/people.py --people 20000 --repeat 5

A patient has an age, a sex and a ZIP code, which stay, and visits in months and wards, which do not. For suppression
limits of 0 and 5 % (5-anonymity, quality: loss): the best time of some repetitions of preparing and of searching, how
many times that of rows it is, and nodes checked. Rounds are interleaved, because the machines are shared.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pyarrow as pa

from veil import hierarchies as h
from veil import models as m
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.quality import Loss

WARDS = [[f"ward {i}", f"department {i // 3}", "*"] for i in range(12)]
MONTHS = [[f"{2020 + i // 12}-{i % 12 + 1:02}", f"{2020 + i // 12}", "*"] for i in range(36)]
KNOWN = {
    "age": h.intervals(5, 10, 20),
    "sex": h.suppression(),
    "zip": h.redaction(),
    "month": h.table(MONTHS),
    "ward": h.table(WARDS),
}
WAYS: dict[str, dict[str, Any]] = {
    "rows": {"person": None, "identifying": "patient"},
    "one row": {"person": "patient"},
    "all rows": {"person": "patient", "knows": "all rows"},
}
TARGET = 2.0


def visits(people: int, seed: int = 0) -> pa.Table:
    """Draw visits: six on average, one at least."""
    chance = np.random.default_rng(seed)
    number = 1 + chance.poisson(5, people)
    who = np.repeat(np.arange(people), number)
    order = chance.permutation(who.size)
    who = who[order]
    ages = np.clip(chance.normal(55, 18, people), 0, 99).astype(np.int64)
    zips = np.array([f"{code:05}" for code in 10_000 + 37 * (chance.zipf(1.4, people) % 900)])
    wards = chance.choice(12, who.size, p=np.arange(12, 0, -1) / 78)
    return pa.table(
        {
            "patient": who,
            "age": ages[who],
            "sex": np.array(["f", "m"])[chance.integers(0, 2, people)][who],
            "zip": pa.array(zips[who]).dictionary_encode(),
            "month": pa.array([MONTHS[i][0] for i in range(36)]).take(
                pa.array(chance.integers(0, 36, who.size))
            ),
            "ward": pa.array([WARDS[i][0] for i in range(12)]).take(pa.array(wards)),
        }
    )


def measure(table: pa.Table, way: dict[str, Any], limit: float) -> tuple[float, float, int, Any]:
    """Seconds of preparing and of searching, nodes checked, and the best node."""
    plan = Plan(KNOWN, m.KAnonymity(5), suppression_limit=limit, **way)
    start = time.perf_counter()
    ready = prepare(table, plan)
    prepared = time.perf_counter()
    evaluator = Evaluator(ready.sample, plan.models, Loss(), limit)
    found = Search(evaluator, ready.minimum, ready.maximum).run(Optimal())
    done = time.perf_counter()
    best = None if found.best is None else (found.best.levels, found.best.score)
    return prepared - start, done - prepared, found.checks, best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    asked = parser.parse_args()
    small = visits(2000)
    for way in WAYS.values():  # compile
        measure(small, way, 0.05)
    table = visits(asked.people)
    print(f"{table.num_rows:,} rows of {asked.people:,} people; target for one row: {TARGET:g} times rows")
    for limit in (0.0, 0.05):
        found: dict[str, list[tuple[float, float, int, Any]]] = {name: [] for name in asked.ways}
        for _ in range(asked.repeat):
            for name in asked.ways:
                found[name].append(measure(table, WAYS[name], limit))
        rows = [min(each) for each in zip(*(times[:2] for times in found["rows"]), strict=True)]
        for name, rounds in found.items():
            preparing, searching = (min(each) for each in zip(*(times[:2] for times in rounds), strict=True))
            print(
                f"limit {limit:4.0%}  {name:8}  preparing {preparing:6.2f} s ({preparing / rows[0]:4.1f})  "
                f"searching {searching:6.2f} s ({searching / rows[1]:4.1f})  {rounds[0][2]:5} checks  {rounds[0][3]}"
            )


if __name__ == "__main__":
    main()
