"""Neighbours in an order, grouped level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import cycle
from typing import Annotated, Any, ClassVar, Literal

import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from veil.base.declare import declared
from veil.errors import HierarchyError
from veil.hierarchies._axis import Axis, positions
from veil.hierarchies._builders import Builder, IsPublished
from veil.hierarchies._common import finish, natural_order, present
from veil.hierarchies._labels import (
    Group,
    GroupLevel,
    LabelChoice,
    LabelFunction,
    Members,
    Text,
    make_label,
    unique_labels,
)
from veil.hierarchies.hierarchy import ROOT, Hierarchy
from veil.tables.text import canonical_text

_MEANS = ("mean", "mean_of_bounds", "geometric_mean", "geometric_mean_of_bounds")


@declared(kind_of=Builder)
class Ordering(Builder):
    """Sort the values and cut the list into groups; then group the groups, level by level.

    On each level the group sizes are used in turn, again and again. Levels end once a single group is left; a
    root `*` is added if the levels run out before.

    Groups are made of the values of the data. In a release, each label is made anew of those of its values
    that are published: no label names a value, or is the mean of one, that only a suppressed record has.

    >>> import numpy as np, pyarrow as pa
    >>> Ordering((2, 2)).build(pa.array(list("edcba")), np.ones(5), "grade").to_rows()[0]
    ('a', '{a, b}', '{a, b, c, d}', '*')
    """

    groups: Annotated[tuple[GroupLevel, ...], Field(min_length=1, description="group sizes on each level")]
    order: Annotated[
        Literal["natural", "data"] | tuple[Text, ...],
        Field(description="'natural' by type, 'data' by first appearance, or the values in their order"),
    ] = "natural"
    label: Annotated[LabelChoice, Field(description="label of a group")] = LabelFunction("set")
    kind: Literal["ordering"] = Field(default="ordering", repr=False, kw_only=True)

    reads_data: ClassVar[str | None] = (
        "groups are cut out of all values, and labels made of the published ones"
    )

    def withheld(self, is_published: IsPublished) -> Mapping[str, set[str]]:
        """Return the order, if it lists values."""
        return {} if isinstance(self.order, str) else {"order": set(self.order)}

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Order the values and group them."""
        present_values = present(values, column)
        texts, ranks, places, axis = self._order_texts(present_values, column)
        number = {text: index for index, text in enumerate(texts)}

        def name(label: LabelFunction, members: Sequence[int]) -> str:
            if self.order == "data":  # a label must not disclose the order of rows
                members = sorted(members, key=ranks.__getitem__)
            group_members = Members(
                [texts[index] for index in members],
                [ranks[index] for index in members],
                axis,
                [places[index] for index in members] if places else (),
            )
            return make_label(label, group_members, column)

        columns: list[Sequence[str]] = [texts]
        labels_of: list[list[LabelFunction]] = [[]]
        units = [[index] for index in range(len(texts))]
        for sizes in self.groups:
            if len(units) <= 1 and len(columns) > 1:
                break
            grouped: list[list[int]] = []
            functions: list[LabelFunction] = []
            turn, start = cycle(sizes), 0
            while start < len(units):
                group = next(turn)
                grouped.append([index for unit in units[start : start + group.size] for index in unit])
                functions.append(group.label or self.label)
                start += group.size
            units = grouped
            names = unique_labels(name(label, unit) for label, unit in zip(functions, units, strict=True))
            columns.append([each for each, unit in zip(names, units, strict=True) for _ in unit])
            labels_of.append(functions)
        if len(units) > 1 or (values.null_count and len(units) == 1):
            columns.append([ROOT] * len(texts))

        def naming(level: int, members: Mapping[int, list[str]]) -> Mapping[int, str]:
            return {
                code: name(labels_of[level][code], [number[value] for value in published])
                for code, published in members.items()
            }

        return finish(columns, values, column, naming=naming)

    def _order_texts(
        self, values: pa.Array, column: str
    ) -> tuple[list[str], list[int], list[Fraction], Axis | None]:
        """Return the ordered texts, their ranks by type, and their positions if a label needs them."""
        texts = [text or "" for text in canonical_text(values, column=column)]
        rank = {text: rank for rank, text in enumerate(texts[index] for index in natural_order(values))}
        place: dict[str, Fraction] = {}
        axis: Axis | None = None
        if self._needs_places():
            axis, numerators, denominator = positions(values, column)
            place = {text: Fraction(each, denominator) for text, each in zip(texts, numerators, strict=True)}
        if self.order == "natural":
            texts.sort(key=rank.__getitem__)
        elif self.order != "data":
            position = {text: index for index, text in enumerate(self.order)}
            absent = [text for text in texts if text not in position]
            if absent:
                examples = ", ".join(map(repr, absent[:5])) + (
                    f" and {len(absent) - 5} more" if len(absent) > 5 else ""
                )
                raise HierarchyError(
                    f"the order given for column {column!r} does not list {len(absent)} of its values: "
                    f"{examples}. Add them where they belong"
                )
            texts.sort(key=position.__getitem__)
        return texts, [rank[text] for text in texts], [place[text] for text in texts] if place else [], axis

    def _needs_places(self) -> bool:
        functions = [self.label, *(group.label for level in self.groups for group in level)]
        return any(label is not None and label.function in _MEANS for label in functions)


def ordering(
    *groups: int | Group | Sequence[int | Group],
    order: Literal["natural", "data"] | Sequence[Any] = "natural",
    label: str | LabelFunction = "set",
) -> Ordering:
    """Return a builder for groups of neighbours in an order.

    Parameters
    ----------
    groups:
        For each level a group size, or several that are used in turn: `ordering(2, [2, 3])`. A group may have
        a label of its own: `ordering([Group(2, "low"), Group(3, "high")])`.
    order:
        `"natural"` (numbers by size, dates by time, text by character), `"data"` (first appearance), or a
        list of all values.
    label:
        The label function, see `Label`.

    >>> ordering(2, [2, 3], order=["low", "mid", "high"]).order
    ('low', 'mid', 'high')
    """
    return Ordering(groups, order if isinstance(order, str) else tuple(order), label)  # type: ignore[arg-type]
