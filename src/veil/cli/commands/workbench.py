"""`veil workbench`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import START, command


@command(START, "workbench")
def open_workbench(
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TABLE|PROJECT]",
            help="What to start with: a table (CSV, Excel, Parquet, Feather) or a project (.veil, ARX's .deid).",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Where to listen; 0.0.0.0 for all addresses of this machine. Any host other than this machine needs "
            "--token-file.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Which port; 0 for any free one.")] = 0,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own token, in a file that only you can read, instead of a new one."
        ),
    ] = None,
    allow_paths: Annotated[
        bool, typer.Option("--allow-paths", help="Let the page open files on this machine by their path.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A further name by which browsers may ask, such as that of a server in front, with its port if it has one. "
            "Can be given several times.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="How much memory the process of each session may take, such as 4GB; by default, what is free when it begins.",
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address instead of opening a browser.")
    ] = False,
) -> None:
    """Open the workbench: from a table to a release in your browser, step by step.

    It runs on this machine, for you only: nothing is
    fetched from elsewhere, and its data are removed when it stops.
    """
    startup.quick()
    if table is not None:
        from veil.tables.reading import check_readable

        check_readable(table)
    # By name: the command line and the workbench do not know each other.
    importlib.import_module("veil.web.serve").serve(
        table,
        host=host,
        port=port,
        token_file=token_file,
        allow_paths=allow_paths,
        allow_host=allow_host or (),
        browser=not no_browser,
        memory=memory,
        echo=typer.echo,
    )
