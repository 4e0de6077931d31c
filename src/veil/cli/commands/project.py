"""`veil project`: a plan with its hierarchies and table in one file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from veil.cli.base import START, Overwrite, command


class _Action(StrEnum):
    pack = "pack"
    unpack = "unpack"
    show = "show"


@command(START)
def project(
    action: Annotated[
        _Action,
        typer.Argument(metavar="pack|unpack|show", help="Make a project, unpack one, or show what is in it."),
    ],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A recipe to pack (.yaml), or a project: of Veil (.veil) or ARX (.deid)."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE|FOLDER", help="The project, or the folder to unpack into."
        ),
    ] = None,
    with_table: Annotated[
        bool,
        typer.Option(
            "--with-table", help="Pack the table as well: anyone who has the file then has the data."
        ),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Pack a recipe with its hierarchies into one file, or unpack a project of Veil or ARX.

    The workbench opens and saves the same files. Anything in an ARX project that Veil cannot import is listed.

    [cyan]veil project pack recipe.yaml -o study.veil[/cyan]

    [cyan]veil project unpack study.deid -o study[/cyan]

    [cyan]veil workbench study.veil[/cyan]
    """
    from veil.cli import show
    from veil.recipe import Project, Recipe
    from veil.recipe.project import Attached

    console = show.output()
    if action is _Action.pack:
        recipe = Recipe.read(file)
        table = None
        if with_table:
            place = None if recipe.input is None else recipe.place_of(recipe.input)
            if not isinstance(place, Path) or not place.is_file():
                raise typer.BadParameter(
                    "only a table that is one file can be packed", param_hint="--with-table"
                )
            table = Attached(place.name, place.read_bytes())
        project = Project.of(recipe, table=table)
        target = file.with_suffix(".veil") if output is None else output
        show.files(console, [("project", project.save(target, overwrite=overwrite))])
        return
    project = Project.read(file)
    if action is _Action.unpack:
        folder = Path(file.stem) if output is None else output
        project.unpack(folder)
        show.files(console, [("recipe", folder / "recipe.yaml")])
    else:
        fields = project.generalize
        for name in ("quasi_identifiers", "sensitive", "insensitive", "identifying"):
            if fields.get(name):
                console.print(f"{name.replace('_', ' ')}: {', '.join(fields[name])}", markup=False)
        for model in fields.get("models", []):
            console.print("promise: " + ", ".join(f"{name} {value}" for name, value in model.items() if name != "hierarchy"), markup=False)  # fmt: skip
        console.print(f"table: {'none' if project.table is None else project.table.name}", markup=False)
    for each in project.left_out:
        console.print(f"not taken over: {each}", markup=False)
