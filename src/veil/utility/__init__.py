"""The utility of a release.

compare(original, released, ["age", "sex"])     # everything, in one call
utility_of(release)                             # the same for a release
veil.frontier(table, plan, over={"k": [2, 5, 10]})   # risk and utility of many releases, and the best of them

Single measures read a `Comparison` of two tables: `quality_measures`, `summary_statistics`, `distribution`,
`contingency`, `preservation`, `query_error`, `count_query`, `classification`, `regression`.
"""

from veil.utility.attributes import AttributeQuality
from veil.utility.classifiers import ClassifierScores, classification
from veil.utility.comparison import Comparison
from veil.utility.counts import CountAnswer, count_query
from veil.utility.distributions import Contingency, Distribution, Frequencies, contingency, distribution
from veil.utility.measure import Measured, aggregate
from veil.utility.numeric import ColumnPreservation, Preservation, preservation
from veil.utility.performance import ClassPerformance, Performance
from veil.utility.quality import Quality, quality_measures
from veil.utility.queries import QueryError, query_error
from veil.utility.regressors import Regression, regression
from veil.utility.statistics import ColumnStatistics, Statistics, summary_statistics
from veil.utility.summary import ClassSummary, Utility, compare, utility_of

__all__ = [
    "AttributeQuality",
    "ClassPerformance",
    "ClassSummary",
    "ClassifierScores",
    "ColumnPreservation",
    "ColumnStatistics",
    "Comparison",
    "Contingency",
    "CountAnswer",
    "Distribution",
    "Frequencies",
    "Measured",
    "Performance",
    "Preservation",
    "Quality",
    "QueryError",
    "Regression",
    "Statistics",
    "Utility",
    "aggregate",
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
