"""Attacks on a release made in the same way from half of the people, with the other half held out."""

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
from veil.outcome.outcome import Outcome
from veil.plan.linked_tables import Stacked
from veil.plan.recoding import FromTheStart, FullDomain
from veil.risk.attack_rates import TriedAttacks
from veil.risk.attacks import try_attacks
from veil.risk.refinement import refine

FEWEST = 20
"""Least number of records of which some can be held out."""


def attacks_on(
    outcome: Outcome,
    *,
    known_columns: str | Iterable[str] | None = None,
    secrets: str | Iterable[str] | None = None,
    seed: int = 0,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
) -> TriedAttacks:
    """Try attacks; see `Release.attacks`."""
    whole = outcome.original
    if outcome.is_condensed or isinstance(outcome.source, Stacked):
        raise InputError("attacks can only be tried on a single table in memory")
    if whole.num_rows < FEWEST:
        raise InputError(
            f"to hold out some records, the table should have at least {FEWEST}, not {whole.num_rows}"
        )
    member_mask = _half(outcome, seed)
    members, outsiders = whole.filter(pa.array(member_mask)), whole.filter(pa.array(~member_mask))
    with following(progress) as tracker:
        half = _anonymize_half(outcome, members, tracker, cancel)
        visible_mask = ~half.link.pick(half.suppressed_mask)
        columns = half.table.column_names
        names = _names(outcome.quasi_identifiers if known_columns is None else known_columns)
        targets = _names(outcome.roles.sensitive if secrets is None else secrets)
        tried = try_attacks(
            members,
            outsiders,
            half.table.filter(pa.array(visible_mask)),
            [name for name in names if name in columns],
            [name for name in targets if name in columns],
            origins=half.origins[visible_mask],
            hierarchies=half.hierarchies,
            marker=half.marker,
            person=None if outcome.before.owners.are_records else outcome.person_column,
            seed=seed,
            progress=tracker,
        )
        tracker.phase("refining labels")
        return dataclasses.replace(tried, refinements=refine(outcome))


def _names(columns: str | Iterable[str]) -> Iterable[str]:
    return [columns] if isinstance(columns, str) else columns


def _half(outcome: Outcome, seed: int) -> NDArray[np.bool_]:
    """Draw half of the people, each with all rows."""
    rng = np.random.default_rng(seed)
    owners = outcome.before.owners.codes
    if owners is None:
        member_mask = np.zeros(outcome.original.num_rows, np.bool_)
        member_mask[rng.permutation(member_mask.size)[: (member_mask.size + 1) // 2]] = True
        return member_mask
    people = np.unique(owners)
    return np.isin(owners, rng.permutation(people)[: (people.size + 1) // 2])


def _anonymize_half(
    outcome: Outcome, members: pa.Table, tracker: Progress, cancel: Callable[[], bool] | None
) -> Outcome:
    """Repeat the anonymization for fewer people."""
    person = None if outcome.before.owners.are_records else outcome.person_column
    plan = outcome.plan
    if plan is None:
        return mask(members, outcome.methods, person=person, progress=tracker).outcome
    fixed: dict[str, Any] = {"person": person}
    if plan.quasi_identifiers and outcome.prepared is not None:
        fixed["quasi_identifiers"] = {**plan.quasi_identifiers, **outcome.hierarchies}
    if safepub_of(plan) is None:
        # FromTheStart has a limit of its own, and leaves nobody out whom it can protect.
        fixed["suppression_limit"] = 0.0 if isinstance(plan.recoding, FromTheStart) else 1.0
        if len(outcome.parts) == 1 and isinstance(plan.recoding, FullDomain):
            fixed |= {"minimum_levels": outcome.levels, "maximum_levels": outcome.levels}
    again = dataclasses.replace(plan, **fixed)
    return anonymize(members, again, progress=tracker, cancel=cancel).outcome
