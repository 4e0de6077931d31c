"""A release as an expression of the engine: look-ups in small tables, joined to the rows.

For each quasi-identifier the driver hands over its values with their labels, and where records are suppressed or
recoded locally, a list of the classes concerned. So the engine needs to know nothing of hierarchies and models, and
every engine does the same. A value that turns up after the table was condensed finds no label; the check of the
output sees that, and withholds it. Suppressed rows are blank in every column, or in the quasi-identifiers, as the plan
says.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

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

    from veil.engines.source import EngineSource


class Transform:
    """Makes rows of a release out of rows that the engine holds: all of them, or some."""

    # The column `part` tells which part of the release a row belongs to; -1 if it is suppressed.

    def __init__(
        self,
        outcome: Outcome,
        source: EngineSource,
        *,
        keep: str | None = None,
        labelled: Collection[str] = (),
    ) -> None:
        """Prepare what the engine has to look up.

        `keep` is a column that stays as it is, for a check before it goes. Columns that are `labelled` show text also on
        their lowest level, as other rows of the same release show labels there.
        """
        prepared = outcome.prepared
        assert prepared is not None
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
        # Where attackers know all rows of a person, whether a row is suppressed is a matter of whose it is.
        whose = None
        if needed and prepared.people is not None and prepared.plan.knows == "all rows":
            assert prepared.plan.person_column is not None
            whose = _Person(f"{tag}_who", prepared.plan.person_column, source)
        self.whose = whose
        self.named = _pseudonyms(f"{tag}_named", prepared.plan, source, outcome)
        self.parts = [
            _Membership(f"{tag}_k{number}", self.columns, number, *members[number], whose)
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
        if self.named is not None:
            table = self.named.join_to(table)
        if self.whose is not None:
            table = self.whose.digit.lookup.join_to(table)
        table = self._tell_parts(table)
        position = {column.name: column for column in self.columns}
        made = {}
        for name in names:
            role = self.plan.role_of(name)
            if name == self.keep:
                made[self.kept_as] = table[name]
            if role == "dropped" or self.plan.identifying.get(name) == "remove":
                continue
            if self.plan.identifying.get(name) == "pseudonym":
                assert self.named is not None
                hidden = None if self.parts == [None] else table[self.part] < 0
                cell = self.named.cell(table, "p")
                made[name] = cell if hidden is None else blanked(cell, hidden, self.plan.marker)
            elif role == "identifying":
                made[name] = _literal(self.plan.marker, "string")
            elif name in position:
                made[name] = self._cell(table, position[name])
            else:
                made[name] = self._kept_cell(table, name)
        if self.flag is not None:
            made[self.flag] = _literal(False, "boolean") if self.parts == [None] else table[self.part] < 0
        return table.select(**made)

    def _tell_parts(self, table: ibis.Table) -> ibis.Table:
        """Tell which part each row belongs to, where there is more than one possibility."""
        import ibis

        if self.parts == [None]:
            return table
        found: list[Any] = []
        for membership in self.parts:
            inside: Any = ibis.literal(True)
            if membership is not None:
                table, inside = membership.join_to(table)
            found.append(inside)
        part: Any = ibis.literal(-1)
        for number, inside in reversed(list(enumerate(found))):
            part = ibis.ifelse(inside, ibis.literal(number), part)
        table = table.mutate(**{self.part: part})
        return table.filter(table[self.part] >= 0) if self.plan.suppressed_rows == "drop" else table

    def _kept_cell(self, table: ibis.Table, name: str) -> Any:
        """What any other column shows in each row."""
        value = as_released(table[name])
        if self.parts == [None] or self.plan.suppressed_rows != "blank":
            return value
        return blanked(value, table[self.part] < 0, self.plan.marker)

    def _cell(self, table: ibis.Table, column: _Column) -> Any:
        """What a quasi-identifier shows in each row."""
        import ibis

        if column.is_kept:
            value = as_released(table[column.name])
            marker = self.plan.marker if column.is_text else None
        else:
            value = column.lookup.cell(table, column.label(len(self.parts) - 1))
            for number in reversed(range(len(self.parts) - 1)):
                if column.levels[number] != column.levels[number + 1]:
                    shown = column.lookup.cell(table, column.label(number))
                    value = ibis.ifelse(table[self.part] <= number, shown, value)
            marker = self.plan.marker
        return value if self.parts == [None] else blanked(value, table[self.part] < 0, marker)


class _Column:
    """A quasi-identifier: the level that it has in each part, and what the engine has to look up for that.

    It `is_kept` if every record shows its original value.
    """

    def __init__(
        self,
        tag: str,
        name: str,
        source: EngineSource,
        hierarchy: Hierarchy,
        codes: NDArray[np.int32],
        levels: list[int],
        numbered: list[int],
        *,
        is_labelled: bool,
    ) -> None:
        self.name, self.hierarchy, self.codes, self.levels = name, hierarchy, codes, levels
        seen = source.dictionary(name)
        self.is_text = is_text(seen.type)
        known = hierarchy.encode(seen, name)
        # Of a random sample, labels of the hierarchy are all that is shown: the type of a column may tell of its records.
        self.is_kept = not any(levels) and not source.is_sample and not is_labelled
        payload = {f"c{part}": pa.array(hierarchy.label_map(levels[part])[known]) for part in numbered}
        if not self.is_kept:
            for level in sorted(set(levels)):
                labels = pa.array(hierarchy.labels[level], pa.string())
                payload[f"l{level}"] = labels.take(pa.array(hierarchy.label_map(level)[known]))
        missing = np.array(seen.is_null(), dtype=np.bool_)
        if self.is_kept:
            _check_spelling(source, name, known, missing)
        self.lookup = Lookup(tag, name, source.condensed.engine_values[name], missing, payload)

    def label(self, part: int) -> str:
        """Name of the labels of a part in the look-up."""
        return f"l{self.levels[part]}"

    def digit(self, part: int) -> Digit:
        """The numbers of the labels of a part, in the look-up."""
        return Digit(self.lookup, f"c{part}", len(self.hierarchy.labels[self.levels[part]]))

    def numbers(self, part: int) -> NDArray[np.int32]:
        """The numbers of the labels of a part, in the condensed table."""
        return self.hierarchy.label_map(self.levels[part])[self.codes]


def _check_spelling(
    source: EngineSource, name: str, codes: NDArray[np.int32], missing: NDArray[np.bool_]
) -> None:
    """Refuse values that are counted as one and spelled in several ways: whoever sees them would not take them for one."""
    values = source.condensed.engine_values[name]
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    spelling = first[place]
    differs = np.flatnonzero((spelling != np.arange(codes.size)) & ~missing)
    if differs.size and pa.types.is_string(values.type):
        one, other = values[int(spelling[differs[0]])], values[int(differs[0])]
        raise InputError(
            f"{source.relation.name}: column {name!r} writes one value in several ways, such as "
            f"{str(one)!r} and "
            f"{str(other)!r}. Write them alike, or generalize the column"
        )


def _pseudonyms(tag: str, plan: Plan, source: EngineSource, outcome: Outcome) -> Lookup | None:
    """The pseudonym of each person, for the engine to look up; None if there are none."""
    name = plan.person_column
    if name is None or plan.identifying.get(name) != "pseudonym":
        return None
    key = outcome.apart[KEY]
    texts = [key_text(text, name) for text in key["value"].to_pylist()]
    of = dict(zip(texts, key["pseudonym"].to_pylist(), strict=True))
    seen = source.dictionary(name)
    missing = np.array(seen.is_null(), dtype=np.bool_)
    found = pa.array([of.get(key_text(text, name)) for text in canonical_text(seen)], pa.string())
    return Lookup(tag, name, source.condensed.engine_values[name], missing, {"p": found})


class _Person:
    """The column that tells people apart, as a number that the engine looks up."""

    def __init__(self, tag: str, name: str, source: EngineSource) -> None:
        seen = source.dictionary(name)
        # Values that the engine spells in several ways are one person if Veil takes them for one.
        codes = encode_people(pa.chunked_array([seen]), name)[1]
        missing = np.array(seen.is_null(), dtype=np.bool_)
        values = source.condensed.engine_values[name]
        lookup = Lookup(tag, name, values, missing, {"c": pa.array(codes.astype(np.int64))})
        self.digit = Digit(lookup, "c", max(1, len(seen)))
        self.numbers = codes[np.array(source.condensed.table[name].combine_chunks().indices)]


class _Membership:
    """The classes of a part, by those that are in it or those that are not, whichever are fewer."""

    def __init__(
        self,
        tag: str,
        columns: list[_Column],
        part: int,
        inside: NDArray[np.bool_],
        others: NDArray[np.bool_],
        whose: _Person | None = None,
    ) -> None:
        further = [] if whose is None else [whose]
        packing = Packing(tag, [*(each.digit(part) for each in columns), *(each.digit for each in further)])
        numbers = [*(each.numbers(part) for each in columns), *(each.numbers for each in further)]
        both = CombinationLookup(packing, numbers, inside), CombinationLookup(packing, numbers, others)
        self.listed = min(both, key=len)
        self.accepts = self.listed is both[0]

    def join_to(self, table: ibis.Table) -> tuple[ibis.Table, Any]:
        table, found = self.listed.join_to(table)
        return table, found if self.accepts else ~found


class Chosen:
    """The rows of a research subset, by the values of the columns that its query reads."""

    def __init__(self, source: EngineSource, columns: list[str], subset: NDArray[np.bool_]) -> None:
        digits, numbers = [], []
        tag = free_prefix(source.relation.table.columns)
        for number, name in enumerate(columns):
            seen = source.dictionary(name)
            codes = np.arange(len(seen), dtype=np.int32)
            missing = np.array(seen.is_null(), dtype=np.bool_)
            codes[missing] = codes[missing].min(initial=len(seen))  # a missing value is one value
            values = source.condensed.engine_values[name]
            lookup = Lookup(f"{tag}_s{number}", name, values, missing, {"c": pa.array(codes)})
            rows = np.array(source.condensed.table[name].combine_chunks().indices)
            digits.append(Digit(lookup, "c", len(seen)))
            numbers.append(codes[rows])
        self.listed = CombinationLookup(Packing(f"{tag}_s", digits), numbers, subset)

    def select_from(self, table: ibis.Table) -> ibis.Table:
        names = table.columns
        for digit in self.listed.packing.digits:
            table = digit.lookup.join_to(table)
        table, found = self.listed.join_to(table)
        return table.filter(found).select(names)


def _literal(value: Any, kind: Any) -> Any:
    import ibis

    return ibis.literal(value, type=kind)
