"""Local recoding from its definition, with the oracle alone: slow and obvious."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from support import oracle
from support.oracle import AnyModel, Class, Node, Problem, Quality, Value
from support.oracle.suppression import SampleModel, suppression_prefix, without_small_groups

Labels = tuple[Value, ...]


class Outcome(NamedTuple):
    """What a transformation makes of some records: whether it may be taken, what it keeps, and its score."""

    anonymous: bool
    kept: frozenset[int]
    score: oracle.Score


def labels_of(problem: Problem, row: int, levels: Node) -> Labels:
    """Return the quasi-identifiers of one record on some levels."""
    return tuple(
        problem.domains[j][value][level]
        for j, (value, level) in enumerate(zip(problem.rows[row], levels, strict=True))
    )


def grouped(labels: dict[int, Labels]) -> dict[Labels, Class]:
    """Put records with equal labels together."""
    found: dict[Labels, Class] = {}
    for row in sorted(labels):
        found.setdefault(labels[row], []).append(row)
    return found


def part_of(problem: Problem, rows: Sequence[int]) -> Problem:
    """Return some records as a table of its own; the domains stay those of the whole table."""
    part = dataclasses.replace(
        problem,
        rows=[problem.rows[row] for row in rows],
        sensitive={name: [column[row] for row in rows] for name, column in problem.sensitive.items()},
    )
    part.__dict__["domains"] = problem.domains
    return part


def transform(
    problem: Problem,
    models: Sequence[AnyModel],
    quality: Quality,
    levels: Node,
    rows: Sequence[int],
    most: int,
) -> Outcome:
    """Judge a transformation of some records, of which at most so many may be suppressed.

    Classes are made of these records alone, and compared with the whole table.
    """
    by_sample = [model for model in models if isinstance(model, SampleModel)]
    by_subsets = [model for model in models if isinstance(model, oracle.SubsetKAnonymity)]
    by_class = [model for model in models if model not in by_sample and model not in by_subsets]
    kept = [
        cls
        for cls in grouped({row: labels_of(problem, row, levels) for row in rows}).values()
        if not any(oracle.rejects(model, problem, levels, cls) for model in by_class)
    ]
    kept = without_small_groups(problem, by_subsets, levels, kept)
    for criterion in by_sample:
        cut = suppression_prefix(problem, criterion, levels, kept, quality, True)
        kept = [cls for cls in kept if cls not in cut]
    sizes = [len(cls) for cls in kept]
    fulfilled = without_small_groups(problem, by_subsets, levels, kept) == kept and all(
        oracle.fulfils(criterion, sizes) for criterion in by_sample
    )
    shown = frozenset(row for cls in kept for row in cls)
    gone = [place for place, row in enumerate(rows) if row not in shown]
    score = oracle.score(part_of(problem, rows), quality, levels, gone)
    return Outcome(fulfilled and len(gone) <= most, shown, score)


def holds(
    problem: Problem, models: Iterable[AnyModel], labels: dict[int, Labels], levels: dict[int, Node]
) -> bool:
    """Say whether every model holds for records with the given labels, which others cannot be told apart by."""
    groups = grouped(labels)
    sizes = [len(cls) for each, cls in groups.items() if set(each) != {"*"}]
    for model in models:
        if isinstance(model, SampleModel):
            if not oracle.fulfils(model, sizes):
                return False
        elif isinstance(model, oracle.SubsetKAnonymity):
            for known in model.attribute_sets(problem.width):
                shown = [tuple(each[j] for j in known) for each in labels.values()]
                if any(shown.count(one) < model.k for one in set(shown)):
                    return False
        else:
            for cls in groups.values():
                # What labels are worth may depend on the level that they come from: of each record in turn.
                for level in {levels[row] for row in cls}:
                    first = next(row for row in cls if levels[row] == level)
                    if oracle.rejects(model, problem, level, [first, *(row for row in cls if row != first)]):
                        return False
    return True


def smallest(problem: Problem, models: Sequence[AnyModel]) -> int:
    """Return the size below which no class is acceptable, as far as the models say."""
    return oracle.minimal_class_size(models, problem) or 1


def single_pass(recode: Callable[[Fraction | None, Fraction | None], int], factor: Fraction) -> None:
    """One pass."""
    recode(factor, None)


def iterative(
    recode: Callable[[Fraction | None, Fraction | None], int],
    possible: Callable[[], bool],
    factor: Fraction,
    iterations: int,
    adaptation: Fraction,
) -> None:
    """Passes while that is possible; a pass that recodes nothing is tried again with a greater factor."""
    done = 0
    while possible() and done < iterations:
        done += 1
        if recode(factor, None) == 0:
            if adaptation == 0 or factor + adaptation > 1:
                return
            factor += adaptation


def fast_iterative(
    recode: Callable[[Fraction | None, Fraction | None], int],
    possible: Callable[[], bool],
    share: Fraction,
    factor: Fraction | None,
) -> None:
    """Passes while that is possible and something is recoded."""
    while possible() and recode(factor, share) > 0:
        pass


def allowed(limit: Fraction, share: Fraction | None, records: int, left: int) -> int:
    """Return how many of the records left a pass may suppress."""
    if share is not None:
        limit = 1 - min(Fraction(1), share * records / left)
    return math.floor(limit * left)
