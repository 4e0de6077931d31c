"""What a look at the utility of a release costs, phase by phase, on a real table.

    python bench/analysis_utility.py                     # adult: 30,162 records, 8 quasi-identifiers
    python bench/analysis_utility.py --trees 20 --folds 5
    python bench/analysis_utility.py --rows 1200000      # a generated table instead, without classification
    python bench/analysis_utility.py --frontier          # and a risk-utility frontier

The machine may be busy with other things: the time of the processor is given along with that of the clock. A report
of adult, of which all this is a part, should be there within ten seconds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import generate
import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.frontier import frontier
from veil.api.release import Release
from veil.tables import read
from veil.utility import (
    Comparison,
    classification,
    contingency,
    distribution,
    preservation,
    quality_measures,
    query_error,
    summary_statistics,
)
from veil.utility.classifiers import CLASSIFIERS

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
NAMES = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
TARGET = "salary-class"

T = TypeVar("T")
spent = [0.0, 0.0]


def timed(name: str, work: Callable[[], T]) -> T:
    """Run some work and print what it took."""
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    spent[0] += clock
    spent[1] += processor
    print(f"  {name:32} {clock:7.3f} s   processor {processor:7.3f} s")
    return found


def adult(role: str = "insensitive") -> Release:
    """A 5-anonymous release of adult; the column to predict has the given role."""
    folder = SHARED / "data" / "adult"
    return veil.anonymize(
        read(folder / "adult.csv").table,
        quasi_identifiers={name: h.read(folder / f"adult_hierarchy_{name}.csv") for name in NAMES},
        models=KAnonymity(5),
        suppression_limit=0.05,
        **{role: [TARGET]},
    )


def generated(size: int) -> Release:
    """A 5-anonymous release of a table that is made up."""
    made = generate.large(size)
    return veil.anonymize(
        made.table,
        quasi_identifiers={name: h.table(rows) for name, rows in made.hierarchies.items()},
        models=KAnonymity(5),
        suppression_limit=0.05,
        others="keep",
    )


def measure(release: Release, folds: int, trees: int, learn: bool) -> None:
    """Print what each phase costs and, at the end, what was found."""
    comparison = timed("both tables, cell by cell", lambda: Comparison.of(release))
    quality = timed("quality measures", lambda: quality_measures(comparison))
    timed("summary statistics", lambda: summary_statistics(comparison))
    names = list(comparison.columns)
    timed("distributions", lambda: [distribution(comparison, name) for name in names])
    timed("a contingency table", lambda: contingency(comparison, names[0], names[1], at_most=50))
    kept = timed("means, variances, correlations", lambda: preservation(comparison))
    queries = timed("1,000 queries", lambda: query_error(comparison))
    learned = []
    if learn:
        timed("importing scikit-learn", lambda: __import__("sklearn.linear_model"))
        for method in CLASSIFIERS:

            def work(method: str = method) -> list[object]:
                return list(classification(comparison, TARGET, methods=[method], folds=folds, trees=trees))

            learned += timed(f"{method}, {folds} folds", work)
    print(f"  {'all in all':32} {spent[0]:7.3f} s   processor {spent[1]:7.3f} s")
    print()
    for found in (quality, kept, queries, *learned):
        print(found)


def main() -> None:
    """Measure the table asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--frontier", action="store_true")
    options = parser.parse_args()
    if not options.rows and not (SHARED / "data" / "adult").exists():
        print("adult: not measured, its data are not beside the checkout (or in VEIL_SHARED)")
        return
    release = generated(options.rows) if options.rows else adult()
    print(f"{release!r}\n")
    measure(release, options.folds, options.trees, learn=not options.rows)
    if options.frontier:
        over = {"k": [2, 5, 10, 20, 50], "suppression_limit": [0.0, 0.05, 0.2]}
        print()
        found = timed(
            "a frontier of 15 releases",
            lambda: frontier(release.outcome.source, release.plan, over=over, threads=2),
        )
        print(found)


if __name__ == "__main__":
    main()
