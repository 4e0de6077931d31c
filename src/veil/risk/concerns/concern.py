"""A concern: something about a release that no model of its plan judges, and the one step that mends it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from veil.base.html import html_table

Kind = Literal[
    "contact data",
    "free text",
    "nearly unique",
    "unique with quasi-identifiers",
    "reveals another column",
    "aggregates of two",
    "row order",
    "several rows a person",
    "no model",
    "pseudonyms",
    "not looked at",
    "emptied",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What there may be to say, the gravest first."""


@dataclass(frozen=True)
class Concern:
    """Something that no model of the plan judges.

    No value of a cell is in it: names of columns, shares and counts say it all.

    Attributes
    ----------
    kind : str
        What it is about.
    columns : tuple of str
        The columns that it is about; none if it is about the whole table.
    statement : str
        What was found, in one sentence.
    step : str
        The one step that fixes it.
    acknowledged : bool
        Whether somebody has said that it is known and accepted.
    """

    kind: Kind
    columns: tuple[str, ...]
    statement: str
    step: str
    acknowledged: bool = False

    @property
    def key(self) -> str:
        """What to say to acknowledge it.

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


def quoted(names: Sequence[str], most: int = 5) -> str:
    """List names of columns, and say how many more there are.

    >>> quoted(["a"]), quoted(["a", "b", "c"]), quoted(["a", "b", "c"], 1)
    ("'a'", "'a', 'b' and 'c'", "'a' and 2 more")
    """
    parts = [repr(name) for name in names[:most]]
    parts += [f"{len(names) - most} more"] if len(names) > most else []
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def either(names: Sequence[str]) -> str:
    """List names of columns of which one is enough.

    >>> either(["a"]), either(["a", "b", "c"])
    ("'a'", "'a', 'b' or 'c'")
    """
    parts = [repr(name) for name in names]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"


def percent(share: float) -> str:
    """Write a share as a whole percentage. Nothing that is not zero looks like zero, and nothing below one like one.

    >>> percent(0.4567), percent(0.001), percent(0.999), percent(1)
    ('46 %', 'less than 1 %', 'more than 99 %', '100 %')
    """
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"
