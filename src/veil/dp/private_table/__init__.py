"""Tables that are differentially private as a whole. Mechanisms in new files register themselves."""

from typing import Annotated

from veil.base.registry import Family, import_files
from veil.dp.private_table.corners import Corners
from veil.dp.private_table.marginal_tree import MarginalTree
from veil.dp.private_table.method import TableMechanism
from veil.dp.private_table.ranking import IndividualRanking
from veil.dp.private_table.release import PrivateTable, private_table
from veil.dp.private_table.taxonomy import ConceptTaxonomy

import_files(__name__)

METHODS = Family(
    TableMechanism,  # type: ignore[type-abstract]
    "veil.private_tables",
    order=("IndividualRanking", "MarginalTree", "Corners"),
)
"""All table mechanisms by their kind."""

AnyMethod = Annotated[TableMechanism, METHODS]
"""A union of them, discriminated by `kind`: the form that recipes use."""

__all__ = [
    "METHODS",
    "AnyMethod",
    "ConceptTaxonomy",
    "Corners",
    "IndividualRanking",
    "MarginalTree",
    "PrivateTable",
    "private_table",
]
