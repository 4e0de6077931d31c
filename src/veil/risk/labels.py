"""Compatibility of labels of different releases: whether both may cover the same value.

The values of a label follow from the hierarchy, if it is given. Otherwise common forms are parsed: `*`,
`<30`, `>=40`, `20-30`, `[20, 30[`, `537**`, `{a, b}`. Everything else is a value. If all bounds are whole
numbers, so are the values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.hierarchies import Hierarchy

_NUMBER = r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*"
_BELOW = re.compile(rf"\s*(<=|≤|<|≥|>=|>){_NUMBER}")
_RANGE = re.compile(rf"{_NUMBER}[-–]{_NUMBER}")
_BRACKETS = re.compile(rf"\s*([\[\](]){_NUMBER},{_NUMBER}([\[\])])\s*")
_PLAIN = re.compile(_NUMBER)
_PATTERN = re.compile(r"[^*]*\*+")


class NumberRange(NamedTuple):
    """Numbers from `low` to `high`."""

    low: float
    high: float
    with_low: bool = True
    with_high: bool = True

    def meets(self, other: NumberRange) -> bool:
        """Whether both have a number in common.

        >>> below = NumberRange(-math.inf, 40.0, False, False)
        >>> NumberRange(30.0, 40.0, True, False).meets(below), NumberRange(39.0, math.inf, False, False).meets(below)
        (True, False)
        >>> NumberRange(39.5, math.inf, False, False).meets(below)
        True
        """
        if self.is_whole and other.is_whole:
            return max(self.least, other.least) <= min(self.most, other.most)
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low != high:
            return low < high
        return all(
            (each.low < low or each.with_low) and (each.high > high or each.with_high)
            for each in (self, other)
        )

    @property
    def is_whole(self) -> bool:
        """Whether its bounds are whole numbers, and so most likely its numbers: no age is >39 and <40."""
        return all(math.isinf(each) or each.is_integer() for each in (self.low, self.high))

    @property
    def least(self) -> float:
        """The least whole number in it."""
        return self.low if self.with_low else self.low + 1

    @property
    def most(self) -> float:
        """The greatest whole number in it."""
        return self.high if self.with_high else self.high - 1


def read_interval(label: str) -> NumberRange | None:
    """Parse a numeric label; None if it is none.

    >>> read_interval("<30"), read_interval("3*"), read_interval("[20, 30[")
    (NumberRange(low=-inf, high=30.0, with_low=False, with_high=False), NumberRange(low=30.0, high=40.0, with_low=True,
    with_high=False), NumberRange(low=20.0, high=30.0, with_low=True, with_high=False))
    """
    if match := _BELOW.fullmatch(label):
        sign, number = match[1], float(match[2])
        if sign in ("<", "<=", "≤"):
            return NumberRange(-math.inf, number, False, sign != "<")
        return NumberRange(number, math.inf, sign != ">", False)
    if match := _PLAIN.fullmatch(label):
        return NumberRange(float(match[1]), float(match[1]))
    if match := _RANGE.fullmatch(label):
        return NumberRange(float(match[1]), float(match[2]))
    if match := _BRACKETS.fullmatch(label):
        return NumberRange(float(match[2]), float(match[3]), match[1] == "[", match[4] == "]")
    digits = label.rstrip("*")
    if digits.isascii() and digits.isdigit() and label != digits:
        stars = len(label) - len(digits)
        return NumberRange(float(int(digits) * 10**stars), float((int(digits) + 1) * 10**stars), True, False)
    return None


def can_be_same(one: str | None, other: str | None) -> bool:
    """Whether both labels may cover the same value.

    >>> can_be_same("3*", "<40"), can_be_same("3*", "4*"), can_be_same("940**", "94015"), can_be_same("flu", "gout")
    (True, False, True, False)
    """
    if one == other:
        return True
    if one is None or other is None:
        return (one or other) == "*"
    if not one.strip("*") or not other.strip("*"):
        return True
    if one[:1] + one[-1:] == "{}" or other[:1] + other[-1:] == "{}":
        members = [
            {part.strip() for part in each[1:-1].split(",")} if each[:1] == "{" else {each}
            for each in (one, other)
        ]
        return any(can_be_same(a, b) for a in members[0] for b in members[1])
    left, right = read_interval(one), read_interval(other)
    if left is not None and right is not None:
        if _PATTERN.fullmatch(one) and _PATTERN.fullmatch(other) and len(one) != len(other):
            return False
        return left.meets(right)
    if _PATTERN.fullmatch(one) or _PATTERN.fullmatch(other):
        return len(one) == len(other) and all(
            a == b or "*" in (a, b) for a, b in zip(one, other, strict=True)
        )
    return False


def compatible(
    first: Sequence[str | None], second: Sequence[str | None], hierarchy: Hierarchy | None = None
) -> NDArray[np.bool_]:
    """Return for each label of one release and each of another whether both may cover the same value."""
    if hierarchy is None:
        return np.array([[can_be_same(a, b) for b in second] for a in first], np.bool_).reshape(
            len(first), len(second)
        )
    covered = _covered(hierarchy)
    left, right = (_values(labels, covered, hierarchy.size) for labels in (first, second))
    overlap_mask: NDArray[np.bool_] = (left.astype(np.int64) @ right.T.astype(np.int64)) > 0
    return overlap_mask


def _covered(hierarchy: Hierarchy) -> dict[str | None, NDArray[np.bool_]]:
    covered: dict[str | None, NDArray[np.bool_]] = {}
    for level, labels in enumerate(hierarchy.labels):
        map_ = hierarchy.label_map(level)
        for code, label in enumerate(labels):
            members = map_ == code
            covered[label] = covered[label] | members if label in covered else members
    return covered


def _values(
    labels: Sequence[str | None], covered: dict[str | None, NDArray[np.bool_]], size: int
) -> NDArray[np.bool_]:
    """Return which values each label covers; a label that is not in the hierarchy may cover any."""
    everything = np.ones(size, np.bool_)
    return np.array([covered.get(each, everything) for each in labels], np.bool_).reshape(len(labels), size)
