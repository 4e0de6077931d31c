"""The step PrivateTable: a table that is private as a whole, opened, paid for, made, and written with its report.

    person: patient
    budget: patients.csv.budget.json
    steps:
      - kind: PrivateTable
        neighbours: one changed
        rows_per_person: 1
        bounds: {age: [0, 120]}
        domains: {sex: [f, m], job: hierarchies/job.csv}
        missing: {age: 40}
        method: {kind: IndividualRanking, k: 100}
        epsilon: 1

Without a `budget`, nothing is accounted for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from veil.api.budget import open_budget
from veil.api.open import open_cells
from veil.api.resolve import Run, check_run
from veil.base.declare import declared
from veil.dp.accountant import Accountant
from veil.dp.unit import Unit
from veil.errors import PlanError
from veil.hierarchies import File, Hierarchy, Table
from veil.plan.plan import Option
from veil.private_table.mechanisms import METHODS, AnyMethod
from veil.private_table.release.private_table import private_table
from veil.private_table.release.result import PrivateTable
from veil.recipe import Recipe
from veil.recipe.neighbouring import DECLARED, Delta, Epsilon, Hidden, Rho, RowsPerPerson
from veil.recipe.parts import HierarchySpec, with_kind
from veil.recipe.steps import Annex
from veil.tables.atomic import AtomicWrite
from veil.tables.writing import write


def _method(value: Any) -> Any:
    spec = {"kind": value} if isinstance(value, str) else value
    return with_kind(spec, METHODS, "a method, such as {kind: IndividualRanking, k: 100},")


MethodSpec = Annotated[AnyMethod, BeforeValidator(_method, json_schema_input_type=str | AnyMethod)]


@declared(kind_of=Annex)
class PrivateTableStep(Annex):
    """A table that is private as a whole.

    >>> PrivateTableStep("one changed", "MarginalTree", bounds={"age": [0, 120]}, rho=0.1).method
    MarginalTree(breaks={}, library='own')
    """

    neighbours: Hidden
    method: Annotated[
        MethodSpec,
        Field(description="how the table is made private"),
        Option(
            metavar="METHOD",
            hint="Such as [cyan]individual-ranking:k=100[/cyan], [cyan]marginal-tree[/cyan], [cyan]corners:k=50[/cyan].",
        ),
    ]
    rows_per_person: RowsPerPerson = None
    bounds: Annotated[
        dict[str, tuple[int | float, int | float]],
        Field(
            description="the range of a column's values; of whole numbers, if both bounds are written as such"
        ),
        Option(metavar="COLUMN=LOW:HIGH", panel=DECLARED),
    ] = Field(default_factory=dict)
    domains: Annotated[
        dict[str, list[Any] | HierarchySpec],
        Field(description="which values a column may have: a list, or a hierarchy that is written out"),
        Option(
            None,
            "COLUMN=A|B or COLUMN=FILE",
            "which values a column may have: a list, or a hierarchy file",
            panel=DECLARED,
        ),
    ] = Field(default_factory=dict)
    columns: Annotated[
        list[str] | None,
        Field(min_length=1, description="which columns the table has; by default all"),
        Option(metavar="COLUMNS", panel=DECLARED),
    ] = None
    missing: Annotated[
        dict[str, Any],
        Field(description="what a cell counts as that is missing, no number, or no value of the domain"),
        Option(metavar="COLUMN=VALUE", panel=DECLARED),
    ] = Field(default_factory=dict)
    epsilon: Epsilon = None
    delta: Delta = 0
    rho: Rho = None
    kind: Literal["PrivateTable"] = Field(default="PrivateTable", repr=False, kw_only=True)

    command: ClassVar[str] = "private-table"
    makes_release: ClassVar[bool] = False
    unused: ClassVar[tuple[str, ...]] = (
        *("tables", "knows", "order", "certificate", "sign", "apart", "origins", "about", "acknowledge"),
    )

    def check(self, recipe: Recipe) -> None:
        super().check(recipe)
        Unit.declared(recipe.person, self.rows_per_person)

    def known_domains(self) -> dict[str, list[Any] | Hierarchy]:
        """Return the domains, which are known without the data."""
        return {name: _domain(name, domain) for name, domain in self.domains.items()}

    def carry_out(self, run: Run, *, accountant: Accountant | None = None, **options: Any) -> PrivateTable:
        """Make the table, and write it with its report.

        Places are checked before anything is paid. A table that cannot be written is paid for nevertheless.
        """
        check_run(run, None)
        step = run.recipe.located_steps()[0]
        if accountant is None and run.budget is not None:
            accountant = open_budget(run.input, run.budget)  # type: ignore[arg-type]
        result = private_table(
            open_cells(run.input, run.format, run.engine),
            step.method,
            person=run.recipe.person,
            domains=step.known_domains(),
            accountant=accountant,
            **{name: getattr(step, name) for name in _AS_THEY_ARE},
        )
        with AtomicWrite(overwrite=run.overwrite) as files:
            with files.making(Path(str(run.output))) as path:
                write(result.table, path)
            if run.report is not None:
                with files.making(run.report) as path:
                    result.report(path)
        return result


_AS_THEY_ARE = ("neighbours", "rows_per_person", "bounds", "missing", "columns", "epsilon", "delta", "rho")
"""Fields that `private_table` takes as they are."""


def _domain(name: str, domain: Any) -> list[Any] | Hierarchy:
    if isinstance(domain, list):
        return domain
    if isinstance(domain, File):
        return Hierarchy.read(
            domain.path,
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
