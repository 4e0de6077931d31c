"""What masking methods share. A method is a declaration with `mask`; adding one is one new file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.errors import PlanError, did_you_mean
from veil.models.base import PrivacyModel
from veil.outcome.outcome import Outcome
from veil.published.finding import Finding, Verification
from veil.tables.source import Source


class Method:
    """A masking method: declared parameters, and `mask`."""

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage",)
    """Kinds of disclosure that the method makes harder."""

    apart_is_secret: ClassVar[bool] = False
    """Whether the tables kept apart undo the masking, so that they must not go with the release."""

    takes_rows_of_engines: ClassVar[bool] = False
    """Whether all rows of a table that an engine holds are brought into memory for it."""

    shuffles: ClassVar[bool] = False
    """Whether the output is safe in a random order only."""

    @property
    @abstractmethod
    def column_names(self) -> tuple[str, ...]:
        """Columns that the method changes."""

    @property
    def known_columns(self) -> tuple[str, ...]:
        """Columns of the output by which an attacker may know people: those that are changed, unless said otherwise."""
        return self.column_names

    @property
    def files_apart(self) -> tuple[str, ...]:
        """Files that the method keeps for itself, which do not belong into the folder of the release."""
        return ()

    @property
    def privacy_models(self) -> tuple[PrivacyModel, ...]:
        """Privacy models that the output fulfils, with the changed columns as quasi-identifiers."""
        return ()

    @property
    def local_epsilon(self) -> str | None:
        """Privacy loss of each person whose values are drawn anew, such as "ln(3)"; None where nothing bounds it."""
        return None

    @abstractmethod
    def mask(self, table: pa.Table, randomness: Randomness) -> Outcome:
        """Mask a table; the given one stays as it is."""

    def outcome(
        self,
        before: pa.Table,
        after: pa.Table,
        *,
        rows: NDArray[np.int64] | None = None,
        apart: Mapping[str, pa.Table] | None = None,
        findings: Iterable[Finding] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Return what this method made of a table.

        `rows` are the input rows of the output, if these did not stay where they were, `findings` what was found of
        its promises on the output, and `facts` what a person wants to know about the run.
        """
        further = dict(apart or {})
        return Outcome(
            Source(before, "pyarrow"),
            (self,),
            after,
            rows=rows,
            apart=further,
            secret=frozenset(further if self.apart_is_secret else ()),
            verification=Verification(tuple(findings)),
            facts=dict(facts or {}),
        )

    def check_columns(self, table: pa.Table) -> None:
        """Refuse a table that lacks a column of the method."""
        for name in self.column_names:
            if name not in table.column_names:
                raise PlanError(
                    f"{self}: the table has no column {name!r}.{did_you_mean(name, table.column_names)}"
                )
