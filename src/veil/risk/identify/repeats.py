"""Detection of people with several rows: values that identify a person and occur more than once.

Models count rows, unless the plan names the column that identifies people. In a table in which people have
several rows, promises would then be too strong, so such tables must be detected. Columns and criteria:

- *Numbers of people*: every column with such a name (``patient``, ``subject_id``, ``Kundennummer``, ``ssn``),
  in any role, and every identifying column that is none of the following. One repeated value is enough; but a
  column with no more than two values and another name is an attribute of people, not their number.
- *Names, addresses and the like*, which several people may share: all identifying ones are taken together,
  and count as repeated if many more pairs of rows agree in them than would by chance, if they were
  independent of each other. A single one counts if it is a number or address of a person or a full name.
- *First names, last names, places, dates*, and columns whose names mean shared attributes (occupation,
  diagnosis), are shared by many people. One alone, or places and dates alone, never count.
- *Remarks and amounts* do not identify the person of a row, and are left out.

Missing values, and texts for them, are no values. Texts that differ in blanks, case or Unicode form only are
one value (`veil.tables.spelling`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from veil.base.wording import plural
from veil.engines.relation import Relation
from veil.errors import NOTHING, PlanError, Say
from veil.plan.plan import ASK
from veil.risk.grouping import table_of
from veil.risk.identify.content import SHARED
from veil.risk.identify.detection import by_content, match_name
from veil.risk.identify.vocabulary import (
    COLUMN_NAMES,
    QUASI_IDENTIFYING_NAMES,
    SENSITIVE_NAMES,
    is_person_number,
)
from veil.tables.columns import is_text
from veil.tables.source import Source
from veil.tables.tally import MemoryTally, Tallied, Tally

_Kind = Literal["number", "name", "contact", "first name", "last name", "place", "date", "remark"]

_CONTACTS = frozenset(
    ("address", "phone", "fax", "email", "account", "vehicle", "device", "url", "ip address", "photo")
)
"""Categories that the people of a household may share."""

_FEW = 6
"""Number of different values below which a column named `member` or `user` is an attribute, not a number."""

_WHAT = 2
"""Number of different values up to which a column with another name is an attribute of people."""

_LIKENESS = 0.5
"""Minimum share of a column's name that means an identifier: "record id" does, "occupation id" does not."""

_AMOUNT = r"^-?[0-9]{1,3}(?:[., ']?[0-9]{3})*[.,][0-9]{1,2}$"

_MUCH_MORE = 2
"""Ratio of agreeing pairs to those expected by chance from which on they are too many."""


@dataclass(frozen=True)
class Repeated:
    """Rows that are about the same people.

    Attributes
    ----------
    columns : tuple of str
        The column, or several together, in which they agree.
    people : int
        Number of different values.
    rows : int
        Number of rows with a value.
    most : int
        Largest number of rows with the same value.
    alike : tuple of str
        Some values that count as one, as they differ in blanks, case or Unicode form only.
    """

    columns: tuple[str, ...]
    people: int
    rows: int
    most: int
    alike: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"column {self.columns[0]!r} has"
        if len(self.columns) > 1:
            names = ", ".join(map(repr, self.columns[:-1]))
            what = f"columns {names} and {self.columns[-1]!r} together have"
        values = plural(self.people, "different value")
        statement = f"{what} {values} in {plural(self.rows, 'row')}, and up to {self.most:,} rows share one"
        same = f" ({' and '.join(map(repr, self.alike))} are one, up to blanks, case and Unicode form)"
        return statement + (same if self.alike else "")

    def refusal(self) -> PlanError:
        """Return the error with both ways out."""
        folded = "=folded" if self.alike else ""
        remedy: tuple[str | Say, ...] = (
            ("Say which column tells people apart (", Say("person", self.columns[0] + folded), "), so that ")
            if len(self.columns) == 1
            else ("Add a column that tells people apart and name it in ", Say("person"), ", so that ")
        )
        return PlanError(
            f"rows seem to be about the same people: {self}. ",
            *remedy,
            "Veil then counts people instead of rows; or say that every row is a different person (",
            Say("person", NOTHING),
            ")",
        )


