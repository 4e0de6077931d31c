"""Optimal search with every privacy model, beside k-anonymity in the same run.

    python bench/models.py                 # adult and fars
    python bench/models.py adult --repeat 5

For each model and for suppression 0 and 1 (quality: loss): the best time of some repetitions, how many times the
5-anonymity search of the same round that is, nodes checked, and classes of evaluated tables per second. Rounds are
interleaved (k-anonymity, model, k-anonymity, model, …) because the machines are shared. Last, ordered t-closeness on
generated tables with 100 and with 100,000 sensitive values.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from optimal import REAL, SHARED, load
from veil import hierarchies as h
from veil import models as m
from veil.errors import VeilError
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models.subset import RowNumbers
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss
from veil.tables import read

SENSITIVE = {"adult": "occupation", "fars": "istatenum"}
# How many times the k-anonymity search a model may take.
TARGETS = {"RecursiveCLDiversity": 4, "TCloseness": 6, "PopulationUniqueness": 8}


def candidates(name: str, rows: int) -> list[m.PrivacyModel]:
    """One or two of each kind, with the parameters that the peers were measured with where there are such."""
    attribute = SENSITIVE[name]
    _, prefix, _ = REAL[name]
    tree = h.read(SHARED / "data" / name / f"{prefix}{attribute}.csv")
    tenth = RowNumbers(list(range(0, rows, 10)))
    return [
        m.KMap(5, tenth),
        m.KMap(5, population="USA"),
        m.DistinctLDiversity(attribute, 3),
        m.EntropyLDiversity(attribute, 3),
        m.EntropyLDiversity(attribute, 3, "grassberger"),
        m.RecursiveCLDiversity(attribute, 4, 3),
        m.AlphaKAnonymity(attribute, 0.5, 5),
        m.TCloseness(attribute, 0.2),
        m.TCloseness(attribute, 0.2, "ordered"),
        m.TCloseness(attribute, 0.2, "hierarchical", tree),
        m.DeltaDisclosure(attribute, 2),
        m.BetaLikeness(attribute, 5),
        m.BetaLikeness(attribute, 5, enhanced=True),
        m.DeltaPresence(0.05, 0.15, tenth),
        m.Profitability(),
        m.Profitability(no_attack=True),
        m.AverageReidentificationRisk(0.05),
        m.SampleUniqueness(0.01),
        m.PopulationUniqueness(0.01, "USA"),
        m.PopulationUniqueness(0.01, "USA", "zayatz"),
        m.SubsetKAnonymity(5, 2),
    ]


def prepared(table: pa.Table, hierarchies: dict[str, Any], attribute: str, model: m.PrivacyModel) -> Prepared:
    """The sample that a model needs: with histograms or subset only where it speaks of them."""
    named = [attribute] if attribute in model.attribute_names else []
    return prepare(table, Plan(hierarchies, model, sensitive=named, others="keep"))


def search(ready: Prepared, model: m.PrivacyModel, limit: float) -> tuple[float, Any]:
    """One search, with the time it took."""
    start = time.perf_counter()
    evaluator = Evaluator(ready.sample, [model], Loss(), limit)
    found = Search(evaluator, ready.minimum, ready.maximum).run(Optimal())
    return time.perf_counter() - start, found


def measure(name: str, repeat: int) -> None:
    """Print the table of one data set."""
    path, hierarchies = load(name, SHARED)
    table = read(path).table
    attribute = SENSITIVE[name]
    plain = prepared(table, hierarchies, attribute, m.KAnonymity(5))
    print(
        f"\n{name}: time of the search with loss; times k-anonymity of the same rounds; nodes checked; score"
    )
    print(f"  {'model':58} limit      best   ratio  target  checked  M classes/s   score")
    for model in [m.KAnonymity(5), *candidates(name, table.num_rows)]:
        for limit in (0.0, 1.0):
            try:
                ready = prepared(table, hierarchies, attribute, model)
                search(ready, model, limit)
            except VeilError as error:
                print(f"  {short(model):58} {limit:5}  {error}")
                continue
            times, yardstick = [], []
            for _ in range(repeat):
                yardstick.append(search(plain, m.KAnonymity(5), limit)[0])
                seconds, found = search(ready, model, limit)
                times.append(seconds)
            classes = sum(each.tally.classes for each in found.space.evaluated.values())
            target = TARGETS.get(type(model).__name__, "-")
            score = f"{found.best.score[0]:.6g}" if found.best else "no solution"
            print(
                f"  {short(model):58} {limit:5}  {min(times):8.4f}  {min(times) / min(yardstick):6.2f}  {target:>6}  "
                f"{len(found.space.evaluated):7}  {classes / min(times) / 1e6:11.2f}   {score}"
            )


def short(model: m.PrivacyModel) -> str:
    """The model in one line."""
    text = str(model)
    return text if len(text) <= 58 else text[:55] + "…)"


def many_values(repeat: int) -> None:
    """Ordered t-closeness must not feel how many values the sensitive attribute has."""
    print("\nordered t-closeness (t = 0.2, suppression 1) by number of sensitive values, 200,000 rows")
    for values in (100, 100_000):
        rng = np.random.default_rng(3)
        columns = {f"q{j}": pa.array(rng.integers(0, 8, 200_000).astype(str)) for j in range(4)}
        columns["s"] = pa.array(rng.integers(0, values, 200_000))
        hierarchy = h.table([[str(v), str(v // 2), str(v // 4), "*"] for v in range(8)])
        model = m.TCloseness("s", 0.2, "ordered")
        ready = prepared(pa.table(columns), {f"q{j}": hierarchy for j in range(4)}, "s", model)
        search(ready, model, 1.0)
        best = min(search(ready, model, 1.0)[0] for _ in range(repeat))
        print(f"  {len(ready.sample.attribute('s').values):7,} values: {best:.3f} s")


def main() -> None:
    """Run the tables asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=list(SENSITIVE))
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    for name in options.tables:
        if (SHARED / "data" / name).exists():
            measure(name, options.repeat)
        else:
            print(f"\n{name}: not measured, its data are not beside the checkout (or in VEIL_SHARED)")
    many_values(options.repeat)


if __name__ == "__main__":
    main()
