"""`veil project`: recipes, hierarchies and tables in one file."""

from __future__ import annotations

from pathlib import Path

import typer

from veil.cli import show
from veil.cli.commands.project import ProjectAction, ProjectCommand
from veil.recipe import Project, Recipe
from veil.recipe.project import Attached


def project(options: ProjectCommand) -> None:
    """Pack a recipe, or unpack or show a project."""
    if options.action is ProjectAction.pack:
        _pack(options)
        return
    project = Project.read(options.file)
    console = show.output()
    if options.action is ProjectAction.unpack:
        folder = options.output or Path(options.file.stem)
        project.unpack(folder)
        show.files(console, [("recipe", folder / "recipe.yaml")])
    else:
        for line in _lines(project):
            console.print(line, markup=False)
    for each in project.left_out:
        console.print(f"not taken over: {each}", markup=False)


def _pack(options: ProjectCommand) -> None:
    recipe, table = Recipe.read(options.file), None
    if options.with_table:
        place = None if recipe.input is None else recipe.place_of(recipe.input)
        if not isinstance(place, Path) or not place.is_file():
            raise typer.BadParameter("only a table that is one file can be packed", param_hint="--with-table")
        table = Attached(place.name, place.read_bytes())
    target = options.output or options.file.with_suffix(".veil")
    path = Project.of(recipe, table=table).save(target, overwrite=options.overwrite)
    show.files(show.output(), [("project", path)])


def _lines(project: Project) -> list[str]:
    fields = project.generalize
    roles = ("quasi_identifiers", "sensitive", "insensitive", "identifying")
    return [
        *(f"{name.replace('_', ' ')}: {', '.join(fields[name])}" for name in roles if fields.get(name)),
        *(f"promise: {_spell(model)}" for model in fields.get("models", [])),
        f"table: {'none' if project.table is None else project.table.name}",
    ]


def _spell(model: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in model.items() if name != "hierarchy")
