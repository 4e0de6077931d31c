"""The base class of masking methods. A method is one file: declared parameters, and `_mask`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.errors import NOTHING, PlanError, Say, did_you_mean
from veil.models.base import PrivacyModel
from veil.outcome.outcome import Outcome
from veil.outcome.result import Apart, Origins, Privacy, StepResult, SuppressedRows
from veil.outcome.roles import roles_of_masks
from veil.tables.rows import Owners, Rows
from veil.tables.source import Source


class MaskedTable(NamedTuple):
    """The output of a masking method.

    `origins` are the input rows of the output; None if all, in order. `apart` are tables for files of their own, and
    `facts` numbers and short texts about the run.
    """

    table: pa.Table
    origins: NDArray[np.int64] | None = None
    apart: Mapping[str, pa.Table] = MappingProxyType({})
    facts: Mapping[str, Any] = MappingProxyType({})


class Method:
    """A masking method: declared parameters, and `_mask`."""

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage",)
    """Kinds of disclosure that the method makes harder."""

    apart_is_secret: ClassVar[bool] = False
    """Whether the tables kept apart undo the masking, so that they must not go with the release."""

    takes_rows_of_engines: ClassVar[bool] = False
    """Whether it needs all rows of a table in an engine to be read into memory."""

    shuffles: ClassVar[bool] = False
    """Whether the output is safe in a random order only."""

    counts_owners: ClassVar[bool] = False
    """Whether its promise holds for people with several rows, as it counts people."""

    why_not_owners: ClassVar[str] = ""
    """Why its promise, which is about records, does not hold for people with several rows."""

    if_broken: ClassVar[str] = ""
    """What to do about an output that breaks the promise, where that can happen."""

    @property
    @abstractmethod
    def column_names(self) -> tuple[str, ...]:
        """Columns that the method changes."""

    @property
    def known_columns(self) -> tuple[str, ...]:
        """Columns of the output by which an attacker may know people: by default those that are changed."""
        return self.column_names

    @property
    def columns_of_exact_values(self) -> tuple[str, ...]:
        """Columns with labels that are made of the values of a class, such as intervals between its extremes."""
        return ()

    @property
    def files_apart(self) -> tuple[str, ...]:
        """Files that the method keeps for itself, outside the folder of the release."""
        return ()

    @property
    def privacy_models(self) -> tuple[PrivacyModel, ...]:
        """Privacy models that the output fulfils, with the changed columns as quasi-identifiers."""
        return ()

    @property
    def counts_records(self) -> bool:
        """Whether its promise is about records, so that it must know who has several of them."""
        return bool(self.privacy_models or self.counts_owners or self.why_not_owners)

    @property
    def by_construction(self) -> tuple[str, ...]:
        """Promises that no table can show, such as the probability of a draw: declared, never checked."""
        return ()

    @property
    def local_epsilon(self) -> str | None:
        """Privacy loss of each person with randomized values, such as "ln(3)"; None if it is unbounded."""
        return None

    def mask(self, rows: Rows, randomness: Randomness) -> Outcome:
        """Mask rows, so that promises count their owners; the result is not verified, the input not changed."""
        self.check_columns(rows.table)
        self.check_owners(rows.owners)
        masked = self._mask(rows, randomness)
        result = StepResult(
            self,
            rows.showing(masked.table, masked.origins),
            Origins.of(masked.origins, masked.table.num_rows),
            SuppressedRows.none(rows.table.num_rows),
            roles_of_masks([self], rows.table.column_names, masked.table.column_names, None, "dropped"),
            (),
            tuple(Apart(name, table, self.apart_is_secret) for name, table in masked.apart.items()),
            masked.facts,
            Privacy(),
            (),
        )
        return Outcome.of(Source(rows.table, "pyarrow"), rows, result)

    @abstractmethod
    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        """Mask rows whose columns and owners have been checked. The caller removes the column of the owners."""

    def check_owners(self, owners: Owners) -> None:
        """Refuse people with several rows, if the promise is about records and the method cannot count people."""
        if owners.are_records or self.counts_owners or not self.counts_records:
            return
        reason = self.why_not_owners or "it counts records"
        raise PlanError(
            f"{type(self).__name__} cannot protect people who have several rows: {reason}. "
            "Keep one row per person and say ",
            Say("person", NOTHING),
            ", or use Mondrian or `veil.anonymize`, which count people",
        )

    def check_size(self, k: int, rows: Rows) -> None:
        """Refuse groups of more people than there are."""
        if k > rows.people:
            raise PlanError(
                f"{self}: the table has {rows.spell(rows.people)}, too few for a group of {k}. Choose a `k` of at most "
                f"{rows.people}"
            )

    def check_columns(self, table: pa.Table) -> None:
        """Refuse a table that lacks a column of the method."""
        for name in self.column_names:
            if name not in table.column_names:
                raise PlanError(
                    f"{self}: the table has no column {name!r}.{did_you_mean(name, table.column_names)}"
                )


class SingleColumnMethod(Method):
    """A masking method that changes the column of its field `column`."""

    column: str

    @property
    def column_names(self) -> tuple[str, ...]:
        return (self.column,)


class ColumnMethod(Method):
    """A masking method that changes the columns of its field `columns`."""

    columns: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.columns
