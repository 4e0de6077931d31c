"""Intervals and sets of values, as labels of columns without a hierarchy: `[20, 30]`, `{a, b}`, `20-29`, `<30`."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.hierarchies.hierarchy import MISSING_WORD
from veil.risk.labels import read_interval
from veil.tables.columns import is_number

Integers = NDArray[np.int64]

_SET = re.compile(r"\{(.*)\}", re.DOTALL)
_INTERVAL = re.compile(r"\[(.*), (.*)\]", re.DOTALL)


class ValueRanges:
    """The values of a column in the order of their type, a missing one apart; finds those in a label.

    >>> ages = ValueRanges(["20", "25", "31", None], pa.int64())
    >>> ages.codes_in("[20, 31]").tolist(), ages.codes_in("{[20, 25], NULL}").tolist(), ages.codes_in("<30").tolist()
    ([0, 1, 2], [0, 1, 3], [0, 1])
    """

    def __init__(self, values: Sequence[str | None], kind: pa.DataType) -> None:
        self.values, self.kind = values, kind
        self.code_of = {text: code for code, text in enumerate(values)}

    def codes_in(self, text: str) -> Integers | None:
        """Return the values in an interval or a set; None if a text is neither."""
        if match := _SET.fullmatch(text):
            return self._members(match[1])
        match = _INTERVAL.fullmatch(text)
        if match and match[1] in self.code_of and match[2] in self.code_of:
            order, rank = self._ranks
            return order[rank[self.code_of[match[1]]] : rank[self.code_of[match[2]]] + 1]
        return self._numbers_inside(text)

    def _members(self, content: str) -> Integers | None:
        members = content.split(", ")
        if all(each in self.code_of for each in members):
            return np.array([self.code_of[each] for each in members], np.int64)
        rest, _, last = content.rpartition(", ")
        if last == MISSING_WORD and None in self.code_of:
            codes = self.codes_in(rest) if _INTERVAL.fullmatch(rest) else self._members(rest)
            return None if codes is None else np.append(codes, self.code_of[None])
        # A value has a comma itself: all those that occur in the text.
        inside = [code for value, code in self.code_of.items() if value is not None and value in content]
        return np.array(inside, np.int64) if inside else None

    def _numbers_inside(self, text: str) -> Integers | None:
        interval = read_interval(text) if is_number(self.kind) else None
        if interval is None or interval.low == interval.high:
            return None
        numbers = self._numbers
        above = numbers >= interval.low if interval.with_low else numbers > interval.low
        below = numbers <= interval.high if interval.with_high else numbers < interval.high
        codes = np.flatnonzero(above & below)
        return codes if codes.size else None

    @functools.cached_property
    def _numbers(self) -> NDArray[np.float64]:
        return np.array([np.nan if text is None else float(text) for text in self.values])

    @functools.cached_property
    def _ranks(self) -> tuple[Integers, Integers]:
        """The values in order, and the rank of each."""
        if is_number(self.kind):
            order = np.argsort(self._numbers, kind="stable")
        else:  # dates are spelled so that their text sorts like them
            order = np.array(
                sorted(range(len(self.values)), key=lambda code: self.values[code] or ""), np.int64
            )
        order = order[[self.values[code] is not None for code in order]]
        rank = np.empty(len(self.values), np.int64)
        rank[order] = np.arange(order.size)
        return order, rank
