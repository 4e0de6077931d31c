"""The outcome of a table on an engine that is cut into parts, each of which fits into memory.

The labels of all classes are in memory, the rows on the engine. A subclass of `Blocks` makes the classes of a
part; everything else is the same for all subclasses.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.progress import Progress
from veil.engines.condense import condense
from veil.engines.engine_source import EngineSource
from veil.engines.parts.check import check_staged, merge_findings
from veil.engines.parts.divide import Block
from veil.engines.parts.labels import Labelled
from veil.engines.parts.ranked import RankedRelation
from veil.engines.settings import available_memory
from veil.engines.shuffle import shuffled
from veil.engines.write.writing import Piece, write, write_pieces
from veil.errors import InputError, ParameterError, VerificationError
from veil.masking.partition.partitioning import PartitioningMethod
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.outcome.result import Origins, Pass, Passes, Privacy, StepResult, SuppressedRows
from veil.outcome.roles import Roles
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.published.finding import Finding, Verification
from veil.published.table import Published, Suppressed
from veil.quality.figures import quality
from veil.tables.arrow import dictionary_encoded
from veil.tables.rows import Rows
from veil.verification.release import verify_models

if TYPE_CHECKING:
    import ibis

_BYTES = 1000
"""Memory that a combination of up to some twenty columns takes at most while it is partitioned."""


def most_that_fit(limit: int | None, parameter: str = "most_combinations") -> int:
    """Return how many combinations to have in memory: the given limit, or as fit into half of the rest."""
    if limit is None:
        return max(1, available_memory() // 2 // _BYTES)
    if limit < 1:
        raise ParameterError(f"`{parameter}` should be at least 1, not {limit}")
    return limit


class Blocks(ABC):
    """The parts of a table, and the way to make classes of each with `most` combinations in memory."""

    step: Plan | Method

    dropped: frozenset[str] = frozenset()
    """Columns that are not released."""

    suppresses: bool = False
    """Whether records may be suppressed, which then show `marker`."""
    marker: str | None = "*"

    passes: tuple[Pass, ...] = ()
    """The transformation of each part, if each has its own."""

    def __init__(self, numbered: RankedRelation, parts: Sequence[Block], most: int) -> None:
        self.numbered, self.parts, self.most = numbered, list(parts), most

    @abstractmethod
    def label_part(self, part: Block) -> Labelled:
        """Make the classes of a part."""

    @abstractmethod
    def roles(self, columns: Sequence[str], names: Sequence[str]) -> Roles:
        """Return the roles of some columns, of which a release has those with these names."""

    @property
    def traces(self) -> tuple[object, ...]:
        """How the levels of the parts were found."""
        return (Passes(self.passes),)

    @functools.cached_property
    def only(self) -> Labelled | None:
        """The classes of the whole table, if it fits into memory."""
        return None if len(self.parts) > 1 else self.label_part(self.parts[0])

    def published(
        self, rows: pa.Table, weights: NDArray[np.int64], suppressed: Suppressed = "by cells"
    ) -> Published:
        """Return released cells as published, compared with all records."""
        return Published(
            Rows.of(rows, weights),
            self.numbered.names,
            marker=self.marker,
            suppressed=suppressed if self.suppresses else "none",
            baseline=Rows.of(self.numbered.sketch, self.numbered.weights),
        )

    def facts(self, published: Published, covered: list[float]) -> dict[str, Any]:
        """Return the figures for the report: those of a release in memory, and the cost of the division."""
        domains = [each.domain_size for each in self.numbered.work.columns]
        return {**quality(published.sizes, covered, domains), "parts": len(self.parts)}

    def expression(self, part: Block, table: ibis.Table) -> ibis.Table:
        """Return the released rows of a part."""
        return (self.only or self.label_part(part))(table)


@dataclass(frozen=True, kw_only=True)
class BlockSource(EngineSource):
    """A table in parts. In memory, `table` has the frequency of each value of each column."""

    blocks: Blocks
    order: Literal["random", "input"]

    def expression(self, outcome: Outcome) -> Any:
        """Return the released rows. The combinations of all parts are in memory, other than in `write`."""
        relation = self.blocks.numbered.relation
        first, *others = [self.blocks.expression(part, relation.table) for part in self.blocks.parts]
        rows = first.union(*others) if others else first
        return relation.restore(shuffled(rows) if self.order == "random" else rows)

    def class_sizes(self, names: list[str]) -> NDArray[np.int64]:
        numbered = self.blocks.numbered
        number = int(numbered.combinations([numbered.whole])[0])
        if number > most_that_fit(None):
            raise InputError(
                f"{numbered.relation.name} has {number:,} combinations, which do not fit into memory, so its "
                "risks cannot be computed"
            )
        return condense(numbered.relation, names).weights

    def verify_rows(self, outcome: Outcome, rows: ibis.Table) -> Verification:
        return check_staged(self.blocks, outcome, rows)

    def write_rows(self, outcome: Outcome, target: Any, **options: Any) -> Written:
        """Write the rows, part by part if there are several."""
        blocks, relation = self.blocks, self.blocks.numbered.relation.with_labels(outcome)
        options["shuffle"] = self.order == "random"
        if blocks.only is not None:
            return write(relation, blocks.only, target, **options)
        # Each part is fetched when its turn comes, and released before the next.
        pieces = [
            Piece(f"part {number}", part.records, functools.partial(blocks.expression, part, relation.table))
            for number, part in enumerate(blocks.parts, 1)
        ]
        return write_pieces(relation, lambda: pieces, target, **options)

    @property
    def identity(self) -> tuple[object, ...]:
        location = str(self.blocks.numbered.relation.location)
        return (location, [part.box for part in self.blocks.parts])


def outcome_in_blocks(blocks: Blocks, order: Literal["random", "input"], progress: Progress) -> Outcome:
    """Make the classes of all parts, one after the other, and check every model on their cells."""
    numbered, parts = blocks.numbered, blocks.parts
    labels, records, suppressed, covered, findings = [], [], [], np.zeros(len(numbered.names)), []
    for number, part in enumerate(parts):
        progress.phase(f"part {number + 1} of {len(parts)}")
        labelled = blocks.only or blocks.label_part(part)
        labels.append(labelled.classes())
        records.append(labelled.partition.records)
        suppressed.append(labelled.suppressed)
        covered += [each.shares @ labelled.partition.records for each in labelled.partition.labels]
        rows, weights = labelled.rows()
        findings.append(_verify(blocks, rows, weights, labelled.partition.records.size))
    classes, weights = stack_tables(labels), np.concatenate(records)
    published = blocks.published(classes, weights, np.concatenate(suppressed))
    _check_merged(blocks, published, np.repeat(np.arange(len(parts)), [each.size for each in records]))
    relation = numbered.relation
    source = BlockSource(
        numbered.sketch,
        "engine",
        weights=numbered.weights,
        columns=tuple(relation.original.table.columns),
        blocks=blocks,
        order=order,
    )
    figures = blocks.facts(published, (covered / numbered.work.records).tolist())
    result = StepResult(
        blocks.step,
        Rows.of(classes, weights),
        Origins(classes.num_rows),
        SuppressedRows.counted(numbered.sketch.num_rows, figures.get("suppressed", 0)),
        blocks.roles(numbered.sketch.column_names, classes.column_names),
        (),
        (),
        figures,
        Privacy(),
        blocks.traces,
    )
    checked = Verification(tuple(merge_findings(each) for each in zip(*findings, strict=True)))
    return Outcome.of(source, source.rows, result, verification=checked)


def _verify(blocks: Blocks, rows: pa.Table, weights: NDArray[np.int64], class_count: int) -> list[Finding]:
    """Check every model on the cells of some classes."""
    published = blocks.published(rows, weights)
    findings = verify_models(published, blocks.numbered.method.models)
    broken = [str(finding) for finding in findings if not finding.holds]
    if broken:
        hint = f". {PartitioningMethod.if_broken}" if published.sizes.size < class_count else ""
        raise VerificationError(f"the output breaks a promise and is withheld: {'; '.join(broken)}{hint}")
    return findings


def _check_merged(blocks: Blocks, published: Published, part_of_class: NDArray[np.int64]) -> None:
    """Check classes of different parts that have the same labels, if a model may not survive their union."""
    if blocks.numbered.work.judge.monotone:
        return
    low, high = np.full(published.sizes.size, len(blocks.parts)), np.full(published.sizes.size, -1)
    np.minimum.at(low, published.classes, part_of_class)
    np.maximum.at(high, published.classes, part_of_class)
    merged = (low < high)[published.classes]
    if not merged.any():
        return
    merged_rows = []
    for number, part in enumerate(blocks.parts):
        if merged[part_of_class == number].any():
            merged_rows.append(blocks.label_part(part).rows(merged[part_of_class == number]))
    rows = stack_tables([rows for rows, _ in merged_rows])
    _verify(blocks, rows, np.concatenate([weights for _, weights in merged_rows]), int(merged.sum()))


def quality_with_suppressed(
    sizes: NDArray[np.int64], suppressed: int, records: int, covered: list[float], domains: list[float]
) -> dict[str, float | int]:
    """Measure a release whose suppressed records are a class of their own."""
    figures = quality(np.append(sizes, suppressed) if suppressed else sizes, covered, domains)
    return {**figures, "discernibility": figures["discernibility"] + suppressed * (records - suppressed)}


def stack_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables of texts, whether or not these are dictionary-encoded."""
    columns = {}
    for name in tables[0].column_names:
        chunks = []
        for each in tables:
            column = each[name]
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            chunks += encoded.chunks
        values, codes = dictionary_encoded(pa.chunked_array(chunks))
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), values)
    return pa.table(columns)
