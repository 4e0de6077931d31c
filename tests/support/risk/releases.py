"""Small releases of every mode of recoding, and what an attacker on their labels may conclude, by going through all."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import veil
from veil import hierarchies as h
from veil.errors import ImpossibleError, NoSolutionError
from veil.outcome.assemble import assemble
from veil.outcome.outcome import Outcome, RecodedPart
from veil.recoding import FastIterative, FromTheStart, Iterative, Mode, SinglePass
from veil.recoding.problem import CellProblem

MODES: tuple[Mode | None, ...] = (
    None, SinglePass(), Iterative(0.05, 20), FastIterative(0.1), FromTheStart(5), FromTheStart(50),
)  # fmt: skip


def random_tree(rng: random.Random, own: bool) -> list[list[str]]:
    """Return a hierarchy with a root; unless they are its own, a level has labels that others have too."""
    levels = [list("abcdef")[: rng.randint(2, 6)]]
    for level in range(1, rng.randint(2, 4)):
        names = [f"{level}.{i}" for i in range(3)] if own else list("abc")
        group = {each: rng.choice(names) for each in levels[-1]}
        levels.append([group[each] for each in levels[-1]])
    levels.append(["*"] * len(levels[0]))
    return [list(row) for row in zip(*levels, strict=True)]


def random_release(
    rng: random.Random, mode: Mode | None, *, own: bool, models: Any = None, **options: Any
) -> veil.Release | None:
    """Return a release of a small random table; None if there is none."""
    trees = [random_tree(rng, own) for _ in range(rng.randint(1, 3))]
    pool = [[rng.choice(tree)[0] for tree in trees] for _ in range(rng.randint(3, 12))]
    rows = [rng.choice(pool) for _ in range(rng.randint(6, 40))]
    table = {f"q{j}": [row[j] for row in rows] for j in range(len(trees))}
    table["ill"] = [rng.choice("xxxyz") for _ in rows]
    if "person" in options:
        table[options["person"]] = [str(rng.randrange(1 + len(rows) // 2)) for _ in rows]
    limit = {} if isinstance(mode, FromTheStart) else {"suppression_limit": rng.choice([0.0, 0.3, 0.6])}
    try:
        return veil.anonymize(
            pa.table(table),
            quasi_identifiers={f"q{j}": h.table(tree) for j, tree in enumerate(trees)},
            sensitive=["ill"],
            models=veil.KAnonymity(rng.randint(2, 3)) if models is None else models,
            recoding=mode or "full-domain",
            **({"person": None} | limit | options),
        )
    except (ImpossibleError, NoSolutionError):
        return None


def recoded(release: veil.Release, levels: Sequence[Sequence[int]]) -> Outcome:
    """Return the outcome in which every row has levels of its own."""
    outcome = release.outcome
    rows = np.array(levels)
    parts = [
        RecodedPart(tuple(each.tolist()), np.flatnonzero((rows == each).all(axis=1)))
        for each in np.unique(rows, axis=0)
    ]
    return assemble(outcome.source, outcome.searched, parts, np.zeros(len(rows), np.bool_))


def cheapest_recoding(release: veil.Release, smallest: int) -> list[tuple[int, ...]]:
    """Return the levels of each row in a recoding of least cost, by going through all partitions of the rows."""
    problem = CellProblem.of(release.outcome.searched, smallest)
    columns = len(problem.hierarchies)
    label: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
    best: tuple[int, list[tuple[int, ...]]] | None = None
    for blocks in _partitions(list(range(len(problem.codes))), smallest):
        total, levels = 0, [(0,) * columns] * len(problem.codes)
        for block in blocks:
            key = tuple(block)
            if key not in label:
                common = tuple(
                    next(
                        level
                        for level in range(hierarchy.height + 1)
                        if len(set(hierarchy.label_map(level)[problem.codes[block, j]].tolist())) == 1
                    )
                    for j, hierarchy in enumerate(problem.hierarchies)
                )
                label[key] = (
                    int(problem.cost_of(np.array([common] * len(block)), np.array(block)).sum()),
                    common,
                )
            total += label[key][0]
            for row in block:
                levels[row] = label[key][1]
        if best is None or total < best[0]:
            best = total, levels
    assert best is not None
    return best[1]


def _partitions(rows: list[int], smallest: int) -> Iterator[list[list[int]]]:
    if not rows:
        yield []
    for size in range(smallest, len(rows) + 1):
        for others in itertools.combinations(rows[1:], size - 1):
            block = [rows[0], *others]
            for further in _partitions([row for row in rows if row not in block], smallest):
                yield [block, *further]
