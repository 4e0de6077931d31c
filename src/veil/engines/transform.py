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
from veil.engines.lookups import CombinationLookup, Digit, Lookup, Packing, as_released, free_prefix
from veil.errors import InputError
from veil.hierarchies import Hierarchy
from veil.outcome.outcome import Outcome
from veil.outcome.pseudonyms import KEY
from veil.plan.plan import Plan
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
        left = (
            np.ones(prepared.table.num_rows, np.bool_) if prepared.subset is None else prepared.subset.copy()
        )
        members = []
        for part in outcome.parts:
            inside = np.zeros(left.size, np.bool_)
            inside[part.rows] = True
            members.append((inside, left & ~inside))
            left &= ~inside
        needed = [number for number, (_, others) in enumerate(members) if others.any()]
        self.columns = [
            _Column(
                f"{tag}_{j}",
                name,
                source,
                prepared.encoding.hierarchies[j],
                prepared.codes[j],
                [part.levels[j] for part in outcome.parts],
                needed,
                is_labelled=name in labelled,
            )
            for j, name in enumerate(prepared.encoding.names)
        ]
        # If attackers know all rows of an owner, rows are suppressed owner by owner.
        self.owners = []
        if needed and prepared.rows.owners.know_all_rows:
            self.owners = [_Owner(f"{tag}_owner", cast("str", prepared.plan.person_column), source)]
        self.pseudonyms = _pseudonyms(f"{tag}_named", prepared.plan, source, outcome)
        self.parts = [
            _Membership(f"{tag}_k{number}", self.columns, number, *members[number], self.owners)
            if number in needed
            else None
            for number in range(len(members))
        ]

    def __call__(self, table: ibis.Table) -> ibis.Table:
        names = table.columns
        if self.subset is not None:
            table = self.subset.select_from(table)
        for column in self.columns:
            table = column.lookup.join_to(table)
        if self.pseudonyms is not None:
            table = self.pseudonyms.join_to(table)
        for each in self.owners:
            table = each.digit.lookup.join_to(table)
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
            cells[self.flag] = _literal(False, "boolean") if self.parts == [None] else table[self.part] < 0
        return table.select(**cells)

    def _with_parts(self, table: ibis.Table) -> ibis.Table:
        """Add the part that each row belongs to, if there is more than one possibility."""
        import ibis

        if self.parts == [None]:
            return table
        masks: list[Any] = []
        for membership in self.parts:
            inside: Any = ibis.literal(True)
            if membership is not None:
                table, inside = membership.join_to(table)
            masks.append(inside)
        part: Any = ibis.literal(-1)
        for number, inside in reversed(list(enumerate(masks))):
            part = ibis.ifelse(inside, ibis.literal(number), part)
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
        return value if self.parts == [None] else blanked(value, table[self.part] < 0, marker)

    def _cell(self, table: ibis.Table, column: _Column) -> Any:
        """Return the released value of a quasi-identifier."""
        import ibis

        if column.is_kept:
            value = as_released(table[column.name])
            marker = self.plan.marker if column.is_text else None
        else:
            value = column.lookup.cell(table, column.label(len(self.parts) - 1))
            for number in reversed(range(len(self.parts) - 1)):
                if column.levels[number] != column.levels[number + 1]:
                    label = column.lookup.cell(table, column.label(number))
                    value = ibis.ifelse(table[self.part] <= number, label, value)
            marker = self.plan.marker
        return self._blanked(table, value, marker)


