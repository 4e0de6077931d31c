"""Sources whose rows an engine keeps: it returns released rows as an expression, and writes them itself."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.progress import following
from veil.outcome.outcome import Outcome
from veil.outcome.written import Written
from veil.published.finding import Verification
from veil.tables.source import Source, cells_digest


@dataclass(frozen=True)
class EngineSource(Source):
    """A table whose rows an engine keeps. `table` has the part of it that is needed in memory."""

    @abstractmethod
    def expression(self, outcome: Outcome) -> Any:
        """Return the released rows as a table of the engine: a Spark DataFrame, or an Ibis table."""

    def flag_of(self, outcome: Outcome) -> str | None:
        """Return the name of the column that marks suppressed rows in the release, if one is needed."""
        return outcome.flag

    @abstractmethod
    def class_sizes(self, names: list[str]) -> NDArray[np.int64]:
        """Count each combination of some columns in the input."""

    @property
    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """The place of the rows, and how they are divided."""

    def token(self, outcome: Outcome) -> str:
        """Return a digest of the outcome, so that only a run with the same outcome continues this one."""
        # Pseudonyms of another run are others.
        cells = cells_digest(self.table, outcome.table, *outcome.apart.values())
        digest = hashlib.sha256(repr((outcome.last.step, self.identity, cells)).encode())
        if outcome.parts:
            digest.update(outcome.cell_levels.vectors.tobytes())
            digest.update(outcome.cell_levels.part.tobytes())
        digest.update(outcome.after.weights.array.tobytes())
        digest.update(outcome.suppressed_mask.tobytes())
        return digest.hexdigest()[:24]

    @abstractmethod
    def verify_rows(self, outcome: Outcome, rows: Any) -> Verification:
        """Check written rows against the outcome and its models."""

    @abstractmethod
    def write_rows(self, outcome: Outcome, target: Any, **options: Any) -> Written:
        """Let the engine write the released rows."""

    def write(self, outcome: Outcome, target: Any, *, progress: Any = None, **options: Any) -> Written:
        """Let the engine write the released rows, check them, and put them in place.

        The target is a path, a URL with a table behind ``#`` or a `Database`; the options are those of
        `veil.engines.write.writing.write`.
        """
        verification: Verification | None = None

        def check(rows: Any) -> None:
            nonlocal verification
            verification = self.verify_rows(outcome, rows)
            verification.require()

        options |= {"check": check, "token": self.token(outcome)}
        with following(progress) as progress:
            result = self.write_rows(outcome, target, progress=progress, **options)
        return replace(result, verification=verification)
