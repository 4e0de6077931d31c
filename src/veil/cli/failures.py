"""How a command ends when it does not end well: one clear message, an exit code, and no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from veil.errors import NoSolutionError, VeilError, VerificationError

BROKEN = 1
"""The plan is fine and the data can be read, but a promise does not hold or cannot be kept."""

MISTAKEN = 2
"""The command line, the plan, the input or the target of the output is wrong."""

NOT_CHECKED = 3
"""No promise is broken, but not every one could be checked."""

UNEXPECTED = 70
"""A mistake in Veil itself (the number that sysexits.h gives it)."""

STOPPED = 130
"""Ctrl-C (the number that shells give it)."""

show_tracebacks = False


@contextmanager
def explain_errors() -> Iterator[None]:
    """Run a command, whose options are text: turn what goes wrong into a message on stderr and an exit code."""
    try:
        from veil.base.declare import numbers_as_text

        with numbers_as_text():
            yield
    except (typer.Exit, typer.Abort):
        raise
    except VeilError as error:
        from veil.cli.options import spell_option

        complain(str(error.spell_ways(spell_option)))
        raise typer.Exit(
            BROKEN if isinstance(error, NoSolutionError | VerificationError) else MISTAKEN
        ) from None
    except MemoryError:
        complain(
            "there is not enough memory for this table. Use a machine with more, or fewer columns or rows"
        )
        raise typer.Exit(MISTAKEN) from None
    except (Exception, KeyboardInterrupt) as error:
        if is_stop(error):
            say("stopped; nothing was written")
            raise typer.Exit(STOPPED) from None
        _apologize(error)
        raise typer.Exit(UNEXPECTED) from None


def is_stop(error: BaseException) -> bool:
    """Whether somebody has pressed Ctrl-C; DuckDB has a word of its own for it, and so have compiled kernels."""
    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    interrupted = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    return isinstance(error, KeyboardInterrupt) or interrupted


def complain(message: str) -> None:
    """Print an error."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    text = Text("error: ", style="bold red") + Text(printable(message))
    errors().print(text, soft_wrap=True)


def say(message: str) -> None:
    """Print something that is not an error, but does not belong into the output either."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    errors().print(Text(printable(message)), soft_wrap=True)


def _apologize(error: BaseException) -> None:
    if show_tracebacks:
        import traceback

        say("".join(traceback.format_exception(error)))
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "" if show_tracebacks else " Run `veil --debug …` for the details, and please report them."
    complain(f"sorry, this should not have happened ({told}).{hint}")
