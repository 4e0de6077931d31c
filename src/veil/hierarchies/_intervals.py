"""Intervals of numbers, dates and times.

There are two forms. The short one gives the width of the intervals on each level. The long one lists the
intervals of level 1, which repeat periodically in both directions, and the sizes of groups of neighbours on
each further level. Both may bound the range: the outermost interval extends from the *snap* bound to the
*coding* bound; values beyond are coded `<bound` or `>=bound`; values beyond the *limit* are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator

from veil.base.declare import declared
from veil.errors import HierarchyError
from veil.hierarchies._axis import Axis, Point, Step, length, place
from veil.hierarchies._builders import Builder, IsPublished, unpublished_ends
from veil.hierarchies._common import finish_sorted, present
from veil.hierarchies._labels import (
    Group,
    GroupLevel,
    LabelChoice,
    LabelFunction,
    Members,
    OwnLabel,
    make_label,
    unique_labels,
)
from veil.hierarchies._partition import IntervalLevel, Line, Range, RangeEnd, Segment
from veil.hierarchies._places import places
from veil.hierarchies.hierarchy import ROOT, Hierarchy

_MILLISECONDS = 86_400_000  # in a day
_EXAMPLES = 5


@declared
class Interval:
    """The values from `lower` up to, but not including, `upper`."""

    lower: Annotated[Point, Field(description="first value that belongs to the interval")]
    upper: Annotated[Point, Field(description="first value that no longer belongs to it")]
    label: Annotated[OwnLabel, Field(description="its label; by default made from the limits")] = None

    @model_validator(mode="after")
    def _check_order(self) -> Interval:
        if isinstance(self.lower, date) != isinstance(self.upper, date) or place(self.lower) >= place(
            self.upper
        ):
            raise ValueError(
                f"`lower` of Interval should be less than `upper`, not {self.lower} and {self.upper}"
            )
        return self


@declared
class Bounds:
    """One end of the range: the last interval stretches from `snap` to `coding`, coded values to `limit`."""

    snap: Annotated[
        Point | None, Field(description="the interval around this value is the outermost one")
    ] = None
    coding: Annotated[Point | None, Field(description="values beyond are coded <bound or >=bound")] = None
    limit: Annotated[Point | None, Field(description="values beyond are refused")] = None


def _interval(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and 2 <= len(value) <= 3:
        return dict(zip(("lower", "upper", "label"), value, strict=False))
    return value


IntervalInput = Annotated[
    Interval, BeforeValidator(_interval, json_schema_input_type=Interval | list[Point | str])
]


@declared(kind_of=Builder)
class Intervals(Builder):
    """Intervals by width (`widths`) or listed one by one (`listed`, with `groups` for the levels above).

    Widths are aligned at their multiples, always give one level each, and end in a root `*`; bounds are
    needed only for coding or limits. Listed intervals follow ARX: without bounds, their range is what they
    cover; levels end once a single interval is left, and a root `*` is added if the groups run out before.

    With `shares="range"` the share of a label is the part of the range (from limit to limit) that its
    interval takes up; otherwise the part of the domain values that lie in it.

    >>> import numpy as np, pyarrow as pa
    >>> Intervals((5, 10)).build(pa.array([3, 7, 12]), np.ones(3), "age").to_rows()[1]
    ('7', '[5, 10[', '[0, 10[', '*')
    """

    widths: Annotated[tuple[Step, ...], Field(description="width of the intervals on each level")] = ()
    listed: Annotated[tuple[IntervalInput, ...], Field(description="intervals of level 1, without gaps")] = ()
    groups: Annotated[tuple[GroupLevel, ...], Field(description="groups that make the levels above")] = ()
    lower: Annotated[Bounds, Field(description="lower end of the range")] = Bounds()
    upper: Annotated[Bounds, Field(description="upper end of the range")] = Bounds()
    label: Annotated[LabelChoice, Field(description="label of an interval")] = LabelFunction("interval")
    shares: Annotated[Literal["rows", "range"], Field(description="what the share of a label measures")] = (
        "rows"
    )
    kind: Literal["intervals"] = Field(default="intervals", repr=False, kw_only=True)

    reads_data: ClassVar[str | None] = None

    @model_validator(mode="after")
    def _consistent(self) -> Intervals:
        if bool(self.widths) == bool(self.listed):
            raise ValueError("Intervals needs either `widths` or `listed` intervals")
        if self.widths and self.groups:
            raise ValueError("`groups` of Intervals go with `listed` intervals; give more `widths` instead")
        if self.widths and length(self.widths[0]) <= 0:
            raise ValueError(f"`widths` of Intervals should be greater than 0, not {self.widths[0]}")
        for before, after in zip(self.widths, self.widths[1:], strict=False):
            ratio = length(after) / length(before)
            if ratio.denominator > 1 or ratio <= 1:
                raise ValueError(
                    f"`widths` of Intervals should be multiples of the one before, not {before}, {after}"
                )
        for left, right in zip(self.listed, self.listed[1:], strict=False):
            if place(left.upper) != place(right.lower):
                raise ValueError(
                    f"`listed` of Intervals should have no gaps, but {right.lower} follows {left.upper}"
                )
        if not self._range(place).is_ordered():
            raise ValueError(
                "bounds of Intervals should be ordered: lower limit ≤ lower coding ≤ lower snap < "
                f"upper snap ≤ upper coding ≤ upper limit, not {self.lower} and {self.upper}"
            )
        if self.shares == "range" and (span := self._range(place).span or 0) <= 1:
            problem = (
                f"from limit to limit it measures {span}"
                if span
                else "give both sides a limit, as Bounds(limit=…)"
            )
            raise ValueError(f"`shares='range'` of Intervals needs a range longer than 1: {problem}")
        return self

    def withheld(self, is_published: IsPublished) -> Mapping[str, set[str]]:
        """Return the listed intervals, unless their ends are published in the labels.

        Bounds are chosen by the user and are not values of the data.
        """
        return unpublished_ends(self, ("listed",), is_published)

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Place the values on the axis, cut it level by level, and label the pieces."""
        present_values = present(values, column)
        placed = places(present_values, column)
        axis = placed.axis
        levels, bounds = self._levels(axis, column), self._range(lambda point: axis.point(point, column))
        line = Line(placed.floors, levels, bounds)
        _check_limits(line, bounds, placed.sorted.texts, axis, column)

        coded: list[tuple[npt.NDArray[np.intp], Sequence[str]]] = []
        lengths: list[list[Fraction]] = []
        for number, level in enumerate(levels, start=1):
            codes, pieces = line.cut(level)
            if coded:
                _check_nested(coded[-1], codes, number, column)
            coded.append((codes, unique_labels(self._label(piece, axis, column) for piece in pieces)))
            lengths.append([(piece.upper or Fraction(0)) - (piece.lower or Fraction(0)) for piece in pieces])
            rooted = len(pieces) + bool(values.null_count) == 1
            if self.listed and rooted:
                break
        names = [column, *(f"width {width}" for width in self.widths)]
        names += [f"level {level}" for level in range(len(names), len(coded) + 1)]
        if self.widths or not rooted:
            coded.append((np.zeros(len(coded[-1][0]), np.intp), [ROOT]))
            names.append("all")
        shares, size = None, None
        if self.shares == "range" and bounds.span is not None:
            # The shares of single values need a unit; times are measured in milliseconds, as in ARX.
            size = bounds.span if axis.kind == "number" else bounds.span * _MILLISECONDS
            parts = [
                [1 / size] * len(present_values),
                *([each / bounds.span for each in level] for level in lengths),
            ]
            if len(parts) <= len(coded):
                parts.append([Fraction(1)])
            shares = [np.array(part, dtype=np.float64) for part in parts]
        return finish_sorted(
            placed.sorted,
            line.group,
            coded,
            values,
            column,
            names=names,
            shares=shares,
            domain_size=None if size is None else float(size),
        )

    def _levels(self, axis: Axis, column: str) -> list[IntervalLevel]:
        if self.widths:
            steps = [axis.step(width, column) for width in self.widths]
            return [IntervalLevel((Fraction(0), step), (None,)) for step in steps]
        cuts = [axis.point(each.lower, column) for each in self.listed]
        cuts.append(axis.point(self.listed[-1].upper, column))
        levels = [IntervalLevel(tuple(cuts), tuple(each.label for each in self.listed))]
        for groups in self.groups:
            levels.append(levels[-1].group(groups))
        return levels

    def _range(self, locate: Callable[[Point], Fraction]) -> Range:
        sides: list[RangeEnd] = []
        for bounds, edge in ((self.lower, 0), (self.upper, -1)):
            positions = [
                None if bound is None else locate(bound)
                for bound in (bounds.snap, bounds.coding, bounds.limit)
            ]
            if self.listed:
                end = self.listed[edge]
                sides.append(RangeEnd.of_intervals(locate(end.upper if edge else end.lower), *positions))
            else:
                sides.append(RangeEnd.of_widths(*positions))
        return Range(*sides)

    def _label(self, piece: Segment, axis: Axis, column: str) -> str:
        if piece.where == "below" and piece.upper is not None:
            return f"<{axis.show(piece.upper)}"
        if piece.where == "above" and piece.lower is not None:
            return f">={axis.show(piece.lower)}"
        limits = [limit for limit in (piece.lower, piece.upper) if limit is not None]
        members = Members([axis.show(limit) for limit in limits], limits, axis, limits)
        return make_label(piece.label or self.label, members, column, open_end="upper")


