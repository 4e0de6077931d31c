"""Anatomy: quasi-identifiers and confidential values in two tables, linked by groups only.

No cell is changed. The first table has everything but the confidential columns, and the group of each record;
the second has the confidential values of each group, sorted, so that their order reveals nothing. Xiao and
Tao (2006).

Like l-diversity in general, this does not protect against an attacker who knows the values of others in a
group, and the first table reveals who is in the data.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.arrays import Integers, Mask
from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import InputError, NoSolutionError, PlanError
from veil.masking.microaggregation.records import group_facts
from veil.masking.parameters import Columns, Names, in_random_order
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.published.blank import MARKER, shows_no_value
from veil.tables.columns import Groups, encode_values, groups, ranks
from veil.tables.rows import Rows

GROUP = "group"
"""Default name of the column that links both tables."""

ROWS_ARE_FOUND = (
    "what is known of them is published as it is, so that their rows are found together, and what all of these may hold is "
    "less than what each may"
)
"""Why values that are hidden row by row are not hidden for people with several rows."""


@declared(kind_of=Method)
class Anatomy(ColumnMethod):
    """Release two tables, in whose groups every confidential value is one of at least l, none above a share
    of 1/l.

    All records of a group that have a value have different ones, at least l of them; records without a value
    are spread over all groups. That is possible if no value makes up more than 1/l of the records with a
    value, and which records get together is left to chance. Several confidential columns count as one: their
    values stay together. Xiao and Tao (2006), who choose the groups in another way.

    With `by`, the groups are instead the records that agree in some columns, regardless of their values.

    The second table is `apart["confidential"]` of the outcome.

    >>> table = pa.table({"age": [30, 31, 52, 53], "ill": ["flu", "flu", "gout", "cold"]})
    >>> outcome = Anatomy("ill", 2).mask(Rows.of(table), Randomness())
    >>> outcome.table["age"].to_pylist(), sorted(outcome.table["group"].to_pylist())
    ([30, 31, 52, 53], [1, 1, 2, 2])
    >>> outcome.apart["confidential"].column_names
    ['group', 'ill']
    """

    columns: Annotated[
        Columns, Field(description="confidential columns, which are moved to the second table")
    ]
    l: Annotated[
        int | None, Field(ge=2, description="a value makes up at most 1/l of its group; 2 to 10 is usual")
    ] = None
    by: Annotated[Names, Field(description="instead of l: columns whose values make the groups")] = ()
    group: Annotated[
        str, Field(min_length=1, description="name of the column that ties both tables together")
    ] = GROUP
    kind: Literal["Anatomy"] = Field(default="Anatomy", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage",)
    why_not_owners: ClassVar[str] = ROWS_ARE_FOUND

    @model_validator(mode="after")
    def _one_of_two(self) -> Anatomy:
        if (self.l is None) == (not self.by):
            raise ValueError("Anatomy needs `l` or `by`, one of the two")
        if set(self.by) & set(self.columns):
            raise ValueError(
                "`by` of Anatomy should not name confidential columns, because groups are public"
            )
        return self

    @property
    def known_columns(self) -> tuple[str, ...]:
        """None: confidential values are what an attacker wants to learn."""
        return ()

    @property
    def counts_records(self) -> bool:
        """A value is one of l; groups that are given promise nothing."""
        return self.l is not None

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        if self.by:
            alike = groups(table, self.by, self)
            return in_two_tables(table, self.columns, alike, self, randomness, name=self.group)
        assert self.l is not None
        values = groups(table, self.columns, self)
        diverse = diverse_groups(values, self.l, randomness, self, self._blank(table))
        return in_two_tables(table, self.columns, diverse, self, randomness, name=self.group)

    def _blank(self, table: pa.Table) -> Mask:
        """Return a mask of the records without any confidential value."""
        mask = np.ones(table.num_rows, np.bool_)
        for name in self.columns:
            values, codes = encode_values(table[name])
            mask &= shows_no_value(values, MARKER)[codes]
        return mask


def in_two_tables(
    table: pa.Table,
    columns: tuple[str, ...],
    numbers: Groups,
    method: Method,
    randomness: Randomness,
    *,
    name: str = GROUP,
) -> MaskedTable:
    """Split a table by its groups: the other columns with groups, and confidential values by group.

    Groups are numbered from 1 at random, so that their numbers do not reveal the order of rows.
    """
    if name in table.column_names:
        raise PlanError(
            f"{method}: the table already has a column {name!r}. Choose another name with `group`"
        )
    if set(columns) == set(table.column_names):
        raise PlanError(
            f"{method}: all columns are confidential, so the first table would be empty: name fewer"
        )
    places = np.unique(numbers, return_inverse=True)[1]
    group_numbers = randomness.permutation(int(places.max()) + 1)[places] + 1
    first = table.drop_columns(list(columns)).append_column(name, pa.array(group_numbers))
    order = np.lexsort((*(places_of(table, column) for column in reversed(columns)), group_numbers))
    content = table.select(list(columns)).take(pa.array(order))
    second = pa.table([pa.chunked_array([group_numbers[order]]), *content.columns], names=[name, *columns])
    return MaskedTable(first, apart={"confidential": second}, facts=group_facts(places))


def places_of(table: pa.Table, name: str) -> Integers:
    """Return the place of each row in the order of a column; refuse one that has none."""
    column = table[name]
    if pa.types.is_nested(column.type):
        raise InputError(
            f"column {name!r} holds values of type {column.type}, which have no order. Turn it into text"
        )
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return ranks(plain)[0]


def diverse_groups(
    values: Integers, l: int, randomness: Randomness, method: object, blank: Mask | None = None
) -> Groups:
    """Group records at random so that no value, given by number, makes up more than 1/l of any group.

    `blank` records have no value. They are dealt out as well, and do not count.

    Records are shuffled, sorted by value and dealt, like cards, to as many groups as have l records each. No
    value has more records than there are groups, so none gets two of a kind. Which records with a value go to
    which group is random; in the order of rows, neighbours in the deal would betray each other.

    >>> groups = diverse_groups(np.array([0, 0, 1, 2, 0, 1]), 2, Randomness(), "")
    >>> np.bincount(groups).tolist(), len({groups[0], groups[1], groups[4]})
    ([2, 2, 2], 3)
    """
    if blank is not None and blank.any():
        result = np.zeros(values.size, np.int64)
        if not blank.all():
            result[~blank] = diverse_groups(values[~blank], l, randomness, method)
        shuffled = randomness.permutation(int(np.count_nonzero(blank)))
        result[blank] = shuffled % (int(result.max()) + 1)
        return result
    counts = np.bincount(values)
    if counts.max(initial=1) * l > values.size:
        worst = int(np.argmax(values == np.argmax(counts)))
        raise NoSolutionError(
            f"{method}: {counts.max(initial=0)} of {values.size} records have the value of row {worst + 1}, "
            f"more than 1/{l}, so some group would contain it too often. Choose a smaller `l`"
        )
    dealt = np.empty(values.size, np.int64)
    dealt[in_random_order(values, randomness)] = np.arange(values.size) % (values.size // l)
    return dealt
