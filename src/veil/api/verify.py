"""The verb verify: whether a published table keeps the promises of a plan."""

from __future__ import annotations

from typing import Any

from veil.api.open import Engine, open_source
from veil.engines.relation import Relation
from veil.errors import PlanError
from veil.outcome.outcome import outcome_of
from veil.plan.plan import Plan
from veil.published.finding import Verification
from veil.published.flag import find_flag
from veil.published.table import Published
from veil.tables import Format, Source
from veil.verification.release import verify_models, verify_roles


def verify(
    source: Any, plan: Plan | None = None, *, format: Format | None = None, engine: Engine = "auto"
) -> Verification:
    """Check on a published table that it keeps the promises of a plan, without the original table.

    A release brings its own plan, if no other one is given.

    >>> import pyarrow as pa
    >>> from veil import KAnonymity
    >>> plan = Plan({"age": "suppression"}, KAnonymity(2))
    >>> print(verify(pa.table({"age": ["20-29", "20-29", "30-39"]}), plan))
    BROKEN: 2-anonymity (found: k = 1)
    """
    released = outcome_of(source)
    asked = plan if plan is not None or released is None else released.plan
    if asked is None:
        raise PlanError("`verify` needs a plan: what the table promises. Give it as `plan`")
    plan = asked

    def condense(relation: Relation) -> Source:
        from veil.engines.source import for_verifying  # which needs Ibis

        return for_verifying(relation, asked)

    found = open_source(source, format, engine, condense)
    table = found.table
    for name in plan.roles["quasi-identifying"]:
        if name not in table.column_names:
            plan.check_columns(table.column_names if found.columns is None else found.columns)
    taken = {name for names in plan.roles.values() for name in names}
    published = Published(
        table,
        list(plan.roles["quasi-identifying"]),
        marker=plan.marker,
        flag=find_flag(table, taken),
        weights=found.weights,
    )
    return Verification(tuple(verify_models(published, plan.models) + verify_roles(table, plan)))
