"""The command line as a whole: its entry point and all its commands."""

from __future__ import annotations

import gc
import signal
import sys
import time
from typing import Annotated

import typer

from veil.base.signals import ENDING
from veil.cli import failures, startup
from veil.cli.base import PANELS, app
from veil.cli.commands import (
    anonymize,
    ask,
    catalogue,
    doctor,
    inspect,
    keys,
    mask,
    policy,
    private_table,
    project,
    run,
    workbench,
)

__all__ = [
    "anonymize",
    "app",
    "ask",
    "catalogue",
    "doctor",
    "inspect",
    "keys",
    "main",
    "mask",
    "policy",
    "private_table",
    "project",
    "run",
    "workbench",
]

app.registered_commands.sort(key=lambda each: PANELS.index(str(each.rich_help_panel)))


def main() -> None:
    """Run the command line."""
    for number in ENDING:
        is_hangup = number == getattr(signal, "SIGHUP", None)
        if not (is_hangup and signal.getsignal(number) is signal.SIG_IGN):  # set by nohup
            signal.signal(number, _interrupt if number == signal.SIGINT else _end)
    startup.own_process = True
    gc.set_threshold(50_000)  # imports create many objects that stay: collecting them is in vain
    try:
        with failures.explain_errors():  # for output of click; commands have their own
            app(prog_name="veil")
    except typer.Exit as ended:
        sys.exit(ended.exit_code)


def _end(number: int, _: object) -> None:
    """End as cleanly on SIGTERM (schedulers) and SIGHUP (closed terminals) as on Ctrl-C."""
    if _is_new():
        failures.stopped = 128 + number
        sys.exit(failures.stopped)


def _interrupt(_: int, __: object) -> None:
    if _is_new():
        raise KeyboardInterrupt


def _is_new() -> bool:
    """Return whether this is no repetition: the supervisor forwards signals that reach all processes."""
    now = time.monotonic()
    is_new = not failures.is_ending or now - failures.ended > 1
    failures.is_ending, failures.ended = True, now
    return is_new


def _version(is_set: bool) -> None:
    if is_set:
        from veil.base.version import __version__

        typer.echo(f"veil {__version__}")
        raise typer.Exit


@app.callback()
def veil(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of unexpected errors.")] = False,
) -> None:
    """Anonymize tables about people, with guarantees that are proven and verified.

    Start with [bold]veil demo[/bold].

    Exit codes: 0 done; 1 a broken promise; 2 wrong input; 3 a promise that could not be checked; 4 no solution;
    70 a bug in Veil; 71 a crash of a library; 129 the terminal was closed; 130 Ctrl-C; 141 nobody reads the output; 143
    ended by a scheduler.
    """
    failures.show_tracebacks = debug
