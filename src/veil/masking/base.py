"""What masking methods share. A method is a declaration with `mask`; adding one is one new file and its registration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import PlanError, did_you_mean
from veil.models.base import Finding
from veil.randomness import Randomness


@dataclass(frozen=True)
class Outcome:
    """What a method made of a table.

    Attributes
    ----------
    table : pyarrow.Table
        The masked table.
    origins : array, optional
        For each row of the masked table, the input row it stands for; None if rows stayed where they were.
    apart : dict
        Further tables by name: the second table of an Anatomy release, the key to pseudonyms.
    findings : tuple
        What the method promises, checked on the masked table.
    facts : dict
        What a person wants to know about the run: numbers and short texts by name.
    """

    table: pa.Table
    origins: NDArray[np.int64] | None = None
    apart: Mapping[str, pa.Table] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


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
