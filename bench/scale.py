"""Past one machine's memory: registers of 1, 10 and 100 million rows, anonymized by DuckDB in 4 GB, and by Spark.

    python bench/scale.py                     # 1, 10 and 100 million rows with DuckDB
    python bench/scale.py --rows 1 10         # millions of rows
    python bench/scale.py --spark 10          # the same 10 million rows with Spark, local[2]
    python bench/scale.py --folder DIRECTORY  # where the data go (2 GB for 100 million rows); kept for the next run

Each run is a process of its own. As root on Linux it runs in a control group with 4 GB of memory, page cache
included; elsewhere only DuckDB has a limit, and the peak tells. What is measured is the user's work, from the Parquet
folder to the written and checked release: a plan with 5-anonymity, 2-diversity and 1 % suppression, optimal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import generate

MILLION = 1_000_000
LIMIT = 4 << 30
DUCKDB = "800MB"


def made(folder: Path, millions: int) -> Path:
    """Make a register, or take the one that is there."""
    place = folder / f"register-{millions}m"
    place.mkdir(parents=True, exist_ok=True)
    for part in range(millions):
        file = place / f"part-{part:03d}.parquet"
        if file.exists():
            continue
        table = generate.large(MILLION, part=part).table
        rng = np.random.default_rng([7, part])
        number = rng.permutation(MILLION) + part * MILLION
        charge = np.round(rng.lognormal(7, 1, MILLION), 2)
        table = table.add_column(0, "person", pa.array(number)).append_column("charge", pa.array(charge))
        pq.write_table(table, file.with_suffix(".tmp"))
        file.with_suffix(".tmp").rename(file)
    return place


def plan() -> dict[str, Any]:
    """What is asked."""
    from veil import DistinctLDiversity, KAnonymity
    from veil import hierarchies as h

    work = generate.large(1000)
    return {
        "quasi_identifiers": {name: h.table(rows) for name, rows in work.hierarchies.items()},
        "sensitive": [work.sensitive],
        "insensitive": ["charge"],
        "identifying": ["person"],
        "models": [KAnonymity(5), DistinctLDiversity(work.sensitive, 2)],
        "suppression_limit": 0.01,
    }


class Phases:
    """Seconds by phase, from the progress that a person would see."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.name, self.since = "", time.perf_counter()

    def __call__(self, phase: str, done: int, total: int, note: str) -> None:
        if phase != self.name:
            now = time.perf_counter()
            if self.name:
                self.seconds[self.name] = self.seconds.get(self.name, 0) + now - self.since
            self.name, self.since = phase, now


def run(source: Path, target: Path, engine: str) -> dict[str, Any]:
    """Anonymize a register and write the release; return what it took."""
    import veil
    from veil.engines import Settings

    phases = Phases()
    if engine == "spark":
        session = spark()
        begun = time.perf_counter()
        release = veil.anonymize(session.read.parquet(str(source)), **plan(), progress=phases)
    else:
        begun = time.perf_counter()
        settings = Settings(memory=DUCKDB, temporary=target.parent)
        release = veil.anonymize(str(source), **plan(), engine=settings, progress=phases, threads=2)
    found = time.perf_counter()
    release.save(str(target), progress=phases)
    phases("", 0, 0, "")
    ended = time.perf_counter()
    return {
        "total": ended - begun,
        "anonymize": found - begun,
        "save": ended - found,
        "phases": phases.seconds,
        "condensed": release.outcome.source.table.num_rows,
        "classes": len(release.outcome.prepared.sample.table),
        "nodes": len(release.search.explored.evaluated),
        "suppressed": release.suppressed / release.records,
        "levels": list(release.transformation.values()),
        "score": release.score,
        "peak": peak(),
    }


def spark() -> Any:
    """Start Spark on two cores, with the memory that a laptop gives it."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "3g")
    for name, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "16"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def peak() -> int:
    """Largest memory of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


@contextlib.contextmanager
def limited() -> Iterator[list[Path]]:
    """Make a control group with the memory limit, where that can be done."""
    roots = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")]
    for root, name in zip(roots, ("memory.limit_in_bytes", "memory.max"), strict=True):
        group = root / f"veil-bench-{os.getpid()}"
        try:
            group.mkdir()
            (group / name).write_text(str(LIMIT))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        try:
            yield [group / "cgroup.procs"]
        finally:
            time.sleep(0.5)
            with contextlib.suppress(OSError):
                group.rmdir()
        return
    yield []


def measured(source: Path, target: Path, engine: str) -> dict[str, Any]:
    """Run in a process of its own, within the limit."""
    shutil.rmtree(target, ignore_errors=True)
    with limited() as groups:

        def enter() -> None:
            for group in groups:
                group.write_text(str(os.getpid()))

        command = [sys.executable, __file__, "--run", str(source), str(target), engine]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            preexec_fn=enter if engine != "spark" else None,
        )
    if done.returncode:
        return {"failed": done.returncode}
    return {**json.loads(done.stdout.splitlines()[-1]), "limited": bool(groups) and engine != "spark"}


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, nargs="*", default=None, help="millions of rows for DuckDB")
    arguments.add_argument("--spark", type=int, nargs="*", default=[], help="millions of rows for Spark")
    arguments.add_argument("--folder", type=Path, default=None, help="where data and releases go")
    arguments.add_argument("--run", nargs=3, default=None, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.run is not None:
        print(json.dumps(run(Path(given.run[0]), Path(given.run[1]), given.run[2])))
        return
    rows = given.rows if given.rows is not None else ([] if given.spark else [1, 10, 100])
    folder = given.folder or Path(tempfile.mkdtemp(prefix="veil-scale-"))
    jobs = [("duckdb", each) for each in rows] + [("spark", each) for each in given.spark]
    for engine, millions in jobs:
        source = made(folder, millions)
        size = sum(file.stat().st_size for file in source.iterdir()) / 1e6
        found = measured(source, folder / f"release-{engine}-{millions}m", engine)
        print(f"\n{engine}: {millions} million rows, {size:,.0f} MB of Parquet")
        if "failed" in found:
            print(f"  failed, exit code {found['failed']}")
            continue
        within = f"limit {LIMIT / 2**30:.0f} GB" if found["limited"] else "no limit"
        print(f"  total {found['total']:8.1f} s   peak {found['peak'] / 2**30:.2f} GB ({within})")
        for phase, seconds in found["phases"].items():
            print(f"    {phase:<36} {seconds:8.1f} s")
        print(
            f"  {found['condensed']:,} combinations, {found['classes']:,} classes, {found['nodes']} nodes checked, "
            f"{found['suppressed']:.2%} suppressed, levels {found['levels']}, score {found['score']:.6f}"
        )
    if given.folder is None:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
