"""The result of a step: whatever makes a table out of a table leaves one."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.distinct import distinct_rows
from veil.classes.encoding import Levels
from veil.models.base import PrivacyModel
from veil.outcome.roles import Roles
from veil.plan.plan import Plan
from veil.tables.rows import Rows

if TYPE_CHECKING:
    from veil.outcome.method import Method

Kind = TypeVar("Kind")
Number = TypeVar("Number", bound=np.generic)
Cells = TypeVar("Cells", pa.Array, pa.ChunkedArray, pa.Table)
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Origins:
    """The input row of each row of an output: of all rows in their order, or of those in `rows`.

    >>> Origins(3).array.tolist(), Origins.of(np.array([2, 0]), 3).after(Origins.of(np.array([5, 6, 7]), 9)).array.tolist()
    ([0, 1, 2], [7, 5])
    """

    count: int
    rows: Integers | None = None

    @staticmethod
    def of(rows: Integers | None, count: int) -> Origins:
        """Return origins by row numbers; None: all of `count` rows, in their order."""
        return Origins(count) if rows is None else Origins(rows.size, rows)

    @property
    def array(self) -> Integers:
        """The input row of each row."""
        return np.arange(self.count) if self.rows is None else self.rows

    def among(self, rows: int) -> Integers:
        """Return the input row of each row, given the number of rows of the input: all, or some of them."""
        return np.arange(rows) if self.rows is None else self.rows

    def take(self, cells: Cells) -> Cells:
        """Return the cells that the output would have if they were unchanged, given those of the input."""
        return cells if self.rows is None else cells.take(pa.array(self.rows))

    def pick(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return what the rows of the output have, given what those of the input have: a mask, or codes."""
        return values if self.rows is None else values[self.rows]

    def after(self, earlier: Origins) -> Origins:
        """Return the origins of two steps, given those of the earlier one."""
        if self.rows is None or earlier.rows is None:
            return earlier if self.rows is None else self
        return Origins(self.count, earlier.rows[self.rows])


class RecodedPart(NamedTuple):
    """Records that are generalized to the same levels: row numbers of the input."""

    levels: Levels
    rows: Integers


@dataclass(frozen=True, eq=False)
class CellLevels(Sequence[RecodedPart]):
    """The levels of every row, as a sequence of parts.

    Attributes
    ----------
    vectors : array of parts x quasi-identifiers
        The levels of each part.
    part : array
        The number of the part of each row of the input; -1 for rows that are suppressed or not released.

    >>> levels = CellLevels.of([RecodedPart((0, 1), np.array([2, 0]))], 3)
    >>> levels.part.tolist(), levels[0].rows.tolist(), levels.of_rows.tolist()
    ([0, -1, 0], [0, 2], [[0, 1], [0, 1], [0, 1]])
    """

    vectors: NDArray[np.uint8]
    part: NDArray[np.int32]

    @staticmethod
    def of(parts: Sequence[RecodedPart], rows: int) -> CellLevels:
        """Return the levels of so many rows, given parts of them."""
        part = np.full(rows, -1, np.int32)
        for number, each in enumerate(parts):
            part[each.rows] = number
        return CellLevels(np.array([each.levels for each in parts], np.uint8), part)

    @staticmethod
    def by_row(levels: NDArray[np.uint8], suppressed_mask: Mask) -> CellLevels:
        """Return the levels of rows, given those of each (rows x columns)."""
        there = ~suppressed_mask if not suppressed_mask.all() else slice(None)
        visible = levels[there]
        one_of, number = distinct_rows(visible.T, len(visible))
        part = np.full(suppressed_mask.size, -1, np.int32)
        part[there] = number
        part[suppressed_mask] = -1
        return CellLevels(visible[one_of], part)

    @property
    def of_rows(self) -> NDArray[np.uint8]:
        """The levels of each row; those of the first part for rows of none."""
        if len(self) == 1:
            return np.broadcast_to(self.vectors[0], (self.part.size, self.vectors.shape[1]))
        return self.vectors[np.maximum(self.part, 0)]

    def of_column(self, j: int) -> list[int]:
        """The different levels of a column, also of a table without rows."""
        there = self.of_rows if self.part.size and len(self) > 1 else self.vectors
        levels: list[int] = np.unique(there[:, j]).tolist()
        return levels

    @functools.cached_property
    def counts(self) -> Integers:
        """Number of rows of each part."""
        return np.bincount(self.part[self.part >= 0], minlength=len(self))

    def __len__(self) -> int:
        return len(self.vectors)

    @overload
    def __getitem__(self, at: int) -> RecodedPart: ...
    @overload
    def __getitem__(self, at: slice) -> CellLevels: ...
    def __getitem__(self, at: int | slice) -> RecodedPart | CellLevels:
        if not isinstance(at, slice):
            return self._parts[at]
        number = np.full(len(self) + 1, -1, np.int32)
        vectors = self.vectors[at]
        number[:-1][at] = np.arange(len(vectors))
        return CellLevels(vectors, number[self.part])

    @functools.cached_property
    def _parts(self) -> list[RecodedPart]:
        rows = np.argsort(self.part, kind="stable")[np.count_nonzero(self.part < 0) :]
        pieces = np.split(rows, np.cumsum(self.counts))[:-1]
        return [RecodedPart(tuple(v), each) for v, each in zip(self.vectors.tolist(), pieces, strict=True)]


