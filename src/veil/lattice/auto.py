"""The default strategy: an optimal search within the time limit, else best effort."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.lattice.best_effort import Neighbourhoods
from veil.lattice.optimal import BranchAndBound
from veil.lattice.search import Search, Strategy

PROVABLE = 10**12
"""Largest number of nodes for which a proof is tried again after best effort."""


@declared(kind_of=Strategy)
class Auto(Strategy):
    """Optimal search for a quarter of the time; then best effort; then the proof again if it is within reach.

    The result includes whether the best transformation is proven optimal; if not, a score that no
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
            if not search.proven:  # best effort may also end with a proof
                whole.conclude()
