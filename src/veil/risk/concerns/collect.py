"""All concerns about a release, the gravest first, and their acknowledgement."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from veil.errors import ParameterError, Say
from veil.outcome.outcome import Outcome, require_outcome
from veil.plan.linked_tables import Stacked
from veil.risk.concerns.concern import KINDS, Concern, Concerns
from veil.risk.concerns.contents import identifying_texts
from veil.risk.concerns.context import ReleaseContext
from veil.risk.concerns.leaks import excluding_labels, revealing_columns, revealing_order
from veil.risk.concerns.linked_tables import about, each_table
from veil.risk.concerns.unique import unique_columns, unique_in_classes, unique_together
from veil.risk.concerns.unjudged import (
    aggregates_of_two,
    emptied,
    empty_promise,
    exact_values,
    not_looked_at,
    pseudonyms,
    several_rows,
    without_model,
)

_CACHE: WeakKeyDictionary[Outcome, tuple[Concern, ...]] = WeakKeyDictionary()
"""Concerns of outcomes: terminal, report and certificate all read them."""


def concerns_of(release: object) -> tuple[Concern, ...]:
    """Return the concerns about a release: open ones first, each group from the gravest on."""
    outcome = require_outcome(release)
    if outcome not in _CACHE:
        _CACHE[outcome] = _collect(outcome)
    concerns = [
        dataclasses.replace(each, acknowledged=each.key in outcome.acknowledged) for each in _CACHE[outcome]
    ]
    return Concerns(sorted(concerns, key=lambda each: each.acknowledged))


def _collect(outcome: Outcome) -> tuple[Concern, ...]:
    if isinstance(outcome.source, Stacked):
        tables = each_table(outcome, outcome.source)
        concerns = [about(name, concern) for name in tables for concern in _find(tables[name])]
    else:
        concerns = _find(outcome)
    return tuple(sorted(concerns, key=lambda each: KINDS.index(each.kind)))


def _find(outcome: Outcome) -> list[Concern]:
    context = ReleaseContext(outcome)
    if not context.records:
        return []
    alone = list(unique_columns(context))
    unique = {name for each in alone for name in each.columns}
    return [
        *identifying_texts(context),
        *alone,
        *unique_together(context, unique),
        *unique_in_classes(context, unique),
        *revealing_columns(context),
        *aggregates_of_two(context),
        *exact_values(context),
        *revealing_order(context),
        *excluding_labels(context),
        *several_rows(context),
        *empty_promise(context),
        *without_model(context),
        *pseudonyms(context),
        *not_looked_at(context),
        *emptied(context),
    ]


def acknowledged_by(outcome: Outcome) -> list[str]:
    """Return the keys of acknowledged concerns."""
    return [each.key for each in concerns_of(outcome) if each.acknowledged] if outcome.acknowledged else []


def acknowledge(outcome: Outcome, keys: Iterable[str]) -> Outcome:
    """Return the outcome with concerns marked as known and accepted.

    A differentially private release is random and may lack a concern that another draw would have, and it
    cannot be drawn again without cost: keys of concerns that it lacks are ignored.
    """
    present = [each.key for each in concerns_of(outcome)]
    acknowledged = list(dict.fromkeys([*outcome.acknowledged, *keys]))
    for key in acknowledged:
        may_lack = outcome.statement is not None and key.partition(":")[0] in KINDS
        if key not in present and not may_lack:
            choices = f"There are: {'; '.join(map(repr, present))}" if present else "There is none"
            raise ParameterError(
                Say("acknowledge"),
                f" should name concerns about this release, and {key!r} is not one. {choices}",
            )
    changed = dataclasses.replace(outcome, acknowledged=tuple(key for key in acknowledged if key in present))
    _CACHE[changed] = _CACHE[outcome]
    return changed
