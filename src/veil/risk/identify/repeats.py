"""Rows that are about the same people: values that name a person, and are there more than once.

Models count rows, unless a plan says which column tells people apart. A table in which somebody has several rows is
then promised more than holds, so that it has to be noticed. What is looked at, and when it counts as repeated:

- *Numbers of people*: every column that is called like one (``patient``, ``subject_id``, ``Kundennummer``, ``ssn``),
  whatever its role, and every identifying column that is none of the following. A value that is there twice is enough;
  but a column that has no more than two values, and is not called so, tells what somebody is, not who.
- *Names, addresses and the like*, of which several people may have the same one: all of them that are identifying are
  taken together, and count as repeated where many more pairs of rows agree in them than would by chance, if each had been
  dealt out to the rows by itself. A single one counts if it is a number or address of a person or a full name.
- *First names, last names, places, dates*, and what else people have in common by its name (occupation, diagnosis), are
  shared by many people. One alone, or places and dates alone, never count.
- *Remarks and amounts* say nothing about whose row it is, and are left out.

Missing values, and texts that stand for them, are no values. Texts that differ in blanks, case or Unicode form only are
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
"""What the people of a household may share."""

_FEW = 6
"""Different values below which a column that is called `member` or `user` tells what somebody is, not who."""

_WHAT = 2
"""Different values up to which a column that is not called like a number of people tells what somebody is, not who."""

_LIKENESS = 0.5
"""How much of the name of a column has to say that it is an identifier: "record id", and not "occupation id"."""

_AMOUNT = r"^-?[0-9]{1,3}(?:[., ']?[0-9]{3})*[.,][0-9]{1,2}$"

_MUCH_MORE = 2
"""How many times as many pairs as by chance are too many."""


@dataclass(frozen=True)
class Repeated:
    """Rows that are about the same people.

    Attributes
    ----------
    columns : tuple of str
        What they agree in: a column, or several together.
    people : int
        Number of different values.
    rows : int
        Number of rows that have one.
    most : int
        Rows of whoever has most.
    alike : tuple of str
        Some values that were taken for one, as they differ in blanks, case or Unicode form only.
    """

    columns: tuple[str, ...]
    people: int
    rows: int
    most: int
    alike: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"column {self.columns[0]!r} has"
        if len(self.columns) > 1:
            listed = ", ".join(map(repr, self.columns[:-1]))
            what = f"columns {listed} and {self.columns[-1]!r} together have"
        values = plural(self.people, "different value")
        told = f"{what} {values} in {plural(self.rows, 'row')}, and up to {self.most:,} rows share one"
        same = f" ({' and '.join(map(repr, self.alike))} are one, up to blanks, case and Unicode form)"
        return told + (same if self.alike else "")

    def refusal(self) -> PlanError:
        """Return the error that says so, and both ways out."""
        folded = "=folded" if self.alike else ""
        asked: tuple[str | Say, ...] = (
            ("Say which column tells people apart (", Say("person", self.columns[0] + folded), "), so that ")
            if len(self.columns) == 1
            else ("Add a column that tells people apart and name it in ", Say("person"), ", so that ")
        )
        return PlanError(
            f"rows seem to be about the same people: {self}. ",
            *asked,
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
        Columns that name people; by default those that are called so.

    >>> visits = pa.table({"patient": [1, 1, 2, 3, 4, 5, 6], "sex": ["f", "f", "m", "f", "m", "m", "m"]})
    >>> print(*find_repeats(visits))
    column 'patient' has 6 different values in 7 rows, and up to 2 rows share one
    >>> find_repeats(pa.table({"first name": ["Ada", "Ada"]}), ["first name"])
    ()
    """
    table = _tallied(source)
    listed = [
        name
        for name in (_called_so(table.columns) if identifying is None else identifying)
        if name in table.columns
    ]
    kinds = {name: _kind_of(name, table) for name in listed}
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    numbers += [name for name in table.columns if name not in kinds and _is_called_number(name, table)]
    tallies = {name: table.tally([name]) for name in numbers}
    found = [
        _repeated((name,), tally, table.alike(name))
        for name, tally in tallies.items()
        if tally.different > _WHAT or is_person_number(name) is not None
    ]
    people = {name: kind for name, kind in kinds.items() if kind not in ("number", "remark")}
    found.append(_together(people, table))
    there = [each for each in found if each is not None]
    return tuple(sorted(there, key=lambda each: (len(each.columns), not _is_named(each), each.people)))


