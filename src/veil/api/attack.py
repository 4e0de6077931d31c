"""Attacks tried on a release made in the same way from half of the people, with the other half held out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.anonymize import anonymize
from veil.api.mask import mask
from veil.base.progress import Progress, ProgressLike, following
from veil.dp.publish import safepub_of
from veil.errors import InputError
from veil.local_recoding import Mode
from veil.outcome.outcome import Outcome
from veil.risk.attack_rates import TriedAttacks
from veil.risk.attacks import try_attacks

FEWEST = 20
"""Records that are needed to hold some of them out."""


def attacks_on(
    outcome: Outcome,
    *,
    known: str | Iterable[str] | None = None,
    secrets: str | Iterable[str] | None = None,
    seed: int = 0,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
) -> TriedAttacks:
    """Try attacks; see `Release.attacks`."""
    whole = outcome.original
    if outcome.is_condensed or outcome.tables:
        raise InputError("attacks can only be tried on a single table in memory")
    if whole.num_rows < FEWEST:
        raise InputError(
            f"to hold out some records, the table should have at least {FEWEST}, not {whole.num_rows}"
        )
    inside = _half(outcome, seed)
    members, outsiders = whole.filter(pa.array(inside)), whole.filter(pa.array(~inside))
    with following(progress) as told:
        made = _made_again(outcome, members, told, cancel)
        shown = ~made.hidden_rows if made.hidden_rows is not None else np.ones(made.table.num_rows, np.bool_)
        there = made.table.column_names
        by_default = outcome.quasi_identifiers if known is None else known
        names = [by_default] if isinstance(by_default, str) else list(by_default)
        wanted = _secrets(outcome) if secrets is None else [secrets] if isinstance(secrets, str) else secrets
        return try_attacks(
            members,
            outsiders,
            made.table.filter(pa.array(shown)),
            [name for name in names if name in there],
            [name for name in wanted if name in there],
            origins=made.origins[shown],
            hierarchies=made.hierarchies,
            marker=made.marker,
            person=None if outcome.before.owners.are_records else outcome.person_column,
            seed=seed,
            progress=told,
        )


def _secrets(outcome: Outcome) -> list[str]:
    return [] if outcome.plan is None else list(outcome.plan.sensitive)


def _half(outcome: Outcome, seed: int) -> NDArray[np.bool_]:
    """Draw half of the people: all rows of a person are in, or none."""
    rng = np.random.default_rng(seed)
    owners = outcome.before.owners.codes
    if owners is None:
        chosen = np.zeros(outcome.original.num_rows, np.bool_)
        chosen[rng.permutation(chosen.size)[: (chosen.size + 1) // 2]] = True
        return chosen
    people = np.unique(owners)
    return np.isin(owners, rng.permutation(people)[: (people.size + 1) // 2])


def _made_again(
    outcome: Outcome, members: pa.Table, told: Progress, cancel: Callable[[], bool] | None
) -> Outcome:
    """Do to fewer people what was done to all of them."""
    person = None if outcome.before.owners.are_records else outcome.person_column
    plan = outcome.plan
    if plan is None:
        return mask(members, outcome.methods, person=person, progress=told).outcome
    fixed: dict[str, Any] = {"person": person}
    if plan.quasi_identifiers and outcome.prepared is not None:
        fixed["quasi_identifiers"] = {**plan.quasi_identifiers, **outcome.hierarchies}
    local = outcome.recoding if isinstance(outcome.recoding, Mode) else None
    if safepub_of(plan) is None:
        fixed["suppression_limit"] = 1.0
        if len(outcome.parts) == 1 and local is None:
            fixed |= {"minimum_levels": outcome.levels, "maximum_levels": outcome.levels}
    again = dataclasses.replace(plan, **fixed)
    return anonymize(members, again, local=local, progress=told, cancel=cancel).outcome
