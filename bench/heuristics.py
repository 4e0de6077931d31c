"""Anytime search: how good each strategy is after 1, 5, 10 and 30 seconds on tables that cannot be enumerated.

    python bench/heuristics.py                    # 15, 20, 25, 30, 50 quasi-identifiers, suppression 0 and 1: 40 min
    python bench/heuristics.py 15 30 --seconds 10 # some of them, shorter

5-anonymity, loss, generated surveys of 68,725 rows with correlated answers (`generate.wide`). Every run is a search of
its own with warm kernels; "checks" are transformations evaluated from the class table up. The first time is that of
the first solution. `BestEffort` is to be at least as good after a third of the time as any other after all of it.
"""

from __future__ import annotations

import argparse

import generate
from veil import hierarchies as h
from veil.lattice import STRATEGIES
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import BestNode, Limits, Search
from veil.models import KAnonymity
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss

ORDER = ["BestEffort", "Auto", "Optimal", "Lightning", "TopDown", "Genetic", "DataFly", "ImprovedGreedy"]


def prepared(attributes: int) -> Prepared:
    """A survey, ready to search."""
    workload = generate.wide(attributes)
    hierarchies = {name: h.table(rows) for name, rows in workload.hierarchies.items()}
    return prepare(workload.table, Plan(hierarchies, KAnonymity(5), others="keep"))


def run(ready: Prepared, limit: float, strategy: str, seconds: float) -> BestNode:
    """One search."""
    evaluator = Evaluator(ready.sample, [KAnonymity(5)], Loss(), limit)
    evaluator.evaluate(ready.maximum, ready.sample.table, score=True)
    limits = Limits(seconds=seconds)
    return Search(evaluator, ready.minimum, ready.maximum, limits=limits).run(STRATEGIES[strategy]())


def after(found: BestNode, seconds: float) -> float | None:
    """The best score known after some seconds."""
    known = [score[0] for at, _, score in found.curve if at <= seconds]
    return known[-1] if known else None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attributes", nargs="*", type=int, default=[15, 20, 25, 30, 50])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--strategies", nargs="*", default=ORDER)
    chosen = parser.parse_args()
    marks = [mark for mark in (1, 5, 10, 30) if mark <= chosen.seconds]
    run(prepared(5), 1.0, "BestEffort", 2)  # compiles the kernels
    for attributes in chosen.attributes:
        ready = prepared(attributes)
        for limit in (0, 1):
            size = 1
            for height in ready.maximum:
                size *= height + 1
            print(
                f"\n{attributes} quasi-identifiers, {size:.2g} transformations, "
                f"{len(ready.sample.table):,} distinct rows, suppression limit {limit}"
            )
            heading = "".join(f"{f'{mark} s':>11}" for mark in marks)
            print(f"  {'strategy':15}{'first [s]':>10}{heading}{'checks':>9}{'checks/s':>10}   ending")
            found = {name: run(ready, limit, name, chosen.seconds) for name in chosen.strategies}
            for name, each in found.items():
                first = f"{each.curve[0][0]:.2f}" if each.curve else "-"
                scores = "".join(_shown(after(each, mark)) for mark in marks)
                rate = each.checks / each.seconds
                note = "proven optimal" if each.proven else each.ending
                print(f"  {name:15}{first:>10}{scores}{each.checks:>9,}{rate:>10,.0f}   {note}", flush=True)
            if "BestEffort" in found:
                early = after(found["BestEffort"], chosen.seconds / 3)
                late = [after(each, chosen.seconds) for name, each in found.items() if name != "BestEffort"]
                best = min((score for score in late if score is not None), default=None)
                behind = early is None or (best is not None and early > best)
                verdict = "BEHIND another" if behind else "at least as good as every other"
                print(f"  best effort after {chosen.seconds / 3:g} s is {verdict} after {chosen.seconds:g} s")


def _shown(score: float | None) -> str:
    return f"{'-' if score is None else f'{score:.6f}':>11}"


if __name__ == "__main__":
    main()
