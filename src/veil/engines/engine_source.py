"""Sources whose rows an engine keeps: it returns released rows as an expression, and writes them itself."""

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

    @abstractmethod
    def write(self, outcome: Outcome, target: Any, *, progress: Any = None, **options: Any) -> Written:
        """Let the engine write the released rows, check them, and put them in place.

        The target is a path, a URL with a table behind ``#`` or a `Database`; the options are those of
        `veil.engines.write.writing.write`.
        """
