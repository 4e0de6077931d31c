"""Optimal search, end to end: what each phase costs on real and generated tables.

    python bench/optimal.py                     # adult, fars, large, near_distinct
    python bench/optimal.py adult near_distinct # some of them
    python bench/optimal.py --repeat 9          # more repetitions of each search (the best and the median count)

Each table runs in a process of its own, so that peak memory is its own. Kernels are warmed up first. The table is
written as a CSV file, read as a user would, anonymized and written. `numpy.unique` over the packed keys of the same
rows is the yardstick for what one grouping costs with a good general tool.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import generate
from veil import hierarchies as h
from veil.api.release import Release
from veil.classes import kernels
from veil.classes.table import collapse
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models import KAnonymity
from veil.outcome.generalize import Choice, generalize
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.quality import AverageClassSize, Loss
from veil.tables import Csv, read, write
from veil.verification.outcome import verified

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
REAL = {
    "adult": ("adult.csv", "adult_hierarchy_", "sex age race marital-status education native-country workclass salary-class"),
    "fars": ("fars_int.csv", "fars_int_hierarchy_", "iage irace ideathmon ideathday isex ihispanic iinjury"),
}  # fmt: skip
# Seconds to reach on the usual two-core machine, by suppression limit.
TARGETS = {
    "adult": {0.0: 0.02, 1.0: 0.10},
    "fars": {0.0: 0.03, 1.0: 0.3},
    "large": {0.0: 4.0, 0.1: 4.0, 1.0: 4.0},
    "near_distinct": {0.1: 1.0, 1.0: 2.0},
}


def load(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The table as a CSV file, and its hierarchies."""
    if name in REAL:
        file, prefix, columns = REAL[name]
        data = SHARED / "data" / name
        return data / file, {column: h.read(data / f"{prefix}{column}.csv") for column in columns.split()}
    made = getattr(generate, name)()
    path = folder / f"{name}.csv"
    write(made.table, path, format=Csv(separator=";"))
    return path, {column: h.table(rows) for column, rows in made.hierarchies.items()}


def clock(work: Callable[[], Any], repeat: int = 1) -> tuple[Any, list[float]]:
    """Run some work, and tell how long each repetition took."""
    times, result = [], None
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, times


def measure(name: str, repeat: int) -> None:
    """Print the figures of one table."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path, hierarchies = load(name, folder)
        if name not in REAL:
            # The generator's own memory does not count: read the file in a process that never held the frame.
            generated_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        else:
            generated_peak = 0.0
        source, (read_time, *_) = clock(lambda: read(path))

        def plan(quality: Any, limit: float) -> Plan:
            return Plan(hierarchies, KAnonymity(5), others="keep", quality=quality, suppression_limit=limit)

        prepare(source.table.slice(0, 1000), plan(Loss(), 1.0))  # compile
        prepared, (prepare_time, *_) = clock(lambda: prepare(source.table, plan(Loss(), 1.0)))
        sample, codes = prepared.sample, list(prepared.codes)
        _, collapse_times = clock(lambda: collapse(prepared.encoding, codes, [], None, squares=False), 3)

        words = [np.zeros(sample.rows, np.uint64) for _ in range(prepared.encoding.words)]
        for j, column in enumerate(codes):
            word, shift, _mask = prepared.encoding.layout[j]
            kernels.pack(column, int(shift), words[word])
        keys = words[0] if len(words) == 1 else np.rec.fromarrays(words)
        _, unique_times = clock(lambda: np.unique(keys, return_counts=True), 3)

        nodes = int(np.prod([height + 1 for height in prepared.encoding.heights]))
        print(f"\n{name}: {sample.rows:,} rows, {len(sample.table):,} distinct, {nodes:,} transformations")
        print(f"  read {read_time:.3f} s · encode and collapse {prepare_time:.3f} s, of which collapse "
              f"{min(collapse_times):.4f} s · numpy.unique over the packed keys {min(unique_times):.4f} s")  # fmt: skip
        print("  quality            limit   best [s]  median [s]  target [s]  checked   score")
        for quality in (Loss(), AverageClassSize()):
            for limit in (0.0, 0.1, 1.0):

                def search(quality: Any = quality, limit: float = limit) -> Any:
                    evaluator = Evaluator(sample, [KAnonymity(5)], quality, limit)
                    return evaluator, Search(evaluator, prepared.minimum, prepared.maximum).run(Optimal())

                search()
                (evaluator, found), times = clock(search, repeat)
                target = TARGETS[name].get(limit)
                print(f"  {type(quality).__name__:18} {limit:5}  {min(times):9.4f}  {statistics.median(times):10.4f}  "
                      f"{target if target is not None else '-':>10}  {len(found.space.evaluated):7}   "
                      f"{found.best.score[0]:.9g}  {found.best.levels}")  # fmt: skip
        release, (apply_time, *_) = clock(
            lambda: Release(
                verified(generalize(source, prepared, Choice(found.best.levels, found, evaluator)))
            )
        )
        _, (write_time, *_) = clock(lambda: release.save(folder / "release.csv", overwrite=True))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  apply and verify {apply_time:.3f} s · write {write_time:.3f} s · peak memory {peak:,.0f} MB"
              + (f" (the generator alone: {generated_peak:,.0f} MB)" if generated_peak else ""))  # fmt: skip


def main() -> None:
    """Run the tables asked for, each in its own process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=["adult", "fars", "large", "near_distinct"])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--here", action="store_true", help="in this process")
    options = parser.parse_args()
    for name in options.tables:
        if name in REAL and not (SHARED / "data" / name).exists():
            print(f"\n{name}: not measured, its data are not beside the checkout (or in VEIL_SHARED)")
        elif options.here:
            measure(name, options.repeat)
        else:
            command = [sys.executable, __file__, name, "--here", "--repeat", str(options.repeat)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
