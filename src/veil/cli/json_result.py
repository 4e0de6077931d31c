"""What `veil anonymize --json` tells: figures about the release and where it is, for programs."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from veil.api.job import Run
from veil.api.run import Done


def told_of(done: Done) -> dict[str, Any]:
    """Return figures that name neither a column nor a value; of a private release, only those of the release."""
    made = done.release
    told: dict[str, Any] = {
        "rows": made.outcome.by_records.records,
        "classes": made.classes,
        "holds": made.verification.holds,
        "open_concerns": sum(not each.acknowledged for each in made.concerns),
    }
    if made.statement is not None:
        return {**told, "private": made.is_private}
    told |= {"records": made.records, "suppressed": made.suppressed}
    if made.search is not None:
        told |= {
            "score": made.score,
            "proven_optimal": made.search.proven_optimal,
            "ending": made.search.ending,
        }
    return told


def as_json(done: Done, job: Run) -> str:
    """Return all there is to say of a release."""
    made = done.release
    told: dict[str, Any] = {**told_of(done)}
    if made.search is not None and made.statement is None:
        told["transformation"] = made.transformation
    told["promises"] = [
        {"promise": each.promise, "holds": each.holds}
        | ({"found": each.measured} if made.statement is None else {})  # which may count the input
        for each in made.verification.findings
    ]
    if made.statement is None:
        before, after = made.risk()
        told["risk"] = {"before": dataclasses.asdict(before), "after": dataclasses.asdict(after)}
    else:
        told["statement"] = made.statement
    told["concerns"] = [
        {"key": each.key, "statement": each.statement, "acknowledged": each.acknowledged}
        for each in made.concerns
    ]
    files = {what: str(path) for what, path in job.targets.items()}
    if "release" not in files:
        files["release"] = str(job.output)
    told["files"] = {**files, "apart": [str(path) for path in done.apart]}
    return as_text(told)


def as_text(told: Any) -> str:
    """Write figures as JSON."""
    return json.dumps(told, indent=2, ensure_ascii=False, default=float)
