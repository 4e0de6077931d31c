"""Tables that are differentially private as a whole."""

from veil.dp.private_table.corners import Corners
from veil.dp.private_table.marginal_tree import MarginalTree
from veil.dp.private_table.ranking import IndividualRanking
from veil.dp.private_table.release import PrivateTable, private_table
from veil.dp.private_table.taxonomy import Taxonomy

__all__ = ["Corners", "IndividualRanking", "MarginalTree", "PrivateTable", "Taxonomy", "private_table"]
