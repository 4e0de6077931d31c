"""The verb verify: whether a published table keeps the promises of a plan."""

from __future__ import annotations

from typing import Any

from veil.api.open import Engine, _engine, _opened
from veil.plan.plan import Plan
from veil.published.finding import Verification
from veil.published.flag import flags_among
from veil.published.table import Published
from veil.tables import Format
from veil.verification.release import verify_models, verify_roles


def verify(source: Any, plan: Plan, *, format: Format | None = None, engine: Engine = "auto") -> Verification:
    """Check on a published table that it keeps the promises of a plan, without the original table.

    >>> import pyarrow as pa
    >>> from veil import KAnonymity
    >>> plan = Plan({"age": "suppression"}, KAnonymity(2))
    >>> print(verify(pa.table({"age": ["20-29", "20-29", "30-39"]}), plan))
    BROKEN: 2-anonymity (found: k = 1)
    """
    found = _opened(source, format, engine, lambda relation: _engine().for_verifying(relation, plan))
    table = found.table
    for name in plan.roles["quasi-identifying"]:
        if name not in table.column_names:
            plan.check_columns(table.column_names if found.columns is None else found.columns)
    taken = {name for names in plan.roles.values() for name in names}
    flags = flags_among(table.column_names, taken)
    published = Published(
        table,
        list(plan.roles["quasi-identifying"]),
        marker=plan.marker,
        flag=flags[0] if flags else None,
        weights=found.weights,
    )
    return Verification(tuple(verify_models(published, plan.models) + verify_roles(table, plan)))
