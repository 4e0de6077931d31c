"""Where a release goes: a folder, a file, or a table of a database; all with the same few steps.

    begin    open the staging place, or the one that a run before has left, and say which pieces it holds
    append   add a piece, so that it is there for good when the call returns, and only once
    shuffle  put all that was added in a random order, which rows of different pieces cannot have otherwise
    staged   the staged rows as a table of an engine, for checking
    prepare  do what takes time before that
    commit   put the staged rows in the place of the target, in one step
    wipe     leave nothing of what was staged in the file that the release is in
    abandon  remove the staging place

Until `commit` the target is as it was. The staging place has a name of its own, which ends in a mark of the run's
token; what runs with other tokens have left for the same target is removed, and nothing else ever is.
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
    """Where the rows come from."""

    secrets: dict[str, str]
    """What no message may repeat."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Keep other runs away from this target."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is something already."""

    @abstractmethod
    def begin(self, key: str, labels: Sequence[str], example: ir.Table) -> set[str]:
        """Open the staging place for rows like those of `example`; return the labels of the pieces it holds.

        Pieces of a run before count only if its `key` and all its `labels` were the same.
        """

    @abstractmethod
    def append(self, label: str, piece: ir.Table) -> None:
        """Add a piece."""

    @abstractmethod
    def shuffle(self, rows: int) -> None:
        """Put everything that has been added in a random order; not for good, so another run does so again.

        In a folder, files get so many rows.
        """

    @abstractmethod
    def staged_rows(self) -> ir.Table:
        """Return what has been added."""

    def prepare(self) -> None:
        """Do what takes time before the staged rows can take their place."""
        return  # a table is renamed

    @abstractmethod
    def witness(self) -> Witness:
        """What tells a later run whether the staged rows have taken their place."""

    def has_taken_place(self, witness: Witness) -> bool | None:
        """Whether rows of a run before have; None if they went somewhere else."""
        return None

    @abstractmethod
    def commit(self) -> None:
        """Let the staged rows take the place of the target."""

    def wipe(self) -> None:
        """Leave nothing in the place of the release of what was removed from there."""
        return  # where the release is a file or a folder of its own, there is nothing

    @abstractmethod
    def abandon(self) -> None:
        """Remove the staging place."""

    @property
    @abstractmethod
    def staging(self) -> str:
        """Where the staged rows are, for messages."""

    @contextlib.contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn what an engine or the operating system raises into an `OutputError` about this target."""
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
        # Outside of the handler: what a driver says may hold a password.
        raise KeyboardInterrupt if reason is None else OutputError(f"{self.name}: {reason}")

    def is_finished(self, key: str) -> bool:
        """Whether the run with this key had put its rows in place already, and was only stopped afterwards."""
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
    said = str(error).lower()
    return next((way_out for sign, way_out in _SIGNS.items() if sign in said), None)
