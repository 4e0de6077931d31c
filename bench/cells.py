"""Recoding cell by cell: the loss after some CPU seconds, the proven bound, and the gap between them.

    python bench/cells.py                     # adult and fars, several k
    python bench/cells.py adult --k 5 20      # some of it
    python bench/cells.py adult --k 5 --seconds 10
    python bench/cells.py large --k 5         # 1.2 million rows: the whole call as well, phase by phase
    python bench/cells.py adult fars near --k 5 --coarsening 0 0.0005 0.002 0.01   # what an attacker makes of it

Losses are the arithmetic mean over cells. Times are CPU seconds of both cores together, from the prepared table on;
kernels are compiled before.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import generate
import veil
from veil import hierarchies as h
from veil.base.compiled import compiling_seconds
from veil.base.progress import following
from veil.base.randomness import Randomness
from veil.models import DistinctLDiversity, KAnonymity, PrivacyModel, TCloseness
from veil.outcome.assemble import assemble
from veil.outcome.result import CellLevels
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.plan.recoding import Cells
from veil.quality import Loss
from veil.recoding.cells.recode import recode_cells
from veil.recoding.problem import UNIT
from veil.recoding.resist import coarsen_recoding
from veil.risk import refine
from veil.tables import read
from veil.tables.source import Source
from veil.verification.lower_bound import prove_bound

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
REAL = {
    "adult": ("adult.csv", "adult_hierarchy_", "sex age race marital-status education native-country workclass salary-class"),
    "fars": ("fars_int.csv", "fars_int_hierarchy_", "iage irace ideathmon ideathday isex ihispanic iinjury"),
}  # fmt: skip
SENSITIVE = {"adult": "occupation", "fars": "istatenum", "large": "diagnosis", "near": "campaign"}
GENERATED = {"large": generate.large, "near": lambda: generate.near_distinct(30_000)}
MOMENTS = (1, 2, 5, 10, 30, 60, 120)


def load(name: str, k: int, limit: float, models: Sequence[PrivacyModel]) -> Prepared:
    """The table with its hierarchies, ready to be searched."""
    sensitive = (SENSITIVE[name],)
    if name in GENERATED:
        work = GENERATED[name]()
        plan = Plan(
            {column: h.table(rows) for column, rows in work.hierarchies.items()}, [KAnonymity(k), *models],
            suppression_limit=limit, others="drop", sensitive=sensitive, quality=Loss(), recoding=Cells(),
        )  # fmt: skip
        return prepare(work.table, plan)
    file, prefix, columns = REAL[name]
    folder = SHARED / "data" / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fars lists an age twice, on purpose
        hierarchies = {column: h.read(folder / f"{prefix}{column}.csv") for column in columns.split()}
    plan = Plan(
        hierarchies, [KAnonymity(k), *models], suppression_limit=limit, others="drop", sensitive=sensitive,
        quality=Loss(), recoding=Cells(),
    )  # fmt: skip
    return prepare(read(folder / file).table, plan)


def measure(name: str, k: int, limit: float, seconds: float, models: Sequence[PrivacyModel] = ()) -> str:
    """One line of the table."""
    prepared = load(name, k, limit, models)
    before, wall = time.process_time(), time.perf_counter()
    with following(None) as tracker:
        found = recode_cells(
            prepared, prepared.plan.searched_models, seconds=seconds, threads=None, cancel=lambda: False, progress=tracker
        )  # fmt: skip
    cpu, wall = time.process_time() - before, time.perf_counter() - wall
    whole = UNIT * prepared.records()
    bound = None if found.prices is None else prove_bound(prepared, found.prices, found.suppression_price)
    text = f"{name:6}{k:5}{limit:7.2%} {'+'.join(type(m).__name__ for m in models) or '-':20}"
    for moment in MOMENTS:
        cost = min((cost for at, cost in found.curve if at <= moment), default=None)
        text += f"{cost / whole:8.4f}" if cost and moment <= cpu + 1 else "       -"
    loss = found.cost / whole
    text += f"   {loss:.4f}"
    if bound is not None and not isinstance(bound, str) and hasattr(bound, "score"):
        least = float(bound.score)
        text += f"   {least:.4f}  {loss / least - 1:6.1%}"
    else:
        text += "        -       -"
    return text + f"   {cpu:6.1f} {wall:6.1f}"


def attack(name: str, k: int, limit: float, seconds: float, budgets: Sequence[float]) -> Iterator[str]:
    """One line for each budget of coarsening, for one and the same recoding: what it costs, and what an attacker makes of it."""
    prepared = load(name, k, limit, [])
    with following(None) as tracker:
        found = recode_cells(
            prepared, prepared.plan.searched_models, seconds=seconds, threads=None, cancel=lambda: False, progress=tracker
        )  # fmt: skip
    for budget in budgets:
        models = prepared.plan.searched_models
        solution = coarsen_recoding(prepared, models, found, budget, Randomness()) if budget else found
        levels = CellLevels.by_row(solution.levels, solution.suppressed)
        outcome = assemble(Source(prepared.table, "pyarrow"), prepared, levels, solution.suppressed)
        (each,) = refine(outcome)
        moved = int((solution.levels != found.levels).any(axis=1).sum())
        certain = each.certainty[0]
        yield (
            f"{name:6}{k:4}{budget:8}{solution.cost / (UNIT * prepared.records()):9.4f}{moved:7,}{each.narrowed_share:9.1%}"
            f"{each.finer / each.generalized:8.2%}{each.downcoded / each.records:10.1%}{each.wrong_share:8.2%}"
            f"{each.error_ratio:8.2f}{each.located / each.records:9.1%}{each.candidates_before:8.0f}{each.candidates_after:6.0f}"
            f"{certain.before:8}{certain.after:6}{certain.mistaken:6}"
        )


def anonymize_large(k: int, limit: float, seconds: float, models: Sequence[PrivacyModel] = ()) -> str:
    """The CPU seconds of each phase of a whole call on the large table, and its peak of memory."""
    work = generate.large()
    phases: list[tuple[str, float]] = []

    def note(phase: str, *_: object) -> None:
        phase = "passes" if "pass" in phase else phase
        if not phases or phases[-1][0] != phase:
            phases.append((phase, time.process_time() - compiling_seconds()))

    release = veil.anonymize(
        work.table,
        quasi_identifiers={column: h.table(rows) for column, rows in work.hierarchies.items()},
        models=[KAnonymity(k), *models],
        sensitive=[work.sensitive],
        suppression_limit=limit,
        recoding=Cells(),
        time_limit=seconds,
        progress=note,
    )
    phases.append(("", time.process_time() - compiling_seconds()))
    pairs = itertools.pairwise(phases)
    parts = [f"{name} {after - before:.1f}" for (name, before), (_, after) in pairs]
    total = phases[-1][1] - phases[0][1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"  whole call: {total:.1f} s ({', '.join(parts)}), {peak:,.0f} MB; {release.search.sentence}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=list(REAL))
    parser.add_argument("--k", type=int, nargs="*", default=[2, 5, 20])
    parser.add_argument("--limit", type=float, nargs="*", default=[0.0])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--diverse", type=int)
    parser.add_argument("--close", type=float)
    parser.add_argument("--coarsening", type=float, nargs="*")
    options = parser.parse_args()
    if options.coarsening:
        print(
            "table    k  budget     loss  moved narrowed   finer downcoded  wrong   ratio  located  people before, after   certain before, after, mistaken"
        )
        for name in options.tables:
            for k in options.k:
                for line in attack(name, k, options.limit[0], options.seconds, options.coarsening):
                    print(line, flush=True)
        return
    head = "".join(f"{moment:6} s" for moment in MOMENTS)
    print(
        f"{'table':6}{'k':>5}{'limit':>7} {'further models':20}{head}      end    bound      gap      CPU   wall"
    )
    measure("adult", 1000, 0.0, 3)  # compiles
    for name in options.tables:
        models: list[PrivacyModel] = []
        if options.diverse:
            models.append(DistinctLDiversity(SENSITIVE[name], options.diverse))
        if options.close:
            models.append(TCloseness(SENSITIVE[name], options.close))
        for k in options.k:
            for limit in options.limit:
                print(measure(name, k, limit, options.seconds, models), flush=True)
                if name == "large":
                    print(anonymize_large(k, limit, options.seconds, models), flush=True)


if __name__ == "__main__":
    main()
