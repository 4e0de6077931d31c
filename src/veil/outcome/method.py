"""What masking methods share. A method is a declaration with `mask`; adding one is one new file and its registration."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import pyarrow as pa

from veil.base.randomness import Randomness
from veil.errors import PlanError, did_you_mean
from veil.outcome.outcome import Outcome


class Method:
    """A masking method: declared parameters, and `mask`."""

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage",)
    """Kinds of disclosure that the method makes harder."""

    apart_is_secret: ClassVar[bool] = False
    """Whether the tables kept apart undo the masking, so that they must not go with the release."""

    @property
    @abstractmethod
    def column_names(self) -> tuple[str, ...]:
        """Columns that the method changes."""

    @abstractmethod
    def mask(self, table: pa.Table, randomness: Randomness) -> Outcome:
        """Mask a table; the given one stays as it is."""

    def check_columns(self, table: pa.Table) -> None:
        """Refuse a table that lacks a column of the method."""
        for name in self.column_names:
            if name not in table.column_names:
                raise PlanError(
                    f"{self}: the table has no column {name!r}.{did_you_mean(name, table.column_names)}"
                )