def intervals(
    *widths: Step | float,
    listed: Sequence[Interval | tuple[Any, ...]] = (),
    groups: Sequence[int | Group | Sequence[int | Group]] = (),
    lower: Bounds | None = None,
    upper: Bounds | None = None,
    bottom: Point | float | None = None,
    top: Point | float | None = None,
    label: str | LabelFunction = "interval",
    shares: Literal["rows", "range"] = "rows",
) -> Intervals:
    """Return a builder for intervals of numbers, dates or times.

    Parameters
    ----------
    widths:
        The width of the intervals on level 1, 2, …; each a multiple of the one before. Aligned at multiples
        of the width; a root `*` comes on top. For dates a number counts days (weeks begin on Monday).
    listed, groups:
        The long form instead: the intervals of level 1, as `(lower, upper)` or `(lower, upper, label)`, and
        how many neighbours make a group on the levels above.
    lower, upper:
        The ends of the range.
    bottom, top:
        Short for `lower=Bounds(coding=bottom)` and `upper=Bounds(coding=top)`: values beyond are coded.
    label:
        The label function, see `Label`.
    shares:
        `"rows"`, or `"range"` for shares of the range between the limits.

    >>> intervals(5, 10, 20, top=90).widths
    (5, 10, 20)
    >>> import numpy as np, pyarrow as pa
    >>> stages = intervals(listed=[(0, 18, "minor"), (18, 65, "adult"), (65, 120, "senior")])
    >>> stages.build(pa.array([70, 7, 30]), np.ones(3), "age").to_rows()
    [('7', 'minor', '*'), ('30', 'adult', '*'), ('70', 'senior', '*')]
    """
    parameters: dict[str, Any] = {
        "widths": widths,
        "listed": listed,
        "groups": groups,
        "label": label,
        "shares": shares,
    }
    for name, bounds, short, coding in (("lower", lower, "bottom", bottom), ("upper", upper, "top", top)):
        if bounds is not None and coding is not None:
            raise HierarchyError(f"give either `{short}` or `{name}` to `intervals`, not both")
        parameters[name] = Bounds(coding=coding) if bounds is None else bounds  # type: ignore[arg-type]
    return Intervals(**parameters)


