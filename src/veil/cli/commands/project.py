"""`veil project`: a plan with its hierarchies and table in one file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from veil.cli.base import START, Overwrite, argument, declared, option


class ProjectAction(StrEnum):
    """What is done with a project."""

    pack = "pack"
    unpack = "unpack"
    show = "show"


@declared(START, "project.project", tables=False)
class ProjectCommand(Overwrite):
    """Pack a recipe with its hierarchies into one file, or unpack a project of Veil or ARX.

    The workbench opens and saves the same files. Anything in an ARX project that Veil cannot import is listed.

    [cyan]veil project pack recipe.yaml -o study.veil[/cyan]

    [cyan]veil project unpack study.deid -o study[/cyan]

    [cyan]veil workbench study.veil[/cyan]
    """

    action: ProjectAction = argument("Make a project, unpack one, or show what is in it.", "pack|unpack|show")
    file: Path = argument("A recipe to pack (.yaml), or a project: of Veil (.veil) or ARX (.deid).", "FILE")
    output: Path | None = option(
        "The project, or the folder to unpack into.", "FILE|FOLDER", None, "--output", "-o"
    )
    with_table: bool = option(
        "Pack the table as well: anyone who has the file then has the data.", default=False
    )
