"""Release of a table that is differentially private as a whole: declarations, price and draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veil.api.open import open_cells
from veil.base.keywords import own_keywords
from veil.base.randomness import Randomness
from veil.dp.accountant import Accountant
from veil.dp.declared import Declared
from veil.dp.neighbours import Neighbours
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import MemorySource, QuestionSource, Selected, TruncatedOwners, as_source, check_names
from veil.dp.symbolic import Readable
from veil.dp.unit import Unit
from veil.errors import ParameterError, PlanError
from veil.plan.plan import ASK
from veil.private_table.mechanisms.columns import Column, Domain, Numbers, read_columns
from veil.private_table.mechanisms.table_mechanism import Neighbourhood, TableMechanism
from veil.private_table.release.result import PrivateTable
from veil.tables.rows import Weights


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
        A pandas, polars or pyarrow frame, a file, or a table in an engine, whose rows are then loaded into
        memory. Each column needs bounds or a domain.
    method
        IndividualRanking(k), for columns by themselves, or MarginalTree(), for whole records;
        Corners(k), for whole records of numbers and large k.
    epsilon, delta, rho
        The price.
    neighbours
        The hidden difference: "one more or less", or "one changed" if the number of people is public.
    person, rows_per_person
        The owners of rows, declared without looking at the data: None if every row is a different person; or
        the column that identifies people, which is left out of the table, and the largest number of rows of
        one person. Of more rows, so many are drawn at random. The price is that of a person with all rows.
    bounds, domains
        The range of each column of numbers, and the values of each other column: a list or a hierarchy. Both
        must be public knowledge: a bound of "half more than the largest value" is data. Numbers outside are
        moved to their bounds. Bounds of type int, (0, 120), declare whole numbers; (0.0, 120.0) do not.
    missing
        The value of each column for cells that are missing, no number, or not in the domain: by default the
        middle of the bounds, and None if the domain lists it.
    columns
        The columns of the private table; by default all.
    accountant
        The account that the price is charged to.
    for_testing_seed
        Makes the draw repeatable, so that the result is not private.

    >>> import pyarrow as pa
    >>> from veil.private_table import IndividualRanking
    >>> ages = pa.table({"age": [34, 71, 68, 25, 47, 52]})
    >>> hidden = {"neighbours": "one changed", "person": None}
    >>> private = private_table(ages, IndividualRanking(3), 1, **hidden, bounds={"age": (0, 120)})
    >>> private.table.num_rows, str(private.spent), private.is_private
    (6, 'epsilon = 1', True)
    """
    if not isinstance(method, TableMechanism):
        raise ParameterError(f"`method` should be one such as IndividualRanking(k=100), not {method!r}")
    unit = Unit.declared(person, rows_per_person)
    declared = Declared(neighbours, unit, bounds or {}, {}, missing or {})
    hidden = Neighbourhood(declared.neighbours, unit.rows)
    loss = PrivacyLoss.read(epsilon, delta=delta, rho=rho)
    if accountant is not None and not isinstance(accountant, Accountant):
        raise ParameterError(
            f"`accountant` should be an Accountant, such as Accountant(1), not {accountant!r}"
        )
    source = as_source(open_cells(table), hidden.neighbours, unit)
    origin = source.source if isinstance(source, MemorySource) else None
    randomness = Randomness() if for_testing_seed is None else Randomness.for_testing(for_testing_seed)
    names = [name for name in source.names if name != unit.person] if columns is None else list(columns)
    check_names(source, [*names, *([] if unit.person is None else [unit.person])])
    if unit.person in names:
        raise ParameterError(
            f"column {unit.person!r} tells people apart, and cannot be a column of a private table"
        )
    typed_columns = read_columns(_rows_of(source, names, unit, randomness), declared, domains or {})
    method.check(typed_columns, loss, hidden)
    if accountant is not None:
        if not method.is_sound:
            raise PlanError(
                f"{method.name} has no price: its promise does not hold, so no budget can account for it"
            )
        if origin is not None:
            accountant.check_data(origin)
        protects = "" if unit.person is None else f" of people by {unit.person!r}, each with all rows"
        accountant.spend(
            f"private table by {method.name}{protects}",
            loss.epsilon,
            loss.delta,
            rho=loss.rho,
            neighbours=hidden.neighbours,
        )
    drawn_table = method.make(typed_columns, loss, hidden, randomness)
    # The dtypes of the input are not kept: whether a column fits its dtype would depend on the draw.
    frame = drawn_table.table
    if origin is not None and origin.frame is not None:
        frame = origin.frame.from_arrow(drawn_table.table, None)
    notes = drawn_table.notes if randomness.is_private else (*drawn_table.notes, _SEEDED)
    return PrivateTable(
        frame,
        method.name,
        loss,
        hidden.neighbours,
        unit,
        drawn_table.proof,
        notes,
        randomness.is_private and method.is_sound,
        {column.name: _describe_column(column, missing or {}) for column in typed_columns},
        None if accountant is None else str(accountant.remaining),
    )


_SEEDED = "A seed was given, for tests: whoever knows it can take the noise away."


def _rows_of(source: QuestionSource, names: Sequence[str], unit: Unit, randomness: Randomness) -> Selected:
    """Return the rows that take part; combinations of cells from an engine are repeated by their weights."""
    selected = TruncatedOwners(source, unit, randomness).select(names)
    rows = np.repeat(np.arange(selected.rows), selected.weights.array)
    return Selected({name: selected.cells[name].take(rows) for name in names}, Weights(rows.size))


def _describe_column(column: Column, missing: Mapping[str, Any]) -> str:
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
