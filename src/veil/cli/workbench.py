"""`veil workbench`: start the server of the workbench."""

from __future__ import annotations

import importlib

import typer

from veil.cli.commands.workbench import WorkbenchCommand
from veil.tables.reading import check_readable


def workbench(options: WorkbenchCommand) -> None:
    """Start the workbench, and open a browser."""
    if options.table is not None:
        check_readable(options.table)
    # By name: the command line and the workbench do not know each other.
    importlib.import_module("veil.web.serve").serve(
        options.table,
        host=options.host,
        port=options.port,
        token_file=options.token_file,
        allow_paths=options.allow_paths,
        allow_host=options.allow_host,
        browser=not options.no_browser,
        memory=options.memory,
        echo=typer.echo,
    )
