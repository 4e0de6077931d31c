"""Failures of commands: one clear message, an exit code, and no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from veil.base.as_text import numbers_as_text
from veil.errors import (
    ImpossibleError,
    NoSolutionError,
    OutputError,
    VeilError,
    VerificationError,
    what_happened,
    without_passwords,
)

BROKEN = 1
"""A promise does not hold."""

MISTAKEN = 2
"""The command line, the plan, the input or the target of the output is wrong."""

NOT_CHECKED = 3
"""No promise is broken, but not every one could be checked."""

NO_SOLUTION = 4
"""Plan and data are valid, but no release keeps all promises."""

UNEXPECTED = 70
"""A bug in Veil (EX_SOFTWARE of sysexits.h)."""

stopped = 130
"""Ctrl-C (128 + SIGINT, as in shells), or 128 and the number of another signal."""

is_ending = False
"""Whether the command was stopped: libraries turn that into errors of their own."""

ended = 0.0
"""The time of the last signal."""

stop_reported = False
"""Whether the message about the stop was printed."""

outputs = ""
"""A sentence about the complete outputs, for a stop after they were written."""

show_tracebacks = False


@contextmanager
def explain_errors() -> Iterator[None]:
    """Run a command, whose options are text: turn errors into a message on stderr and an exit code."""
    global outputs, stop_reported
    outputs, stop_reported = "", False
    try:
        with numbers_as_text(), _warnings_as_notes():
            yield
    except (typer.Exit, typer.Abort):
        raise
    except VeilError as error:
        if is_ending:
            report_stop()
            raise typer.Exit(stopped) from None
        there = f"; {outputs}" if isinstance(error, OutputError) and outputs else ""
        print_error(_message(error) + there)
        raise typer.Exit(_code(error)) from None
    except MemoryError:
        # Ibis is loaded only if DuckDB, a database or Spark has the rows already.
        engine = "" if "ibis" in sys.modules else "; --engine duckdb works on disk"
        print_error(
            "there is not enough memory for this table. Use a machine with more memory, or fewer columns or rows"
            f"{engine}"
        )
        raise typer.Exit(MISTAKEN) from None
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if is_stop(error):
            report_stop()
            raise typer.Exit(stopped) from None
        if isinstance(error, SystemExit):
            raise
        _report_bug(error)
        raise typer.Exit(UNEXPECTED) from None


def _message(error: VeilError) -> str:
    """Return the message with its ways out as options; unchanged if nothing more can be imported."""
    try:
        from veil.cli.options import spell_option
    except VeilError:
        return str(error)
    return str(error.spell_ways(spell_option))


def code_of(error: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, VeilError):
        return _code(error)
    if isinstance(error, MemoryError):
        return MISTAKEN
    return stopped if is_stop(error) else UNEXPECTED


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print Python's warnings as notes, without a line of code."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print_note(f"warning: {message}")
        yield


def _code(error: VeilError) -> int:
    if isinstance(error, NoSolutionError | ImpossibleError):
        return NO_SOLUTION
    return BROKEN if isinstance(error, VerificationError) else MISTAKEN


def is_stop(error: BaseException) -> bool:
    """Return whether the command was stopped; DuckDB and Numba then raise errors of their own."""
    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    interrupted = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    ended = isinstance(error, SystemExit) and error.code == stopped
    return is_ending or isinstance(error, KeyboardInterrupt) or interrupted or ended


def report_stop(there: str = "") -> None:
    """Print once that the command was stopped, and which outputs are complete."""
    global stop_reported
    if not stop_reported:
        print_note(f"stopped; {there or outputs or 'nothing was written'}")
    stop_reported = True


def print_error(message: str) -> None:
    """Print an error."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    text = Text("error: ", style="bold red") + Text(printable(without_passwords(message)))
    errors().print(text, soft_wrap=True)


def print_note(message: str) -> None:
    """Print a message on stderr that is not an error."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    errors().print(Text(printable(without_passwords(message))), soft_wrap=True)


def _report_bug(error: BaseException) -> None:
    if show_tracebacks:
        import traceback

        print_note("".join(traceback.format_exception(error)))
    hint = (
        "The lines above may contain values of the table: check them before you pass them on."
        if show_tracebacks
        else "Run `veil --debug …` for details, which may contain values of the table."
    )
    print_error(f"sorry, this is a bug in Veil: {what_happened(error)}. Please report it. {hint}")
