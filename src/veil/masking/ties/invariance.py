"""m-invariance: releases of a table that changes over time, which protect people even if they are compared.

Xiao and Tao (2007). Two tables are released, linked by groups as in Anatomy: one with generalized
quasi-identifiers, one with the sensitive values of each group, and how many of them are counterfeit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.base.locks import wait_for_lock
from veil.base.randomness import Randomness
from veil.base.references import Reference
from veil.errors import InputError, PlanError
from veil.masking.parameters import Columns
from veil.masking.ties.anatomy import GROUP, places_of
from veil.masking.ties.history import History
from veil.masking.ties.signatures import SignatureGroup, invariant_groups
from veil.outcome.method import MaskedTable, Method
from veil.published.blank import MARKER, shows_no_value
from veil.tables.columns import column_of, encode_values, is_number, replace_column
from veil.tables.rows import Rows
from veil.tables.spelling import PERSON, encode_people, fold_text
from veil.tables.text import canonical_text


@declared(kind_of=Method)
class MInvariance(Method):
    """Groups have at least m records with different sensitive values; a person's group has the same in every
    release.

    Counterfeit records replace values of people who have left, if no new person has them; the table
    `counterfeits` has their number by group. The sensitive values of each group are the table `confidential`,
    sorted. Both are released with the first one, whose quasi-identifiers become intervals or sets of their
    group.

    The history holds the values of each person's group. It is written before anything is released: people in
    a release that was not delivered keep theirs, which does no harm. Feasible if no value makes up more than
    1/m of the new records. Does not protect from attackers who know others of a group. Xiao and Tao (2007).
    """

    attribute: Annotated[str, Field(description="sensitive column")]
    m: Annotated[int, Field(ge=2, description="least number of distinct values in a group; 2 to 10 is usual")]
    quasi_identifiers: Annotated[Columns, Field(description="columns that an attacker may know")]
    person: Annotated[
        str, *PERSON, Field(description="column that identifies people across releases; it is removed")
    ]
    history: Annotated[
        str,
        Field(min_length=1, description="file with the sets of earlier releases, away from them"),
        Reference("the file of a history", "use Python or the command line for that"),
    ]
    kind: Literal["MInvariance"] = Field(default="MInvariance", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage",)

    @model_validator(mode="after")
    def _different(self) -> MInvariance:
        names = [self.attribute, self.person, *self.quasi_identifiers]
        if len(set(names)) < len(names):
            raise ValueError(
                "`attribute`, `person` and `quasi_identifiers` of MInvariance should be different columns"
            )
        return self

    @property
    def column_names(self) -> tuple[str, ...]:
        return (*self.quasi_identifiers, self.attribute, self.person)

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The quasi-identifiers, as the rest is not in the first table."""
        return self.quasi_identifiers

    @property
    def files_apart(self) -> tuple[str, ...]:
        """The history."""
        return (self.history,)

    @property
    def by_construction(self) -> tuple[str, ...]:
        """The promise that only the history shows, which stays with the data holder."""
        return ("everybody's group has the values of earlier releases",)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        if GROUP in table.column_names:
            raise PlanError(f"{self}: the table already has a column {GROUP!r}. Rename it")
        people = _texts(table, self.person, self)
        codes = encode_people(pa.chunked_array([people]), self.person)[1]
        if twice := [
            each for each, code, row in zip(people, codes, range(len(people)), strict=True) if code < row
        ]:
            raise InputError(
                f"column {self.person!r}: {twice[0]!r} appears twice. A person can have only one record in a "
                "release"
            )
        if (
            getattr(self.person, "spelling", None) != "as written"
        ):  # the next release may spell names otherwise
            people = [fold_text(each) for each in people]
        values = _texts(table, self.attribute, self)
        path = Path(self.history)
        with wait_for_lock(path, "Nothing was released"):
            history = History.read(path, self.attribute, self.m)
            order = np.lexsort([places_of(table, name) for name in reversed(self.quasi_identifiers)])
            before = history.signatures_of([people[row] for row in order])
            self._check_values(order, values, before)
            groups = invariant_groups([values[row] for row in order], before, self.m)
            tables = self._publish(table, order, groups, randomness)
            history.add({people[order[each]]: group.signature for group in groups for each in group.members})
        first, second, third, counterfeits = tables
        facts = {
            "groups": len(groups),
            "counterfeits": counterfeits,
            "release": history.releases,
            "people who were in earlier releases": len(before),
        }
        return MaskedTable(first, apart={"confidential": second, "counterfeits": third}, facts=facts)

    def _check_values(
        self, order: Integers, values: Sequence[str], before: dict[int, frozenset[str]]
    ) -> None:
        for at, signature in before.items():
            if values[order[at]] not in signature:
                raise InputError(
                    f"column {self.attribute!r}, row {int(order[at]) + 1}: the value is not in the person's "
                    "signature from earlier releases, so the change would be visible. Leave the record "
                    "out, or give the person a new id"
                )

    def _publish(
        self, table: pa.Table, order: Integers, groups: Sequence[SignatureGroup], randomness: Randomness
    ) -> tuple[pa.Table, pa.Table, pa.Table, int]:
        """Return the three tables, and the number of counterfeits. Groups are numbered at random."""
        numbers = (randomness.permutation(len(groups)) + 1).tolist()
        numbered = sorted(zip(numbers, groups, strict=True))
        group_of_row = np.empty(table.num_rows, np.int64)
        for number, group in numbered:
            group_of_row[order[list(group.members)]] = number
        first = table.drop_columns([self.person, self.attribute])
        for name in self.quasi_identifiers:
            first = replace_column(first, name, _labels(table[name], group_of_row))
        first = first.append_column(GROUP, pa.array(group_of_row))
        pairs = [(number, value) for number, group in numbered for value in sorted(group.signature)]
        second = pa.table({GROUP: [each[0] for each in pairs], self.attribute: [each[1] for each in pairs]})
        counts = [(number, len(group.counterfeits)) for number, group in numbered if group.counterfeits]
        columns = {GROUP: [each[0] for each in counts], "counterfeits": [each[1] for each in counts]}
        third = pa.table({name: pa.array(numbers, pa.int64()) for name, numbers in columns.items()})
        return first, second, third, sum(columns["counterfeits"])