def _check_limits(line: Line, bounds: Range, texts: pa.Array, axis: Axis, column: str) -> None:
    outside = line.outside()
    if not len(outside):
        return
    examples = ", ".join(repr(texts[int(at)].as_py()) for at in outside[:_EXAMPLES])
    rest = f" and {len(outside) - _EXAMPLES} more" if len(outside) > _EXAMPLES else ""
    low, high = (
        axis.show(side.limit) if side.limit is not None else "…" for side in (bounds.lower, bounds.upper)
    )
    raise HierarchyError(
        f"{len(outside)} values of column {column!r} are outside the range [{low}, {high}[ of its intervals: "
        f"{examples}{rest}. Move the limits (`lower=Bounds(limit=…)`, `upper=Bounds(limit=…)`), "
        "code values beyond them (`coding=…`), or list more intervals"
    )


def _check_nested(
    below: tuple[npt.NDArray[np.intp], Sequence[str]], above: npt.NDArray[np.intp], level: int, column: str
) -> None:
    codes, labels = below
    torn = np.flatnonzero((np.diff(above) != 0) & (np.diff(codes) == 0))
    if len(torn):
        raise HierarchyError(
            f"the groups on level {level} of the intervals of column {column!r} split the interval "
            f"{labels[codes[torn[0]]]!r} of level {level - 1}. The intervals below repeat: let the sizes of "
            "the groups add up to a multiple of their number, or list intervals for the whole range"
        )
