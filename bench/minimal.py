"""Minimal anonymization: how far the first solution of each heuristic is from the optimum, beside published figures.

    python bench/minimal.py

adult (eight quasi-identifiers) and fars; suppression limits 0 and 10 %; average class size and loss. Relative loss in
percent: 0 is the optimum, 100 a release without any information. The published figures are those of Prasser et al.,
"Lightning: Utility-driven anonymization of high-dimensional data", Tables 1 and 2; their DataFly and IGreedy select
attributes by another rule than ours.
"""

from __future__ import annotations

import warnings

from models import SENSITIVE
from optimal import REAL, SHARED, load
from veil import hierarchies as h
from veil import models as m
from veil.lattice import BestEffort, DataFly, ImprovedGreedy, Lightning, Optimal, Strategy, TopDown
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Search
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.tables import read

STRATEGIES: dict[str, Strategy] = {
    "Lightning": Lightning(minimal=True),
    "DataFly": DataFly(),
    "IGreedy": ImprovedGreedy(),
    "TopDown": TopDown(minimal=True),
    "BestEffort": BestEffort(),
}
# (data, model): (average class size at 0 %, at 10 %, loss at 0 %, at 10 %), each Lightning, DataFly, IGreedy.
PUBLISHED = {
    ("adult", "5-anonymity"): ((3.656, 3.656, 3.656), (0.036, 0.117, 0.117), (30.49, 65.729, 65.729), (4.152, 26.724, 26.724)),
    ("fars", "5-anonymity"): ((0.748, 0.748, 0.748), (0.019, 0.013, 0.013), (47.526, 47.526, 47.526), (1.612, 15.668, 15.668)),
    ("adult", "1 % uniqueness"): ((0.001, 0.001, 0.001), (0.001, 0.001, 0.001), (8.597, 8.597, 8.597), (8.597, 8.597, 8.597)),
    ("fars", "1 % uniqueness"): ((0.007, 0.002, 0.002), (0.002, 0.002, 0.002), (1.155, 3.476, 3.476), (4.128, 4.128, 4.128)),
    ("adult", "recursive (4,3)"): ((4.274, 4.274, 4.274), (0.086, 0.11, 0.11), (0.0, 65.729, 65.729), (3.149, 28.518, 28.518)),
    ("fars", "recursive (4,3)"): ((0.709, 0.709, 0.709), (0.015, 0.008, 0.008), (19.726, 47.526, 47.526), (2.827, 14.231, 14.231)),
    ("adult", "0.2-closeness"): ((100, 100, 100), (0.293, 0.0, 0.0), (33.736, 100, 100), (12.02, 67.026, 67.026)),
    ("fars", "0.2-closeness"): ((0.0, 0.0, 0.0), (0.304, 0.095, 0.095), (100, 0.0, 0.0), (13.985, 52.024, 52.024)),
}  # fmt: skip


def models_of(name: str) -> dict[str, m.PrivacyModel]:
    """The models of the published comparison that need no research subset."""
    attribute = SENSITIVE[name]
    tree = h.read(SHARED / "data" / name / f"{REAL[name][1]}{attribute}.csv")
    return {
        "5-anonymity": m.KAnonymity(5),
        "1 % uniqueness": m.PopulationUniqueness(0.01, "USA"),
        "recursive (4,3)": m.RecursiveCLDiversity(attribute, 4, 3),
        "0.2-closeness": m.TCloseness(attribute, 0.2, "hierarchical", tree),
    }


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    tables = {name: load(name, SHARED) for name in REAL}
    read_tables = {name: read(path).table for name, (path, _) in tables.items()}
    for at, quality in enumerate(("average_class_size", "loss")):
        print(f"\n{quality.replace('_', ' ')}: relative loss [%], ours / published")
        print(f"  {'data':6} {'model':16} limit " + "".join(f"{name:>20}" for name in STRATEGIES))
        for label in models_of("adult"):
            for name in REAL:
                model = models_of(name)[label]
                for where, limit in enumerate((0.0, 0.1)):
                    plan = Plan(
                        tables[name][1],
                        model,
                        sensitive=list(model.attribute_names),
                        others="keep",
                        quality=quality,
                        suppression_limit=limit,
                    )
                    ready = prepare(read_tables[name], plan)
                    evaluator = Evaluator(ready.sample, plan.models, plan.quality, limit)
                    optimum = best(evaluator, ready, Optimal())
                    worst = evaluator.measure.extremes(ready.minimum, ready.maximum)[1][0]
                    ours = {
                        each: _relative(best(evaluator, ready, strategy), optimum, worst)
                        for each, strategy in STRATEGIES.items()
                    }
                    theirs = dict(zip(STRATEGIES, PUBLISHED[name, label][2 * at + where], strict=False))
                    cells = [f"{ours[each]} / {_number(theirs.get(each))}" for each in STRATEGIES]
                    print(f"  {name:6} {label:16} {limit:5} " + "".join(f"{cell:>20}" for cell in cells))


def best(evaluator: Evaluator, ready: Prepared, strategy: Strategy) -> float | None:
    """Score of what a strategy finds."""
    found = Search(evaluator, ready.minimum, ready.maximum).run(strategy).best
    return None if found is None or found.score is None else found.score[0]


def _relative(score: float | None, optimum: float | None, worst: float) -> str:
    if score is None or optimum is None:
        return "none"
    return _number(100 * (score - optimum) / (worst - optimum) if worst != optimum else 0.0)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
