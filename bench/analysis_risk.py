"""What a full risk analysis of a large table costs, phase by phase.

    python bench/analysis_risk.py                   # 1.2 million rows, 8 quasi-identifiers
    python bench/analysis_risk.py --rows 200000
    python bench/analysis_risk.py --suppressed 0.05 # with this share of all cells suppressed, for the wildcards

The population is ten times the table, and every record has a sampling weight and a household. The last line is
`veil.risk.analyze`, all in all, from the Arrow table to the result, in a process that has compiled its kernels
before: that is done first, on a small table.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import generate
from veil.published.table import Published
from veil.risk import (
    analyze,
    attacker_risks,
    class_sizes,
    detect_identifiers,
    population_uniques,
    propose_roles,
)
from veil.risk.column_sets import attribute_risk
from veil.risk.distribution import risk_distribution
from veil.risk.grouping import group_records
from veil.risk.individual import individual_risk_of
from veil.risk.projections import projections
from veil.risk.special_uniques import UniqueSearch
from veil.risk.wildcards import matches, wildcard_risk_of
from veil.tables.rows import Rows

Result = TypeVar("Result")


def timed(what: str, work: Callable[[], Result], note: Callable[[Result], Any] = lambda _: "") -> Result:
    """Run some work, print its time and a word on its result."""
    start = time.perf_counter()
    result = work()
    print(f"  {what:44} {time.perf_counter() - start:7.3f} s   {note(result)}")
    return result


def made(rows: int, suppressed: float) -> tuple[pa.Table, list[str]]:
    """The large table, with weights, households and suppressed cells."""
    workload = generate.large(rows)
    rng = np.random.default_rng(7)
    table = workload.table.append_column("weight", pa.array(rng.gamma(2.0, 5.0, rows) + 1))
    table = table.append_column("household", pa.array(rng.integers(0, rows // 2 + 1, rows)))
    for name in workload.hierarchies if suppressed else ():
        shown = pa.array(rng.random(rows) >= suppressed)
        cells = pc.if_else(shown, table[name].cast(pa.string()), "*")
        table = table.set_column(table.column_names.index(name), name, cells)
    return table, list(workload.hierarchies)


def phases(table: pa.Table, names: list[str]) -> None:
    """Run and time each part by itself."""
    groups = timed(
        "classes",
        lambda: group_records(Published(Rows.of(table), names)),
        lambda it: f"{it.sizes.size:,} classes",
    )
    sizes, population = groups.sizes, 10 * table.num_rows
    timed("prosecutor, journalist, marketer", lambda: attacker_risks(sizes))
    timed("class sizes and distribution of risks", lambda: (class_sizes(sizes), risk_distribution(sizes)))
    timed(
        "population uniques, four models", lambda: population_uniques(sizes, population), lambda it: it.chosen
    )
    timed("wildcards", lambda: wildcard_risk_of(groups, matches(groups), 0.2))
    timed(
        "distinction and separation of all subsets",
        lambda: [attribute_risk(groups, each) for each in projections(groups)],
        lambda it: f"{len(it):,} subsets",
    )

    def special() -> Any:
        search = UniqueSearch(groups, len(names))
        for each in projections(groups):
            search.add(each)
        return search.score(0.1)

    timed("SUDA2, without a limit", special, lambda it: f"{sum(it.sizes.values()):,} minimal sample uniques")
    timed(
        "individual and household risk",
        lambda: individual_risk_of(groups, table, "weight", "household"),
        lambda it: f"{it.expected:,.0f} expected",
    )
    timed("identifying columns", lambda: detect_identifiers(table), lambda it: f"{len(it)} findings")
    timed("roles", lambda: propose_roles(table))


def main() -> None:
    """Print what each phase costs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_200_000)
    parser.add_argument("--suppressed", type=float, default=0.0)
    options = parser.parse_args()

    def whole(table: pa.Table, names: list[str]) -> Any:
        people = 10 * table.num_rows
        return analyze(table, names, population=people, weights="weight", household="household")

    small = made(2_000, 0.05)
    whole(*small)
    table, names = made(options.rows, options.suppressed)
    print(f"{table.num_rows:,} rows, {len(names)} quasi-identifiers")
    phases(table, names)
    found = timed("veil.risk.analyze, all in all", lambda: whole(table, names))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory of this process {peak:,.0f} MB\n")
    print(found)


if __name__ == "__main__":
    main()
