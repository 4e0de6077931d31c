"""A table that is differentially private as a whole: what is declared, what is paid, and what leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veil.base.keywords import own_keywords
from veil.base.provided import REPORT_OF_PRIVATE_TABLE
from veil.base.randomness import Randomness
from veil.base.wording import plural
from veil.dp.accountant import Accountant
from veil.dp.declared import Declared
from veil.dp.neighbours import Neighbours
from veil.dp.price import Price
from veil.dp.private_table.columns import Column, Domain, Numbers, read_columns
from veil.dp.private_table.method import Neighbourhood, TableMechanism
from veil.dp.source import (
    MemorySource,
    QuestionSource,
    Selected,
    TruncatedOwners,
    check_names,
    question_source,
)
from veil.dp.symbolic import Readable
from veil.dp.unit import Unit
from veil.errors import ParameterError, PlanError
from veil.plan.plan import ASK


@dataclass(frozen=True)
class PrivateTable:
    """A private table, and why it is one."""

    table: Any = field(repr=False)
    """The same kind of frame as came in; a pyarrow table for a file."""
    method: str
    spent: Price
    """What it cost, for `neighbours`."""
    neighbours: Neighbours
    unit: Unit
    """Whose rows there were: what is hidden is a person, with all rows."""
    proof: str
    """Why it keeps its promise, in plain words; or why it does not."""
    notes: tuple[str, ...]
    """What to know before using it."""
    is_private: bool
    """False if a seed was given, or if the method was published with a proof that does not hold."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """For each column, in words, what was known of it without the data."""
    budget: str | None = None
    """What is left of the budget that it was paid from."""

    def __str__(self) -> str:
        promise = f"{self.spent}, neighbours: {self.neighbours}"
        head = (
            f"{self.method}: {promise}"
            if self.is_private
            else f"{self.method}: NOT PRIVATE ({promise} was spent)"
        )
        return "\n".join([head, self.proof, *self.notes])

    @property
    def whose(self) -> str:
        """Whose rows there were, in words."""
        if self.unit.person is None:
            return "every row was a different person"
        most = plural(self.unit.rows, "row")
        return f"people were told apart by {self.unit.person!r}; at most {most} of each took part, drawn at random"

    @property
    def records(self) -> int:
        """How many rows it has."""
        return len(self.table)

    def report(self, path: str | Path) -> Path:
        """Write what it is, what it cost and what it promises as HTML, PDF or JSON, by the ending of the name.

        A report tells nothing that the table and its declarations do not.
        """
        written: Path = REPORT_OF_PRIVATE_TABLE(self, Path(path))
        return written


@own_keywords
def private_table(
    table: Any,
    method: TableMechanism,
    epsilon: Readable | None = None,
    *,
    neighbours: Neighbours,
    person: str | None = ASK,
    rows_per_person: int | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    domains: Mapping[str, Domain] | None = None,
    missing: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    delta: Readable = 0,
    rho: Readable | None = None,
    accountant: Accountant | None = None,
    for_testing_seed: int | None = None,
) -> PrivateTable:
    """Return a table that is differentially private as a whole.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow frame, a file, or a table that an engine holds, whose rows are then brought into
        memory. Each column needs bounds or a domain.
    method
        IndividualRanking(k), for columns by themselves, or MarginalTree(), for whole records;
        Corners(k), for whole records of numbers and large k.
    epsilon, delta, rho
        The price.
    neighbours
        What is hidden: "one more or less", or "one changed" if the number of people is public.
    person, rows_per_person
        Whose rows these are, which nothing is looked at to find out: None if every row is a different person; or the column that
        tells people apart, which is left out of the table, and how many rows one of them has at most. Of whoever has more, so
        many take part, drawn at random. What it costs is the price for a person, with all rows.
    bounds, domains
        For each column of numbers, between which numbers its values lie; for each other one, which values it has: a list
        or a hierarchy. Both from what is known without the data: a bound of "half more than the largest value" is data.
        Numbers outside of their bounds are moved to them. Bounds that are whole, (0, 120), are those of whole numbers; (0.0,
        120.0) are not.
    missing
        For each column, what a cell counts as that is missing, no number, or no value of the domain: by default the middle of
        the bounds, and None if the domain lists it.
    columns
        Which columns the private table has; by default all.
    accountant
        The budget that it is paid from.
    for_testing_seed
        Makes the draw repeatable, so that the result is not private.

    >>> import pyarrow as pa
    >>> from veil.dp import IndividualRanking
    >>> ages = pa.table({"age": [34, 71, 68, 25, 47, 52]})
    >>> hidden = {"neighbours": "one changed", "person": None}
    >>> made = private_table(ages, IndividualRanking(3), 1, **hidden, bounds={"age": (0, 120)})
    >>> made.table.num_rows, str(made.spent), made.is_private
    (6, 'epsilon = 1', True)
    """
    if not isinstance(method, TableMechanism):
        raise ParameterError(f"`method` should be one such as IndividualRanking(k=100), not {method!r}")
    unit = Unit.declared(person, rows_per_person)
    declared = Declared(neighbours, unit, bounds or {}, {}, missing or {})
    hidden = Neighbourhood(declared.neighbours, unit.rows)
    price = Price.read(epsilon, delta=delta, rho=rho)
    if accountant is not None and not isinstance(accountant, Accountant):
        raise ParameterError(
            f"`accountant` should be an Accountant, such as Accountant(1), not {accountant!r}"
        )
    held = question_source(table, hidden.neighbours, unit)
    source = held.source if isinstance(held, MemorySource) else None
    randomness = Randomness() if for_testing_seed is None else Randomness.for_testing(for_testing_seed)
    names = [name for name in held.names if name != unit.person] if columns is None else list(columns)
    check_names(held, [*names, *([] if unit.person is None else [unit.person])])
    if unit.person in names:
        raise ParameterError(
            f"column {unit.person!r} tells people apart, and cannot be a column of a private table"
        )
    made_of = read_columns(_rows_of(held, names, unit, randomness), declared, domains or {})
    method.check(made_of, price, hidden)
    if accountant is not None:
        if not method.is_sound:
            raise PlanError(
                f"{method.name} has no price: its promise does not hold, so no budget can account for it"
            )
        if source is not None:
            accountant.check_data(source)
        protects = "" if unit.person is None else f" of people by {unit.person!r}, each with all rows"
        accountant.spend(
            f"private table by {method.name}{protects}",
            price.epsilon,
            price.delta,
            rho=price.rho,
            neighbours=hidden.neighbours,
        )
    made = method.make(made_of, price, hidden, randomness)
    # No dtype of the original: whether a column could keep it would depend on what was drawn.
    frame = made.table
    if source is not None and source.frame is not None:
        frame = source.frame.from_arrow(made.table, None)
    notes = made.notes if randomness.is_private else (*made.notes, _SEEDED)
    return PrivateTable(
        frame,
        method.name,
        price,
        hidden.neighbours,
        unit,
        made.proof,
        notes,
        randomness.is_private and method.is_sound,
        {column.name: _in_words(column, missing or {}) for column in made_of},
        None if accountant is None else str(accountant.remaining),
    )


_SEEDED = "A seed was given, for tests: whoever knows it can take the noise away."


def _rows_of(held: QuestionSource, names: Sequence[str], unit: Unit, randomness: Randomness) -> Selected:
    """Return the rows that take part; an engine tells combinations of cells and their numbers, and their order tells nothing."""
    selected = TruncatedOwners(held, unit, randomness).select(names)
    rows = np.arange(selected.rows)
    if selected.weights is not None:
        rows = np.repeat(rows, selected.weights)
    return Selected({name: selected.cells[name].take(rows) for name in names}, rows.size)


def _in_words(column: Column, missing: Mapping[str, Any]) -> str:
    if isinstance(column, Numbers):
        kind = "whole numbers" if column.is_whole else "numbers"
        low, high, other = (
            float(each) for each in (column.bounds.low, column.bounds.high, column.substitute)
        )
        return f"{kind} from {low:g} to {high:g}; what is no number counts as {other:g}"
    kind = "values" if column.hierarchy is None else "values of a hierarchy"
    return (
        f"{len(column.values)} {kind}; what is none of them counts as {missing.get(column.name, 'missing')}"
    )
