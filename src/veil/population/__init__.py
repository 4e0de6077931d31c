"""Super-population models: how many people in the population are as unique as they are in the sample.

All estimators see the sample as a histogram: `sizes`, the different class sizes in ascending order, and
`counts`, how many classes have each. They are estimates, not bounds: a statistical model of the population
stands behind each of them, and nobody can tell from the sample whether it is right.
"""

from veil.population.dankar import Estimate, Estimator, estimate
from veil.population.regions import REGIONS, Region
from veil.population.size import AnyPopulation, Population, population_of

__all__ = [
    "REGIONS",
    "AnyPopulation",
    "Estimate",
    "Estimator",
    "Population",
    "Region",
    "estimate",
    "population_of",
]
