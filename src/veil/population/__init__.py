"""Super-population models: estimates of the number of sample uniques that are population uniques.

All estimators take the sample as a histogram: `sizes`, the different class sizes in ascending order, and
`counts`, the number of classes of each size. They are estimates, not bounds: each rests on a statistical
model of the population, which the sample cannot confirm.
"""

from veil.population.dankar import estimate
from veil.population.regions import REGIONS
from veil.population.size import Population, population_of

__all__ = ["REGIONS", "Population", "estimate", "population_of"]
