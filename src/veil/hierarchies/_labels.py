"""Labels of groups of values: the label functions, and unique labels of a level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from veil.base.declare import declared
from veil.errors import HierarchyError
from veil.hierarchies._axis import Axis
from veil.hierarchies._compile import text_of

SCALARS = (bool, int, float, Decimal, date, np.generic)

Text = Annotated[
    str,
    BeforeValidator(
        lambda value: text_of(value) if isinstance(value, SCALARS) else value,
        json_schema_input_type=str | int | float | bool,
    ),
]
"""A value or label; numbers, dates and booleans are taken in their canonical text."""

Function = Literal[
    "set", "interval", "bounds", "constant", "mean", "mean_of_bounds", "geometric_mean", "geometric_mean_of_bounds",
    "prefix", "prefixes",
]  # fmt: skip


@declared
class LabelFunction:
    """A label function with its options.

    | function | label of 12, 15, 19 |
    |---|---|
    | `set` | `{12, 15, 19}` |
    | `interval` | `[12, 19]`, smallest and largest; `open` turns brackets outwards |
    | `bounds` | `[12, 19]`, first and last in the order of the hierarchy |
    | `constant` | the given `text` |
    | `mean`, `geometric_mean` | of all values; truncated for integers and dates |
    | `mean_of_bounds`, `geometric_mean_of_bounds` | of the first and the last value only |
    | `prefix` | `1`, the common prefix; `fill="*"` makes it `1*`, as long as the longest value |
    | `prefixes` | `1`, the distinct prefixes of `length` characters, joined by `-` |

    For intervals a function sees only the two limits.
    """

    function: Annotated[Function, Field(description="which label function")]
    text: Annotated[str | None, Field(description="the label, for `constant`")] = None
    fill: Annotated[
        str | None, Field(min_length=1, max_length=1, description="fills up a `prefix` to the longest value")
    ] = None
    length: Annotated[int, Field(ge=1, description="characters of each of the `prefixes`")] = 1
    open: Annotated[
        Literal["none", "lower", "upper", "both"] | None,
        Field(description="ends that an `interval` does not include; by default as the hierarchy needs it"),
    ] = None

    @model_validator(mode="after")
    def _has_text(self) -> LabelFunction:
        if (self.function == "constant") != (self.text is not None):
            raise ValueError("`text` of Label goes with the function 'constant', and only with it")
        return self


LabelChoice = Annotated[
    LabelFunction,
    BeforeValidator(
        lambda value: {"function": value} if isinstance(value, str) else value,
        json_schema_input_type=Function | LabelFunction,
    ),
]
"""A label function, by name or with options."""

OwnLabel = Annotated[
    LabelFunction | None,
    BeforeValidator(
        lambda value: {"function": "constant", "text": value} if isinstance(value, str) else value,
        json_schema_input_type=str | LabelFunction | None,
    ),
]
"""The label of one interval or group: a text to use as it is, or a label function."""


@declared
class Group:
    """A group of `size` neighbours, with a label of its own if wanted."""

    size: Annotated[int, Field(ge=1, description="how many neighbours make the group")]
    label: Annotated[
        OwnLabel, Field(description="its label; by default as the hierarchy labels its groups")
    ] = None


def _groups(value: Any) -> Any:
    """Read the groups of one level: a size, a group, or a list of them."""
    if isinstance(value, (int, Group, dict)):
        value = [value]
    if isinstance(value, (list, tuple)):
        return [{"size": each} if isinstance(each, int) else each for each in value]
    return value


GroupLevel = Annotated[
    tuple[Group, ...],
    Field(min_length=1),
    BeforeValidator(_groups, json_schema_input_type=int | Group | list[int | Group]),
]
"""The groups of one level: `2`, `[2, 3]` or `[Group(2, "low"), Group(3, "high")]`."""


@dataclass(frozen=True)
class Members:
    """The input of a label function: the values of a group in order, and their positions on an axis."""

    texts: Sequence[str]
    ranks: Sequence[Any]
    """Ranks of the values in the order of their type."""
    axis: Axis | None = None
    places: Sequence[Fraction] = ()


def make_label(label: LabelFunction, members: Members, column: str, open_end: str = "none") -> str:
    """Return the label of one group.

    >>> make_label(LabelFunction("prefix", fill="*"), Members(["1210", "1299"], [0, 1]), "zip")
    '12**'
    """
    texts = members.texts
    if label.function == "constant":
        return label.text or ""
    if label.function == "set":
        return "{" + ", ".join(texts) + "}"
    if label.function == "bounds":
        return f"[{texts[0]}, {texts[-1]}]"
    if label.function == "interval":
        order = range(len(texts))
        low = texts[min(order, key=members.ranks.__getitem__)]
        high = texts[max(order, key=members.ranks.__getitem__)]
        ends = label.open or open_end
        left = "]" if ends in ("lower", "both") else "["
        right = "[" if ends in ("upper", "both") else "]"
        return f"{left}{low}, {high}{right}"
    if label.function == "prefix":
        low, high = min(texts), max(texts)  # a common prefix of these two is common to all
        differs = (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other)
        prefix = low[: next(differs, min(len(low), len(high)))]
        return prefix.ljust(max(map(len, texts)), label.fill) if label.fill else prefix
    if label.function == "prefixes":
        return "-".join(dict.fromkeys(text[: label.length] for text in texts))
    return _mean(label.function, members, column)


def unique_labels(labels: Iterable[str]) -> list[str]:
    """Distinguish equal labels of different groups by suffixes: -1, -2 and so on.

    >>> unique_labels(["x", "x", "x"])
    ['x', 'x-1', 'x-2']
    """
    result: list[str] = []
    used_labels: set[str] = set()
    times: dict[str, int] = {}
    for label in labels:
        candidate = label
        while candidate in used_labels:
            times[label] = times.get(label, 0) + 1
            candidate = f"{label}-{times[label]}"
        used_labels.add(candidate)
        result.append(candidate)
    return result


def _mean(function: str, members: Members, column: str) -> str:
    axis, places = members.axis, list(members.places)
    if axis is None:
        raise HierarchyError(
            f"labels by {function!r} need numbers or dates, which column {column!r} does not hold"
        )
    if function.endswith("_of_bounds"):
        places = [places[0], places[-1]]
    if function.startswith("mean"):
        mean = sum(places, Fraction(0)) / len(places)
        return axis.show(Fraction(math.trunc(mean)) if axis.whole else mean)
    if min(places) < 0:
        raise HierarchyError(
            f"column {column!r} has the value {axis.show(min(places))}; geometric means need values from 0"
        )
    product = math.prod(places)
    if axis.whole:
        return axis.show(Fraction(_floor_root(math.floor(product), len(places))))
    if not product:
        return axis.show(Fraction(0))
    logarithm = math.fsum(math.log(each.numerator) - math.log(each.denominator) for each in places)
    return repr(math.exp(logarithm / len(places))).removesuffix(".0")


def _floor_root(number: int, degree: int) -> int:
    """Return the largest integer whose power is not above the number (with doubles, ∛216 would be 5)."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle)
    return low
