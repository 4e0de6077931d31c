"""Masking methods: how long they take on large tables, and what ways to k-anonymity keep, side by side.

    python bench/masking.py            # all of it
    python bench/masking.py large      # Mondrian and top-down specialization: 1.2 million rows, 8 quasi-identifiers
    python bench/masking.py mdav       # microaggregation: how it grows up to 100,000 rows and 8 columns
    python bench/masking.py adult      # average class size, discernibility and loss for k = 2, 5, 10 and 50

Kernels are warmed up first. Times are those of the method: encoding, cutting, labelling and verifying. Losses are shares
of the domain that a cell covers, counted in values: those that the hierarchy lists, or, without one, those that occur.
Local recoding releases what is suppressed otherwise; both begin with the same plan.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import generate
import veil
from veil import hierarchies as h
from veil.base.randomness import Randomness
from veil.masking.microaggregation.methods import MDAV
from veil.masking.partition.mondrian import Mondrian
from veil.masking.partition.specialization import TopDownSpecialization
from veil.models import DistinctLDiversity, EntropyLDiversity, KAnonymity, TCloseness
from veil.outcome.method import Method
from veil.tables import read
from veil.tables.rows import Rows

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


def timed(method: Method, table: pa.Table, repeat: int = 3) -> tuple[Any, float]:
    """Run a method; return the outcome and the best time."""
    method.mask(Rows.of(table.slice(0, 3000)), Randomness())
    best = float("inf")
    outcome = None
    for _ in range(repeat):
        start = time.perf_counter()
        outcome = method.mask(Rows.of(table), Randomness())
        best = min(best, time.perf_counter() - start)
    return outcome, best


def large() -> None:
    """Time Mondrian on 1.2 million rows."""
    made = generate.large()
    names = list(made.hierarchies)
    trees = {name: h.table(rows) for name, rows in made.hierarchies.items()}
    ill = made.sensitive
    five = KAnonymity(5)
    methods: dict[str, Method] = {
        "Mondrian, k = 5 (target 10 s)": Mondrian(names, five),
        "Mondrian with hierarchies": Mondrian(trees, five),
        "Mondrian, relaxed": Mondrian(names, five, relaxed=True),
        "Mondrian, distinct 3-diversity": Mondrian(names, [five, DistinctLDiversity(ill, 3)]),
        "Mondrian, entropy 3-diversity": Mondrian(names, [five, EntropyLDiversity(ill, 3)]),
        "Mondrian, 0.3-closeness": Mondrian(names, [five, TCloseness(ill, 0.3)]),
        "Top-down specialization": TopDownSpecialization(trees, five),
    }
    print(f"\nlarge: {made.table.num_rows:,} rows, {len(names)} quasi-identifiers")
    print(f"  {'':34} {'best [s]':>8}  {'classes':>8}  {'loss':>8}")
    for name, method in methods.items():
        outcome, best = timed(method, made.table)
        print(f"  {name:34} {best:8.2f}  {outcome.facts['classes']:8,}  {outcome.facts['loss']:8.4f}")


def adult() -> None:
    """Put ways to k-anonymity side by side."""
    folder = SHARED / "data" / "adult"
    table = read(folder / "adult.csv").table
    trees = {name: h.read(folder / f"adult_hierarchy_{name}.csv") for name in ADULT}
    print(f"\nadult: {table.num_rows:,} rows, {len(ADULT)} quasi-identifiers")
    print(
        f"  {'k':>3}  {'':32} {'classes':>8}  {'average':>9}  {'discernibility':>14}  {'loss':>7}  {'time [s]':>8}"
    )
    for k in (2, 5, 10, 50):
        for name, facts, seconds in _ways(table, trees, k):
            print(
                f"  {k:3}  {name:32} {facts['classes']:8,}  {facts['average class size']:9.2f}  "
                f"{facts['discernibility']:14,}  {facts['loss']:7.4f}  {seconds:8.3f}"
            )


def _ways(table: pa.Table, trees: dict[str, Any], k: int) -> Iterator[tuple[str, Any, float]]:
    model = KAnonymity(k)
    methods: dict[str, Method] = {
        "Mondrian, hierarchies": Mondrian(trees, model),
        "Mondrian, hierarchies but age": Mondrian({**trees, "age": None}, model),
        "Mondrian, no hierarchies": Mondrian(ADULT, model),
        "Mondrian, no hierarchies, relaxed": Mondrian(ADULT, model, relaxed=True),
        "Top-down specialization": TopDownSpecialization(trees, model),
    }
    for name, method in methods.items():
        outcome, seconds = timed(method, table)
        yield name, outcome.facts, seconds
    plan: dict[str, Any] = {"quasi_identifiers": trees, "models": model, "others": "keep", "progress": False}
    for limit in (0.0, 0.05):
        start = time.perf_counter()
        made = veil.anonymize(table, suppression_limit=limit, **plan)
        yield f"optimal full domain, {limit:.0%} suppr.", made.measures(), time.perf_counter() - start
    start = time.perf_counter()
    local = veil.anonymize(table, recoding=veil.recoding.FromTheStart(100), **plan)
    yield f"local recoding, {len(local.passes)} passes", local.measures(), time.perf_counter() - start


def mdav() -> None:
    """Time MDAV on numbers that hang together, and on numbers that do not (where pruning helps least)."""
    rng = np.random.default_rng(7)
    print("\nMDAV, 8 columns, k = 5 (target for 100,000 rows: 60 s): best of 2 [s]")
    print(f"  {'rows':>8}  {'correlated':>11}  {'independent':>11}")
    for rows in (10_000, 20_000, 50_000, 100_000):
        hidden = rng.normal(size=(rows, 2))
        together = np.exp(0.5 * (hidden @ rng.normal(size=(2, 8)) + 0.5 * rng.normal(size=(rows, 8))))
        apart = rng.normal(size=(rows, 8))
        names = [f"x{j}" for j in range(8)]
        seconds = [
            timed(MDAV(names, 5), pa.table(dict(zip(names, each.T, strict=True))), 2)[1]
            for each in (together, apart)
        ]
        print(f"  {rows:8,}  {seconds[0]:11.2f}  {seconds[1]:11.2f}")


def main() -> None:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    asked = sys.argv[1:] or ["large", "mdav", "adult"]
    if "large" in asked:
        large()
    if "mdav" in asked:
        mdav()
    if "adult" in asked:
        if (SHARED / "data" / "adult").exists():
            adult()
        else:
            print("\nadult: not measured, its data are not beside the checkout (or in VEIL_SHARED)")


if __name__ == "__main__":
    main()
