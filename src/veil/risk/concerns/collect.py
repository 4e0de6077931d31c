"""All that no model judges about a release, the gravest first, and what somebody has acknowledged of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from veil.errors import ParameterError, Say
from veil.outcome.outcome import Outcome, require_outcome
from veil.risk.concerns.concern import KINDS, Concern, Concerns
from veil.risk.concerns.contents import telling_texts
from veil.risk.concerns.context import View
from veil.risk.concerns.leaks import told_by_columns, told_by_order
from veil.risk.concerns.linked_tables import about, each_table
from veil.risk.concerns.unique import unique_beside, unique_columns, unique_together
from veil.risk.concerns.unjudged import (
    aggregates_of_two,
    emptied,
    empty_promise,
    not_looked_at,
    pseudonyms,
    several_rows,
    without_model,
)

_FOUND: WeakKeyDictionary[Outcome, tuple[Concern, ...]] = WeakKeyDictionary()
"""Terminal, report and certificate ask for the same."""


def concerns_of(release: object) -> tuple[Concern, ...]:
    """Return what no model judges about a release: open concerns first, then acknowledged ones, the gravest first in each group."""
    outcome = require_outcome(release)
    if outcome not in _FOUND:
        _FOUND[outcome] = _look(outcome)
    found = [
        dataclasses.replace(each, acknowledged=each.key in outcome.acknowledged) for each in _FOUND[outcome]
    ]
    return Concerns(sorted(found, key=lambda each: each.acknowledged))


def _look(outcome: Outcome) -> tuple[Concern, ...]:
    if outcome.tables:
        made = [about(name, found) for name, each in each_table(outcome).items() for found in _found(each)]
    else:
        made = _found(outcome)
    return tuple(sorted(made, key=lambda each: KINDS.index(each.kind)))


def _found(outcome: Outcome) -> list[Concern]:
    view = View(outcome)
    if not view.records:
        return []
    alone = unique_columns(view)
    known = {name for each in alone for name in each.columns}
    return [
        *telling_texts(view),
        *alone,
        *unique_together(view, known),
        *unique_beside(view, known),
        *told_by_columns(view),
        *aggregates_of_two(view),
        *told_by_order(view),
        *several_rows(view),
        *empty_promise(view),
        *without_model(view),
        *pseudonyms(view),
        *not_looked_at(view),
        *emptied(view),
    ]


def acknowledged_by(outcome: Outcome) -> list[str]:
    """Return the concerns that somebody has acknowledged, by their keys."""
    return [each.key for each in concerns_of(outcome) if each.acknowledged] if outcome.acknowledged else []


def acknowledge(outcome: Outcome, keys: Iterable[str]) -> Outcome:
    """Return the outcome with concerns marked as known and accepted.

    What chance has drawn may lack a concern that the next draw has: of a differentially private release, which cannot be
    drawn again without cost, an acknowledgement of what is not there is left out.
    """
    there = [each.key for each in concerns_of(outcome)]
    given = list(dict.fromkeys([*outcome.acknowledged, *keys]))
    for key in given:
        may_lack = outcome.statement is not None and key.partition(":")[0] in KINDS
        if key not in there and not may_lack:
            known = f"There are: {'; '.join(map(repr, there))}" if there else "There is none"
            raise ParameterError(
                Say("acknowledge"),
                f" should name concerns about this release, and {key!r} is not one. {known}",
            )
    made = dataclasses.replace(outcome, acknowledged=tuple(key for key in given if key in there))
    _FOUND[made] = _FOUND[outcome]
    return made
