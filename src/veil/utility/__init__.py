"""The utility of a release.

compare(original, released, ["age", "sex"])     # everything, in one call
utility_of(release)                             # the same for a release
veil.frontier(table, plan, over={"k": [2, 5, 10]})   # risk and utility of many releases, and the best of them

Single measures read a `Comparison` of two tables: `quality_measures`, `summary_statistics`, `distribution`,
`contingency`, `preservation`, `query_error`, `count_query`, `classification`, `regression`.
"""

from veil.utility.classifiers import classification
from veil.utility.comparison import Comparison
from veil.utility.counts import count_query
from veil.utility.distributions import contingency, distribution
from veil.utility.numeric import preservation
from veil.utility.quality import quality_measures
from veil.utility.queries import query_error
from veil.utility.regressors import regression
from veil.utility.statistics import summary_statistics
from veil.utility.summary import compare, utility_of

__all__ = [
    "Comparison",
    "classification",
    "compare",
    "contingency",
    "count_query",
    "distribution",
    "preservation",
    "quality_measures",
    "query_error",
    "regression",
    "summary_statistics",
    "utility_of",
]
