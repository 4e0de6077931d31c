"""Plans at random for every way of recoding, under models that judge each class: for rows and for people, in memory and in an engine."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import veil
from support import longitudinal, oracle
from support.delivered.draw import Case, draw
from support.delivered.engines import check_held
from support.delivered.judge import STAR, Wrong
from support.delivered.run import check_case
from support.models import ours
from veil.errors import NoSolutionError, PlanError, VerificationError
from veil.quality import Loss
from veil.recoding import Cells, FastIterative, FromTheStart, Iterative, SinglePass

WAYS: dict[str, Any] = {
    "full-domain": "full-domain",
    "subtree": "subtree",
    "cells": "cells",
    "coarsened": Cells(coarsening=0.2),
    "SinglePass": SinglePass(),
    "Iterative": Iterative(0.5, 3, 0.1),
    "FastIterative": FastIterative(0.1),
    "FromTheStart": FromTheStart(20),
}
SECONDS = [0.001, 0.02, 0.05, 0.1]
"""Time limits of a search: many end in the middle of something."""


def check_recoding(seed: int, folder: Path) -> str:
    """Carry out one plan with one way of recoding, and judge what is delivered."""
    r = Random(f"recoding {seed}")
    way = r.choice(["cells", "cells", "coarsened", "coarsened", "subtree", "subtree", *WAYS])
    if r.random() < 0.25:
        return f"{_check_people(r, seed, way)}, {way}, people"
    case = _draw(r, seed, way)
    if way in ("cells", "coarsened", "subtree") and r.random() < 0.2:
        return f"{check_held(case, seed, folder).split(',')[0]}, {way}, in DuckDB"
    return f"{check_case(case, folder).split(',')[0]}, {way}"


def _draw(r: Random, seed: int, way: str) -> Case:
    """Draw a table as for other plans, with models that judge classes, and more of what recodings know."""
    case = draw(seed)
    number, asked = len(case.asked.rows), case.asked
    for name in asked.aggregated:
        asked.kept = [each for each in asked.rows[0] if each in {*asked.kept, name}]
    asked.aggregated, asked.members = {}, frozenset(range(number))
    asked.models = _models(r)
    heights = {name: len(next(iter(labels.values()))) - 1 for name, labels in asked.labels.items()}
    low = {name: r.randint(0, height) for name, height in heights.items() if r.random() < 0.15}
    high = {
        name: r.randint(low.get(name, 0), height) for name, height in heights.items() if r.random() < 0.15
    }
    asked.levels = {name: (low.get(name, 0), high.get(name, height)) for name, height in heights.items()}
    if way == "FromTheStart":
        asked.limit = 1.0
    case.options |= {
        "microaggregated": {},
        "insensitive": sorted(name for name in asked.kept if name[0] in "kKLw"),
        "models": [ours(model) for model in asked.models],
        "recoding": WAYS[way],
        "suppression_limit": 0.0 if way == "FromTheStart" else asked.limit,
        "quality": Loss(weights={name: r.choice([0, 0.25, 1, 3]) for name in heights if r.random() < 0.3}),
        "minimum_levels": low,
        "maximum_levels": high,
        "time_limit": r.choice(SECONDS),
    }
    return case


def _models(r: Random) -> list[oracle.AnyModel]:
    name, k = r.choice(["S", "T"]), r.randint(1, 4)
    missing = {"missing": r.choice(["left out", "left out", "a value", "worst"])}
    taxonomy = [
        [value, group, "*"] for value, group in zip(["a", "b", "c", "d", "*", STAR], "001111", strict=True)
    ]
    kinds: list[oracle.AnyModel] = [
        oracle.DistinctLDiversity("S", r.randint(1, 3), **missing),
        oracle.EntropyLDiversity(name, r.choice([1, 1.5, 1.89, 2]), **missing),
        oracle.EntropyLDiversity(name, r.choice([1, 1.5, 2]), "Grassberger"),
        oracle.RecursiveCLDiversity("S", r.choice([0.5, 1, 2, 4]), r.randint(1, 3), **missing),
        oracle.TCloseness(name, r.choice([0.1, 0.25, 0.3, 0.5, 0.75]), "equal", **missing),
        oracle.TCloseness("T", r.choice([0.1, 0.25, 0.3, 0.5]), "ordered", **missing),
        oracle.TCloseness("S", r.choice([0.1, 0.3, 0.5]), "hierarchical", hierarchy=taxonomy),
        oracle.BetaLikeness(name, r.choice([0.3, 0.5, 1, 2]), r.random() < 0.5, **missing),
        oracle.RatioDistance(name, r.choice([1.5, 2, 4, 10])),
        oracle.DeltaDisclosure(name, r.choice([0.5, 1, 1.33, 2, 3]), **missing),
        oracle.AlphaKAnonymity(name, r.choice([0.5, 0.6, 0.75, 1]), k, **missing),
        oracle.KMAnonymity("I", r.randint(1, 3), r.randint(1, 2)),
        oracle.KMap(k, r.choice([40, 1000]), r.choice([0.01, 0.1, 0.5])),
        oracle.NoAttack(r.choice([0, 2.5, 6]), r.choice([1, 2, 2.5])),
    ]
    models = [oracle.KAnonymity(r.choice([1, 2, 2, 3, 4, 5])), *r.sample(kinds, r.choice([0, 0, 1, 1, 2]))]
    return list({type(model): model for model in models}.values())


def _check_people(r: Random, seed: int, way: str) -> str:
    """The same for people with several rows, by an oracle that counts these."""
    case = longitudinal.draw(seed)
    case.models = [
        model for model in case.models
        if not isinstance(model, oracle.AverageReidentificationRisk | oracle.SampleUniqueness)
    ]  # fmt: skip
    case.options |= {
        "models": [ours(model) for model in case.models],
        "recoding": WAYS[way],
        "quality": "loss",
        "time_limit": r.choice(SECONDS),
    }
    if way == "FromTheStart":
        case.options["suppression_limit"] = 0.0
    try:
        release = veil.anonymize(case.table, **case.options, progress=False)
    except NoSolutionError:
        return "no solution"
    except VerificationError as error:
        raise Wrong(f"the search proposes what the verifier refuses: {error}") from error
    except PlanError as error:
        if "no release with any information" in str(error) or "should be" in str(error):
            return "refused plan"  # more is asked than so few people can fulfil
        if "`coarsening` joins groups of people" in str(error):
            return "refused plan"
        raise
    if way == "FromTheStart":
        case.options["suppression_limit"] = 1.0
    if wrongs := longitudinal.wrongs(case, release):
        raise Wrong("; ".join(wrongs))
    return "judged"
