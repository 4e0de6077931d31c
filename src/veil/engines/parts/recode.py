"""Local recoding of a table whose combinations do not fit into memory: every part has its own transformation.

The engine cuts the table as Mondrian does, into parts that fit and each of which fulfils every privacy model
as one class. Then the best transformation of each part is searched for, with the plan's quality model,
strategy and suppression limit; distributions of sensitive values are compared with those of the whole table.

Why all promises still hold. A class that its part accepts is published as it is, unless a class of another
part has the same labels: then the two are one class to every attacker. A model that may not survive such a
union is refused (`PrivacyModel.survives_union`). No part suppresses more than its share, so neither do all.

Parts may be generalized less than one transformation for all would need; but no class crosses the border of a
part, so some may be generalized more. Only a comparison shows which effect prevails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.arrays import Codes, Mask
from veil.base.distinct import distinct_rows
from veil.base.progress import Progress
from veil.classes.encoding import Encoding, Levels
from veil.classes.sample import Sample
from veil.engines.copy import bring_over
from veil.engines.parts.blocks import Blocks, most_that_fit, outcome_in_blocks, quality_with_suppressed
from veil.engines.parts.divide import Block, divide_table
from veil.engines.parts.labels import Labelled
from veil.engines.parts.owners import anonymize_people_in_parts
from veil.engines.parts.ranked import Combinations, RankedRelation
from veil.engines.relation import Relation
from veil.errors import ImpossibleError, NoSolutionError, PlanError, Say
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Limits, Search
from veil.masking.partition.columns import Labels, TreeColumn
from veil.masking.partition.mondrian import LabelledPartition, Mondrian
from veil.outcome.cell_trace import CellTrace
from veil.outcome.outcome import Outcome
from veil.outcome.result import Pass
from veil.outcome.roles import Roles, roles_of_plan
from veil.plan.plan import Plan
from veil.plan.prepare import level_range, prepare_rows
from veil.published.table import Published
from veil.quality import Loss, Precision
from veil.recoding.passes import recodable
from veil.recoding.recode import SOLVERS, Solver, trace_solution
from veil.tables.columns import count_codes
from veil.tables.rows import Rows, Weights


def anonymize_in_parts(
    relation: Relation,
    plan: Plan,
    *,
    most_combinations: int | None = None,
    threads: int | None = None,
    progress: Progress,
) -> Outcome:
    """Anonymize a table on an engine, part by part.

    Parameters
    ----------
    plan
        The plan. Columns that would be masked have to be removed, and no column can be microaggregated.
    most_combinations
        How many different combinations of cells a part may have; by default as many as fit into memory. The
        fewer, the more parts.
    threads
        As for `veil.anonymize`.
    """
    _check(plan, relation)
    _check_quality(plan)
    if plan.person_column is not None:
        return anonymize_people_in_parts(relation, plan, most_combinations, threads, progress)
    _check_models(plan)
    names = [name for name in relation.table.columns if plan.role_of(name) not in ("dropped", "identifying")]
    relation = bring_over(relation, names, progress)
    progress.phase("counting the values of each column")
    numbered = RankedRelation(relation, Mondrian(dict(plan.quasi_identifiers), plan.models))
    progress.phase("cutting on the engine")
    most = most_that_fit(most_combinations, "parts")
    blocks = RecodedBlocks(plan, numbered, divide_table(numbered, most), most, threads)
    return outcome_in_blocks(blocks, plan.order, progress)


def _check(plan: Plan, relation: Relation) -> None:
    plan.check_columns(relation.table.columns)
    for name, treatment in plan.identifying.items():
        if treatment == "mask":
            raise PlanError(
                f"identifying column {name!r} would be masked, but with `parts` it can only be removed: say "
                f'identifying={{"{name}": "remove"}}'
            )
    for name in plan.aggregated:
        raise PlanError(
            f"column {name!r} is microaggregated, which engines do not support. Give it a hierarchy instead"
        )
    if plan.choose_by != "all columns":
        raise PlanError(
            "with `parts`, transformations are chosen by all columns: leave it at the default (",
            Say("choose_by", "all columns"),
            ")",
        )
    if plan.suppressed_rows != "blank":
        raise PlanError(
            "with `parts`, suppressed rows stay and are blank: say ", Say("suppressed_rows", "blank")
        )


def _check_quality(plan: Plan) -> None:
    """Refuse a quality model by which parts that are recoded row by row cannot be added up."""
    if plan.recoding.time_limit is not None and not isinstance(plan.quality, Loss | Precision):
        raise PlanError(
            f"with `parts`, {plan.recoding} minimizes Loss or Precision, which add up over parts, not {plan.quality}: leave ",
            Say("quality"),
            " out, or `parts`",
        )


def _check_models(plan: Plan) -> None:
    for model in plan.models:
        if not model.survives_union:
            raise PlanError(
                f"a table cannot be anonymized part by part under {model}: what holds for classes in two "
                "parts need not hold for both together if they get the same labels. Use a model that is "
                "monotone under generalization, such as "
                "KAnonymity, or `veil.anonymize`"
            )


def _no_solution(part: Block) -> NoSolutionError:
    return NoSolutionError(
        f"a part of {part.records} records has no transformation within the plan: give every "
        "hierarchy a top level with a single label, raise `maximum_levels` or "
        "`suppression_limit`, or allow more combinations "
        "in `parts`, so that these are larger"
    )


class RecodedBlocks(Blocks):
    """Parts each of which has the best transformation of its own, or levels for each value or combination."""

    suppresses = True

    def __init__(
        self, plan: Plan, numbered: RankedRelation, parts: list[Block], most: int, threads: int | None
    ) -> None:
        # A part that cannot be cut may still be generalized less than into one class.
        super().__init__(numbered, [each._replace(final=None) for each in parts], most)
        self.step, self.plan, self.threads, self.marker = plan, plan, threads, plan.marker
        columns = [each for each in numbered.work.columns if isinstance(each, TreeColumn)]
        hierarchies = [each.hierarchy for each in columns]
        self.encoding = Encoding(numbered.names, hierarchies)
        self.codes_of_ranks = [np.argsort(each.rank_of).astype(np.int32) for each in columns]
        self.range = level_range(plan, numbered.names, hierarchies)
        self.solver = SOLVERS.get(type(plan.recoding))
        self.levels: dict[Block, Levels] = {}
        self.recoded: dict[Block, tuple[NDArray[np.uint8], Mask]] = {}
        self.cell_traces: tuple[CellTrace, ...] = ()
        self.suppressed = 0
        self.dropped = frozenset(
            name
            for name in numbered.relation.table.columns
            if plan.role_of(name) in ("dropped", "identifying")
        )

    def label_part(self, part: Block) -> Labelled:
        combinations = self.numbered.fetch(part.box, by_row=self.solver is not None)
        ranks = combinations.work.ranks
        codes = [code_of_rank[ranks[:, j]] for j, code_of_rank in enumerate(self.codes_of_ranks)]
        if self.solver is None:
            levels, suppressed = self._search_levels(part, combinations, codes)
        else:
            levels, suppressed = self._recode(part, self.solver, combinations, codes)
        partition = self._name_classes(levels, suppressed, codes, combinations)
        classes = partition.records.size
        return Labelled(
            self.numbered, part.box, combinations, partition,
            np.arange(classes) >= classes - bool(suppressed.any()), marker=self.marker, dropped=self.dropped,
        )  # fmt: skip

    def roles(self, columns: Sequence[str], names: Sequence[str]) -> Roles:
        return roles_of_plan(self.plan, list(self.plan.quasi_identifiers))

    def _sample(self, combinations: Combinations, codes: list[Codes]) -> Sample:
        """Return a part as a sample whose distributions are compared with those of the whole table."""
        whole = self.numbered.work.sample
        return Sample(
            self.encoding,
            [each[combinations.item_of_row] for each in codes],
            tuple(
                replace(each, codes=of_rows)
                for each, of_rows in zip(whole.attributes, combinations.codes, strict=True)
            ),
            weights=Weights(combinations.weights.size, combinations.weights),
            squares=self.plan.quality.needs_squares,
            baseline=whole,
        )

    def _search_levels(
        self, part: Block, combinations: Combinations, codes: list[Codes]
    ) -> tuple[NDArray[np.uint8], Mask]:
        """Search the best levels of a part. Return those of each item, and which items are suppressed."""
        plan, sample = self.plan, self._sample(combinations, codes)
        models = [model.for_part(self.numbered.work.sample) for model in plan.models]
        evaluator = Evaluator(sample, models, plan.quality, plan.suppression_limit)
        if part not in self.levels:
            limits = Limits(plan.seconds, plan.checks)
            search = Search(evaluator, *self.range, limits=limits, threads=self.threads).run(plan.strategy)
            best = search.best
            if best is None or best.score is None:
                raise _no_solution(part)
            self.levels[part] = best.levels
            suppressed = evaluator.judge(best.levels, sample.table).node.tally.suppressed
            self.suppressed += suppressed
            self.passes += (
                Pass(
                    dict(zip(self.encoding.names, best.levels, strict=True)),
                    part.records - suppressed,
                    best.score[0] if len(best.score) == 1 else best.score,
                    getattr(plan.quality, "factor", None),
                    search.proven,
                ),
            )
        levels = self.levels[part]
        node = evaluator.judge(levels, sample.table).node
        items = combinations.work.weights.size
        suppressed_mask = np.empty(items, np.bool_)
        suppressed_mask[combinations.item_of_row] = (node.rejected != 0)[sample.classes_of_rows(levels)[1]]
        return np.tile(np.array(levels, np.uint8), (items, 1)), suppressed_mask

    def _recode(
        self, part: Block, solver: Solver, combinations: Combinations, codes: list[Codes]
    ) -> tuple[NDArray[np.uint8], Mask]:
        """Search levels for each item of a part, and return as `_search_levels`."""
        if part not in self.recoded:
            plan = self.plan
            cells = {
                name: pa.DictionaryArray.from_arrays(
                    pa.array(column), pa.array(hierarchy.labels[0], pa.string())
                )
                for name, hierarchy, column in zip(
                    self.numbered.names, self.encoding.hierarchies, codes, strict=True
                )
            }
            for name, column in zip(self.numbered.attributes, combinations.codes, strict=True):
                cells[name] = self.numbered.cells(name, column)
            rows = Rows.of(pa.table(cells), combinations.weights)
            hierarchies = dict(zip(self.numbered.names, self.encoding.hierarchies, strict=True))
            whole = self.numbered.work.sample
            prepared = prepare_rows(
                rows, replace(plan, models=tuple(model.for_part(whole) for model in plan.models)), hierarchies
            )
            prepared = replace(prepared, sample=self._sample(combinations, codes))
            try:
                solution = solver(
                    prepared, recodable(prepared), seconds=plan.seconds * part.records / self.numbered.work.records,
                    threads=self.threads, cancel=lambda: False, progress=Progress(),
                )  # fmt: skip
            except (NoSolutionError, ImpossibleError):
                raise _no_solution(part) from None
            self.suppressed += rows.weights.sum_of(solution.suppressed)
            self.cell_traces += (trace_solution(prepared, solution),)
            self.recoded[part] = solution.levels, solution.suppressed
        levels, suppressed = self.recoded[part]
        self.numbered.require_unchanged(len(levels) == combinations.work.weights.size)
        return levels, suppressed

    def _name_classes(
        self,
        levels: NDArray[np.uint8],
        suppressed: Mask,
        codes: list[Codes],
        combinations: Combinations,
    ) -> LabelledPartition:
        """Give items with the same labels one class; all suppressed items are the last one, without labels."""
        visible = np.flatnonzero(~suppressed)
        hierarchies, numbers = [], []
        for j, (hierarchy, column) in enumerate(zip(self.encoding.hierarchies, codes, strict=True)):
            masks, number = {}, np.empty(visible.size, np.int64)
            first = np.cumsum([0, *map(len, hierarchy.labels)])
            for level in np.unique(levels[visible, j]).tolist():
                here = levels[visible, j] == level
                values = column[visible[here]]
                masks[level] = np.zeros(hierarchy.size, np.bool_)
                masks[level][values] = True
                number[here] = first[level] + hierarchy.label_map(level)[values]
            hierarchies.append(hierarchy.named_by(masks))
            numbers.append(number)
        one_of, class_of_visible = distinct_rows(numbers, visible.size)
        class_of_item = np.full(suppressed.size, one_of.size, np.int64)
        class_of_item[visible] = class_of_visible
        classes = one_of.size + bool(suppressed.any())
        labels = []
        for hierarchy, number in zip(hierarchies, numbers, strict=True):
            texts = [label for of_level in hierarchy.labels for label in of_level]
            of_class = np.full(classes, len(texts), np.int64)
            of_class[: one_of.size] = number[one_of]
            shares = np.concatenate([*hierarchy.shares, [1.0]])
            labels.append(Labels(pa.array([*texts, self.marker], pa.string()), of_class, shares[of_class]))
        return LabelledPartition(
            class_of_item, count_codes(class_of_item, classes, combinations.work.weights), labels
        )

    @property
    def traces(self) -> tuple[object, ...]:
        if self.solver is None:
            return super().traces
        return (CellTrace.of_parts(self.cell_traces),)

    def facts(self, published: Published, covered: list[float]) -> dict[str, Any]:
        suppressed = published.suppressed_records
        domains = [each.domain_size for each in self.numbered.work.columns]
        figures = quality_with_suppressed(published.sizes, suppressed, published.records, covered, domains)
        several = (
            "unknown: the table was not anonymized as a whole. If its combinations fit into memory, compare `measures` "
            "with those of a release without parts"
        )
        return {
            **figures,
            "suppressed": self.suppressed,
            "parts": len(self.parts),
            **({} if self.solver is None else {"ending": "time limit"}),
            "cost": several if len(self.parts) > 1 else "none: there is one part, which is the table",
        }
