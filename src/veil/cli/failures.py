"""How a command ends when it does not end well: one clear message, an exit code, and no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

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
"""The plan can be read, and so can the data, but no release keeps all promises."""

UNEXPECTED = 70
"""A bug in Veil (the number that sysexits.h gives it)."""

stopped = 130
"""Ctrl-C (the number that shells give it), or 143 if a scheduler has lost patience."""

is_ending = False
"""Whether somebody has stopped the command: libraries turn that into errors of their own."""

ended = 0.0
"""When somebody has done so last."""

has_said_so = False
"""Whether somebody who has stopped the command was told what is there."""

written = ""
"""What is complete, in words, once it is: somebody may stop the command even then."""

show_tracebacks = False


@contextmanager
def explain_errors() -> Iterator[None]:
    """Run a command, whose options are text: turn what goes wrong into a message on stderr and an exit code."""
    global written, has_said_so
    written, has_said_so = "", False
    try:
        from veil.base.declare import numbers_as_text

        with numbers_as_text(), _telling_warnings():
            yield
    except (typer.Exit, typer.Abort):
        raise
    except VeilError as error:
        if is_ending:
            say_stopped()
            raise typer.Exit(stopped) from None
        there = f"; {written}" if isinstance(error, OutputError) and written else ""
        complain(_spelled(error) + there)
        raise typer.Exit(_code(error)) from None
    except MemoryError:
        # Loaded only where DuckDB, a database or Spark has the rows already.
        engine = "" if "ibis" in sys.modules else "; --engine duckdb works on disk"
        complain(
            "there is not enough memory for this table. Use a machine with more memory, or fewer columns or rows"
            f"{engine}"
        )
        raise typer.Exit(MISTAKEN) from None
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if is_stop(error):
            say_stopped()
            raise typer.Exit(stopped) from None
        if isinstance(error, SystemExit):
            raise
        _apologize(error)
        raise typer.Exit(UNEXPECTED) from None


def _spelled(error: VeilError) -> str:
    """Return the message with its ways out as options; as it is where the machine lets nothing further be imported."""
    try:
        from veil.cli.options import spell_option
    except VeilError:
        return str(error)
    return str(error.spell_ways(spell_option))


def code_of(error: BaseException) -> int:
    """Return the exit code that an error ends with."""
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, VeilError):
        return _code(error)
    if isinstance(error, MemoryError):
        return MISTAKEN
    return stopped if is_stop(error) else UNEXPECTED


@contextmanager
def _telling_warnings() -> Iterator[None]:
    """Tell what Python would warn of as the command tells everything else: in a sentence, without a line of code."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        yield


def _code(error: VeilError) -> int:
    if isinstance(error, NoSolutionError | ImpossibleError):
        return NO_SOLUTION
    return BROKEN if isinstance(error, VerificationError) else MISTAKEN


def is_stop(error: BaseException) -> bool:
    """Whether somebody has stopped the command; DuckDB has a word of its own for it, and so have compiled kernels."""
    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    interrupted = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    ended = isinstance(error, SystemExit) and error.code == stopped
    return is_ending or isinstance(error, KeyboardInterrupt) or interrupted or ended


def say_stopped(there: str = "") -> None:
    """Tell somebody who has stopped the command what is there."""
    global has_said_so
    if not has_said_so:
        say(f"stopped; {there or written or 'nothing was written'}")
    has_said_so = True


def complain(message: str) -> None:
    """Print an error."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    text = Text("error: ", style="bold red") + Text(printable(without_passwords(message)))
    errors().print(text, soft_wrap=True)


def say(message: str) -> None:
    """Print something that is not an error, but does not belong into the output either."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    errors().print(Text(printable(without_passwords(message))), soft_wrap=True)


def _apologize(error: BaseException) -> None:
    if show_tracebacks:
        import traceback

        say("".join(traceback.format_exception(error)))
    hint = (
        "The lines above may contain values of the table: check them before you pass them on."
        if show_tracebacks
        else "Run `veil --debug …` for details, which may contain values of the table."
    )
    complain(f"sorry, this is a bug in Veil: {what_happened(error)}. Please report it. {hint}")
