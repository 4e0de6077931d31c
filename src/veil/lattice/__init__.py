"""The solution space and the strategies that search it.

Strategies in new files, and of other packages (entry point `veil.strategies`), are registered automatically.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from veil.base.registry import Family, find, import_files, snake
from veil.errors import ParameterError, did_you_mean
from veil.lattice.search import Strategy as Strategy

STRATEGIES = Family(Strategy, "veil.strategies")
"""All search strategies by their kind."""

AnyStrategy = Annotated[Strategy, STRATEGIES]
"""A union of them, discriminated by `kind`: the form that recipes use."""


def by_name(name: str) -> Strategy:
    """Return a strategy with its default parameters.

    >>> by_name("top_down")
    TopDown(minimal=False)
    """
    strategy = find(STRATEGIES, name)
    if strategy is None:
        short = sorted(map(snake, STRATEGIES))
        raise ParameterError(
            f"`strategy` should be one of {', '.join(short)}, not {name!r}.{did_you_mean(name, short)}"
        )
    return strategy()


if TYPE_CHECKING:  # names for editors and type checkers; others are found at run time
    from veil.lattice.auto import Auto as Auto
    from veil.lattice.best_effort import BestEffort as BestEffort
    from veil.lattice.genetic import Genetic as Genetic
    from veil.lattice.greedy import DataFly as DataFly
    from veil.lattice.greedy import ImprovedGreedy as ImprovedGreedy
    from veil.lattice.lightning import Lightning as Lightning
    from veil.lattice.lightning import TopDown as TopDown
    from veil.lattice.optimal import Optimal as Optimal
else:

    def __getattr__(name: str) -> Any:
        return STRATEGIES.attribute(__name__, name)

    def __dir__() -> list[str]:  # for completion, without the imports of this file
        return sorted(__all__)

    import_files(__name__)

    __all__ = ["STRATEGIES", "Strategy", *STRATEGIES.names]
