"""The facts of a release as plain data. No cell of the original table is among them."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import platform
from typing import TYPE_CHECKING, Any

import veil

if TYPE_CHECKING:
    from veil.release import Release


def facts(release: Release) -> dict[str, Any]:
    """Collect everything a reader needs in order to understand and repeat a release."""
    plan = release.plan
    before, after = release.risk()
    return {
        "records": release.records,
        "suppressed": release.suppressed,
        "classes": release.classes,
        "score": release.score,
        "proven_optimal": release.proven_optimal,
        "statement": getattr(release, "statement", None),
        "gap": release.gap,
        "ending": release.ending,
        "nodes": {"all": release.explored.size, "checked": len(release.explored.evaluated)},
        "asked": {
            "models": [repr(model) for model in plan.models],
            "quality": repr(plan.quality),
            "suppression_limit": plan.suppression_limit,
            "roles": {role: list(names) for role, names in plan.roles.items()},
        },
        "transformation": [
            {"column": name, "level": level, "of": height, "name": release.transformation_names[name]}
            for (name, level), height in zip(
                release.transformation.items(), release.explored.maximum, strict=True
            )
        ],
        "verification": [dataclasses.asdict(finding) for finding in release.verification.findings],
        "risk": {"before": dataclasses.asdict(before), "after": dataclasses.asdict(after)},
        "versions": {
            "veil": veil.__version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in ("numpy", "numba", "pyarrow")},
        },
    }


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
