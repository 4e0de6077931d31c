"""Tables that are differentially private as a whole.

private_table(patients, MarginalTree(), 1, delta=1e-6, neighbours="one changed", person=None, bounds=bounds)
"""

from veil.private_table.mechanisms.corners import Corners
from veil.private_table.mechanisms.marginal_tree import MarginalTree
from veil.private_table.mechanisms.ranking import IndividualRanking
from veil.private_table.release.private_table import private_table
from veil.private_table.release.result import PrivateTable

__all__ = ["Corners", "IndividualRanking", "MarginalTree", "PrivateTable", "private_table"]
