"""Private tables from recipes: opened, paid for, made, and written with their report or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from veil.api.ask import hold_cells
from veil.api.job import table_of
from veil.api.open import Engine, Place
from veil.api.targets import check_ending, check_targets
from veil.dp.accountant import Accountant
from veil.dp.private_table import PrivateTable, private_table
from veil.errors import PlanError, Say
from veil.recipe.private_table import PrivateTableRecipe
from veil.tables import Format, output_format
from veil.tables.atomic import Together
from veil.tables.writing import write

REPORTS = (".html", ".htm", ".pdf", ".json")


def publish_private_table(
    recipe: PrivateTableRecipe,
    accountant: Accountant | None = None,
    *,
    input: Place | None = None,
    format: Format | None = None,
    engine: Engine = "auto",
    output: Path | None = None,
    report: Path | None = None,
    overwrite: bool = False,
) -> PrivateTable:
    """Make a private table by a recipe, and write it with its report; arguments override the recipe.

    Places are checked before anything is paid. A table that cannot be written is paid for nevertheless.
    """
    place, input_format = table_of(recipe, input=input, format=format)
    target = output or recipe.output_path
    if target is None:
        raise PlanError(
            f"{recipe.name} does not say where to write the table: add `output`, or give ", Say("output")
        )
    report_path = report or recipe.report_path
    for name in ("key", "certificate", "sign", "acknowledge"):
        if getattr(recipe, name):
            raise PlanError(
                f"{recipe.name}: `{name}` is only for releases of true records; leave it out for a private table"
            )
    targets = {"table": target} | ({} if report_path is None else {"report": report_path})
    inputs = [each for each in (place, recipe.file) if isinstance(each, Path) and not os.path.isdir(each)]
    check_targets(targets, keep=inputs, overwrite=overwrite or recipe.overwrite)
    output_format(target)
    if report_path is not None:
        check_ending(report_path, "report", REPORTS)
    result = private_table(
        hold_cells(place, input_format, engine),
        recipe.method,
        recipe.epsilon,
        neighbours=recipe.neighbours,
        person=recipe.person,
        rows_per_person=recipe.rows_per_person,
        bounds=recipe.bounds,
        domains=recipe.known_domains(),
        missing=recipe.missing,
        columns=recipe.columns,
        delta=recipe.delta,
        rho=recipe.rho,
        accountant=accountant,
    )
    with Together(overwrite=overwrite or recipe.overwrite) as files:
        with files.making(target) as path:
            write(result.table, path)
        if report_path is not None:
            with files.making(report_path) as path:
                result.report(path)
    return result
