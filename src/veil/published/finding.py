"""Findings about promises on a published table."""

from __future__ import annotations

from dataclasses import dataclass

from veil.base.html import html_table
from veil.errors import VerificationError


@dataclass(frozen=True)
class Finding:
    """One promise, whether it holds on a published table, and what was measured.

    A promise that was not `checked` is neither kept nor broken: `holds` is False, `measured` the reason.
    """

    promise: str
    holds: bool
    measured: str
    checked: bool = True

    @classmethod
    def not_checked(cls, promise: str, reason: str) -> Finding:
        """Return the finding about a promise that the table alone does not decide.

        >>> print(Finding.not_checked("5-map", "that takes the population"))
        not checked: 5-map (that takes the population)
        """
        return cls(promise, False, reason, checked=False)

    @property
    def verdict(self) -> str:
        """The verdict in a word or two."""
        return "holds" if self.holds else "BROKEN" if self.checked else "not checked"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.promise} ({'found: ' if self.checked else ''}{self.measured})"


BY_CONSTRUCTION = "by construction, not checked"
"""The finding about a promise that no table can show, and that a method declares."""


@dataclass(frozen=True)
class Verification:
    """The findings about all promises on the output.

    `open_questions` are those that no table answers: who made it, or how likely a draw was.
    """

    findings: tuple[Finding, ...]
    open_questions: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every promise was checked, and is kept."""
        return all(finding.holds for finding in self.findings)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The promises that were checked, and are not kept."""
        return tuple(finding for finding in self.findings if finding.checked and not finding.holds)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """The unchecked promises, followed by the open questions."""
        promises = [finding.promise for finding in self.findings if not finding.checked]
        return (*promises, *self.open_questions)

    def __str__(self) -> str:
        first = [f"NOT CHECKED: {'; '.join(self.not_checked)}"] if self.not_checked else []
        return "\n".join([*first, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        rows = [(each.promise, each.measured, each.verdict) for each in self.findings]
        rows = [("NOT CHECKED", "; ".join(self.not_checked), ""), *rows] if self.not_checked else rows
        return html_table(("Promise", "Found", ""), rows)

    def require(self) -> None:
        """Raise if a promise is broken, or was not checked."""
        broken = [finding for finding in self.findings if not finding.holds]
        if broken:
            raise VerificationError(
                "the output breaks a promise and is withheld: "
                + "; ".join(str(finding) for finding in broken)
            )
