"""How a command ends when it does not end well: one clear message, an exit code, and no traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from veil.errors import NoSolutionError, PlanError, VeilError, VerificationError

BROKEN = 1
"""The plan is fine and the data can be read, but a promise does not hold or cannot be kept."""

MISTAKEN = 2
"""The command line, the plan, the input or the target of the output is wrong."""

UNEXPECTED = 70
"""A mistake in Veil itself (the number that sysexits.h gives it)."""

STOPPED = 130
"""Ctrl-C (the number that shells give it)."""

show_tracebacks = False


@contextmanager
def explained() -> Iterator[None]:
    """Run a command, whose options are text: turn what goes wrong into a message on stderr and an exit code."""
    try:
        from veil.base.declare import numbers_as_text

        with numbers_as_text():
            yield
    except (typer.Exit, typer.Abort):
        raise
    except VeilError as error:
        complain(str(error))
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


@contextmanager
def in_options() -> Iterator[None]:
    """Say by options what an error says by the words of recipes, where the plan was given by options."""
    try:
        yield
    except PlanError as error:
        told = str(error)
        for said, meant in _BY_OPTIONS.items():
            told = told.replace(said, meant)
        told = re.sub(r"dates\(…, format='(.+?)'\)", r"--qi 'COLUMN=dates:…,format=\1'", told)
        raise type(error)(told) from None


_ROLES = "`quasi_identifiers`, `sensitive`, `insensitive` or `identifying`"
_BY_OPTIONS = {
    f"Name each in {_ROLES}": "Name each with --qi, --sensitive, --insensitive or --identifying",
    f"Name it in {_ROLES}": "Name it with --qi, --sensitive, --insensitive or --identifying",
    "others='keep' or others='drop'": "--others keep or --others drop",
    "add it to `sensitive`": "name it with --sensitive",
    "take it out of `quasi_identifiers`": "take it out of --qi",
    "take it out of `microaggregated`": "take it out of --microaggregate",
    "take it out of `insensitive`": "take it out of --insensitive",
    "take it out of `identifying`": "take it out of --identifying",
}


def is_stop(error: BaseException) -> bool:
    """Whether somebody has pressed Ctrl-C; DuckDB has a word of its own for it."""
    interrupted = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    return isinstance(error, KeyboardInterrupt) or interrupted


def complain(message: str) -> None:
    """Print an error."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    text = Text("error: ", style="bold red") + Text(printable(_translated(message)))
    errors().print(text, soft_wrap=True)


def say(message: str) -> None:
    """Print something that is not an error, but does not belong into the output either."""
    from rich.text import Text

    from veil.cli.show import errors, printable

    errors().print(Text(printable(message)), soft_wrap=True)


def _translated(message: str) -> str:
    """Say on the command line what a message says in Python.

    >>> _translated('say Csv(encoding="latin-1") or Csv(header=False)')
    'say --format csv:encoding=latin-1 or --format csv:header=false'
    >>> _translated("Give it more with Settings(memory=...), or say overwrite=True")
    'Give it more with --memory ..., or say --overwrite'
    """
    message = re.sub(
        r"(?:format=)?\b(Csv|Excel)\((\w+)=['\"]?(.*?)['\"]?\)",
        lambda found: f"--format {found[1].lower()}:{found[2]}={_WORDS.get(found[3], found[3])}",
        message,
    )
    message = re.sub(r"\bSettings\((memory|temporary)=['\"]?(.*?)['\"]?\)", r"--\1 \2", message)
    message = re.sub(r"\bengine=['\"](memory|duckdb)['\"]", r"--engine \1", message)
    for said, meant in _HERE.items():
        message = message.replace(said, meant)
    return message


_WORDS = {"False": "false", "True": "true", "None": "null"}
_HERE = {
    "overwrite=True": "--overwrite",
    "leave `engine` out": "leave --engine out",
    "Leave `engine` out": "Leave --engine out",
    "the same call continues there": "the same command goes on from there",
}


def _apologize(error: BaseException) -> None:
    if show_tracebacks:
        import traceback

        say("".join(traceback.format_exception(error)))
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "" if show_tracebacks else " Run `veil --debug …` for the details, and please report them."
    complain(f"sorry, this should not have happened ({told}).{hint}")
