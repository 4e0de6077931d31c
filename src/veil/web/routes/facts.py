"""Figures about a release as JSON values."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from veil.api.release import Release
from veil.web.session import BrowserSession, SessionRelease
from veil.web.tasks import Task


def keep_release(session: BrowserSession, task: Task, entry: SessionRelease) -> dict[str, Any]:
    """Keep a release, unless the task that made it was stopped meanwhile."""
    return task.commit(lambda: {"release": session.keep(entry).id})


LOOKING = "looking at the release"


def facts(release: Release, quasi: list[str] | None = None) -> dict[str, Any]:
    """Compute the figures of a release that may take long, once. Masks need the quasi-identifiers."""
    before, after = release.risk(quasi_identifiers=quasi)
    return {
        "records": release.records,
        "people": release.people,
        "suppressed": release.suppressed,
        "within_limit": release.within_limit,
        "classes": release.classes,
        "ending": release.ending,
        "holds": release.verification.holds and release.within_limit,
        "findings": [
            dataclasses.asdict(each) | {"verdict": each.verdict} for each in release.verification.findings
        ],
        "open_questions": list(release.verification.open_questions),
        "concerns": [dataclasses.asdict(each) | {"key": each.key} for each in release.concerns],
        "risk": {"before": dataclasses.asdict(before), "after": dataclasses.asdict(after)},
        "measures": {name: number(value) for name, value in release.measures().items()},
        "statement": release.statement,
    }


def number(value: Any) -> Any:
    """Return a value, or None for a number that is not finite, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def score(value: Any) -> Any:
    """Return the first number of a score."""
    return number(value[0] if isinstance(value, tuple) and value else value)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN and infinity become null."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
