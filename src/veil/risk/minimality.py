"""The minimality attack: what the choice of a transformation reveals (Wong, Fu, Wang and Pei 2007).

A release shows the share of each sensitive value in a class: its probability, without further knowledge. An
attacker who knows the plan, and that Veil returns the best transformation, also knows that every better one
was rejected, maybe due to sensitive values only. Here, every assignment of values to people that the release
allows is anonymized again, and those that lead to it are counted.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from veil.base.progress import following
from veil.errors import InputError, NoSolutionError, ParameterError, PlanError
from veil.outcome.generalize import Choice, generalize, search_best
from veil.outcome.outcome import Outcome, require_outcome
from veil.plan.prepare import Prepared, prepare
from veil.tables.columns import encode_values, replace_column

Shares = tuple[dict[Any, Fraction], ...]
"""For each row of the input, the probability of each value."""


@dataclass(frozen=True)
class Transparency:
    """Beliefs about a sensitive column of an attacker who knows all people in a table and their other cells.

    All assignments of values to people are equally likely before the release.

    Attributes
    ----------
    column
        The sensitive column.
    possible
        Number of assignments of values to people that the release allows.
    leading_here
        Number of those from which Veil makes this very release.
    believed, known
        Probability of each value for each row of the input: to an attacker who sees the release, and to one
        who also knows the plan and how Veil chooses.
    """

    column: str
    possible: int
    leading_here: int
    believed: Shares
    known: Shares

    def worst(self, value: Any = None) -> tuple[Fraction, Fraction]:
        """Return the largest probability of any value, or of one, without and with knowing the choice."""
        return _largest(self.believed, value), _largest(self.known, value)

    def __str__(self) -> str:
        before, after = self.worst()
        return (
            f"{self.column}: {self.leading_here:,} of {self.possible:,} possible inputs lead to this release; somebody's value "
            f"is known with probability {float(before):.4g} without and {float(after):.4g} with knowledge of how it was chosen"
        )


def transparency(
    release: object, column: str, *, values: Sequence[Any] | None = None, limit: int = 10_000
) -> Transparency:
    """Compute what the choice of a transformation reveals about a sensitive column of a small table.

    Parameters
    ----------
    release
        A release, or an outcome, with one transformation for all records that was found by a search.
    column
        The sensitive column; an attacker knows all others.
    values
        Possible values of cells that are not shown; by default the values of the input.
    limit
        Maximum number of possible inputs. Each of them is anonymized.

    >>> import veil
    >>> from veil import hierarchies as h
    >>> people = pa.table({"town": list("AABBBB"), "ill": ["HIV", "HIV", "flu", "flu", "flu", "flu"]})
    >>> release = veil.anonymize(
    ...     people, quasi_identifiers={"town": h.table([["A", "county"], ["B", "county"]])}, sensitive=["ill"],
    ...     models=veil.models.AlphaKAnonymity("ill", 0.5, 2, values=["HIV"]),
    ... )
    >>> print(transparency(release, "ill"))
    ill: 1 of 15 possible inputs lead to this release; somebody's value is known with probability 0.6667 without and 1
    with knowledge of how it was chosen
    """
    outcome = require_outcome(release)
    prepared = _searched(outcome, column)
    cells = prepared.table[column].to_pylist()
    different = encode_values(prepared.table[column])[0].to_pylist() if values is None else list(values)
    if not different:
        raise ParameterError("`values` should list what the column may hold, and is empty")
    groups = _visible_groups(outcome, prepared)
    hidden = [row for row in range(len(cells)) if not any(row in group for group in groups)]
    possible = len(different) ** len(hidden)
    for group in groups:
        possible *= _orders(Counter(cells[row] for row in group))
    if possible > limit:
        raise ParameterError(
            f"{possible:,} inputs are possible, but `limit` allows only {limit:,}: use fewer records, or raise it"
        )
    believed = [Counter[Any]() for _ in cells]
    informed = [Counter[Any]() for _ in cells]
    leading = 0
    for assignment in _assignments(cells, groups, hidden, different):
        same = _leads_to(outcome, prepared, column, assignment)
        leading += same
        for row, value in enumerate(assignment):
            believed[row][value] += 1
            informed[row][value] += same
    return Transparency(column, possible, leading, _shares(believed, possible), _shares(informed, leading))


def _searched(outcome: Outcome, column: str) -> Prepared:
    """Return the prepared plan; refuse an outcome that cannot be recomputed."""
    choice = outcome.trace(Choice)
    if choice is None or outcome.recoding is not None:
        raise PlanError(
            "only a release with a single searched transformation can be recomputed from other inputs: not "
            "masking, parts, local recoding or differential privacy"
        )
    prepared = outcome.searched
    if not prepared.rows.weights.are_one or prepared.subset is not None:
        raise InputError("the table should be in memory, and released as a whole")
    if not choice.is_optimum:
        raise PlanError(
            "this transformation was chosen by hand, so nothing follows from the choice: use the release "
            "that the search found"
        )
    if column not in prepared.plan.sensitive:
        raise PlanError(f"column {column!r} is not sensitive: choose a sensitive column")
    return prepared


def _visible_groups(outcome: Outcome, prepared: Prepared) -> list[list[int]]:
    """Return the input rows of each class, and of suppressed records that keep their cells."""
    numbers = prepared.sample.classes_of_rows(outcome.parts[0].levels)[1].astype(np.int64)
    numbers[outcome.suppressed_mask] = -1
    keeps = prepared.plan.suppressed_rows == "keep cells"
    visible = [number for number in np.unique(numbers).tolist() if number >= 0 or keeps]
    return [np.flatnonzero(numbers == number).tolist() for number in visible]


def _orders(counts: Counter[Any]) -> int:
    """Return the number of different orders of some values."""
    ways = math.factorial(counts.total())
    for count in counts.values():
        ways //= math.factorial(count)
    return ways


def _assignments(
    cells: Sequence[Any], groups: Sequence[Sequence[int]], hidden: Sequence[int], values: Sequence[Any]
) -> Iterator[list[Any]]:
    """Yield all assignments of values to rows: those of a group to its members, any to hidden rows."""
    choices = [list(_arrangements(Counter(cells[row] for row in group))) for group in groups]
    for parts in itertools.product(*choices, itertools.product(values, repeat=len(hidden))):
        assignment = list(cells)
        for rows, part in zip((*groups, hidden), parts, strict=True):
            for row, value in zip(rows, part, strict=True):
                assignment[row] = value
        yield assignment


def _arrangements(left: Counter[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield all different orders of some values."""
    if not left.total():
        yield ()
    for value in [each for each, count in left.items() if count]:
        for rest in _arrangements(left - Counter([value])):
            yield (value, *rest)


def _leads_to(outcome: Outcome, prepared: Prepared, column: str, assignment: Sequence[Any]) -> bool:
    """Whether the plan leads to the same release from other values: same levels, same suppressed rows."""
    table = replace_column(prepared.table, column, pa.array(assignment, prepared.table[column].type))
    try:
        with following(False) as silent:
            other = prepare(table, prepared.plan)
            recomputed = generalize(
                replace(outcome.source, table=table), other, search_best(other, threads=1, progress=silent)
            )
    except (NoSolutionError, ParameterError, PlanError):
        return False  # nothing is released then
    same_rows = np.array_equal(recomputed.suppressed_mask, outcome.suppressed_mask)
    return recomputed.parts[0].levels == outcome.parts[0].levels and same_rows


def _shares(counts: Sequence[Counter[Any]], total: int) -> Shares:
    return tuple({value: Fraction(count, total) for value, count in each.items()} for each in counts)


def _largest(shares: Shares, value: Any) -> Fraction:
    if value is not None:
        return max((each.get(value, Fraction(0)) for each in shares), default=Fraction(0))
    return max((share for each in shares for share in each.values()), default=Fraction(0))
