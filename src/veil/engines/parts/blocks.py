"""A table that an engine holds, cut into parts that fit into memory: what each of its rows becomes, and its outcome.

The labels of all classes are in memory, the rows where they are. `Blocks` says how the classes of a part are made;
everything else is the same for all ways of making them.
"""

from __future__ import annotations

import functools
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.progress import Progress, following
from veil.engines.condense import condense
from veil.engines.engine_rows import EngineRows
from veil.engines.parts.check import check_staged, together
from veil.engines.parts.divide import Block
from veil.engines.parts.labels import Labelled
from veil.engines.parts.ranked import RankedRelation
from veil.engines.settings import available_memory
from veil.engines.shuffle import shuffled
from veil.engines.write.writing import Piece, write, write_pieces
from veil.errors import InputError, ParameterError, VerificationError
from veil.masking.partition.partitioning import SAME_LABELS
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome, Pass
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.published.finding import Finding, Verification
from veil.published.table import Published
from veil.quality.figures import quality
from veil.tables.arrow import dictionary_encoded
from veil.tables.rows import Rows
from veil.verification.release import verify_models

if TYPE_CHECKING:
    import ibis

_BYTES = 1000
"""What a combination takes in memory at most while it is partitioned, of up to some twenty columns."""


def most_that_fit(asked: int | None, parameter: str = "most_combinations") -> int:
    """Return how many combinations to have in memory: as many as asked for, or as fit into half of what is free."""
    if asked is None:
        return max(1, available_memory() // 2 // _BYTES)
    if asked < 1:
        raise ParameterError(f"`{parameter}` should be at least 1, not {asked}")
    return asked


class Blocks(ABC):
    """The parts of a table, and how the classes of each are made. `most` combinations are in memory at a time."""

    dropped: frozenset[str] = frozenset()
    """Columns that are not released."""

    passes: tuple[Pass, ...] = ()
    """How each part was transformed, if each has its own way."""

    def __init__(self, numbered: RankedRelation, parts: Sequence[Block], most: int) -> None:
        self.numbered, self.parts, self.most = numbered, list(parts), most

    @abstractmethod
    def label_part(self, part: Block) -> Labelled:
        """Make the classes of a part."""

    @functools.cached_property
    def only(self) -> Labelled | None:
        """The classes of the whole table, if it fits into memory."""
        return None if len(self.parts) > 1 else self.label_part(self.parts[0])

    def published(
        self, rows: pa.Table, weights: NDArray[np.int64], hidden: NDArray[np.bool_] | None = None
    ) -> Published:
        """See released cells from outside, to be compared with all records; `hidden` rows are suppressed."""
        return Published(
            Rows.of(rows, weights),
            self.numbered.names,
            suppressed="none",
            baseline=Rows.of(self.numbered.sketch, self.numbered.weights),
        )

    def facts(self, shown: Published, covered: list[float]) -> dict[str, Any]:
        """What a person wants to know: the same figures as in memory, and what it cost to divide the table."""
        domains = [each.domain_size for each in self.numbered.work.columns]
        return {**quality(shown.sizes, covered, domains), "parts": len(self.parts)}

    def expression(self, part: Block, table: ibis.Table) -> ibis.Table:
        """The released rows of a part."""
        return (self.only or self.label_part(part))(table)


@dataclass(frozen=True, kw_only=True)
class BlockSource(EngineRows):
    """A table in parts. Of its rows, `table` knows how often each value occurs in each column."""

    blocks: Blocks
    order: Literal["random", "input"]

    def expression(self, outcome: Outcome) -> Any:
        """Of a table in several parts, this holds the combinations of all parts in memory; `write` does not."""
        relation = self.blocks.numbered.relation
        first, *others = [self.blocks.expression(part, relation.table) for part in self.blocks.parts]
        rows = first.union(*others) if others else first
        return relation.restore(shuffled(rows) if self.order == "random" else rows)

    def class_sizes(self, names: list[str]) -> NDArray[np.int64]:
        numbered = self.blocks.numbered
        there = int(numbered.combinations([numbered.whole])[0])
        if there > most_that_fit(None):
            raise InputError(
                f"{numbered.relation.name} has {there:,} combinations, which do not fit into memory, so its "
                "risks cannot be computed"
            )
        return condense(numbered.relation, names).weights

    def write(self, outcome: Outcome, target: Any, *, progress: Any = None, **options: Any) -> Written:
        """A table in several parts is written part by part."""
        blocks, relation = self.blocks, self.blocks.numbered.relation.with_labels(outcome)
        found: Verification | None = None

        def check(staged: ibis.Table) -> None:
            nonlocal found
            found = check_staged(blocks, outcome, staged)
            found.require()

        with following(progress) as shown:
            common: dict[str, Any] = {
                "check": check,
                "token": self._token(outcome),
                "shuffle": self.order == "random",
                "progress": shown,
                **options,
            }
            if blocks.only is not None:
                made = write(relation, blocks.only, target, **common)
            else:
                pieces = [
                    # The rows of a part are found when their turn has come, and forgotten before the next.
                    Piece(
                        f"part {number}",
                        part.records,
                        functools.partial(blocks.expression, part, relation.table),
                    )
                    for number, part in enumerate(blocks.parts, 1)
                ]
                made = write_pieces(relation, lambda: pieces, pieces[0].make, target, **common)
        return replace(made, verification=found, note=relation.note)

    def _token(self, outcome: Outcome) -> str:
        """Tell outcomes apart: what one has written, only the same one may go on with."""
        assert outcome.weights is not None
        asked = (outcome.asked, str(self.blocks.numbered.relation.location))
        digest = hashlib.sha256(repr(asked).encode())
        digest.update(repr([part.box for part in self.blocks.parts]).encode())
        digest.update(outcome.weights.tobytes())
        for column in outcome.table.columns:
            (cells,) = column.chunks
            digest.update(repr(cells.dictionary.to_pylist()).encode())
            digest.update(np.array(cells.indices).tobytes())
        return digest.hexdigest()[:24]


def outcome_in_blocks(
    blocks: Blocks,
    asked: Plan | tuple[Method, ...],
    order: Literal["random", "input"],
    progress: Progress,
) -> Outcome:
    """Make the classes of all parts, one part after the other, and check every model on their cells."""
    numbered, parts = blocks.numbered, blocks.parts
    labels, records, hidden, covered, findings = [], [], [], np.zeros(len(numbered.names)), []
    for number, part in enumerate(parts):
        progress.phase(f"part {number + 1} of {len(parts)}")
        done = blocks.only or blocks.label_part(part)
        labels.append(done.classes())
        records.append(done.named.records)
        hidden.append(done.hidden)
        covered += [each.shares @ done.named.records for each in done.named.labels]
        rows, weights = done.rows()
        findings.append(_verify(blocks, rows, weights, done.named.records.size))
    classes, weights = stack_tables(labels), np.concatenate(records)
    shown = blocks.published(classes, weights, np.concatenate(hidden))
    _check_merged(blocks, shown, np.repeat(np.arange(len(parts)), [each.size for each in records]))
    relation = numbered.relation
    return Outcome(
        BlockSource(
            numbered.sketch,
            "engine",
            weights=numbered.weights,
            columns=tuple(relation.original.table.columns),
            blocks=blocks,
            order=order,
        ),
        asked,
        classes,
        weights=weights,
        verification=Verification(tuple(together(each) for each in zip(*findings, strict=True))),
        facts=blocks.facts(shown, (covered / numbered.work.records).tolist()),
        passes=blocks.passes,
    )


def _verify(blocks: Blocks, rows: pa.Table, weights: NDArray[np.int64], made: int) -> list[Finding]:
    """Check every model on the cells of some classes."""
    published = blocks.published(rows, weights)
    found = verify_models(published, blocks.numbered.work.models)
    broken = [str(finding) for finding in found if not finding.holds]
    if broken:
        hint = f". {SAME_LABELS}" if published.sizes.size < made else ""
        raise VerificationError(f"the output breaks a promise and is withheld: {'; '.join(broken)}{hint}")
    return found


def _check_merged(blocks: Blocks, shown: Published, part_of_class: NDArray[np.int64]) -> None:
    """Check classes of different parts that got the same labels, if a model might not survive that."""
    if blocks.numbered.work.judge.monotone:
        return
    low, high = np.full(shown.sizes.size, len(blocks.parts)), np.full(shown.sizes.size, -1)
    np.minimum.at(low, shown.classes, part_of_class)
    np.maximum.at(high, shown.classes, part_of_class)
    merged = (low < high)[shown.classes]
    if not merged.any():
        return
    found = []
    for number, part in enumerate(blocks.parts):
        if merged[part_of_class == number].any():
            found.append(blocks.label_part(part).rows(merged[part_of_class == number]))
    rows = stack_tables([rows for rows, _ in found])
    _verify(blocks, rows, np.concatenate([weights for _, weights in found]), int(merged.sum()))


def stack_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Put tables of dictionary-encoded columns on top of each other."""
    columns = {}
    for name in tables[0].column_names:
        values, codes = dictionary_encoded(pa.concat_tables([each.select([name]) for each in tables])[name])
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), values)
    return pa.table(columns)