class _Column:
    """A quasi-identifier: its level in each part, and the look-up for them.

    It `is_kept` if every record shows its original value.
    """

    def __init__(
        self,
        tag: str,
        name: str,
        source: CondensedSource,
        hierarchy: Hierarchy,
        codes: NDArray[np.int32],
        levels: list[int],
        numbered: list[int],
        *,
        is_labelled: bool,
    ) -> None:
        self.name, self.hierarchy, self.codes, self.levels = name, hierarchy, codes, levels
        values, condensed = source.condensed.values(name), source.condensed
        self.is_text = is_text(values.type)
        value_codes = hierarchy.encode(values, name)
        # A random sample shows labels of the hierarchy only: the type of a column may reveal its records.
        self.is_kept = not any(levels) and not source.is_sample and not is_labelled
        payload = {f"c{part}": pa.array(hierarchy.label_map(levels[part])[value_codes]) for part in numbered}
        if not self.is_kept:
            for level in sorted(set(levels)):
                labels = pa.array(hierarchy.labels[level], pa.string())
                payload[f"l{level}"] = labels.take(pa.array(hierarchy.label_map(level)[value_codes]))
        if self.is_kept:
            _check_spelling(source, name, value_codes)
        self.lookup = condensed.lookup(tag, name, payload)

    def label(self, part: int) -> str:
        """Return the name of the labels of a part in the look-up."""
        return f"l{self.levels[part]}"

    def digit(self, part: int) -> Digit:
        """Return the numbers of the labels of a part in the look-up."""
        return Digit(self.lookup, f"c{part}", len(self.hierarchy.labels[self.levels[part]]))

    def numbers(self, part: int) -> NDArray[np.int32]:
        """Return the numbers of the labels of a part in the condensed table."""
        return self.hierarchy.label_map(self.levels[part])[self.codes]


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


class _Owner:
    """The column `person`, as a number that the engine looks up."""

    def __init__(self, tag: str, name: str, source: CondensedSource) -> None:
        condensed, values = source.condensed, source.condensed.values(name)
        # Values that the engine spells in several ways are one owner if Veil takes them for one.
        codes = encode_people(pa.chunked_array([values]), name)[1]
        lookup = condensed.lookup(tag, name, {"c": pa.array(codes.astype(np.int64))})
        self.digit = Digit(lookup, "c", max(1, len(values)))
        self.numbers = codes[condensed.codes(name)]


class _Membership:
    """The classes of a part, listed by those inside or those outside, whichever are fewer."""

    def __init__(
        self,
        tag: str,
        columns: list[_Column],
        part: int,
        inside: NDArray[np.bool_],
        others: NDArray[np.bool_],
        owners: list[_Owner],
    ) -> None:
        packing = Packing(tag, [*(each.digit(part) for each in columns), *(each.digit for each in owners)])
        numbers = [*(each.numbers(part) for each in columns), *(each.numbers for each in owners)]
        both = CombinationLookup(packing, numbers, inside), CombinationLookup(packing, numbers, others)
        self.combinations = min(both, key=len)
        self.accepts = self.combinations is both[0]

    def join_to(self, table: ibis.Table) -> tuple[ibis.Table, Any]:
        table, mask = self.combinations.join_to(table)
        return table, mask if self.accepts else ~mask


class SubsetRows:
    """The rows of a research subset, by the values of the columns that its query reads."""

    def __init__(self, source: CondensedSource, columns: list[str], subset: NDArray[np.bool_]) -> None:
        digits, numbers, condensed = [], [], source.condensed
        tag = free_prefix(source.relation.table.columns)
        for number, name in enumerate(columns):
            missing = condensed.missing(name)
            codes = np.arange(missing.size, dtype=np.int32)
            codes[missing] = codes[missing].min(initial=missing.size)  # a missing value is one value
            lookup = condensed.lookup(f"{tag}_s{number}", name, {"c": pa.array(codes)})
            digits.append(Digit(lookup, "c", missing.size))
            numbers.append(codes[condensed.codes(name)])
        self.combinations = CombinationLookup(Packing(f"{tag}_s", digits), numbers, subset)

    def select_from(self, table: ibis.Table) -> ibis.Table:
        names = table.columns
        for digit in self.combinations.packing.digits:
            table = digit.lookup.join_to(table)
        table, mask = self.combinations.join_to(table)
        return table.filter(mask).select(names)


def _literal(value: Any, kind: Any) -> Any:
    import ibis

    return ibis.literal(value, type=kind)
