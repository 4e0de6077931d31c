"""What looking at a release costs: its risks, and its report.

    python bench/analysis.py                  # risks of 1.2 million rows, report of adult
    python bench/analysis.py --large          # and the report of a release of 1.2 million rows
    python bench/analysis.py --rows 200000

Targets: a full risk analysis of 1.2 million rows with 8 attributes within 15 seconds, a report of adult within 10,
a report of 1.2 million rows within 60 and 4 GB. The machine may be busy with other things: the time of the processor
is given along with that of the clock. `analysis_risk.py` and `analysis_utility.py` look at single measures.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from analysis_risk import made
from analysis_utility import SHARED, adult, generated
from veil.api.release import Release
from veil.report import collect_facts
from veil.report.pages.html import html
from veil.report.pages.pdf import pdf
from veil.risk import analyze

T = TypeVar("T")


def timed(name: str, work: Callable[[], T]) -> T:
    """Run some work and print what it took."""
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    print(f"  {name:40} {clock:7.2f} s   processor {processor:7.2f} s", flush=True)
    return found


def risks(rows: int) -> None:
    """Measure a full risk analysis, in a process that has compiled its kernels before."""

    def whole(table: Any, names: list[str]) -> Any:
        people = 10 * table.num_rows
        return analyze(table, names, population=people, weights="weight", household="household")

    whole(*made(2_000, 0.05))
    for suppressed in (0.0, 0.05):
        table, names = made(rows, suppressed)
        cells = "" if not suppressed else f", {suppressed:.0%} of the cells suppressed"
        timed(f"risks of {rows:,} rows{cells}", lambda table=table, names=names: whole(table, names))


def report(name: str, release: Release) -> None:
    """Measure the report of a release: all in all as the first of the process, and then by phase."""
    with tempfile.TemporaryDirectory() as folder:
        timed(f"report of {name}", lambda: release.report(Path(folder, "report.html"), progress=False))
    start = [time.perf_counter(), ""]

    def tell(phase: str) -> None:
        now = time.perf_counter()
        if start[1]:
            print(f"    {start[1]:38} {now - start[0]:7.2f} s")
        start[:] = [now, phase]

    found = collect_facts(release, tell=tell)
    tell("")
    timed("  HTML with pictures", lambda: html(found))
    timed("  PDF with pictures", lambda: pdf(found))


def main() -> None:
    """Print what each phase costs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_200_000)
    parser.add_argument("--large", action="store_true", help="also report on a release of so many rows")
    options = parser.parse_args()
    if (SHARED / "data" / "adult").exists():
        report("adult", adult("sensitive"))
    else:
        print("adult: not measured, its data are not beside the checkout (or in VEIL_SHARED)")
    risks(options.rows)
    if options.large:
        report(f"{options.rows:,} rows", generated(options.rows))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory of this process {peak:,.0f} MB")


if __name__ == "__main__":
    main()
