"""One node of the lattice for all records: search for it, and apply it to the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.progress import Progress
from veil.classes.encoding import Levels
from veil.classes.owner_sample import by_owner, describe_several_values
from veil.classes.sample import Sample
from veil.errors import NoSolutionError, PlanError
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimality import gap_to_optimum
from veil.lattice.search import BestNode, Limits, Search
from veil.outcome.assemble import assemble
from veil.outcome.outcome import Outcome
from veil.outcome.result import CellLevels
from veil.plan.prepare import Prepared
from veil.tables.source import Source


@dataclass(frozen=True)
class Choice:
    """The chosen node, the result of the search, and the evaluator of further nodes."""

    levels: Levels
    found: BestNode
    evaluator: Evaluator
    score: float | tuple[float, ...] = math.nan
    classes: int = 0

    @property
    def is_optimum(self) -> bool:
        """Whether this is the best node of the search, not another one of the lattice."""
        return self.found.best is not None and self.found.best.levels == self.levels

    @property
    def proven_optimal(self) -> bool:
        """Whether no other node has a better score."""
        return self.found.proven and self.is_optimum

    @property
    def gap(self) -> float | None:
        """Largest relative distance of the score to the optimum; None if unknown."""
        return 0.0 if self.proven_optimal else gap_to_optimum(self.score, self.found.bound)


def search_best(
    prepared: Prepared,
    *,
    threads: int | None = None,
    progress: Progress,
    cancel: Callable[[], bool] | None = None,
) -> Choice:
    """Search for the best node of the lattice as the plan asks; raise if none fulfils it."""
    plan = prepared.plan
    blind = plan.choose_by == "quasi-identifiers"
    sample, models = (
        (_without_sensitive(prepared), plan.blind_models)
        if blind
        else (prepared.sample, plan.searched_models)
    )
    evaluator = Evaluator(sample, models, plan.quality, plan.suppression_limit)
    seconds = plan.seconds
    limits = Limits(seconds, plan.checks, cancel or (lambda: False))

    def show_progress(search: Search) -> None:
        state = "no solution yet" if search.best is None else f"best {search.best_score[0]:.6g}"
        note = f"{search.checks:,} transformations checked, {state}"
        # The nearer end: all transformations are decided, or the time is over.
        decided, over = search.decided / search.space.size, search.elapsed / seconds
        progress.better(
            None if search.best is None else search.best_score[0],
            None if search.bound is None or math.isinf(search.bound[0]) else search.bound[0],
        )
        progress.advance(round(1000 * min(1, max(decided, over))), 1000, note)

    search = Search(
        evaluator, prepared.minimum, prepared.maximum, limits=limits, threads=threads, progress=show_progress
    )
    best_node = search.run(plan.strategy)
    if best_node.best is None:
        raise NoSolutionError(_no_solution_message(best_node, prepared))
    if blind:
        evaluator = Evaluator(prepared.sample, models, plan.quality, plan.suppression_limit)
    return Choice(best_node.best.levels, best_node, evaluator)


def _without_sensitive(prepared: Prepared) -> Sample:
    """Return the sample without sensitive attributes."""
    plan, sample = prepared.plan, prepared.sample
    return Sample(
        sample.encoding,
        list(prepared.codes),
        tuple(each for each in sample.attributes if each.name in plan.aggregated),
        microaggregated=plan.aggregated,
        weights=prepared.rows.weights,
        squares=plan.quality.needs_squares,
        owners=prepared.rows.owners,
    )


def _require_all_models(prepared: Prepared, levels: Levels, rejected: NDArray[np.uint8]) -> None:
    """Refuse a node that was chosen by quasi-identifiers alone and does not protect sensitive values."""
    plan = prepared.plan
    every = Evaluator(prepared.sample, plan.searched_models, plan.quality, plan.suppression_limit)
    node, satisfied, *_ = every.judge(levels, prepared.sample.table)
    if not satisfied or (node.rejected > rejected).any():
        models = " and ".join(str(model) for model in plan.models if model.attribute_names)
        raise NoSolutionError(
            f"the transformation chosen by quasi-identifiers alone does not satisfy {models}, and no other "
            "one may be chosen for that reason. Require larger classes, or less, before you try again: a "
            "refusal itself reveals something about sensitive values"
        )


def generalize(source: Source, prepared: Prepared, choice: Choice, *, shuffle: bool | None = None) -> Outcome:
    """Apply a node: generalize every record to its levels, and suppress those that this does not protect.

    Rows are shuffled as the plan asks, unless `shuffle` is given; an engine shuffles when it writes.
    """
    levels, evaluator = choice.levels, choice.evaluator
    node, satisfied, *_, people_affected = evaluator.judge(levels, prepared.sample.table)
    if not satisfied:
        raise PlanError(f"{levels} violates the plan's privacy models, and suppression cannot fix that")
    if prepared.plan.choose_by == "quasi-identifiers":
        _require_all_models(prepared, levels, node.rejected)
    groups = prepared.sample.classes_of_rows(levels)[1]
    suppressed_mask = node.rejected.astype(np.bool_)[groups]
    if prepared.subset is not None:
        suppressed_mask &= prepared.subset
    released_mask = ~suppressed_mask if prepared.subset is None else ~suppressed_mask & prepared.subset
    score = evaluator.measure.score(node)
    over_limit = (
        node.tally.suppressed > evaluator.allowed
        if people_affected is None
        else people_affected > evaluator.allowed_people
    )
    if shuffle is None:
        shuffle = prepared.plan.order == "random" and prepared.rows.weights.are_one
    outcome = assemble(
        source,
        prepared,
        CellLevels(np.array([levels], np.uint8), np.where(released_mask, np.int32(0), np.int32(-1))),
        suppressed_mask,
        Choice(levels, choice.found, evaluator, score[0] if len(score) == 1 else score, node.tally.kept),
        shuffle=shuffle,
        over_limit=over_limit,
    )
    return outcome.changed(facts={"ending": choice.found.ending})


def _no_solution_message(best_node: BestNode, prepared: Prepared) -> str:
    """Return the message that no node fulfils the plan, with ways out."""
    plan = prepared.plan
    models = " and ".join(str(model) for model in plan.models)
    what = prepared.rows.owners.noun
    requirement = f"{models} with at most {plan.suppression_limit:.1%} of the {what} suppressed"
    if not best_node.space.evaluated:
        return f"the search ended ({best_node.ending}) before it could look at a transformation. Give it more time"
    closest = min(
        best_node.space.evaluated.values(),
        key=lambda each: (each.lost or 0, each.tally.suppressed, each.levels),
    )
    suppressed = closest.tally.suppressed if closest.lost is None else closest.lost
    total = by_owner(prepared.sample).records
    levels = ", ".join(
        f"{name} {level}" for name, level in zip(prepared.encoding.names, closest.levels, strict=True)
    )
    nearest = (
        f"The closest one that was looked at ({levels}) would suppress {suppressed} of "
        f"{total} {what} ({suppressed / total:.1%})"
    )
    nearest += describe_several_values(
        prepared.sample, (name for model in plan.models for name in model.attribute_names)
    )
    ways = (
        "Raise `suppression_limit`, add levels to the hierarchies (a top level `*` always helps), raise "
        "`maximum_levels`, or ask for less"
    )
    if best_node.proven:
        return f"no transformation fulfils {requirement}. {nearest}. {ways}"
    return (
        f"no transformation was found that fulfils {requirement}; {best_node.checks:,} of {best_node.space.size:,} were checked "
        f"({best_node.ending}). {nearest}. Give the search more time or another `strategy`, or: {ways[0].lower()}{ways[1:]}"
    )
