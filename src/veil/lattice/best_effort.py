"""Best effort: a greedy descent, then optimal searches of sub-lattices around the best node so far.

What makes optimal search hopeless in high dimensions is the number of attributes, not the work at a node. So most
attributes are held at the levels of the best node, a few are set free, and branch and bound finds the best node
of that sub-lattice, with the best score so far as its cutoff. Two to twenty free attributes are decided together
in a few hundred checks, most of them on small tables: attributes that are held at a high level make every
class table of the sub-lattice small.

How many attributes are set free follows from how much the last sub-lattices cost. Between a quarter and three
quarters of them are attributes that can still be generalized, because a better node mostly trades one attribute for
another, and what is traded for what is not known. Where many
sub-lattices in a row bring nothing, more checks are allowed for each, until one of them is the whole space and the
search ends with a proof.
"""

from __future__ import annotations

import random
from typing import Annotated, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.lattice.cuts import cuts_for
from veil.lattice.lightning import descend
from veil.lattice.optimal import BranchAndBound
from veil.lattice.search import Search, Strategy

CHECKS = 200
"""Checks allowed for a sub-lattice in the beginning."""

PATIENCE = 64
"""Sub-lattices without improvement after which twice as many checks are allowed for each."""


@declared(kind_of=Strategy)
class BestEffort(Strategy):
    """Greedy descent from the top, then optimal searches of sub-lattices around the best node so far.

    The strategy of choice for spaces that cannot be searched completely. Given enough time it ends with a proof.
    """

    seed: Annotated[int, Field(description="the same seed and number of checks give the same result")] = 0
    kind: Literal["BestEffort"] = Field(default="BestEffort", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        Neighbourhoods(search, self.seed).run()


class Neighbourhoods:
    """The state of a best-effort search; it can be interrupted between sub-lattices and go on."""

    def __init__(self, search: Search, seed: int) -> None:
        self.search = search
        self.random = random.Random(seed)
        self.movable = [
            j
            for j, (low, high) in enumerate(zip(search.space.minimum, search.space.maximum, strict=True))
            if low < high
        ]
        self.cuts = cuts_for(search.evaluator)
        # How many attributes are set free: one level up and down, or all the way.
        self.sizes = {1: 6, 999: 5}
        self.checks = CHECKS
        self.fruitless = 0
        self.has_descended = False

    def run(self, *, until: float = float("inf")) -> None:
        """Search until the whole space has been covered, or so many seconds have passed."""
        search = self.search
        if not self.has_descended:
            descend(search)
            self.has_descended = True
        while search.elapsed < until:
            reach = self.random.choice(tuple(self.sizes))
            boxes = BranchAndBound(search, *self._around(self._centre(), reach), self.cuts)
            before = search.best
            finished = boxes.run(checks=self.checks)
            if boxes.is_whole and finished:
                boxes.conclude()
                return
            self._learn(reach, finished, search.best != before)

    def _centre(self) -> Levels:
        """The best node; as long as there is none, the one that violates least."""
        if self.search.best is not None:
            return self.search.best[2]
        seen = self.search.space.evaluated.values()
        return min(seen, key=lambda each: (each.tally.suppressed, each.levels)).levels

    def _around(self, centre: Levels, reach: int) -> tuple[Levels, Levels]:
        """Choose which attributes to set free, and return the corners of the sub-lattice."""
        space, size = self.search.space, self.sizes[reach]
        rising = [j for j in self.movable if centre[j] < space.maximum[j]]
        at_top = [j for j in self.movable if centre[j] == space.maximum[j]]
        self.random.shuffle(rising)
        self.random.shuffle(at_top)
        share = self.random.randint(size // 4, size - size // 4)
        half = max(share, size - len(at_top))
        free = {*rising[:half], *at_top[: size - min(half, len(rising))]}
        low = tuple(
            max(space.minimum[j], level - reach) if j in free else level for j, level in enumerate(centre)
        )
        high = tuple(
            min(space.maximum[j], level + reach) if j in free else level for j, level in enumerate(centre)
        )
        return low, high

    def _learn(self, reach: int, finished: bool, improved: bool) -> None:
        """Let the next sub-lattices be as large as the checks allow."""
        if not finished:
            self.sizes[reach] = max(2, self.sizes[reach] - 1)
        else:
            self.sizes[reach] = min(len(self.movable), self.sizes[reach] + 1)
        self.fruitless = 0 if improved else self.fruitless + 1
        if self.fruitless == PATIENCE:
            self.fruitless = 0
            self.checks *= 2
