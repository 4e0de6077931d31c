"""Budgets of differential privacy: limits of the privacy loss of all private releases of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from veil.dp.accountant import Accountant
from veil.errors import OutputError
from veil.tables import Source
from veil.web.body import Body
from veil.web.open_table import OpenTable
from veil.web.problems import Refused
from veil.web.routes.base import InSession, OfTable
from veil.web.session import BrowserSession

router = APIRouter(tags=["releases"])


class Budget(Body):
    """The largest privacy loss of all private releases of a table together."""

    epsilon: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
    delta: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0


def budget_of(session: BrowserSession, table: OpenTable) -> Accountant | None:
    """Return the accountant of a table; None if it has no budget."""
    file = _file(session, table)
    return _Account.open(file, fingerprint=table.fingerprint) if file.exists() else None


class _Account(Accountant):
    """A budget file shared by all sessions, for the records of a table in any file."""

    def check_data(self, source: Source) -> None:
        pass


def _file(session: BrowserSession, table: OpenTable) -> Path:
    return session.budgets / f"{table.fingerprint}.json"


@dataclass(frozen=True)
class BudgetStatus:
    """A budget, and the releases that were charged to it."""

    budget: str | None = None
    remaining: str | None = None
    ledger: list[dict[str, str | float]] = field(default_factory=list)


@router.get("/tables/{id}/budget")
def budget(table: OfTable, session: InSession) -> BudgetStatus:
    """Return the budget of a table for differentially private releases, and the privacy loss so far."""
    account = budget_of(session, table)
    if account is None:
        return BudgetStatus()
    ledger: list[dict[str, str | float]] = [
        {"label": each.label, "epsilon": str(each.epsilon), "delta": float(each.delta)}
        for each in account.ledger
    ]
    return BudgetStatus(str(account.budget), str(account.remaining), ledger)


@router.put("/tables/{id}/budget")
def set_budget(limit: Budget, table: OfTable, session: InSession) -> BudgetStatus:
    """Set the budget of a table, once: it is not raised afterwards."""
    session.budgets.mkdir(exist_ok=True)
    try:
        file, fingerprint = _file(session, table), table.fingerprint
        _Account.create(file, limit.epsilon, limit.delta, fingerprint=fingerprint)
    except OutputError:
        if not file.exists():
            raise
        raise Refused(
            "this table has a budget already, and it is not raised afterwards",
            HTTPStatus.CONFLICT,
            "BudgetError",
        ) from None
    return budget(table, session)
