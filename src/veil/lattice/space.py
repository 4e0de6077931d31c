"""The part of the solution space that a search has evaluated, and proven bounds for the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from veil.base.arrays import Integers
from veil.classes.encoding import Levels
from veil.errors import PlanError
from veil.quality.base import NO_BOUND, Evaluation, Score

State = Literal["anonymous", "not anonymous", "pruned", "unseen"]

LARGEST_LISTING = 5_000_000
"""Spaces with more nodes than this are not listed node by node."""


class Box(NamedTuple):
    """All nodes between two corners, with bounds that hold for each of them."""

    low: Levels
    high: Levels
    bound: Score
    least: int
    possible: bool


class NodeRecord(NamedTuple):
    """The state of one node.

    `score` is set for evaluated anonymous nodes; otherwise `bound` is a score that the node does not beat.
    `suppressed` is exact for evaluated nodes and a lower bound for the others.
    """

    levels: Levels
    state: State
    score: Score | None
    bound: Score
    suppressed: int
    evaluated: bool


@dataclass
class Space:
    """Evaluated nodes, and boxes of nodes that were ruled out as a whole."""

    minimum: Levels
    maximum: Levels
    allowed: int
    evaluated: dict[Levels, Evaluation] = field(default_factory=dict)
    ruled_out: list[Box] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return math.prod(high - low + 1 for low, high in zip(self.minimum, self.maximum, strict=True))

    @property
    def is_listable(self) -> bool:
        """Whether the nodes are few enough to list them one by one."""
        return self.size <= LARGEST_LISTING

    def __contains__(self, levels: Levels) -> bool:
        return len(levels) == len(self.minimum) and all(
            low <= level <= high for low, level, high in zip(self.minimum, levels, self.maximum, strict=True)
        )

    def successors(self, levels: Levels) -> list[tuple[int, Levels]]:
        """Return the nodes that generalize one attribute by one level more, each with that attribute."""
        return [
            (j, (*levels[:j], level + 1, *levels[j + 1 :]))
            for j, (level, highest) in enumerate(zip(levels, self.maximum, strict=True))
            if level < highest
        ]

    def predecessors(self, levels: Levels) -> list[tuple[int, Levels]]:
        """Return the nodes that generalize one attribute by one level less, each with that attribute."""
        return [
            (j, (*levels[:j], level - 1, *levels[j + 1 :]))
            for j, (level, lowest) in enumerate(zip(levels, self.minimum, strict=True))
            if level > lowest
        ]

    def __getitem__(self, levels: Levels) -> NodeRecord:
        """Return the state of a node."""
        if levels not in self:
            raise PlanError(f"{levels} is not a node: levels run from {self.minimum} to {self.maximum}")
        evaluation = self.evaluated.get(levels)
        if evaluation is not None:
            state: State = "anonymous" if evaluation.anonymous else "not anonymous"
            bound = evaluation.base if evaluation.score is None else evaluation.score
            return NodeRecord(levels, state, evaluation.score, bound, evaluation.tally.suppressed, True)
        bound, least, possible = NO_BOUND, -1, True
        for box in self.ruled_out:
            if all(a <= b <= c for a, b, c in zip(box.low, levels, box.high, strict=True)):
                bound, least = max(bound, box.bound), max(least, box.least)
                possible &= box.possible
        return self._unevaluated_record(levels, bound, least, possible)

    def _unevaluated_record(self, levels: Levels, bound: Score, least: int, possible: bool) -> NodeRecord:
        hopeless = not possible or least > self.allowed
        state: State = "unseen" if least < 0 else "not anonymous" if hopeless else "pruned"
        return NodeRecord(levels, state, None, bound, max(0, least), False)

    def __iter__(self) -> Iterator[NodeRecord]:
        """Yield all nodes, the first attribute varying slowest."""
        if not self.is_listable:
            raise PlanError(
                f"{self.size} nodes are too many to list; use `evaluated`, or look up single nodes"
            )
        cover = self._cover()
        for levels in self.nodes():
            if levels in self.evaluated:
                yield self[levels]
                continue
            index = cover[tuple(level - low for level, low in zip(levels, self.minimum, strict=True))]
            if index < 0:
                yield self._unevaluated_record(levels, NO_BOUND, -1, True)
            else:
                box = self.ruled_out[index]
                yield self._unevaluated_record(levels, box.bound, box.least, box.possible)

    def nodes(self) -> Iterator[Levels]:
        """Yield all level vectors, the first attribute varying slowest."""
        shape = tuple(high - low + 1 for low, high in zip(self.minimum, self.maximum, strict=True))
        for offset in np.ndindex(*shape):
            yield tuple(low + step for low, step in zip(self.minimum, offset, strict=True))

    def _cover(self) -> Integers:
        """Return, for each node, the index of a box that rules it out, or -1."""
        shape = tuple(high - low + 1 for low, high in zip(self.minimum, self.maximum, strict=True))
        cover = np.full(shape, -1, np.int64)
        for index, box in enumerate(self.ruled_out):
            slices = tuple(
                slice(low - start, high - start + 1)
                for low, high, start in zip(box.low, box.high, self.minimum, strict=True)
            )
            cover[slices] = index
        return cover

    def counts(self) -> dict[State, int]:
        """Return the number of nodes in each state; in unlistable spaces, unevaluated ones are unseen."""
        result: dict[State, int] = {"anonymous": 0, "not anonymous": 0, "pruned": 0, "unseen": 0}
        records = self if self.is_listable else (self[levels] for levels in self.evaluated)
        for record in records:
            result[record.state] += 1
        result["unseen"] += self.size - sum(result.values())
        return result
