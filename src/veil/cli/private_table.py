"""`veil private-table`: a differentially private table, from a recipe or options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veil.api.budget import open_budget
from veil.api.resolve import resolve
from veil.api.run import apply_steps
from veil.cli import files, grammar, show
from veil.cli.budgeted import fields_of, person_of, table_and_recipe
from veil.cli.places import reader
from veil.errors import PlanError
from veil.private_table.mechanisms import METHODS
from veil.private_table.release.result import PrivateTable
from veil.private_table.step import PrivateTableStep
from veil.recipe import Recipe

if TYPE_CHECKING:
    from veil.cli.commands.private_table import PrivateTableCommand


def private_table(options: PrivateTableCommand) -> None:
    """Make the table, write it, and show its guarantees."""
    fields, person = fields_of(options, PrivateTableStep), person_of(options)
    what = "the method, its privacy loss and the declarations are"
    place, table_format, recipe = table_and_recipe(options, "private-table", [*fields, *person], what)
    budget = options.budget if recipe is None else options.budget or recipe.path("budget")
    if recipe is None and "method" not in fields:
        raise PlanError("say how to make it private, such as --method individual-ranking:k=100")
    accountant = None if budget is None else open_budget(place, budget)
    if recipe is None:
        fields["method"] = grammar.read(fields["method"], METHODS, "--method")
        if accountant is not None:
            fields.setdefault("neighbours", accountant.neighbours)
        if "neighbours" not in fields:
            raise PlanError(
                'say what the table should hide: --neighbours "one changed" or "one more or less"'
            )
        recipe = Recipe(steps=[{"kind": "PrivateTable", **fields}], **person)
    run = resolve(
        recipe,
        input=place,
        format=table_format,
        engine=reader(options.engine and options.engine.value, None, None),
        output=None if options.output is None else str(options.output),
        report=options.report,
        overwrite=options.overwrite,
    )
    targets = list(run.targets.values())
    with files.track_outputs(targets):
        table = apply_steps(run, None, threads=None, progress=None, accountant=accountant)
        if not options.quiet:
            _show(table, targets)


def _show(table: PrivateTable, targets: Sequence[Path]) -> None:
    from rich.text import Text

    console = show.output()
    verdict = Text("yes", "green") if table.is_private else Text("NOT PRIVATE", "bold red")
    rows: list[tuple[Any, Any]] = [
        ("differentially private", verdict),
        ("method", table.method),
        ("privacy loss", str(table.loss)),
        ("neighbours", table.neighbours),
        ("whose rows", table.whose),
        ("rows", f"{table.records:,}"),
    ]
    if table.budget is not None:
        rows.append(("left of the budget", table.budget))
    console.print(show.table("Private table", ("", ""), rows))
    for each in (table.proof, *table.notes):
        console.print(each, markup=False)
    show.files(console, list(zip(("table", "report"), targets, strict=False)))
