"""A concern: a fact about a release that no model of its plan judges, and the step that fixes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from veil.base.html import html_table
from veil.base.wording import Phrase

Kind = Literal[
    "contact data",
    "free text",
    "nearly unique",
    "unique with quasi-identifiers",
    "reveals another column",
    "aggregates of two",
    "exact values of classes",
    "row order",
    "labels exclude values",
    "several rows a person",
    "no model",
    "pseudonyms",
    "not looked at",
    "emptied",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of concerns, the gravest first."""


@dataclass(frozen=True)
class Concern:
    """A fact about a release that no model of the plan judges.

    It contains no value of a cell, only names of columns, shares and counts.

    Attributes
    ----------
    kind : str
        The kind of concern.
    columns : tuple of str
        The columns concerned; none if it is about the whole table.
    statement : str
        The finding, in one sentence.
    step : str
        The step that fixes it.
    acknowledged : bool
        Whether it was acknowledged as known and accepted.
    """

    kind: Kind
    columns: tuple[str, ...]
    statement: str
    step: str
    acknowledged: bool = False

    @property
    def key(self) -> str:
        """The text that acknowledges it.

        >>> Concern("nearly unique", ("weight",), "…", "…").key
        'nearly unique: weight'
        """
        return f"{self.kind}: {', '.join(self.columns)}" if self.columns else self.kind

    def __str__(self) -> str:
        return f"{self.statement} {self.step}" + (" (acknowledged)" if self.acknowledged else "")


class Concerns(tuple[Concern, ...]):
    """Concerns, which notebooks show as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [
            (each.kind, each.statement, "acknowledged" if each.acknowledged else each.step) for each in self
        ]
        return html_table(("", "Found", "How to fix it"), rows) if rows else "<p>No concerns.</p>"


def quoted(names: Sequence[str], most: int = 5, *, last: str = "and") -> str:
    """List names of columns, and the number of further ones; `last` is the word before the last one.

    >>> quoted(["a"]), quoted(["a", "b", "c"], last="or"), quoted(["a", "b", "c"], 1)
    ("'a'", "'a', 'b' or 'c'", "'a' and 2 more")
    """
    parts: list[str] = [repr(name) for name in names[:most]]
    parts += [Phrase("{count} more", count=len(names) - most)] if len(names) > most else []
    if len(parts) == 1:
        return parts[0]
    return Phrase(f"{{names}} {last} {{last}}", names=", ".join(parts[:-1]), last=parts[-1])


def percent(share: float) -> str:
    """Write a share as a whole percentage, and 0 % and 100 % only if they are exact.

    >>> percent(0.4567), percent(0.001), percent(0.999), percent(1)
    ('46 %', 'less than 1 %', 'more than 99 %', '100 %')
    """
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"