def _texts(table: pa.Table, name: str, method: object) -> list[str]:
    column = column_of(table, name, method)
    texts = canonical_text(column, column=name)
    values, codes = encode_values(column)
    missing = np.flatnonzero(shows_no_value(values, MARKER)[codes])
    if missing.size:
        raise InputError(
            f"column {name!r}, row {missing[0] + 1}: the value is missing. Fill it in, or leave the record out"
        )
    return [str(each) for each in texts]


def _labels(column: pa.ChunkedArray, numbers: Integers) -> pa.Array:
    """Return the label of each row's group: a value, an interval of numbers, or a set of values."""
    texts = canonical_text(column)
    numeric = is_number(column.type)
    rows_by_group: dict[int, list[Any]] = {}
    plain = column.to_pylist()
    for row, number in enumerate(numbers.tolist()):
        rows_by_group.setdefault(number, []).append((plain[row], texts[row]))
    label: dict[int, str | None] = {}
    for number, members in rows_by_group.items():
        different = sorted({text for _, text in members if text is not None})
        missing = any(text is None for _, text in members)
        if len(different) + missing <= 1:
            label[number] = different[0] if different else None
        elif numeric and not missing:
            least, most = min(members, key=lambda each: each[0]), max(members, key=lambda each: each[0])
            label[number] = f"[{least[1]}, {most[1]}]"
        else:
            label[number] = "{" + ", ".join([*different, *(["NULL"] if missing else [])]) + "}"
    return pa.array([label[number] for number in numbers.tolist()], pa.string())
