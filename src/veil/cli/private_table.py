"""`veil private-table`: a differentially private table, from a recipe or options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veil.api.budget import open_budget
from veil.api.open import place_of
from veil.api.resolve import resolve, table_of
from veil.api.run import apply_steps
from veil.cli import files, grammar, show
from veil.cli.ask import read_bounds, read_pairs, unit_of
from veil.cli.places import warn_about_passwords
from veil.dp.accountant import Accountant
from veil.engines.database import is_url
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import PlanError
from veil.private_table import PrivateTable
from veil.private_table.mechanisms import METHODS
from veil.recipe import Recipe
from veil.recipe.parts import is_path


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
    **loss: Any,
) -> None:
    """Make the table, write it, and show its guarantees."""
    option_format = grammar.format(format)
    losses = {name: value for name, value in loss.items() if value is not None}
    if not is_url(source) and files.is_recipe(Path(source)):
        if method or neighbours or losses or any(declared.values()):
            raise PlanError(
                f"the method, its privacy loss and the declarations are in the recipe: change {source} instead"
            )
        recipe = files.read_recipe(Path(source), "private-table")
        place, reading = table_of(recipe, format=option_format)
        accountant = _account(place, budget or recipe.path("budget"))
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
        unit = unit_of(declared)
        step = {
            "kind": "PrivateTable",
            "neighbours": relation,
            "bounds": {
                name: read_bounds(name, text) for name, text in read_pairs("--bounds", declared["bounds"])
            },
            "domains": {
                name: text if is_path(text) and "|" not in text else text.split("|")
                for name, text in read_pairs("--domains", declared["domains"])
            },
            "missing": {
                name: grammar.value_of(text) for name, text in read_pairs("--missing", declared["missing"])
            },
            "columns": grammar.names(declared["columns"]) or None,
            "method": chosen_method,
            **losses,
            **{name: value for name, value in unit.items() if name != "person"},
        }
        recipe = Recipe(steps=[step], **{name: value for name, value in unit.items() if name == "person"})
    warn_about_passwords(place)
    run = resolve(
        recipe,
        input=place,
        format=reading,
        engine=engine,
        output=None if output is None else str(output),
        report=report,
        overwrite=overwrite,
    )
    targets = list(run.targets.values())
    with files.track_outputs(targets):
        table = apply_steps(run, None, threads=None, progress=None, accountant=accountant)
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
