"""`veil workbench`."""

from __future__ import annotations

from pathlib import Path

from veil.cli.base import START, Options, argument, declared, option


@declared(START, "workbench.workbench")
class WorkbenchCommand(Options):
    """Open the workbench: from a table to a release in your browser, step by step.

    It runs on this machine, for you only: nothing is
    fetched from elsewhere, and its data are removed when it stops.
    """

    table: Path | None = argument(
        "What to start with: a table (CSV, Excel, Parquet, Feather) or a project (.veil, ARX's .deid).",
        "[TABLE|PROJECT]",
        None,
    )
    host: str = option(
        "Where to listen; 0.0.0.0 for all addresses of this machine. Any host other than this machine needs "
        "--token-file.",
        "NAME",
        "127.0.0.1",
    )
    port: int = option("Which port; 0 for any free one.", None, 0, min=0, max=65535)
    token_file: Path | None = option(
        "Your own token, in a file that only you can read, instead of a new one.", "FILE"
    )
    allow_paths: bool = option("Let the page open files on this machine by their path.", default=False)
    allow_host: list[str] = option(
        "A further name by which browsers may ask, such as that of a server in front, with its port if it has one. "
        "Can be given several times.",
        "NAME",
    )
    memory: str | None = option(
        "How much memory the process of each session may take, such as 4GB; by default, what is free when it begins.",
        "SIZE",
    )
    no_browser: bool = option("Print the address instead of opening a browser.", default=False)
