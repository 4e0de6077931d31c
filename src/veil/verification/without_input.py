"""The check of a published table by those who have not seen the input, and do not call broken what they cannot judge."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veil.errors import VeilError
from veil.models import PrivacyModel
from veil.plan.plan import Plan
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.rows import Rows
from veil.verification.release import verify_model


@dataclass(frozen=True)
class Input:
    """What is known of the input to somebody who has the published table.

    Attributes
    ----------
    whole : bool
        Whether the table shows the sensitive cells of every record, so that it has the distribution of the input.
    records : int, optional
        Number of records; None if nobody knows.
    chosen : bool
        Whether the records were chosen from more people, of whom nothing is known.
    several : bool
        Whether people may have several rows, and the table does not tell which.
    """

    whole: bool = False
    records: int | None = None
    chosen: bool = False
    several: bool = False

    @classmethod
    def behind(cls, published: Published, plan: Plan) -> Input:
        """Return what a plan and the table made by it tell of the input."""
        dropped = plan.suppressed_rows == "drop" and plan.suppression_limit > 0
        return cls(
            whole=not dropped and not published.suppressed_records,
            records=None if dropped else published.records,
            chosen=any(model.subset is not None for model in plan.models),
            several=plan.person_column is not None and published.rows.owners.are_records,
        )


def verify_from_outside(published: Published, models: Sequence[PrivacyModel], known: Input) -> list[Finding]:
    """Check each model on a published table that stands alone; say of which nobody can tell, and why."""
    return [_verify_model(published, model, known) for model in models]


def _verify_model(published: Published, model: PrivacyModel, known: Input) -> Finding:
    needs = model.compares_with
    if known.several:
        return _judge_rows(published, model)
    if "population" in needs and known.chosen:
        return _not_checked(published, model, "that takes the people that the records were chosen from")
    if "hierarchies" in needs:
        return _not_checked(published, model, "that takes the hierarchies")
    if known.whole:
        return verify_model(published, model)
    if "distribution" in needs:
        names = " and ".join(map(repr, model.attribute_names))
        return _not_checked(
            published,
            model,
            f"that takes how often the input has each value of {names}, and records are suppressed of which nothing is "
            "told",
        )
    if "records" in needs:
        if known.records is None:
            return _not_checked(
                published, model, "that takes the number of records of the input, which may have had more"
            )
        return verify_model(_with_baseline(published, known.records), model)
    return verify_model(published, model)


def _judge_rows(published: Published, model: PrivacyModel) -> Finding:
    """Say what rows tell of people: there are no more people than rows, so that a class of too few rows has too few."""
    if not model.attribute_names and not model.compares_with and model.monotone_suppression:
        found = model.verify(published)
        if not found.holds:
            return Finding(f"{found.promise}, counting people", False, f"{found.measured}, even in rows")
    found = _not_checked(published, model, "that takes whose row each row is, which the table does not tell")
    return Finding.not_checked(f"{found.promise}, counting people", found.measured)


def _with_baseline(published: Published, records: int) -> Published:
    """Return the same table, beside an input of which only the number of records is known."""
    result = copy.copy(published)
    result.baseline = Rows.of(pa.table({"": [0]}), np.array([records], np.int64))
    return result


def _not_checked(published: Published, model: PrivacyModel, reason: str) -> Finding:
    try:
        promise = model.verify(published).promise
    except (VeilError, KeyError):
        promise = str(model)
    return Finding.not_checked(promise, reason)


def verify_columns(columns: Sequence[str], plan: Plan, flag: str | None) -> Finding:
    """Check that a published table has the columns of a plan, each once, and none that the plan does not know."""
    planned = {name for role, names in plan.roles.items() if role != "identifying" for name in names}
    known = {*planned, *plan.identifying, flag}
    lacking = [f"without {name!r}" for name in sorted(planned.difference(columns))]
    further = [f"also has {name!r}" for name in columns if name not in known and plan.others != "keep"]
    twice = [f"{name!r} {number} times" for name, number in Counter(columns).items() if number > 1]
    told = "; ".join([*lacking, *further, *twice])
    return Finding(
        "the table has the columns of the plan and no others", not told, told or f"{len(columns)} columns"
    )


def unjudged_columns(columns: Sequence[str], judged: Sequence[str]) -> tuple[str, ...]:
    """Return the question that columns which no model looks at leave open, if there are any."""
    names = [repr(name) for name in columns if name not in judged]
    return (f"what no model judges: {', '.join(names)}",) if names else ()
