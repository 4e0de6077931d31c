"""`veil private-table`: a differentially private table, from a recipe or options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veil.api.job import table_of
from veil.api.open import place_of
from veil.api.private_table import publish_private_table
from veil.cli import files, grammar, show
from veil.cli.ask import read_bounds, read_pairs, unit_of
from veil.cli.budget import open_budget
from veil.cli.places import warn_about_passwords
from veil.dp.accountant import Accountant
from veil.dp.private_table import METHODS, PrivateTable
from veil.engines.database import is_url
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import PlanError
from veil.recipe.parts import is_path
from veil.recipe.private_table import PrivateTableRecipe


def make_and_show(
    source: str,
    method: str | None,
    declared: dict[str, Sequence[Any]],
    *,
    neighbours: str | None,
    budget: Path | None,
    format: str | None,
    engine: Engine | Settings | None,
    output: Path | None,
    report: Path | None,
    overwrite: bool,
    quiet: bool,
    **price: Any,
) -> None:
    """Make the table, write it, and show its guarantees."""
    option_format = grammar.format(format)
    prices = {name: value for name, value in price.items() if value is not None}
    if not is_url(source) and files.is_recipe(Path(source)):
        if method or neighbours or prices or any(declared.values()):
            raise PlanError(
                f"the method, its price and the declarations are in the recipe: change {source} instead"
            )
        recipe = PrivateTableRecipe.read(source)
        place, reading = table_of(recipe, format=option_format)
        accountant = _account(place, budget or recipe.budget_path)
    else:
        if method is None:
            raise PlanError("say how to make it private, such as --method individual-ranking:k=100")
        chosen_method = grammar.read(method, METHODS, "--method")
        place, reading = place_of(source), option_format
        accountant = _account(place, budget)
        relation = neighbours or (None if accountant is None else accountant.neighbours)
        if relation is None:
            raise PlanError(
                'say what the table should hide: --neighbours "one changed" or "one more or less"'
            )
        recipe = PrivateTableRecipe.model_validate(
            {
                "neighbours": relation,
                "bounds": {
                    name: read_bounds(name, text) for name, text in read_pairs("--bounds", declared["bounds"])
                },
                "domains": {
                    name: text if is_path(text) and "|" not in text else text.split("|")
                    for name, text in read_pairs("--domains", declared["domains"])
                },
                "missing": {
                    name: grammar.value_of(text)
                    for name, text in read_pairs("--missing", declared["missing"])
                },
                "columns": grammar.names(declared["columns"]) or None,
                **unit_of(declared),
                "method": chosen_method,
                **prices,
            }
        )
    warn_about_passwords(place)
    targets = [
        each for each in (output or recipe.output_path, report or recipe.report_path) if each is not None
    ]
    with files.track_outputs(targets), recipe.own_words():
        table = publish_private_table(
            recipe,
            accountant,
            input=place,
            format=reading,
            engine=engine or "auto",
            output=output,
            report=report,
            overwrite=overwrite,
        )
        if not quiet:
            _show(table, targets)


def _account(place: Any, budget: Path | None) -> Accountant | None:
    return None if budget is None else open_budget(place, budget)


def _show(table: PrivateTable, targets: Sequence[Path]) -> None:
    from rich.text import Text

    console = show.output()
    verdict = Text("yes", "green") if table.is_private else Text("NOT PRIVATE", "bold red")
    rows: list[tuple[Any, Any]] = [
        ("differentially private", verdict),
        ("method", table.method),
        ("price", str(table.spent)),
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
