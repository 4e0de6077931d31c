"""Common parameters of methods that compare records by distance: scales and hierarchies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import pyarrow as pa
from pydantic import AfterValidator, Field

from veil.base.declare import declared
from veil.errors import PlanError, did_you_mean
from veil.masking.microaggregation.records import Coordinates, Distance, records_of
from veil.outcome.method import Method
from veil.plan.parameters import ColumnHierarchy


def _ranges(bounds: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    for name, (low, high) in bounds.items():
        if not float("-inf") < low < high < float("inf"):
            raise ValueError(
                f"`bounds` should be two finite numbers, the lower first, not {(low, high)} for column {name!r}"
            )
    return bounds


def check_named(method: object, parameter: str, names: Iterable[str], columns: Sequence[str]) -> None:
    """Refuse a parameter that names other columns than those of a method."""
    for name in names:
        if name not in columns:
            raise PlanError(
                f"{method}: `{parameter}` names {name!r}, which is not one of its "
                f"columns.{did_you_mean(name, columns)}"
            )


@declared
class Measuring(Method):
    """A method that compares records by their distance.

    The squared distance adds up over columns. Numbers and dates add their squared difference over their range
    or standard deviation; categories add 1 if they differ or, with a hierarchy, the square of the level on
    which they get the same label over its height.
    """

    distance: Annotated[
        Distance,
        Field(
            description="what a difference of numbers is divided by: their range, standard deviation, or 1"
        ),
    ] = Field(default="range", kw_only=True)
    bounds: Annotated[
        dict[str, tuple[float, float]],
        AfterValidator(_ranges),
        Field(description="lowest and highest possible value, by column; by default the range of the data"),
    ] = Field(default_factory=dict, kw_only=True, repr=False)
    hierarchies: Annotated[
        dict[str, ColumnHierarchy],
        Field(description="hierarchies, by column: values that soon get a common label are close"),
    ] = Field(default_factory=dict, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.bounds and self.distance != "range":
            raise ValueError(
                f"`bounds` of {type(self).__name__} should be left out with distance {self.distance!r}, "
                "which does not use them"
            )

    def records(self, table: pa.Table, columns: Sequence[str], allowed: Sequence[str] = ()) -> Coordinates:
        """Read columns as records; `bounds` and `hierarchies` may also name those `allowed`."""
        check_named(self, "bounds", self.bounds, [*columns, *allowed])
        check_named(self, "hierarchies", self.hierarchies, [*columns, *allowed])
        return records_of(
            table, columns, self, distance=self.distance, hierarchies=self.hierarchies, bounds=self.bounds
        )
