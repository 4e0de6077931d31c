"""All builders under one name, so that a recipe can tell them apart by their `kind`."""

from __future__ import annotations

from typing import Annotated, Protocol, runtime_checkable

import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from veil.hierarchies._auto import Auto
from veil.hierarchies._basic import File, Identity, Suppression, Table
from veil.hierarchies._categories import Categories
from veil.hierarchies._dates import Dates
from veil.hierarchies._intervals import Intervals
from veil.hierarchies._ordering import Ordering
from veil.hierarchies._priority import Priority
from veil.hierarchies._redaction import Redaction
from veil.hierarchies.hierarchy import Hierarchy

Builder = Annotated[
    Intervals
    | Ordering
    | Redaction
    | Dates
    | Priority
    | Categories
    | Suppression
    | Identity
    | Auto
    | File
    | Table,
    Field(discriminator="kind"),
]
"""Any declared builder, for `pydantic.TypeAdapter` and so for recipes and their JSON schema."""


@runtime_checkable
class Builds(Protocol):
    """Whatever makes a hierarchy for a column: a declared builder, a `Hierarchy`, or a user's own class."""

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Make the hierarchy for the distinct `values` of a column, given how often each occurs."""
        ...
