"""SafePub as a person gets it: a verified release."""

from __future__ import annotations

from typing import Any

from veil.api.release import Release
from veil.dp import publish as safepub
from veil.plan.plan import Plan
from veil.tables import Source
from veil.verification.outcome import verified


def publish(source: Source, plan: Plan, **options: Any) -> Release:
    return Release(verified(safepub.publish(source, plan, **options)))
