"""Mondrian for a table on an engine: classes are decided in memory, and the engine labels its rows.

The engine counts the combinations of quasi-identifiers and attributes, Mondrian cuts them as any table, and
each combination gets the number of its class. The engine finds these numbers and the labels by joins. If
memory cannot hold all combinations, it cuts the table first (see `veil.engines.parts.divide`), and each part
in turn is fetched, cut, written and forgotten. The classes are the same either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from veil.base.progress import Progress
from veil.engines.copy import bring_over
from veil.engines.parts.blocks import Blocks, most_that_fit, outcome_in_blocks
from veil.engines.parts.divide import Block, divide_table
from veil.engines.parts.labels import Labelled
from veil.engines.parts.ranked import RankedRelation
from veil.engines.relation import Relation
from veil.errors import PlanError
from veil.masking.partition.mondrian import Mondrian
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.outcome.roles import Roles, roles_of_masks
from veil.published.table import Published


def mask_on_engine(
    relation: Relation,
    methods: Sequence[Method],
    most_combinations: int | None,
    order: Literal["random", "input"],
    progress: Progress,
) -> Outcome:
    """Mask a table on an engine."""
    method = _only_mondrian(relation, methods)
    most = most_that_fit(most_combinations)
    relation = bring_over(relation, progress=progress)
    progress.phase("counting the values of each column")
    numbered = RankedRelation(relation, method)
    progress.phase("cutting on the engine")
    return outcome_in_blocks(MondrianBlocks(numbered, divide_table(numbered, most), most), order, progress)


class MondrianBlocks(Blocks):
    """Parts whose classes are made by Mondrian: the same as those of the table in one part."""

    @property
    def step(self) -> Mondrian:  # type: ignore[override]
        return self.numbered.method

    def roles(self, columns: Sequence[str], names: Sequence[str]) -> Roles:
        # All columns are kept, also those that Veil does not read.
        return roles_of_masks([self.step], columns, names, None, "insensitive")

    def label_part(self, part: Block) -> Labelled:
        return Labelled.by_mondrian(self.numbered, part)

    def facts(self, published: Published, covered: list[float]) -> dict[str, Any]:
        figures = super().facts(published, covered)
        return {
            **figures,
            "partitions": published.rows.weights.rows,
            **self.numbered.work.grids,
            "cost": "none: the classes are those of the table in one part",
        }


def _only_mondrian(relation: Relation, methods: Sequence[Method]) -> Mondrian:
    way_out = 'Read the table into memory (engine="memory" does so with files), or use `veil.anonymize`'
    for method in methods:
        if not isinstance(method, Mondrian):
            raise PlanError(
                f"{type(method).__name__} masks tables in memory, but {relation.name} is held by an engine, "
                f"which only supports Mondrian. {way_out}"
            )
        if method.relaxed:
            raise PlanError(
                "relaxed Mondrian splits records with equal values by row order, but rows held by an "
                f"engine have no order. Use relaxed=False. {way_out}"
            )
    if len(methods) > 1:
        raise PlanError(
            f"{relation.name} is held by an engine, which supports only one step, not {len(methods)}: save "
            "the result of the first, and continue from there"
        )
    (only,) = methods
    assert isinstance(only, Mondrian)
    return only
