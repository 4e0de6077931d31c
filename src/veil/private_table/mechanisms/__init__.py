"""Mechanisms that make private tables. Those in new files register themselves."""

from typing import Annotated

from veil.base.registry import Family, import_files
from veil.private_table.mechanisms.table_mechanism import TableMechanism

import_files(__name__)

METHODS = Family(
    TableMechanism,  # type: ignore[type-abstract]
    "veil.private_tables",
    order=("IndividualRanking", "MarginalTree", "Corners"),
)
"""All table mechanisms by their kind."""

AnyMethod = Annotated[TableMechanism, METHODS]
"""A union of them, discriminated by `kind`: the form that recipes use."""
