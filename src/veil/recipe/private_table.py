"""Recipes of private tables: declarations about a table, the mechanism and the files, in YAML.

    input: patients.csv
    output: private.csv
    report: report.html
    budget: patients.csv.budget.json
    neighbours: one changed
    person: patient
    rows_per_person: 1
    bounds: {age: [0, 120]}
    domains: {sex: [f, m], job: hierarchies/job.csv}
    missing: {age: 40}
    method: {kind: IndividualRanking, k: 100}
    epsilon: 1

Relative paths start at the folder of the recipe. Without a `budget`, nothing is accounted for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field

from veil.dp.private_table import METHODS, AnyMethod
from veil.errors import PlanError
from veil.hierarchies import BUILDERS, File, Hierarchy, Table
from veil.recipe.asking import Number, OverNeighbours
from veil.recipe.base import schema_of
from veil.recipe.parts import HierarchySpec, with_kind
from veil.recipe.places import INPUTS, FilePath


def _method(value: Any) -> Any:
    spec = {"kind": value} if isinstance(value, str) else value
    return with_kind(spec, METHODS, "a method, such as {kind: IndividualRanking, k: 100},")


MethodSpec = Annotated[AnyMethod, BeforeValidator(_method, json_schema_input_type=str | AnyMethod)]


class PrivateTableRecipe(OverNeighbours):
    """How a table is made private as a whole, together with the files.

    >>> hidden = {"neighbours": "one changed", "person": None}
    >>> recipe = PrivateTableRecipe(**hidden, bounds={"age": [0, 120]}, method="MarginalTree", rho=0.1)
    >>> recipe.method
    MarginalTree(breaks={}, library='own')
    """

    model_config = ConfigDict(title="Veil recipe of a private table")

    output: Annotated[FilePath | None, Field(description="the file that the table is written to")] = None
    overwrite: Annotated[bool, Field(description="whether existing files may be replaced")] = False
    budget: Annotated[FilePath | None, Field(description="the budget file to charge")] = None
    bounds: Annotated[
        dict[str, tuple[int | float, int | float]],
        Field(
            default_factory=dict,
            description="the range of a column's values; of whole numbers, if both bounds are written as such",
        ),
    ]
    domains: Annotated[
        dict[str, list[Any] | HierarchySpec],
        Field(
            default_factory=dict,
            description="which values a column may have: a list, or a hierarchy that is written out",
        ),
    ]
    columns: Annotated[
        list[str] | None, Field(min_length=1, description="which columns the table has; by default all")
    ] = None
    missing: Annotated[
        dict[str, Any],
        Field(
            default_factory=dict,
            description="what a cell counts as that is missing, no number, or no value of the domain",
        ),
    ]
    method: Annotated[MethodSpec, Field(description="how the table is made private")]
    epsilon: Annotated[Number | None, Field(description="the price")] = None
    delta: Annotated[Number, Field(description="the delta, if the noise is gaussian")] = 0
    rho: Annotated[Number | None, Field(description="the price in zCDP, instead of epsilon and delta")] = None

    kinds: ClassVar[tuple[Mapping[str, type[Any]], ...]] = (METHODS, BUILDERS, INPUTS)

    @property
    def budget_path(self) -> Path | None:
        """The path of the budget, seen from here."""
        return None if self.budget is None else self.locate(self.budget)

    def known_domains(self) -> dict[str, list[Any] | Hierarchy]:
        """Return the domains, with files relative to the folder of the recipe."""
        return {name: self._domain(name, domain) for name, domain in self.domains.items()}

    def _domain(self, name: str, domain: Any) -> list[Any] | Hierarchy:
        if isinstance(domain, list):
            return domain
        if isinstance(domain, File):
            return Hierarchy.read(
                self.locate(domain.path),
                separator=domain.separator,
                header=domain.header,
                encoding=domain.encoding,
            )
        if isinstance(domain, Table):
            return Hierarchy.from_rows(domain.rows)
        raise PlanError(
            f"the domain of {name!r} is a hierarchy made from the data, but a domain must be known without "
            "the data: give a list of values, a hierarchy file or a table"
        )


def private_table_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of recipes of private tables."""
    return schema_of(PrivateTableRecipe)
