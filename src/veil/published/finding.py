"""What was found of a promise on a published table."""

from __future__ import annotations

from dataclasses import dataclass

from veil.base.html import html_table
from veil.errors import VerificationError


@dataclass(frozen=True)
class Finding:
    """One promise, whether it holds on a published table, and what was measured."""

    promise: str
    holds: bool
    measured: str

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'BROKEN'}: {self.promise} (found: {self.measured})"


@dataclass(frozen=True)
class Verification:
    """Every promise with what was found on the output."""

    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(finding.holds for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)

    def _repr_html_(self) -> str:
        rows = [(each.promise, each.measured, "holds" if each.holds else "BROKEN") for each in self.findings]
        return html_table(("Promise", "Found", ""), rows)

    def require(self) -> None:
        """Raise if a promise is broken."""
        broken = [finding for finding in self.findings if not finding.holds]
        if broken:
            raise VerificationError(
                "the output breaks a promise and is withheld: "
                + "; ".join(str(finding) for finding in broken)
            )
