"""The population that a table is a sample of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.errors import ParameterError
from veil.population.regions import REGIONS, Region


@declared
class Population:
    """The people from whom the records of a table were chosen, given in one of three ways.

    >>> Population(region="USA").size_for(records=30_162)
    317238626
    >>> Population(sampling_fraction=0.4).size_for(records=1_001)  # 2502.5, rounded half up
    2503
    """

    size: Annotated[int | None, Field(ge=1, description="number of people")] = None
    region: Annotated[Region | None, Field(description="region whose number of people is known")] = None
    sampling_fraction: Annotated[
        float | None, Field(gt=0, le=1, description="share of the population that is in the table")
    ] = None

    def __post_init__(self) -> None:
        names = [name for name in ("size", "region", "sampling_fraction") if getattr(self, name) is not None]
        if len(names) != 1:
            raise ParameterError(
                "Population needs exactly one of `size`, `region` and `sampling_fraction`, not "
                + (" and ".join(f"`{name}`" for name in names) if names else "none")
            )

    def size_for(self, records: int) -> int:
        """Return the number of people, for a table of so many records."""
        if self.size is not None:
            return self.size
        if self.region is not None:
            return REGIONS[self.region]
        assert self.sampling_fraction is not None
        return math.floor(records / decimal_fraction(self.sampling_fraction) + Fraction(1, 2))

    def __str__(self) -> str:
        if self.size is not None:
            return f"{self.size} people"
        if self.region is not None:
            return f"the population of {self.region}"
        return f"a population of which the table is {self.sampling_fraction:.6g}"


def population_of(value: Any) -> Population:
    """Return a population from a number, the name of a region or a `Population`.

    >>> population_of("USA").region
    'USA'
    """
    specification = _population(value)
    if isinstance(specification, Population):
        return specification
    if not isinstance(specification, Mapping):
        raise ParameterError(
            f"`population` should be a number of people, the name of a region or a Population, not {value!r}"
        )
    return Population(**specification)


def _population(value: Any) -> Any:
    if isinstance(value, str):
        return {"region": value}
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return {"size": int(value)}
    return value


AnyPopulation = Annotated[
    Population, BeforeValidator(_population, json_schema_input_type=int | Region | Population)
]
"""A population, or its size or region alone."""
