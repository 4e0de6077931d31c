"""Sources whose rows an engine holds: it hands out what is made of them as an expression, and writes it itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.outcome.outcome import Outcome
from veil.outcome.written import Written
from veil.tables.source import Source


@dataclass(frozen=True)
class EngineRows(Source):
    """A table that an engine holds. `table` has what Veil has to know of it in memory."""

    @abstractmethod
    def expression(self, outcome: Outcome) -> Any:
        """Return the released rows as the engine sees them: a Spark DataFrame, or an Ibis table."""

    def flag_of(self, outcome: Outcome) -> str | None:
        """Return the name of the column that shows which of the released rows are suppressed, if one is needed."""
        return outcome.flag

    @abstractmethod
    def class_sizes(self, names: list[str]) -> NDArray[np.int64]:
        """Count how often each combination of some columns occurs in the input."""

    @abstractmethod
    def write(self, outcome: Outcome, target: Any, *, progress: Any = None, **options: Any) -> Written:
        """Let the engine write the released rows, check what it has written, and put it in its place.

        The target is a path, a URL with a table behind ``#`` or a `Database`; the options are those of
        `veil.engines.write.writing.write`.
        """
