"""Figures about a release, as the page shows them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veil.api.release import Release
from veil.published.finding import Finding
from veil.risk.reidentification import Risk


@dataclass(frozen=True)
class Facts:
    """The figures of a release that may take long and are computed once."""

    records: int
    people: int | None
    suppressed: int
    within_limit: bool
    classes: int
    ending: str | None
    holds: bool
    findings: Sequence[Finding]
    open_questions: Sequence[str]
    concerns: Sequence[dict[str, Any]]
    risk: dict[str, Risk]
    measures: dict[str, float | int | None]
    statement: str | None

    @classmethod
    def of(cls, release: Release, quasi: list[str] | None) -> Facts:
        """Compute the figures. Masks need the quasi-identifiers."""
        before, after = release.risk(quasi_identifiers=quasi)
        return cls(
            **{name: getattr(release, name) for name in _OF_RELEASE},
            holds=release.verification.holds and release.within_limit,
            findings=release.verification.findings,
            open_questions=release.verification.open_questions,
            concerns=[dataclasses.asdict(each) | {"key": each.key} for each in release.concerns],
            risk={"before": before, "after": after},
            measures={name: score(value) for name, value in release.measures().items()},
        )


_OF_RELEASE = ("records", "people", "suppressed", "within_limit", "classes", "ending", "statement")


def score(value: Any) -> Any:
    """Return the first number of a score; None if it is not finite, which JSON does not have."""
    value = value[0] if isinstance(value, tuple) and value else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
