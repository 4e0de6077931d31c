"""The base class of masking methods. A method is one file: declared parameters, and `mask`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.errors import NOTHING, PlanError, Say, did_you_mean
from veil.models.base import PrivacyModel
from veil.outcome.outcome import Outcome
from veil.outcome.result import Apart, Origins, Privacy, StepResult, Suppression
from veil.outcome.roles import roles_of_masks
from veil.tables.rows import Rows
from veil.tables.source import Source


class Method:
    """A masking method: declared parameters, and `mask`."""

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage",)
    """Kinds of disclosure that the method makes harder."""

    apart_is_secret: ClassVar[bool] = False
    """Whether the tables kept apart undo the masking, so that they must not go with the release."""

    takes_rows_of_engines: ClassVar[bool] = False
    """Whether it needs all rows of a table in an engine to be read into memory."""

    shuffles: ClassVar[bool] = False
    """Whether the output is safe in a random order only."""

    why_not_owners: ClassVar[str] = "it counts records"
    """Why its promise does not hold for people with several rows, where it does not."""

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
        return bool(self.privacy_models)

    @property
    def by_construction(self) -> tuple[str, ...]:
        """Promises that no table can show, such as the probability of a draw: declared, never checked."""
        return ()

    @property
    def local_epsilon(self) -> str | None:
        """Privacy loss of each person with randomized values, such as "ln(3)"; None if it is unbounded."""
        return None

    @abstractmethod
    def mask(self, table: pa.Table, randomness: Randomness) -> Outcome:
        """Mask a table; the input is not changed."""

    def mask_people(self, table: pa.Table, person: str, randomness: Randomness) -> Outcome:
        """Mask a table with several rows per person, so that promises count people.

        The column `person` stays in the table; the caller removes it. A method that counts records and has no
        way to count people refuses.
        """
        if not self.counts_records:
            return self.mask(table, randomness)
        raise PlanError(
            f"{type(self).__name__} cannot protect people who have several rows: {self.why_not_owners}. "
            "Keep one row per person and say ",
            Say("person", NOTHING),
            ", or use Mondrian or `veil.anonymize`, which count people",
        )

    def outcome(
        self,
        before: pa.Table,
        after: pa.Table,
        *,
        rows: NDArray[np.int64] | None = None,
        apart: Mapping[str, pa.Table] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Return the outcome of this method without a verification, which `veil.verification.steps` adds.

        `rows` are the input rows of the output, if their order changed, and `facts` are numbers and short
        texts about the run.
        """
        result = StepResult(
            self,
            Rows.of(after),
            Origins.of(rows, after.num_rows),
            Suppression.none(before.num_rows),
            roles_of_masks([self], before.column_names, after.column_names, None, "dropped"),
            (),
            tuple(Apart(name, table, self.apart_is_secret) for name, table in (apart or {}).items()),
            dict(facts or {}),
            Privacy(),
            (),
        )
        return Outcome.of(Source(before, "pyarrow"), Rows.of(before), result)

    def check_columns(self, table: pa.Table) -> None:
        """Refuse a table that lacks a column of the method."""
        for name in self.column_names:
            if name not in table.column_names:
                raise PlanError(
                    f"{self}: the table has no column {name!r}.{did_you_mean(name, table.column_names)}"
                )


class ColumnMethod(Method):
    """A masking method that changes the columns of its field `columns`."""

    columns: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.columns