def find_repeats(source: Any, identifying: Iterable[str] | None = None) -> tuple[Repeated, ...]:
    """Find signs that several rows are about the same person, the strongest first.

    Parameters
    ----------
    source
        A table in memory, or one whose values an engine can count.
    identifying
        Columns that identify people; by default those with such names.

    >>> visits = pa.table({"patient": [1, 1, 2, 3, 4, 5, 6], "sex": ["f", "f", "m", "f", "m", "m", "m"]})
    >>> print(*find_repeats(visits))
    column 'patient' has 6 different values in 7 rows, and up to 2 rows share one
    >>> find_repeats(pa.table({"first name": ["Ada", "Ada"]}), ["first name"])
    ()
    """
    table = _tallied(source)
    identifying_names = [
        name
        for name in (_identifying_by_name(table.columns) if identifying is None else identifying)
        if name in table.columns
    ]
    kinds = {name: _kind_of(name, table) for name in identifying_names}
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    numbers += [name for name in table.columns if name not in kinds and _is_number_of_people(name, table)]
    tallies = {name: table.tally([name]) for name in numbers}
    repeats = [
        _repeated((name,), tally, table.alike(name))
        for name, tally in tallies.items()
        if tally.different > _WHAT or is_person_number(name) is not None
    ]
    people = {name: kind for name, kind in kinds.items() if kind not in ("number", "remark")}
    repeats.append(_together(people, table))
    there = [each for each in repeats if each is not None]
    return tuple(
        sorted(there, key=lambda each: (len(each.columns), not _has_person_number(each), each.people))
    )


def ask_about_repeats(source: Source, identifying: Iterable[str], generalized: Collection[str]) -> list[str]:
    """Return the open question of a released table whose promises count rows, if people seem to have several.

    Generalized columns are shared by many people, unless they are named like a number of people.

    >>> from veil.tables import read
    >>> visits = read(pa.table({"patient": [1, 1, 2, 3, 4, 5, 6], "age": ["*"] * 7}))
    >>> print(*ask_about_repeats(visits, [], ["age"]))
    whether every row is a person, as the promises count rows: column 'patient' has 6 different values in 7 rows, and up to 2 rows share one
    """
    relation = getattr(source, "relation", None)
    table = _tallied(MemoryTally(source.table, source.weights) if relation is None else relation)
    names = [name for name in (*identifying, *_identifying_by_name(table.columns)) if name not in generalized]
    repeats = [each for each in find_repeats(table, dict.fromkeys(names)) if each.people > 1]
    return [f"whether every row is a person, as the promises count rows: {each}" for each in repeats[:1]]


def _tallied(source: Any) -> Tallied:
    """Return a table whose values can be counted, in memory or in an engine."""
    if not isinstance(source, Relation):
        return source if hasattr(source, "tally") else MemoryTally(table_of(source))
    from veil.engines.tally import EngineTally  # which needs Ibis

    return EngineTally(source.original)


def _identifying_by_name(columns: Iterable[str]) -> list[str]:
    matches = {name: match_name(name, COLUMN_NAMES) for name in columns}
    return [
        name for name, like in matches.items() if like is not None and like[0] not in ("identifier", *SHARED)
    ]


def _repeated(columns: tuple[str, ...], tally: Tally, alike: tuple[str, ...] = ()) -> Repeated | None:
    return Repeated(columns, tally.different, tally.rows, tally.most, alike) if tally.pairs else None


def _has_person_number(each: Repeated) -> bool:
    """Whether the first column is named like a number of people."""
    return is_person_number(each.columns[0]) is not None


