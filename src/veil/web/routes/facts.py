"""What is told about a release, as JSON can hold it; and how a release is kept."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from veil.api.release import Release
from veil.web.jobs import Task
from veil.web.session import BrowserSession, SessionRelease


def kept(session: BrowserSession, job: Task, made: SessionRelease) -> dict[str, Any]:
    """Keep a release, unless the job that made it was stopped meanwhile."""
    return job.commit(lambda: {"release": session.keep(made).id})


LOOKING = "looking at the release"


def facts(release: Release, quasi: list[str] | None = None) -> dict[str, Any]:
    """Find out once what may take a while to find out, and stays. Masks are told what an attacker may know."""
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
    """JSON has no number for what is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def score(found: Any) -> Any:
    """Return the number by which a transformation is judged first."""
    return number(found[0] if isinstance(found, tuple) and found else found)


def plain(value: Any) -> Any:
    """Return what JSON can hold: not-a-number and infinity are null."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
