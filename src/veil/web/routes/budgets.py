"""Budgets of differential privacy: what all private releases of a table may cost together."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from veil.dp.accountant import Accountant
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession
from veil.web.session import OpenTable, Session

router = APIRouter(tags=["releases"])


class Budget(Body):
    """The most that all private releases of a table may cost together."""

    epsilon: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
    delta: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0


def budget_of(session: Session, table: OpenTable) -> Accountant | None:
    """Return what may still be spent on a table."""
    return session.budgets.get(table.fingerprint)


@router.get("/tables/{id}/budget")
def budget(id: str, session: InSession) -> dict[str, Any]:
    """Tell what may be spent on a table by differentially private releases, and what was."""
    account = budget_of(session, session.table(id))
    if account is None:
        return {"budget": None, "remaining": None, "ledger": []}
    return {
        "budget": str(account.budget),
        "remaining": str(account.remaining),
        "ledger": [
            {"label": each.label, "epsilon": str(each.epsilon), "delta": float(each.delta)}
            for each in account.ledger
        ],
    }


@router.put("/tables/{id}/budget")
def setbudget_of(id: str, asked: Budget, session: InSession) -> dict[str, Any]:
    """Say what may be spent on a table. It is said once: what was promised is not raised afterwards."""
    table = session.table(id)
    account = Accountant(asked.epsilon, asked.delta)
    # In one step: budgets belong to all sessions, and of two requests at the same time one is refused.
    if session.budgets.setdefault(table.fingerprint, account) is not account:
        raise Refused(
            HTTPStatus.CONFLICT,
            "this table has a budget already, and it is not raised afterwards",
            kind="BudgetError",
        )
    return budget(id, session)
