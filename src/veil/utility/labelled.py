"""A release as its reader sees it: cells that stand for sets of values, and rows that show nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.dp.publish import safepub_of
from veil.errors import InputError, ParameterError, PlanError, did_you_mean
from veil.hierarchies import Hierarchy, Table
from veil.masking.partition.partitioning import PartitioningMethod
from veil.outcome.outcome import Outcome, outcome_of
from veil.plan.parameters import hierarchy_builder
from veil.published.flag import find_flag
from veil.published.table import Published
from veil.tables import read
from veil.tables.columns import encode_values
from veil.tables.frames import Frame
from veil.tables.rows import Rows
from veil.utility.labels import LabelledColumn

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A released table whose cells stand for sets of values.

    Attributes
    ----------
    rows : Rows
        The released rows, with their weights and owners.
    hierarchies : dict
        The hierarchies of generalized columns.
    suppressed : array
        Mask of the released rows whose quasi-identifiers show nothing.
    blank_columns : frozenset of str, optional
        Columns that show nothing in suppressed rows; None if these are all.
    outcome : Outcome, optional
        The release, if it is known; otherwise only the table is.
    source_frame : Frame, optional
        The kind of frame of a table that is no release.
    """

    rows: Rows
    hierarchies: Mapping[str, Hierarchy]
    suppressed: Mask
    marker: str | None
    blank_columns: frozenset[str] | None = None
    outcome: Outcome | None = None
    source_frame: Frame | None = None
    _columns: dict[str, LabelledColumn] = field(default_factory=dict)

    @staticmethod
    def of(
        source: Any, hierarchies: Mapping[str, Any] | None = None, *, marker: str | None = "*"
    ) -> LabelledTable:
        """Read a release, or a released table with the hierarchies of its generalized columns."""
        outcome = outcome_of(source)
        if outcome is not None:
            if hierarchies is not None:
                raise ParameterError("a release knows its hierarchies: leave out `hierarchies`")
            return _of_outcome(outcome)
        opened = read(source, may_be_empty=True)
        table = opened.table
        built = {}
        for name, builder in (hierarchies or {}).items():
            if name not in table.column_names:
                raise PlanError(
                    f"`hierarchies` names {name!r}, which is not a column.{did_you_mean(name, table.column_names)}"
                )
            builder = hierarchy_builder(builder)
            if not isinstance(builder, Hierarchy | Table):
                raise ParameterError(
                    f"the hierarchy of column {name!r} should list the values of the input, as those of "
                    f"`veil.hierarchies.table` and `read` do: {builder!r} would list the labels of the release"
                )
            built[name] = builder.build(pa.array([], pa.string()), np.zeros(0, np.int64), name)
        rows = Rows.of(table)
        names = list(built) or table.column_names
        suppressed = Published(rows, names, marker=marker, flag=find_flag(table)).suppressed
        return LabelledTable(rows, built, suppressed, marker, source_frame=opened.frame)

    @property
    def names(self) -> list[str]:
        """Columns that an attacker may know: those of a release, or those with a hierarchy."""
        return list(self.hierarchies) if self.outcome is None else self.outcome.quasi_identifiers

    @property
    def dropped(self) -> int:
        """Number of records of the input without a row."""
        if self.outcome is None:
            return 0
        return self.outcome.suppressed - self.rows.weights.sum_of(self.suppressed)

    def as_frame(self, table: pa.Table) -> Any:
        """Return a table with the same rows as a frame of the release's kind."""
        if self.outcome is not None:
            sources = [each.source for each in self.outcome.tables.values()]
            frame = sources[0].frame if len(sources) == 1 else None
        else:
            frame = self.source_frame
        return table if frame is None else frame.from_arrow(table, frozenset())

    def __getitem__(self, name: str) -> LabelledColumn:
        """Return the labels of a column."""
        if name not in self._columns:
            table = self.rows.table
            if name not in table.column_names:
                raise PlanError(
                    f"the release has no column {name!r}.{did_you_mean(name, table.column_names)}"
                )
            original = None if self.outcome is None else self.outcome.original
            known = original is not None and name in original.column_names
            self._columns[name] = LabelledColumn.of(
                name,
                table[name],
                self.hierarchies.get(name),
                self.blank_rows(name),
                original=original[name] if known and original is not None else None,
                marker=self.marker,
            )
        return self._columns[name]

    def blank_rows(self, name: str) -> Mask:
        """Return a mask of the rows in which a column shows nothing, as the row is suppressed."""
        if self.blank_columns is None or name in self.blank_columns:
            return self.suppressed
        return np.zeros(self.suppressed.size, np.bool_)

    def require_labels(self, names: Iterable[str]) -> None:
        """Refuse columns whose cells do not stand for sets that hold the original value."""
        outcome = self.outcome
        if outcome is None:
            return
        for name in names:
            why = _why_no_labels(outcome, name)
            if why:
                raise InputError(
                    f"column {name!r} {why}, so that nothing follows from its cells for certain. Take "
                    "`veil.utility.count_query` to compare estimates with the input"
                )


def _why_no_labels(outcome: Outcome, name: str) -> str | None:
    """Return why the original value of a cell may be outside its label; None if it is not."""
    if name in outcome.roles.microaggregated:
        return "is microaggregated"
    if name in outcome.roles.identifying:
        return "is identifying and replaced"
    if outcome.plan is not None:
        if safepub_of(outcome.plan) is not None:
            return "is one of a random sample"
        return None if len(outcome.steps) == len(outcome.results) else "may have been masked"
    for method in outcome.methods:
        if not isinstance(method, PartitioningMethod):
            return f"comes from {type(method).__name__}"
        if name in method.column_names and getattr(method, "labels", None) == "means":
            return "may show means"
    return None


def _of_outcome(outcome: Outcome) -> LabelledTable:
    rows, suppression = outcome.after, outcome.last.suppression
    if suppression.by_row:
        suppressed_mask = outcome.last.origins.pick(outcome.suppressed_mask)
    else:
        suppressed_mask = outcome.by_records.suppressed
    keeps = outcome.roles.suppressed_rows == "keep cells"
    return LabelledTable(
        rows,
        _hierarchies_of(outcome),
        suppressed_mask,
        outcome.marker,
        frozenset(outcome.quasi_identifiers) if keeps else None,
        outcome,
    )


def _hierarchies_of(outcome: Outcome) -> dict[str, Hierarchy]:
    """Return the hierarchies of a search, or of a partition."""
    hierarchies = dict(outcome.hierarchies)
    for method in outcome.methods:
        if isinstance(method, PartitioningMethod):
            for name, builder in method.quasi_identifiers.items():
                if builder is None:
                    continue
                values, codes = encode_values(outcome.original[name])
                counts = np.bincount(codes, minlength=len(values))
                hierarchies[name] = builder.build(values, counts, name)
    return hierarchies
