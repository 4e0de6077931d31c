"""An original and a released table: matching records, and matching cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.dp.publish import safepub_of
from veil.errors import InputError, ParameterError, PlanError, did_you_mean
from veil.masking.values.sampling import Sampling
from veil.outcome.outcome import Outcome, outcome_of, require_outcome
from veil.published.flag import flags_among
from veil.tables import read
from veil.tables.arrow import normalize
from veil.tables.columns import groups, is_list
from veil.tables.frames import check_names, frame_of
from veil.utility.column import CellPairs, Column


class Comparison:
    """An original table and its release. All measures of `veil.utility` read a comparison.

    A record is suppressed if it is not in the released table, or if all its quasi-identifiers are blank there
    (the marker, or missing where the type has no marker) and were not so before. If the released table has a
    column that flags suppressed rows, as releases of Veil have where it is needed, that column decides.

    Attributes
    ----------
    original, released : pyarrow.Table
    records : int
        Number of original records.
    place : array
        For each original record its row in the released table, or -1.
    suppressed : array
        Mask of suppressed original records.
    sampling_fraction : float
        Probability that an original record is drawn into the release; 1 if all are.
    columns : dict
        The quasi-identifiers, by name.

    >>> before = pa.table({"age": [21, 23, 35], "sex": ["f", "f", "m"]})
    >>> after = pa.table({"age": ["20-29", "20-29", "*"], "sex": ["f", "f", "*"]})
    >>> Comparison(before, after, ["age", "sex"]).suppressed.tolist()
    [False, False, True]
    """

    def __init__(
        self,
        original: Any,
        released: Any,
        quasi_identifiers: str | Iterable[str] | Mapping[str, Any],
        *,
        rows: Any = None,
        marker: str | None = "*",
        sampling_fraction: float = 1.0,
    ) -> None:
        if not 0 < sampling_fraction <= 1:
            raise ParameterError(
                f"`sampling_fraction` should be above 0 and at most 1, not {sampling_fraction}"
            )
        self.original, self.released = (
            _table(original, "the original"),
            _table(released, "the released table"),
        )
        self.marker, self.sampling_fraction = marker, float(sampling_fraction)
        self.records = self.original.num_rows
        if not self.records:
            raise InputError("the original has no rows: there is nothing to compare with")
        self.place = _places(self.records, self.released.num_rows, rows)
        hierarchies = _by_name(quasi_identifiers)
        for name in hierarchies:
            self.require(name)
        cells = [
            CellPairs(name, self.original[name], self.released[name], self.place, hierarchy, marker)
            for name, hierarchy in hierarchies.items()
        ]
        self.suppressed = self._suppressed(cells)
        self.columns = {each.name: Column(each, self.suppressed) for each in cells}

    @classmethod
    def of(cls, result: object, quasi_identifiers: Iterable[str] | None = None) -> Comparison:
        """Compare a release, or an outcome, with its input.

        Records outside a research subset are no part of the comparison; records that a differentially private
        release did not draw count as suppressed.
        """
        outcome = require_outcome(result)
        if outcome.is_condensed:
            raise InputError(
                "an engine holds the rows of this release, but records are compared one by one: read both "
                "tables into memory first"
            )
        names = outcome.quasi_identifiers if quasi_identifiers is None else list(quasi_identifiers)
        prepared, rows = outcome.prepared, outcome.origins
        if prepared is None:
            there = [
                name
                for name in names
                if name in outcome.original.column_names and not is_list(outcome.original[name].type)
            ]
            return cls(
                outcome.original,
                outcome.table,
                there,
                rows=rows,
                marker=outcome.marker,
                sampling_fraction=sampling_fraction_of(outcome),
            )
        table, whole = prepared.table, outcome.source.table
        if prepared.subset is not None:
            inside = np.cumsum(prepared.subset) - 1
            table, rows = table.filter(pa.array(prepared.subset)), inside[rows]
        elif table is not whole:
            table, rows = whole, _match_rows(table, whole)[rows]
        hierarchies = {name: outcome.hierarchies.get(name) for name in names}
        return cls(
            table,
            outcome.table,
            hierarchies,
            rows=rows,
            marker=outcome.marker,
            sampling_fraction=sampling_fraction_of(outcome),
        )

    @property
    def shared(self) -> list[str]:
        """Columns that both tables have."""
        return [name for name in self.original.column_names if name in self.released.column_names]

    @property
    def released_suppressed(self) -> NDArray[np.bool_]:
        """Mask of suppressed rows of the released table."""
        mask = np.zeros(self.released.num_rows, np.bool_)
        present = self.place >= 0
        mask[self.place[present]] = self.suppressed[present]
        return mask

    def require(self, name: str) -> None:
        """Refuse a column that one of the tables does not have."""
        for table, which in ((self.original, "original"), (self.released, "released")):
            if name not in table.column_names:
                raise PlanError(
                    f"the {which} table has no column {name!r}.{did_you_mean(name, table.column_names)}"
                )

    def _suppressed(self, cells: list[CellPairs]) -> NDArray[np.bool_]:
        absent: NDArray[np.bool_] = self.place < 0
        blank: NDArray[np.bool_] = np.logical_and.reduce([each.blank for each in cells])
        names = self.original.column_names
        for name in flags_among(self.released.column_names, names):
            if pa.types.is_boolean(self.released[name].type):
                flagged_mask = np.array(self.released[name].fill_null(False), dtype=np.bool_)
                return absent | blank & flagged_mask[self.place] if flagged_mask.size else absent
        changed: NDArray[np.bool_] = ~np.logical_and.reduce([each.unchanged for each in cells])
        return absent | (blank & changed)


def sampling_fraction_of(outcome: Outcome) -> float:
    """Return the public share of the records that were drawn at random."""
    if outcome.plan is not None:
        private = safepub_of(outcome.plan)
        return 1.0 if private is None else float(private.parameters().beta)
    is_sample = any(isinstance(each, Sampling) for each in outcome.methods)
    return outcome.table.num_rows / outcome.original.num_rows if is_sample else 1.0


def _table(source: Any, what: str) -> pa.Table:
    """Read a table; unlike an input to anonymize it may be empty."""
    outcome = outcome_of(source)
    if outcome is not None:
        return outcome.table
    frame = frame_of(source)
    if frame is None:
        return read(source).table
    table = frame[1].to_arrow()
    try:
        check_names(table.column_names)
    except InputError as error:
        raise error.after(f"{what}: ") from None
    return normalize(table)


def _by_name(columns: str | Iterable[str] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(columns, str):
        columns = [columns]
    hierarchies = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns)
    if not hierarchies:
        raise PlanError(
            "a comparison needs at least one quasi-identifier: name the columns that were changed, such as "
            "quasi_identifiers=['age', 'zip']; of a release, release.utility() knows them"
        )
    return hierarchies


def _places(records: int, released_count: int, rows: Any) -> NDArray[np.int64]:
    if rows is None:
        if released_count != records:
            raise InputError(
                f"the released table has {released_count:,} rows and the original {records:,}. Give in `rows` the "
                "original row of each released row, counted from 0"
            )
        return np.arange(records)
    rows = np.asarray(rows)
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    if rows.shape != (released_count,) or (released_count and rows.dtype.kind not in "iu"):
        raise InputError(
            f"`rows` should hold one row number for each of the {released_count:,} released rows, not {rows.size:,} "
            f"values of type {rows.dtype}"
        )
    if released_count and not 0 <= rows.min() <= rows.max() < records:
        wrong = rows[(rows < 0) | (rows >= records)][0]
        raise InputError(f"`rows` should hold row numbers from 0 to {records - 1}, not {wrong}")
    place = np.full(records, -1, np.int64)
    place[rows.astype(np.int64)] = np.arange(released_count)
    if np.count_nonzero(place >= 0) < released_count:
        times = np.bincount(rows, minlength=records)
        raise InputError(
            f"`rows` should name each row of the original at most once, not {times.argmax()} twice"
        )
    return place


def _match_rows(part: pa.Table, whole: pa.Table) -> NDArray[np.int64]:
    """Return for each row of a part an equal row of the whole, each at most once."""
    keys = groups(pa.concat_tables([whole, part]), tuple(whole.column_names), "comparison")
    whole_keys, part_keys = keys[: whole.num_rows], keys[whole.num_rows :]
    order, other = np.argsort(whole_keys, kind="stable"), np.argsort(part_keys, kind="stable")
    part_keys = part_keys[other]
    repeats = np.arange(part_keys.size) - np.searchsorted(part_keys, part_keys)
    matches = np.empty(part_keys.size, np.int64)
    matches[other] = order[np.searchsorted(whole_keys[order], part_keys) + repeats]
    return matches


def has_values(outcome: Outcome) -> bool:
    """Whether a quasi-identifier has single values, which can be compared, and not sets of items."""
    table = outcome.original
    names = (name for name in outcome.quasi_identifiers if name in table.column_names)
    return not all(is_list(table[name].type) for name in names)
