"""The result: a private table with its privacy loss and proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veil.base.wording import plural
from veil.dp.neighbours import Neighbours
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.unit import Unit


@dataclass(frozen=True)
class PrivateTable:
    """A private table with its privacy loss and proof."""

    table: Any = field(repr=False)
    """The same kind of frame as the input; a pyarrow table for a file."""
    method: str
    loss: PrivacyLoss
    """Its privacy loss, for `neighbours`."""
    neighbours: Neighbours
    unit: Unit
    """The owners of the rows: a person is hidden with all rows."""
    proof: str
    """The reason why it keeps its promise, or does not, in plain words."""
    notes: tuple[str, ...]
    """Advice for users of the table."""
    is_private: bool
    """False with a seed, or with a method whose published proof does not hold."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """The declaration of each column in words."""
    budget: str | None = None
    """The remaining budget."""

    def __str__(self) -> str:
        promise = f"{self.loss}, neighbours: {self.neighbours}"
        head = (
            f"{self.method}: {promise}"
            if self.is_private
            else f"{self.method}: NOT PRIVATE ({promise} was spent)"
        )
        return "\n".join([head, self.proof, *self.notes])

    @property
    def whose(self) -> str:
        """The owners of the rows, in words."""
        if self.unit.person is None:
            return "every row was a different person"
        most = plural(self.unit.rows, "row")
        return f"people were told apart by {self.unit.person!r}; at most {most} of each took part, drawn at random"

    @property
    def records(self) -> int:
        """Number of rows."""
        return len(self.table)

    def report(self, path: str | Path) -> Path:
        """Write method, privacy loss and promise as HTML, PDF or JSON, by the ending of the name.

        A report reveals nothing beyond the table and its declarations.
        """
        from veil.private_table.sections import write_private_report  # pages are slow to import

        return write_private_report(self, Path(path))
