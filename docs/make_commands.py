"""Write docs/commands.md from the command line itself: `python docs/make_commands.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from veil.cli.app import app
from veil.cli.base import Commands

PAGE = Path(__file__).parent / "commands.md"

_INTRODUCTION = """# Command line

Generated from the commands by `docs/make_commands.py`. `veil COMMAND --help` shows the same in a terminal.

## Exit codes

| code | means |
|---|---|
| 0 | success |
| 1 | a broken promise |
| 2 | wrong input: a table, a recipe or an option |
| 3 | no promise is broken, but not every one could be checked |
| 4 | no solution: nothing keeps all promises |
| 70 | a bug in Veil; please report it |
| 71 | a library that Veil uses has crashed, most likely on a damaged file (on Linux; elsewhere the system says so) |
| 129 | the terminal was closed (SIGHUP) |
| 130 | stopped by Ctrl-C |
| 141 | nobody reads the output any more |
| 143 | ended by a scheduler (SIGTERM) |
"""


def text() -> str:
    """The whole page."""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    return _INTRODUCTION + "\n" + "\n".join(_commands(root, "veil")).rstrip() + "\n"


def _commands(group: TyperGroup, before: str) -> Iterator[str]:
    for name, command in group.commands.items():
        path = f"{before} {name}"
        command = group.complete(name, command) if isinstance(group, Commands) else command
        yield from _section(command, path)
        if isinstance(command, TyperGroup):
            yield from _commands(command, path)


def _section(command: TyperCommand, path: str) -> Iterator[str]:
    yield f"## {path}\n"
    yield "\n\n".join(map(_paragraph, (command.help or "").split("\n\n")))
    yield ""
    listed = [each for each in command.params if not each.hidden and each.name != "help"]
    for kind, headings in ((TyperArgument, ["argument"]), (TyperOption, ["option", "value"])):
        rows = [_row(each) for each in listed if isinstance(each, kind)]
        if rows:
            named = [*headings, "meaning"]
            yield from (f"| {' | '.join(named)} |", "|---" * len(named) + "|", *rows, "")


def _paragraph(said: str) -> str:
    """A paragraph of a command's help, from Rich's markup to Markdown: a command that stands alone becomes a block."""
    alone = re.fullmatch(r"\[cyan\](.+)\[/cyan\]", said.strip(), flags=re.DOTALL)
    return f"```sh\n{alone[1]}\n```" if alone and "[/cyan]" not in alone[1] else _inline(said)


def _inline(said: str) -> str:
    said = re.sub(r"\[cyan\](.+?)\[/cyan\]", r"`\1`", said, flags=re.DOTALL)
    said = re.sub(r"\[bold\](.+?)\[/bold\]", r"**\1**", said, flags=re.DOTALL)
    said = re.sub(r"\[/?[a-z ]+\]", "", said).replace("\\[", "[")
    parts = said.split(
        "`"
    )  # every second one is code already; options elsewhere become so, and keep their dashes
    parts[::2] = [re.sub(r"(?<![\w-])--[a-z][a-z-]*\w", r"`\g<0>`", each) for each in parts[::2]]
    return "`".join(parts)


def _row(parameter: TyperArgument | TyperOption) -> str:
    metavar = f"`{_cell(parameter.metavar or str(parameter.name).upper())}`"
    about = _cell(_inline(parameter.help or ""))
    if isinstance(parameter, TyperArgument):
        return f"| {metavar} | {about} |"
    names = ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))
    return f"| {names} | {'' if parameter.is_flag else metavar} | {about} |"


def _cell(content: str) -> str:
    return content.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
