"""A release as an expression of the engine: look-ups in small tables, joined to the rows.

For each quasi-identifier the engine gets the values with their labels, and if records are suppressed or
recoded locally, a list of the classes concerned. So it need not know hierarchies and models, and every engine
does the same. A value that was added after the table was condensed finds no label; the check of the output
notices and withholds it. Suppressed rows are blank in every column, or in the quasi-identifiers, according to
the plan.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.engines.blank import blanked
from veil.engines.lookups import (
    CombinationLookup,
    CombinationPayload,
    Digit,
    Lookup,
    Packing,
    as_released,
    free_prefix,
)
from veil.errors import InputError
from veil.hierarchies import Hierarchy
from veil.outcome.outcome import Outcome
from veil.outcome.pseudonyms import KEY
from veil.outcome.result import CellLevels
from veil.plan.plan import Plan
from veil.plan.recoding import Cells
from veil.tables.columns import is_text
from veil.tables.spelling import encode_people, key_text
from veil.tables.text import canonical_text

if TYPE_CHECKING:
    import ibis

    from veil.engines.source import CondensedSource


class Transform:
    """A function from rows of the engine, all or some, to rows of a release."""

    # The column `part` has the part of the release that a row belongs to; -1 if it is suppressed.

    def __init__(
        self,
        outcome: Outcome,
        source: CondensedSource,
        *,
        keep: str | None = None,
        labelled: Collection[str] = (),
    ) -> None:
        """Prepare the look-ups.

        The column `keep` stays unchanged, for a check before it is removed. `labelled` columns show text also
        on their lowest level, as other rows of the same release show labels there.
        """
        prepared = outcome.searched
        self.keep = keep
        self.kept_as = f"{free_prefix(source.relation.table.columns)}_person"
        self.plan, self.flag, self.source = prepared.plan, source.flag_of(outcome), source
        tag = free_prefix(source.relation.table.columns)
        self.part = f"{tag}_part"
        self.subset = source.subset_rows(prepared)
        levels, codes = outcome.cell_levels, prepared.codes
        left = True if prepared.subset is None else prepared.subset
        inside, others = levels.part == 0, (levels.part != 0) & left
        by_row = levels.of_rows
        # Cells alone suppress some records of a class, and publish others.
        of_classes = len(levels) == 1 and not isinstance(prepared.plan.recoding, Cells)
        self.columns = [
            _Column(
                f"{tag}_{j}",
                name,
                source,
                hierarchy,
                codes[j],
                levels.of_column(j),
                int(levels.vectors[0, j]) if of_classes else 0,
                is_joined=bool(others.any()),
                is_labelled=name in labelled,
            )
            for j, (name, hierarchy) in enumerate(
                zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True)
            )
        ]
        self.pseudonyms = _pseudonyms(f"{tag}_named", prepared.plan, source, outcome)
        self.rows: _Membership | _LevelsOfRows | None = None
        self.further: list[Digit] = []
        if others.any():
            numbers = [(each.digit, each.numbers) for each in self.columns]
            # If attackers know all rows of an owner, rows are suppressed owner by owner.
            if prepared.rows.owners.know_all_rows:
                numbers.append(_owner(f"{tag}_owner", cast("str", prepared.plan.person_column), source))
            if of_classes:
                self.rows = _Membership(f"{tag}_k", numbers, inside, others)
            else:
                self.rows = _LevelsOfRows(tag, numbers, levels, by_row)
                if not self.rows.are_decided:  # rows that agree in quasi-identifiers have different levels
                    named = {digit.lookup.column for digit, _ in numbers}
                    rest = [name for name in source.condensed.table.column_names if name not in named]
                    numbers += [_codes_of(f"{tag}_s{at}", name, source) for at, name in enumerate(rest)]
                    self.rows = _LevelsOfRows(tag, numbers, levels, by_row)
            self.further = [digit for digit, _ in numbers[len(self.columns) :]]

    def __call__(self, table: ibis.Table) -> ibis.Table:
        names = table.columns
        if self.subset is not None:
            table = self.subset.select_from(table)
        for column in self.columns:
            table = column.lookup.join_to(table)
        if self.pseudonyms is not None:
            table = self.pseudonyms.join_to(table)
        for digit in self.further:
            table = digit.lookup.join_to(table)
        table = self._with_parts(table)
        position = {column.name: column for column in self.columns}
        cells = {}
        for name in names:
            role = self.plan.role_of(name)
            if name == self.keep:
                cells[self.kept_as] = table[name]
            if role == "dropped" or self.plan.identifying.get(name) == "remove":
                continue
            if self.plan.identifying.get(name) == "pseudonym":
                assert self.pseudonyms is not None
                cell = self.pseudonyms.cell(table, "p")
                cells[name] = self._blanked(table, cell, self.plan.marker)
            elif role == "identifying":
                cells[name] = _literal(self.plan.marker, "string")
            elif name in position:
                cells[name] = self._cell(table, position[name])
            else:
                cells[name] = self._kept_cell(table, name)
        if self.flag is not None:
            cells[self.flag] = _literal(False, "boolean") if self.rows is None else table[self.part] < 0
        return table.select(**cells)

    def _with_parts(self, table: ibis.Table) -> ibis.Table:
        """Add the part that each row belongs to, if there is more than one possibility."""
        if self.rows is None:
            return table
        table, part = self.rows.join_to(table)
        table = table.mutate(**{self.part: part})
        return table.filter(table[self.part] >= 0) if self.plan.suppressed_rows == "drop" else table

    def _kept_cell(self, table: ibis.Table, name: str) -> Any:
        """Return the released value of any other column."""
        value = as_released(table[name])
        return (
            self._blanked(table, value, self.plan.marker) if self.plan.suppressed_rows == "blank" else value
        )

    def _blanked(self, table: ibis.Table, value: Any, marker: str | None) -> Any:
        """Return a column with suppressed rows blank, if there are any."""
        return value if self.rows is None else blanked(value, table[self.part] < 0, marker)

    def _cell(self, table: ibis.Table, column: _Column) -> Any:
        """Return the released value of a quasi-identifier."""
        import ibis

        if column.is_kept:
            value = as_released(table[column.name])
            marker = self.plan.marker if column.is_text else None
        else:
            first, *further = column.levels
            value = column.lookup.cell(table, f"l{first}")
            for level in further:
                label = column.lookup.cell(table, f"l{level}")
                value = ibis.ifelse(table[column.level_name] == level, label, value)
            marker = self.plan.marker
        return self._blanked(table, value, marker)


class _Column:
    """A quasi-identifier: its levels, and the look-up of their labels. Rows are told apart by those on one level.

    It `is_kept` if every record shows its original value, and `is_joined` if some rows have to be told apart.
    """

    def __init__(
        self,
        tag: str,
        name: str,
        source: CondensedSource,
        hierarchy: Hierarchy,
        codes: NDArray[np.int32],
        levels: list[int],
        numbered: int,
        *,
        is_joined: bool,
        is_labelled: bool,
    ) -> None:
        self.name, self.levels, self.level_name = name, levels, f"{tag}_level"
        values, condensed = source.condensed.values(name), source.condensed
        self.is_text = is_text(values.type)
        value_codes = hierarchy.encode(values, name)
        # A random sample shows labels of the hierarchy only: the type of a column may reveal its records.
        self.is_kept = not any(levels) and not source.is_sample and not is_labelled
        payload = {"c": pa.array(hierarchy.label_map(numbered)[value_codes])} if is_joined else {}
        if not self.is_kept:
            for level in levels:
                labels = pa.array(hierarchy.labels[level], pa.string())
                payload[f"l{level}"] = labels.take(pa.array(hierarchy.label_map(level)[value_codes]))
        if self.is_kept:
            _check_spelling(source, name, value_codes)
        self.lookup = condensed.lookup(tag, name, payload)
        self.digit = Digit(self.lookup, "c", len(hierarchy.labels[numbered]))
        self.numbers = hierarchy.label_map(numbered)[codes]


def _check_spelling(source: CondensedSource, name: str, codes: NDArray[np.int32]) -> None:
    """Refuse values that are counted as one and spelled in several ways, which would look like several."""
    values = source.condensed.engine_values[name]
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    spelling = first[place]
    differs = np.flatnonzero((spelling != np.arange(codes.size)) & ~source.condensed.missing(name))
    if differs.size and pa.types.is_string(values.type):
        one, other = values[int(spelling[differs[0]])], values[int(differs[0])]
        raise InputError(
            f"{source.relation.name}: column {name!r} writes one value in several ways, such as {str(one)!r} "
            f"and {str(other)!r}. Write them alike, or generalize the column"
        )


def _pseudonyms(tag: str, plan: Plan, source: CondensedSource, outcome: Outcome) -> Lookup | None:
    """Return the pseudonym of each owner, for the engine to look up; None if there are none."""
    name = plan.person_column
    if name is None or plan.identifying.get(name) != "pseudonym":
        return None
    key = outcome.apart[KEY]
    texts = [key_text(text, name) for text in key["value"].to_pylist()]
    pseudonyms = dict(zip(texts, key["pseudonym"].to_pylist(), strict=True))
    values = canonical_text(source.condensed.values(name))
    column = pa.array([pseudonyms.get(key_text(text, name)) for text in values], pa.string())
    return source.condensed.lookup(tag, name, {"p": column})


Numbers = tuple[Digit, NDArray[np.int32]]
"""A number that the engine looks up for its rows, and that of each row of the condensed table."""


def _owner(tag: str, name: str, source: CondensedSource) -> Numbers:
    """Return the column `person` as numbers."""
    condensed, values = source.condensed, source.condensed.values(name)
    # Values that the engine spells in several ways are one owner if Veil takes them for one.
    codes = encode_people(pa.chunked_array([values]), name)[1].astype(np.int32)
    lookup = condensed.lookup(tag, name, {"c": pa.array(codes.astype(np.int64))})
    return Digit(lookup, "c", max(1, len(values))), codes[condensed.codes(name)]


def _codes_of(tag: str, name: str, source: CondensedSource) -> Numbers:
    """Return any column as numbers."""
    condensed = source.condensed
    missing = condensed.missing(name)
    codes = np.arange(missing.size, dtype=np.int32)
    codes[missing] = codes[missing].min(initial=missing.size)  # a missing value is one value
    lookup = condensed.lookup(tag, name, {"c": pa.array(codes)})
    return Digit(lookup, "c", missing.size), codes[condensed.codes(name)]


class _Membership:
    """The classes that are released, listed by those inside or those outside, whichever are fewer."""

    def __init__(
        self, tag: str, numbers: list[Numbers], inside: NDArray[np.bool_], others: NDArray[np.bool_]
    ) -> None:
        packing, codes = Packing(tag, [digit for digit, _ in numbers]), [each for _, each in numbers]
        both = CombinationLookup(packing, codes, inside), CombinationLookup(packing, codes, others)
        self.combinations = min(both, key=len)
        self.accepts = self.combinations is both[0]

    def join_to(self, table: ibis.Table) -> tuple[ibis.Table, Any]:
        """Join the classes, and return the part of each row."""
        import ibis

        table, mask = self.combinations.join_to(table)
        return table, ibis.ifelse(mask if self.accepts else ~mask, ibis.literal(0), ibis.literal(-1))


class _LevelsOfRows:
    """The part of each combination of values, and its level in columns with several levels."""

    def __init__(
        self, tag: str, numbers: list[Numbers], levels: CellLevels, by_row: NDArray[np.uint8]
    ) -> None:
        packing = Packing(f"{tag}_k", [digit for digit, _ in numbers])
        self.name = f"{tag}_of"
        varying = [j for j in range(by_row.shape[1]) if (by_row[:, j] != by_row[0, j]).any()]
        payload = {f"{tag}_{j}_level": by_row[:, j].astype(np.int64) for j in varying}
        payload[self.name] = levels.part.astype(np.int64)
        self.combinations = CombinationPayload(packing, [each for _, each in numbers], payload)
        self.are_decided = self.combinations.is_unique

    def join_to(self, table: ibis.Table) -> tuple[ibis.Table, Any]:
        """Join the levels, and return the part of each row; -1 for combinations that are not listed."""
        import ibis

        table = self.combinations.join_to(table)
        return table, table[self.name].fill_null(ibis.literal(-1, type="int64"))


class SubsetRows:
    """The rows of a research subset, by the values of the columns that its query reads."""

    def __init__(self, source: CondensedSource, columns: list[str], subset: NDArray[np.bool_]) -> None:
        tag = free_prefix(source.relation.table.columns)
        numbers = [_codes_of(f"{tag}_s{at}", name, source) for at, name in enumerate(columns)]
        packing = Packing(f"{tag}_s", [digit for digit, _ in numbers])
        self.combinations = CombinationLookup(packing, [codes for _, codes in numbers], subset)

    def select_from(self, table: ibis.Table) -> ibis.Table:
        names = table.columns
        for digit in self.combinations.packing.digits:
            table = digit.lookup.join_to(table)
        table, mask = self.combinations.join_to(table)
        return table.filter(mask).select(names)


def _literal(value: Any, kind: Any) -> Any:
    import ibis

    return ibis.literal(value, type=kind)
