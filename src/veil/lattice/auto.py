"""The default: a proof where that is possible in time, else the best that can be found in time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.lattice.best_effort import Neighbourhoods
from veil.lattice.optimal import BranchAndBound
from veil.lattice.search import Search, Strategy

PROVABLE = 10**12
"""Nodes up to which a proof is tried again with the better incumbent that best effort has found."""


@declared(kind_of=Strategy)
class Auto(Strategy):
    """Optimal search for a quarter of the time; then best effort; then the proof again if it is within reach.

    The result tells whether the best transformation is proven optimal; if not, it knows a score that no
    transformation can beat.
    """

    seed: Annotated[int, Field(description="seed of the best-effort part")] = 0
    kind: Literal["Auto"] = Field(default="Auto", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        space, limits = search.space, search.limits
        whole = BranchAndBound(search, space.minimum, space.maximum)
        try:
            if whole.run(checks=limits.checks / 4, until=limits.seconds / 4):
                return
            around = Neighbourhoods(search, self.seed)
            if space.size <= PROVABLE:
                around.run(until=search.elapsed + limits.seconds / 4)
                whole.run()
            else:
                around.run()
        finally:
            if not search.proven:  # best effort may end with a proof of its own
                whole.conclude()
