"""Subtree recoding: one label for each value, against the full-domain optimum of the same loss.

    python bench/subtree.py                 # adult and fars, k = 2 and 5, without and with suppression
    python bench/subtree.py adult --k 5 20  # some of it
    python bench/subtree.py --seconds 10

Losses are the arithmetic mean over cells. Times are CPU seconds, from the prepared table on; kernels are
compiled before.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

from veil import hierarchies as h
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Search
from veil.models import KAnonymity
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss
from veil.recoding.problem import UNIT
from veil.recoding.subtree import recode_subtree
from veil.tables import read

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
REAL = {
    "adult": ("adult.csv", "adult_hierarchy_", "sex age race marital-status education native-country workclass salary-class"),
    "fars": ("fars_int.csv", "fars_int_hierarchy_", "iage irace ideathmon ideathday isex ihispanic iinjury"),
}  # fmt: skip
LOSS = Loss(aggregate="arithmetic_mean")
TARGETS = {
    ("adult", 5, 1.0): 0.150,
    ("fars", 5, 1.0): 0.092,
    ("adult", 5, 0.0): 0.625,
    ("fars", 5, 0.0): 0.699,
}
"""Losses to reach, by table, k and suppression limit."""


def load(name: str, k: int, limit: float) -> Prepared:
    """The table with its hierarchies, ready to be searched."""
    file, prefix, columns = REAL[name]
    folder = SHARED / "data" / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fars lists an age twice, on purpose
        hierarchies = {column: h.read(folder / f"{prefix}{column}.csv") for column in columns.split()}
    plan = Plan(hierarchies, [KAnonymity(k)], suppression_limit=limit, others="drop", quality=LOSS)
    return prepare(read(folder / file).table, plan)


def measure(name: str, k: int, limit: float, seconds: float) -> str:
    """One line of the table."""
    prepared = load(name, k, limit)
    models = prepared.plan.searched_models
    evaluator = Evaluator(prepared.sample, models, LOSS, limit)
    best = Search(evaluator, prepared.minimum, prepared.maximum).run(prepared.plan.strategy).best
    started = time.process_time()
    solution = recode_subtree(prepared, models, seconds=seconds)
    spent = time.process_time() - started
    whole = UNIT * prepared.rows.records
    full = "-" if best is None or best.score is None else f"{best.score[0]:.4f}"
    bound = "-" if solution.bound is None else f"{solution.bound / whole:.4f}"
    target = TARGETS.get((name, k, limit))
    first = next(seconds for seconds, cost, _ in solution.curve if cost == solution.cost)
    return (
        f"{name:6} {k:4} {limit:6.2%} {full:>8} {solution.cost / whole:8.4f} {int(solution.suppressed.sum()):6} "
        f"{bound:>8} {'proven' if solution.proven else '':6} {spent:6.1f} {first:6.1f} "
        f"{'' if target is None else format(target, '.3f')}"
    )


def main() -> None:
    """Measure all combinations that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(REAL))
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--limits", type=float, nargs="+", default=[0.0, 0.01, 1.0])
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    measure("adult", 5, 1.0, 3.0)
    print("table     k  limit   full d.  subtree   gone    bound           CPU  best after (s)  target")
    for name in options.tables:
        for k in options.k:
            for limit in options.limits:
                print(measure(name, k, limit, options.seconds), flush=True)


if __name__ == "__main__":
    main()
