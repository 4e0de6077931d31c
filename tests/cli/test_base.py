"""Commands are declared once: the class is the source of parameters, help and the value that a handler gets."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.main import get_command

from veil.cli.app import app
from veil.cli.base import Options, argument, option


class _Files(Options):
    output: Path | None = option("Where to write.", "FILE", None, "--output", "-o")
    marker: str = option("Text of a suppressed cell.", "TEXT", "*")


class _Example(_Files):
    source: str = argument("The table.", "TABLE")
    columns: list[str] = option("Columns.", "COLUMNS", ...)
    others: list[str] = option("Further columns.", "COLUMNS")
    marker: str = option("Another text.", "TEXT", "?")


def test_own_fields_come_before_those_of_groups_and_replace_them() -> None:
    assert list(_Example.declarations()) == ["source", "columns", "others", "marker", "output"]
    assert _Example.declarations()["marker"][1].default == "?"


def test_only_fields_without_a_default_are_required() -> None:
    required = [each.name for each in _Example.parameters() if each.default is each.empty]
    assert required == ["source", "columns"]


def test_a_list_that_is_not_given_is_empty() -> None:
    options = _Example(source="t.csv", columns=["age"], others=None, marker="?", output=None)
    assert (options.columns, options.others, options.output) == (["age"], [], None)


def test_a_declared_command_has_an_option_for_each_field() -> None:
    from veil.cli.commands.inspect import RiskCommand

    command = get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    names = {each.name for each in command.commands["risk"].params}
    assert names == set(RiskCommand.declarations())
