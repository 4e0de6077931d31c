"""The solution space and the strategies that search it."""

from __future__ import annotations

import re
from typing import Annotated, get_args

from pydantic import Field

from veil.errors import ParameterError, did_you_mean
from veil.lattice.auto import Auto
from veil.lattice.best_effort import BestEffort
from veil.lattice.genetic import Genetic
from veil.lattice.greedy import DataFly, ImprovedGreedy
from veil.lattice.lightning import Lightning, TopDown
from veil.lattice.optimal import Optimal
from veil.lattice.search import Strategy

__all__ = [
    "STRATEGIES",
    "AnyStrategy",
    "Auto",
    "BestEffort",
    "DataFly",
    "Genetic",
    "ImprovedGreedy",
    "Lightning",
    "Optimal",
    "Strategy",
    "TopDown",
    "by_name",
]

AnyStrategy = Annotated[
    Auto | BestEffort | DataFly | Genetic | ImprovedGreedy | Lightning | Optimal | TopDown,
    Field(discriminator="kind"),
]

STRATEGIES: dict[str, type[Strategy]] = {each.__name__: each for each in get_args(get_args(AnyStrategy)[0])}


def by_name(name: str) -> Strategy:
    """Return a strategy with its default parameters.

    >>> by_name("top_down")
    TopDown(minimal=False)
    """
    short = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower(): kind for kind in STRATEGIES}
    wanted = name.lower().replace("-", "_").replace(" ", "_")
    kind = short.get(wanted) or {kind.lower(): kind for kind in STRATEGIES}.get(wanted)
    if kind is None:
        raise ParameterError(
            f"`strategy` should be one of {', '.join(sorted(short))}, not {name!r}.{did_you_mean(name, short)}"
        )
    return STRATEGIES[kind]()
