"""Super-population models: estimates of the number of sample uniques that are population uniques.

All estimators take the sample as a histogram: `sizes`, the different class sizes in ascending order, and
`counts`, the number of classes of each size. They are estimates, not bounds: each rests on a statistical
model of the population, which the sample cannot confirm.
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
