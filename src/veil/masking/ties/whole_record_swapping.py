"""Swapping against attackers who know no confidential value: whole confidential records change places."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.masking.microaggregation.distance import Measuring
from veil.masking.microaggregation.mdav import maximum_distance_to_average_vector
from veil.masking.parameters import Columns, Names
from veil.masking.ties.anatomy import ROWS_ARE_FOUND
from veil.masking.ties.probabilistic import swap_together
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.rows import Rows


@declared(kind_of=Method)
class WholeRecordSwapping(Measuring, ColumnMethod):
    """Confidential values change places together, as one record, among people with similar quasi-identifiers.

    MDAV groups the records by quasi-identifiers, and in each group one permutation, all equally likely, moves
    the confidential records between people. An attacker who knows quasi-identifiers alone finds the
    confidential record of a person only among those of the group, each with the same probability: 1/k at
    most. All relations among confidential columns stay, and so do those among the others. A known
    confidential value reveals the rest of the record: against such intruders, use `MDAVSwapping`, which moves
    each column by itself and loses their relations. Soria-Comas (2013), section 3.3.

    >>> table = pa.table({"age": [30, 31, 52, 53], "income": [900, 100, 5000, 7000], "tax": [9, 1, 50, 70]})
    >>> masked = WholeRecordSwapping(["income", "tax"], 2, ["age"]).mask(Rows.of(table), Randomness()).table
    >>> sorted(zip(masked["income"].to_pylist()[:2], masked["tax"].to_pylist()[:2]))
    [(100, 1), (900, 9)]
    """

    columns: Annotated[Columns, Field(description="confidential columns, which change places together")]
    k: Annotated[
        int, Field(ge=1, description="least number of records among which a confidential record may move")
    ]
    quasi_identifiers: Annotated[
        Names | None,
        Field(description="columns that records are compared by; None: all that are not confidential"),
    ] = None
    kind: Literal["WholeRecordSwapping"] = Field(default="WholeRecordSwapping", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")
    why_not_owners: ClassVar[str] = ROWS_ARE_FOUND

    @property
    def by_construction(self) -> tuple[str, ...]:
        """The promise of the draw, as groups are not published."""
        promise = f"probabilistic {self.k}-anonymity against those who know no confidential value"
        return (f"{promise}: confidential records change places among at least {self.k}",)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        self.check_size(self.k, rows)
        groups = maximum_distance_to_average_vector(self.records(table, self._compared(table)), self.k)
        return swap_together(table, self.columns, groups, randomness)

    def _compared(self, table: pa.Table) -> list[str]:
        names = table.column_names if self.quasi_identifiers is None else self.quasi_identifiers
        compared = [name for name in names if name not in self.columns]
        if self.quasi_identifiers is not None and len(compared) < len(names):
            raise PlanError(f"{self}: a column cannot be both confidential and a quasi-identifier")
        if not compared:
            raise PlanError(
                f"{self}: no column is left to compare records by: name fewer confidential columns"
            )
        return compared