@dataclass(frozen=True)
class Pass:
    """One pass: how the records were transformed, how many of them, and what that costs.

    Attributes
    ----------
    score : float or tuple
        Information loss of the records that were suppressed before the pass, also of those that remain so.
    factor : float, optional
        Generalization/suppression factor of the quality model; None if it has none.
    proven_optimal : bool
        Whether no transformation of these records has a better score.
    """

    transformation: dict[str, int]
    recoded: int
    score: float | tuple[float, ...]
    factor: float | None
    proven_optimal: bool

    def __str__(self) -> str:
        return f"{self.recoded} records at {self.transformation}, score {self.score}"


@dataclass(frozen=True)
class Passes:
    """How records got transformations of their own, one after the other: in passes, or part by part."""

    passes: tuple[Pass, ...]


@dataclass(frozen=True, eq=False)
class SuppressedRows:
    """The suppressed rows of the input.

    Attributes
    ----------
    mask : array
        Which rows are suppressed; all False if an engine has only counted them.
    records : int
        Number of suppressed records.
    by_row : bool
        Whether `mask` shows them; otherwise, only the cells of the output do.
    over_limit : bool
        Whether there are more than the plan allows, by explicit choice.
    """

    mask: Mask
    records: int
    by_row: bool = True
    over_limit: bool = False

    @staticmethod
    def none(rows: int) -> SuppressedRows:
        """Return the suppression of no row."""
        return SuppressedRows(np.zeros(rows, np.bool_), 0)

    @staticmethod
    def counted(rows: int, records: int) -> SuppressedRows:
        """Return a suppression of which only the number of records is known."""
        return SuppressedRows(np.zeros(rows, np.bool_), records, by_row=False)


class UsedRows(NamedTuple):
    """The rows of the source that went into the first step, if policies left some out."""

    rows: Integers


class Apart(NamedTuple):
    """A further table for a file of its own: the second table of Anatomy, the key of pseudonyms."""

    name: str
    table: pa.Table
    is_secret: bool


class Privacy(NamedTuple):
    """The promise of differential privacy in plain words, and whether draws are private.

    `statement` is None without such a promise. `is_private` is False if the draws can be repeated from a seed,
    or are not proven to be private.
    """

    statement: str | None = None
    is_private: bool = True


@dataclass(frozen=True, eq=False)
class StepResult:
    """The result of one step.

    Attributes
    ----------
    step : Plan or Method
        The search of a plan, or a masking method.
    rows : Rows
        The output. If the input is in an engine: each combination of cells once.
    origins : Origins
        The input row of each row of the output.
    suppression : SuppressedRows
        The suppressed rows of the input.
    roles : Roles
        What each column is, after this step and those before it.
    parts : CellLevels
        The levels of the records that are not suppressed; none for masks. The first part of a search exists even
        if it is empty.
    apart : tuple of Apart
        Further tables for files of their own.
    facts : dict
        Numbers and short texts about the run, by name.
    privacy : Privacy
        The promise of differential privacy, if there is one.
    traces : tuple
        How the result was found, by the rooms that made it: one of each kind. See `trace`.
    """

    step: Plan | Method
    rows: Rows
    origins: Origins
    suppression: SuppressedRows
    roles: Roles
    parts: Sequence[RecodedPart]
    apart: tuple[Apart, ...]
    facts: Mapping[str, Any]
    privacy: Privacy
    traces: tuple[object, ...]

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The privacy models that the output fulfils."""
        return self.step.models if isinstance(self.step, Plan) else self.step.privacy_models

    def trace(self, kind: type[Kind]) -> Kind | None:
        """Return how the result was found, as one room recorded it; None if it had no part in it."""
        return next((each for each in self.traces if isinstance(each, kind)), None)
