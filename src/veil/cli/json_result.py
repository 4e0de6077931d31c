"""The output of `veil anonymize --json`: figures and files of a release."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from veil.api.cell_search import CellSearch
from veil.api.resolve import Run
from veil.api.run import Done


def summary_of(done: Done) -> dict[str, Any]:
    """Return figures without columns and values; for a private release, without figures of the input."""
    release = done.release
    figures: dict[str, Any] = {
        "rows": release.outcome.by_records.records,
        "classes": release.classes,
        "holds": release.verification.holds,
        "open_concerns": sum(not each.acknowledged for each in release.concerns),
    }
    if release.statement is not None:
        return {**figures, "private": release.is_private}
    figures |= {"records": release.records, "suppressed": release.suppressed}
    if release.search is not None:
        figures |= {
            "score": release.score,
            "proven_optimal": release.search.proven_optimal,
            "ending": release.search.ending,
        }
        if isinstance(release.search, CellSearch):
            figures |= {"lower_bound": release.search.lower_bound, "gap": release.search.gap}
    return figures


def as_json(done: Done, job: Run) -> str:
    """Return all figures and files of a release as JSON."""
    release = done.release
    figures: dict[str, Any] = {**summary_of(done)}
    if release.lattice is not None and release.statement is None:
        figures["transformation"] = release.transformation
    figures["promises"] = [
        {"promise": each.promise, "holds": each.holds}
        | ({"found": each.measured} if release.statement is None else {})  # may contain counts of the input
        for each in release.verification.findings
    ]
    if release.statement is None:
        before, after = release.risk()
        figures["risk"] = {"before": dataclasses.asdict(before), "after": dataclasses.asdict(after)}
    else:
        figures["statement"] = release.statement
    figures["concerns"] = [
        {"key": each.key, "statement": each.statement, "acknowledged": each.acknowledged}
        for each in release.concerns
    ]
    files = {what: str(path) for what, path in job.targets.items()}
    if "release" not in files:
        files["release"] = str(job.output)
    figures["files"] = {**files, "apart": [str(path) for path in done.apart]}
    return as_text(figures)


def as_text(figures: Any) -> str:
    """Return figures as JSON text."""
    return json.dumps(figures, indent=2, ensure_ascii=False, default=float)
