"""Mondrian for a table that an engine holds: classes are decided in memory, and the engine labels its rows.

The engine counts the combinations of quasi-identifiers and attributes, Mondrian cuts them as it cuts any table, and
each combination gets the number of its class. The engine finds these numbers by a join, and by them the labels. Where
the combinations do not fit into memory, the table is cut on the engine first (see `veil.engines.parts.divide`), and one
part after the other is fetched, cut, written and forgotten. The classes are the same either way.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.mask import Masked
from veil.base.progress import Progress, following
from veil.engines.copy import brought
from veil.engines.parts.check import check_staged, together
from veil.engines.parts.divide import Block, divided
from veil.engines.parts.labels import Labelled
from veil.engines.parts.ranked import Numbered
from veil.engines.relation import Relation
from veil.engines.settings import available_memory
from veil.engines.write.writing import Piece, write, write_pieces
from veil.errors import ParameterError, PlanError
from veil.masking.partition.mondrian import Mondrian
from veil.masking.partition.workpiece import require
from veil.outcome.method import Method
from veil.published.finding import Finding
from veil.published.table import Published
from veil.quality.figures import quality
from veil.tables import Source
from veil.tables.arrow import dictionary_encoded
from veil.verification.release import verify_models

if TYPE_CHECKING:
    import ibis

_BYTES = 1000
"""What a combination takes in memory at most while it is partitioned, of up to some twenty columns."""


def masked(
    relation: Relation, methods: Sequence[Method], most_combinations: int | None, told: Progress
) -> EngineMasked:
    """Mask a table that an engine holds."""
    method = _only_mondrian(relation, methods)
    most = most_that_fit(most_combinations)
    relation = brought(relation, told=told)
    told.phase("counting the values of each column")
    numbered = Numbered(relation, method)
    told.phase("cutting on the engine")
    return EngineMasked(numbered, divided(numbered, most), most, told)


def most_that_fit(asked: int | None) -> int:
    """Return how many combinations to have in memory: as many as asked for, or as fit into half of what is free."""
    if asked is None:
        return max(1, available_memory() // 2 // _BYTES)
    if asked < 1:
        raise ParameterError(f"`most_combinations` should be at least 1, not {asked}")
    return asked


def _only_mondrian(relation: Relation, methods: Sequence[Method]) -> Mondrian:
    way_out = 'Read the table into memory (engine="memory" does so with files), or use `veil.anonymize`'
    for method in methods:
        if not isinstance(method, Mondrian):
            raise PlanError(
                f"{type(method).__name__} masks tables in memory, and {relation.name} is held by an engine, which "
                f"only Mondrian can deal with. {way_out}"
            )
        if method.relaxed:
            raise PlanError(
                "relaxed Mondrian divides records with equal values by the order of rows, and rows that an engine "
                f"holds have none. Use relaxed=False. {way_out}"
            )
    if len(methods) > 1:
        raise PlanError(
            f"{relation.name} is held by an engine, which takes one step, and there are {len(methods)}: save what the "
            "first makes, and go on from there"
        )
    (only,) = methods
    assert isinstance(only, Mondrian)
    return only


class EngineMasked(Masked):
    """A table that an engine holds, masked by Mondrian. `table` is an expression of the engine.

    Attributes
    ----------
    arrow : pyarrow.Table
        The labels of the classes, one row each.
    records : array
        The number of records of each class.
    facts : dict
        Classes, their average size, discernibility and loss, the same as in memory; and in how many `parts` the table
        was partitioned, and what that `cost` in quality.
    findings : tuple
        What the privacy models promise, checked in memory on every combination. `save` checks what was written.
    """

    dropped: frozenset[str] = frozenset()
    """Columns that are not released."""

    def __init__(self, numbered: Numbered, parts: list[Block], most: int, told: Progress) -> None:
        self._numbered, self._parts, self._most = numbered, parts, most
        self.method = numbered.method
        self._only = None if len(parts) > 1 else self._labelled(parts[0])
        labels, records, covered, findings = [], [], np.zeros(len(numbered.names)), []
        for number, part in enumerate(parts):
            told.phase(f"part {number + 1} of {len(parts)}")
            done = self._only or self._labelled(part)
            labels.append(done.classes())
            records.append(done.named.records)
            covered += [each.shares @ done.named.records for each in done.named.labels]
            rows, weights = done.rows()
            findings.append(self._findings(rows, weights, done.named.records.size))
        self.records: NDArray[np.int64] = np.concatenate(records)
        classes = _stacked(labels)
        shown = self._published(classes, self.records)
        self._check_merged(shown, np.repeat(np.arange(len(parts)), [each.size for each in records]))
        self.findings = tuple(together(each) for each in zip(*findings, strict=True))
        self.facts = self._facts(shown, (covered / numbered.work.records).tolist())
        source = Source(numbered.sketch, "engine", weights=numbered.weights)
        super().__init__(source, classes, (), {}, frozenset(), None, True)

    def _labelled(self, part: Block) -> Labelled:
        """Make the classes of a part."""
        return Labelled.by_mondrian(self._numbered, part)

    def _published(self, rows: pa.Table, weights: NDArray[np.int64]) -> Published:
        """See released cells from outside, to be compared with all records."""
        numbered = self._numbered
        return Published(
            rows,
            numbered.names,
            untouched=True,
            weights=weights,
            baseline=numbered.sketch,
            baseline_weights=numbered.weights,
        )

    def _facts(self, shown: Published, covered: list[float]) -> dict[str, Any]:
        """What a person wants to know."""
        return {
            **quality(shown.sizes, covered, [each.domain_size for each in self._numbered.work.columns]),
            "partitions": int(self.records.size),
            "parts": len(self._parts),
            "cost": "none: the classes are those of the table in one part",
        }

    def _findings(self, rows: pa.Table, weights: NDArray[np.int64], made: int) -> list[Finding]:
        """Check every model on the cells of some classes."""
        published = self._published(rows, weights)
        found = verify_models(published, self._numbered.work.models)
        require(found, made, published.sizes.size)
        return found

    def _check_merged(self, shown: Published, part_of_class: NDArray[np.int64]) -> None:
        """Check classes of different parts that got the same labels, if a model might not survive that."""
        if self._numbered.work.judge.monotone:
            return
        low, high = np.full(shown.sizes.size, len(self._parts)), np.full(shown.sizes.size, -1)
        np.minimum.at(low, shown.classes, part_of_class)
        np.maximum.at(high, shown.classes, part_of_class)
        merged = (low < high)[shown.classes]
        if not merged.any():
            return
        found = []
        for number, part in enumerate(self._parts):
            if merged[part_of_class == number].any():
                done = self._labelled(part)
                found.append(done.rows(merged[part_of_class == number]))
        rows = _stacked([rows for rows, _ in found])
        self._findings(rows, np.concatenate([weights for _, weights in found]), int(merged.sum()))

    @property
    def table(self) -> Any:
        """The masked table: a Spark DataFrame if that came in, otherwise an Ibis table.

        Of a table in several parts, it holds the combinations of all parts in memory; `save` does not.
        """
        relation = self._numbered.relation
        first, *others = [self._expression(part, relation.table) for part in self._parts]
        return relation.restore(first.union(*others) if others else first)

    def save(self, path: Any, *, progress: Any = None, **options: Any) -> Any:
        """Let the engine write the table, check what it has written, and put it in its place.

        The target is a path, a URL with a table behind ``#`` or a `Database`, and the options are those of
        `veil.engines.write.writing.write`. A table in several parts is written part by part.
        """
        numbered = self._numbered
        with following(progress) as told:
            common: dict[str, Any] = {
                "check": lambda staged: check_staged(self, staged, self._most).require(),
                "token": self._token(),
                "progress": told,
                **options,
            }
            note = numbered.relation.note
            if self._only is not None:
                return replace(write(numbered.relation, self._only, path, **common), note=note)
            table = numbered.relation.table
            pieces = [
                # The rows of a part are found when their turn has come, and forgotten before the next.
                Piece(f"part {number}", part.records, functools.partial(self._expression, part, table))
                for number, part in enumerate(self._parts, 1)
            ]
            made = write_pieces(numbered.relation, lambda: pieces, pieces[0].make, path, **common)
            return replace(made, note=note)

    def _expression(self, part: Block, table: ibis.Table) -> ibis.Table:
        return (self._only or self._labelled(part))(table)

    def _token(self) -> str:
        """Tell results apart: what one has written, only the same one may go on with."""
        digest = hashlib.sha256(repr((self.method, str(self._numbered.relation.location))).encode())
        digest.update(repr([part.box for part in self._parts]).encode())
        digest.update(self.records.tobytes())
        for column in self.arrow.columns:
            (cells,) = column.chunks
            digest.update(repr(cells.dictionary.to_pylist()).encode())
            digest.update(np.array(cells.indices).tobytes())
        return digest.hexdigest()[:24]

    def __repr__(self) -> str:
        parts = f" in {len(self._parts)} parts" if len(self._parts) > 1 else ""
        return f"EngineMasked({self._numbered.work.records} records by Mondrian{parts}, {self.facts['classes']} classes)"

    def __str__(self) -> str:
        lines = [str(self.method)]
        lines += [f"  {name}: {value}" for name, value in self.facts.items()]
        lines += [f"  {finding}" for finding in self.findings]
        return "\n".join(lines)


def _stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """Put tables of dictionary-encoded columns on top of each other."""
    columns = {}
    for name in tables[0].column_names:
        values, codes = dictionary_encoded(pa.concat_tables([each.select([name]) for each in tables])[name])
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), values)
    return pa.table(columns)