def ask_about_repeats(
    released: Source, identifying: Iterable[str], generalized: Collection[str]
) -> list[str]:
    """Return the question that a released table leaves open whose promises count rows, if people seem to have several.

    What is generalized is the same for many people, unless it is called like a number of theirs.

    >>> from veil.tables import read
    >>> visits = read(pa.table({"patient": [1, 1, 2, 3, 4, 5, 6], "age": ["*"] * 7}))
    >>> print(*ask_about_repeats(visits, [], ["age"]))
    whether every row is a person, as the promises count rows: column 'patient' has 6 different values in 7 rows, and up to 2 rows share one
    """
    relation = getattr(released, "relation", None)
    table = _tallied(MemoryTally(released.table, released.weights) if relation is None else relation)
    listed = [name for name in (*identifying, *_called_so(table.columns)) if name not in generalized]
    repeats = [each for each in find_repeats(table, dict.fromkeys(listed)) if each.people > 1]
    return [f"whether every row is a person, as the promises count rows: {each}" for each in repeats[:1]]


def _tallied(source: Any) -> Tallied:
    """See a table as one whose values can be counted, wherever it is."""
    if not isinstance(source, Relation):
        return source if hasattr(source, "tally") else MemoryTally(table_of(source))
    from veil.engines.tally import EngineTally  # which needs Ibis

    return EngineTally(source.original)


def _called_so(columns: Iterable[str]) -> list[str]:
    named = {name: match_name(name, COLUMN_NAMES) for name in columns}
    return [
        name for name, like in named.items() if like is not None and like[0] not in ("identifier", *SHARED)
    ]


def _repeated(columns: tuple[str, ...], tally: Tally, alike: tuple[str, ...] = ()) -> Repeated | None:
    return Repeated(columns, tally.different, tally.rows, tally.most, alike) if tally.pairs else None


def _is_named(each: Repeated) -> bool:
    """Whether one column is called like one that tells people apart: that comes first."""
    return is_person_number(each.columns[0]) is not None


def _is_called_number(name: str, table: Tallied) -> bool:
    """Whether a column that nobody has listed is one that tells people apart, by its name."""
    how = is_person_number(name)
    if how is None:
        return False
    values = table.some(name)
    # Values that are spelled in several ways were typed in, one for each person.
    several = how == "number" or len(values) >= _FEW or bool(table.alike(name))
    return not pa.types.is_boolean(values.type) and several


def _kind_of(name: str, table: Tallied) -> _Kind:
    """Tell what an identifying column holds, by its name and else by its values."""
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
    """Whether most values are numbers with fractions, in any spelling: several people may have to pay the same."""
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
    """Judge names, addresses and the like, all of them together."""
    if not set(kinds.values()) & {"name", "contact", "first name", "last name"}:
        return None
    names = tuple(kinds)
    whole = table.tally(names)
    if not whole.pairs:
        return None
    apart = [tally for tally in _dealt_out(kinds, table) if tally.different > 1]
    if len(apart) < 2:
        alone = set(kinds.values()) & {"name", "contact"}
        return _repeated(names, whole) if alone and whole.different > _WHAT else None
    every = math.comb(whole.rows, 2)
    by_chance = float(every)
    for tally in apart:
        by_chance *= tally.pairs / max(1, math.comb(tally.rows, 2))
    # Numbers of pairs by chance are nearly those of Poisson: three standard deviations are rare.
    if whole.pairs <= _MUCH_MORE * by_chance + 3 * math.sqrt(by_chance):
        return None
    return _repeated(names, whole)


def _dealt_out(kinds: dict[str, _Kind], table: Tallied) -> list[Tally]:
    """Tally what goes from person to person by itself: each name, and all places together, and all dates."""
    made: list[Tally] = []
    for name, kind in kinds.items():
        if kind == "name" and is_text(table.some(name).type):
            made += table.words(name)
        elif kind not in ("place", "date"):
            made.append(table.tally([name]))
    for kind in ("place", "date"):
        names = [name for name, each in kinds.items() if each == kind]
        made += [table.tally(names)] if names else []
    return made


def check_people(table: Any, person: str | None, identifying: Collection[str] | None = None) -> None:
    """Refuse a table with several rows of a person, if nobody has said whose rows they are (see `find_repeats`).

    This is the gate that every verb goes through whose figures or promises count people, wherever the table is. What is
    differentially private does not: there, what people have to say is declared, and a refusal would be an answer.
    """
    if person == ASK:
        for each in find_repeats(table, identifying):
            raise each.refusal()