def _is_number_of_people(name: str, table: Tallied) -> bool:
    """Whether a column that was not given as identifying is a number of people, by its name."""
    how = is_person_number(name)
    if how is None:
        return False
    values = table.some(name)
    # Values in several spellings were typed in, one for each person.
    several = how == "number" or len(values) >= _FEW or bool(table.alike(name))
    return not pa.types.is_boolean(values.type) and several


def _kind_of(name: str, table: Tallied) -> _Kind:
    """Return the kind of an identifying column, by its name and otherwise by its values."""
    if is_person_number(name) is not None:
        return "number"
    by_name = match_name(name, COLUMN_NAMES)
    if by_name is not None and by_name[0] == "identifier" and by_name[1] < _LIKENESS:
        by_name = None
    if by_name is not None and by_name[0] not in ("identifier", "name"):
        return _of_category(by_name[0])
    values = table.some(name)
    looks = [each.category for each in by_content(name, values, 0.5, date.today(), None)]
    for category in ("first name", "last name", "name", "email", "address", "city", "state", "date"):
        if category in looks:
            return _of_category(category)
    if by_name is not None and by_name[0] == "name" and is_text(values.type):
        return "name"
    if by_name is None and ({"contact data", "free text"} & set(looks) or _are_amounts(values)):
        return "remark"
    shared = match_name(name, {"shared": QUASI_IDENTIFYING_NAMES | SENSITIVE_NAMES})
    return "place" if by_name is None and shared is not None else "number"


def _are_amounts(values: pa.ChunkedArray) -> bool:
    """Whether most values are numbers with fractions, in any spelling, which several people may share."""
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        return bool(pc.any(pc.not_equal(values, pc.floor(values))).as_py())
    if not is_text(values.type) or not len(values):
        return False
    return 2 * int(pc.sum(pc.match_substring_regex(values, _AMOUNT)).as_py() or 0) > len(values)


def _of_category(category: str) -> _Kind:
    if category in ("name", "first name", "last name"):
        return category  # type: ignore[return-value]
    if category in SHARED:
        return "date" if category in ("date", "age") else "place"
    return "contact" if category in _CONTACTS else "number"


def _together(kinds: dict[str, _Kind], table: Tallied) -> Repeated | None:
    """Return whether names, addresses and the like, taken together, are repeated more than by chance."""
    if not set(kinds.values()) & {"name", "contact", "first name", "last name"}:
        return None
    names = tuple(kinds)
    whole = table.tally(names)
    if not whole.pairs:
        return None
    apart = [tally for tally in _independent_tallies(kinds, table) if tally.different > 1]
    if len(apart) < 2:
        alone = set(kinds.values()) & {"name", "contact"}
        return _repeated(names, whole) if alone and whole.different > _WHAT else None
    every = math.comb(whole.rows, 2)
    by_chance = float(every)
    for tally in apart:
        by_chance *= tally.pairs / max(1, math.comb(tally.rows, 2))
    # The number of pairs by chance is nearly Poisson: three standard deviations are rare.
    if whole.pairs <= _MUCH_MORE * by_chance + 3 * math.sqrt(by_chance):
        return None
    return _repeated(names, whole)


def _independent_tallies(kinds: dict[str, _Kind], table: Tallied) -> list[Tally]:
    """Tally the groups of columns that are independent of each other: each name, all places, all dates."""
    tallies: list[Tally] = []
    for name, kind in kinds.items():
        if kind == "name" and is_text(table.some(name).type):
            tallies += table.words(name)
        elif kind not in ("place", "date"):
            tallies.append(table.tally([name]))
    for kind in ("place", "date"):
        names = [name for name, each in kinds.items() if each == kind]
        tallies += [table.tally(names)] if names else []
    return tallies


def check_people(table: Any, person: str | None, identifying: Collection[str] | None = None) -> None:
    """Refuse a table with several rows a person, if `person` was left open (see `find_repeats`).

    Every verb whose figures or promises count people calls this. Differentially private ones do not: there,
    the contribution of a person is declared, and a refusal would disclose information.
    """
    if person == ASK:
        for each in find_repeats(table, identifying):
            raise each.refusal()
