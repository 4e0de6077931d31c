"""The utility of a release.

compare(original, released, ["age", "sex"])     # everything, in one call
utility_of(release)                             # the same for a release
veil.frontier(table, plan, over={"k": [2, 5, 10]})   # risk and utility of many releases, and the best of them

Single measures read a `Comparison` of two tables: `quality_measures`, `summary_statistics`, `distribution`,
`contingency`, `preservation`, `query_error`, `count_query`, `classification`, `regression`.

Who has only the release, or a released table with its hierarchies, asks `count_bounds`, `mean_bounds`, `features` and
`at_levels`, whose labels may be of several levels.
"""

from veil.utility.bounds import count_bounds, mean_bounds
from veil.utility.classifiers import classification
from veil.utility.comparison import Comparison
from veil.utility.counts import count_query
from veil.utility.distributions import contingency, distribution
from veil.utility.levels import at_levels
from veil.utility.membership import features
from veil.utility.numeric import preservation
from veil.utility.quality import quality_measures
from veil.utility.queries import query_error
from veil.utility.regressors import regression
from veil.utility.statistics import summary_statistics
from veil.utility.summary import compare, utility_of

__all__ = [
    "Comparison",
    "at_levels",
    "classification",
    "compare",
    "contingency",
    "count_bounds",
    "count_query",
    "distribution",
    "features",
    "mean_bounds",
    "preservation",
    "quality_measures",
    "query_error",
    "regression",
    "summary_statistics",
    "utility_of",
]
