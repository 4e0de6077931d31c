"""Targets of a release: a folder, a file, or a table of a database; all with the same few steps.

Until `commit` the target is as it was. The staging place has a name of its own, which ends in a mark of the
run's token; staging places of other tokens for the same target are removed, and nothing else ever is.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from veil.engines.failures import explain_errors, is_interrupt, stop_queries
from veil.errors import OutputError, VeilError
from veil.tables.disk import WAYS_OUT
from veil.tables.journal import Witness

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from veil.engines.relation import Relation


class Target(ABC):
    """A place that a release can be written to."""

    name: str
    """For messages; never with a password."""

    overwrite: bool

    relation: Relation
    """Source of the rows."""

    secrets: dict[str, str]
    """Texts that no message may repeat."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Keep other runs away from this target."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether the target exists already."""

    @abstractmethod
    def begin(self, key: str, labels: Sequence[str], example: ir.Table) -> set[str]:
        """Open the staging place for rows like those of `example`; return the labels of the pieces it holds.

        Pieces of an earlier run count only if its `key` and all its `labels` were the same.
        """

    @abstractmethod
    def append(self, label: str, piece: ir.Table) -> None:
        """Add a piece."""

    @abstractmethod
    def shuffle(self, rows: int) -> None:
        """Put all added rows in a random order; not durably, so a continued run does so again.

        In a folder, files get so many rows.
        """

    @abstractmethod
    def staged_rows(self) -> ir.Table:
        """Return the added rows."""

    def prepare(self) -> None:
        """Do what takes time before the commit."""
        return  # a table is renamed

    @abstractmethod
    def witness(self) -> Witness:
        """Return what shows a later run whether the staged rows are in place."""

    def has_taken_place(self, witness: Witness) -> bool | None:
        """Whether the rows of an earlier run are in place; None if they had another target."""
        return None

    @abstractmethod
    def commit(self) -> None:
        """Put the staged rows in the place of the target."""

    def wipe(self) -> None:
        """Overwrite removed rows in the file that holds the release."""
        return  # a release in a file or folder of its own has none

    @abstractmethod
    def abandon(self) -> None:
        """Remove the staging place."""

    @property
    @abstractmethod
    def staging(self) -> str:
        """The staging place, for messages."""

    @contextlib.contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn errors of an engine or the operating system into an `OutputError` about this target."""
        reason: str | None
        with explain_errors(self.name, OutputError, self.secrets):
            try:
                yield
                return
            except Exception as error:
                reason = None if isinstance(error, VeilError) else _reason(error)
                if reason is None and not is_interrupt(error):
                    raise
                if reason is None:
                    for backend in {self.relation.backend, getattr(self, "backend", self.relation.backend)}:
                        stop_queries(backend)
        # Outside of the handler: the driver's message may hold a password.
        raise KeyboardInterrupt if reason is None else OutputError(f"{self.name}: {reason}")

    def is_finished(self, key: str) -> bool:
        """Whether the run with this key had put its rows in place, and was only stopped afterwards."""
        return False


_SIGNS = {
    "no space left": "the disk is full. Free some space, or choose another disk",
    "disk is full": "the disk is full. Free some space, or choose another disk",
    "permission denied": "no permission to write there. Choose another place, or ask for the right to create tables",
    "must be owner": "it belongs to somebody else. Choose another name, or ask its owner to drop it",
    "read-only": "can only be read. Open it for writing, or choose another place",
    "readonly": "can only be read. Open it for writing, or choose another place",
    "depend on it": "views or other objects depend on it. Drop them first, or choose another name",
}


def _reason(error: Exception) -> str | None:
    if isinstance(error, OSError) and error.errno in WAYS_OUT:
        return WAYS_OUT[error.errno]
    message = str(error).lower()
    return next((way_out for sign, way_out in _SIGNS.items() if sign in message), None)
