"""The application object and the options that commands share. Light, so that help comes at once."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from veil.cli import failures, startup


class Commands(TyperGroup):
    """Commands of which some get a part of their options only when run, so that help comes at once."""

    def resolve_command(self, *arguments: Any) -> Any:
        """Return the command to run."""
        name, command, rest = super().resolve_command(*arguments)
        return name, self.complete(str(name), command), rest

    def complete(self, name: str, command: Any) -> Any:
        """Return a command with all of its options."""
        return _COMPLETED[name]() if name in _COMPLETED else command


class Command(TyperCommand):
    """A command whose error about an unknown option names the command that has it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options."""
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            from veil.base.keywords import where_it_belongs

            if hasattr(error, "possibilities") and (hint := where_it_belongs(error.option_name)):
                raise _UsageError(f"{error.message}.{hint}", ctx) from None
            raise


_UsageError: Any = typer.BadParameter.__base__

_COMPLETED: dict[str, Callable[[], Any]] = {}

app = typer.Typer(
    name="veil",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PANELS = (START, RELEASE, LOOK, LISTS) = ("Start here", "Make a release", "Look at tables", "Catalogues")
"""The headings of the help, in their order."""

PLAN, RUNNING = "The plan, instead of a recipe", "Running"
"""The headings of options."""


def _register(
    function: Callable[..., Any],
    name: str,
    panel: str,
    own: list[inspect.Parameter],
    options: Callable[[], list[inspect.Parameter]] | None,
    group: typer.Typer,
) -> None:
    """Make a function a command with its own options and further ones."""

    def attach(to: typer.Typer, parameters: list[inspect.Parameter]) -> None:
        keywords = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters]
        run = guarded(function, inspect.Signature(keywords))
        to.command(name, cls=Command, help=flowing(function.__doc__ or ""), rich_help_panel=panel)(run)

    def complete() -> Any:
        assert options is not None
        further = options()
        place = [_panel(each) for each in own].index(_panel(further[0]))
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        attach(alone, [*own[:place], *further, *own[place:]])
        return typer.main.get_command(alone)

    if options is not None:
        _COMPLETED[name] = complete
    attach(group, own)


def guarded(function: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    """Wrap a function for a command: errors become messages, and invalid paths are refused."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with failures.explain_errors():
            from veil.base.paths import usable

            for each in kwargs.values():
                if isinstance(each, Path):
                    usable(each)
            return function(*args, **kwargs)

    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def _panel(parameter: inspect.Parameter) -> str | None:
    """Return the heading of an option."""
    return next((each.rich_help_panel for each in parameter.annotation.__metadata__), None)


def flowing(text: str) -> str:
    """Join the lines of each paragraph, so that they fill the width of the terminal."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text))


class Declaration(NamedTuple):
    """How a field of a command is given: as an argument or an option, with its help."""

    help: str
    metavar: str | None
    default: Any
    flags: tuple[str, ...]
    is_argument: bool
    further: Mapping[str, Any]

    def parameter(self, name: str, annotation: Any) -> inspect.Parameter:
        """Return the parameter of a command for a field."""
        details = {"metavar": self.metavar, "help": self.help, **self.further}
        flags = self.flags or ((f"--{name.replace('_', '-')}",) if annotation is bool else ())
        info = typer.Argument(**details) if self.is_argument else typer.Option(*flags, **details)
        default = self.default
        if get_origin(annotation) is list and default is not ...:
            annotation, default = annotation | None, None
        default = inspect.Parameter.empty if default is ... else default
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, kind, default=default, annotation=Annotated[annotation, info])


def option(help: str, metavar: str | None = None, default: Any = None, *flags: str, **further: Any) -> Any:
    """Declare an option. `flags` replace the one of its name; without a default (`...`) it is required."""
    return Declaration(help, metavar, default, flags, False, further)


def argument(help: str, metavar: str | None = None, default: Any = ..., **further: Any) -> Any:
    """Declare an argument."""
    return Declaration(help, metavar, default, (), True, further)


class Options:
    """The values of a command. A subclass declares them, as a command or as a group that commands inherit.

    Plain classes and not `@declared` ones: pydantic takes longer to load than the whole help to appear.
    """

    def __init__(self, **values: Any) -> None:
        declarations = self.declarations()
        for name, value in values.items():
            is_list = name in declarations and get_origin(declarations[name][0]) is list
            self.__dict__[name] = [] if value is None and is_list else value

    def of(self, *groups: type[Options]) -> dict[str, Any]:
        """Return the values of groups of options, by name."""
        return {name: getattr(self, name) for group in groups for name in group.declarations()}

    def words(self) -> list[str]:
        """Return arguments and options that differ from their defaults as a command line spells them."""
        words: list[str] = []
        for name, (annotation, each) in self.declarations().items():
            value = getattr(self, name)
            flag = each.flags[0] if each.flags else f"--{name.replace('_', '-')}"
            if each.is_argument:
                words.insert(0, str(value))
            elif annotation is bool:
                words += [flag] if value != each.default else []
            elif value not in (each.default, []):
                words += [
                    word
                    for one in (value if isinstance(value, list) else [value])
                    for word in (flag, str(one))
                ]
        return words

    @property
    def further(self) -> dict[str, Any]:
        """The values of the options that are slow to load."""
        return {name: value for name, value in vars(self).items() if name not in self.declarations()}

    @classmethod
    def declarations(cls) -> dict[str, tuple[Any, Declaration]]:
        """Return type and declaration of each field: those of the command, then those of its groups."""
        fields: dict[str, tuple[Any, Declaration]] = {}
        for owner in cls.__mro__:
            for name, annotation in inspect.get_annotations(owner, eval_str=True).items():
                fields.setdefault(name, (annotation, vars(owner)[name]))
        return fields

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """Return the parameters of the command."""
        return [each.parameter(name, annotation) for name, (annotation, each) in cls.declarations().items()]


Declared = TypeVar("Declared", bound=Options)


def declared(
    panel: str,
    handler: str,
    *,
    tables: bool = True,
    options: Callable[[], list[inspect.Parameter]] | None = None,
    group: typer.Typer = app,
) -> Callable[[type[Declared]], type[Declared]]:
    """Make a class of options a command, whose name and help are those of the class.

    `handler` is the module of this package and the function in it that takes the options. It is imported when
    the command runs; with `tables`, after the libraries for tables have been loaded the quick way. `options` are
    further ones, which are slow to load: the help shows them before the first option of the same panel. `group` has
    the commands of one subject.
    """

    def decorate(cls: type[Declared]) -> type[Declared]:
        def run(**values: Any) -> None:
            if tables:
                startup.quick()
            module, _, function = handler.partition(".")
            getattr(importlib.import_module(f"veil.cli.{module}"), function)(cls(**values))

        run.__doc__ = cls.__doc__
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__.removesuffix("Command")).lower()
        _register(run, name, panel, cls.parameters(), options, group)
        return cls

    return decorate


class Reader(StrEnum):
    """The engine that reads files."""

    auto = "auto"
    memory = "memory"
    duckdb = "duckdb"


class TableFormat(Options):
    """How a table is read."""

    format: str | None = option(
        "How to read the table, if that is unclear: [cyan]csv:separator=;,encoding=latin-1[/cyan], "
        "[cyan]csv:header=false,columns=age|sex[/cyan], [cyan]excel:Sheet1[/cyan].",
        "FORMAT",
    )


class Parallel(Options):
    """How many threads."""

    threads: int | None = option(
        "Number of threads; it does not change the result.", "N", min=1, rich_help_panel=RUNNING
    )


class Engines(Options):
    """What reads files."""

    engine: Reader | None = option(
        "What reads files. Default: DuckDB if they are too large for memory.",
        "memory|duckdb",
        rich_help_panel=RUNNING,
    )
    memory: str | None = option(
        "How much memory DuckDB may use, such as 2GB. Default: half of what is free.",
        "SIZE",
        rich_help_panel=RUNNING,
    )
    temporary: Path | None = option("Where DuckDB puts temporary files.", "FOLDER", rich_help_panel=RUNNING)


class Overwrite(Options):
    """Whether files may be replaced."""

    overwrite: bool = option("Replace existing files.", default=False)


class OutputFile(Options):
    """Where a file goes."""

    output: Path | None = option("Where to write.", "FILE", None, "--output", "-o")


class Quiet(Options):
    """Whether anything is printed."""

    quiet: bool = option("Print nothing but errors.", None, False, "--quiet", "-q", rich_help_panel=RUNNING)


class Documents(Options):
    """What is written beside a release, and what is said of it."""

    report: Path | None = option("Where to write a report (.html, .pdf or .json).", "FILE")
    certificate: Path | None = option(
        "Where to write the certificate with which recipients can check the promises (.json).", "FILE"
    )
    sign: Path | None = option(
        "Sign the certificate with this private key: [cyan]veil keys new[/cyan].", "KEY"
    )
    about: list[str] = option(
        "What the first page of the report says, such as [cyan]purpose='Study of waiting times'[/cyan]: title, "
        "data_set, purpose, recipient, legal_basis, version, prepared_by, approved_by; also language (en or de) and "
        "sample_rows. Repeat for more.",
        "FIELD=TEXT",
    )
    apart: Path | None = option(
        "Where to keep what must not be published, such as the table that reverses pseudonyms.", "FOLDER"
    )
    origins: Path | None = option(
        "Where to keep which row of the input each row of the release is (.csv), in another folder.", "FILE"
    )
    budget: Path | None = option(
        "Charge what SafePub or randomized response spends to this budget: [cyan]veil budget[/cyan].", "FILE"
    )


class Acknowledge(Options):
    """What is accepted."""

    acknowledge: list[str] = option(
        "Accept a concern listed under \"Before you sign\", such as [cyan]'no model: income'[/cyan]. Repeat for more.",
        "CONCERN",
    )


class InputAndOutput(Options):
    """The table and the release, both of which may be those of a recipe."""

    input: str | None = option("The table, instead of the recipe's: file, folder, pattern or URL.", "TABLE")
    output: str | None = option(
        "Where to write: a file, FOLDER/, or URL#TABLE.", "TABLE", None, "--output", "-o"
    )


class Json(Options):
    """Figures for programs."""

    json: bool = option("Print all figures as JSON instead of tables.", default=False)


class Running(Parallel, Json, Quiet):
    """How a recipe is carried out."""

    dry_run: bool = option(
        "Read the table, check the plan and all paths, say what would be done, and write nothing.",
        default=False,
    )
    log: Path | None = option(
        "Append what was done, and how long it took, to this file: one JSON object per line, without values of the "
        "table.",
        "FILE",
    )


class Releasing(InputAndOutput, Acknowledge, Overwrite, Running):
    """A command that makes a release."""


class Results(Json, Overwrite):
    """Where figures go."""

    output: Path | None = option("Also write all figures there, as JSON.", "FILE", None, "--output", "-o")


class People(Options):
    """Whose rows they are, which of them would be released, and what an attacker knows of them."""

    subset: str | None = option(
        'The rows that would be released, such as "age > 30", subset.csv, 0|1|2 or random:0.1; the whole table '
        "is their population.",
        "QUERY|FILE|ROWS",
    )
    person: str | None = option(
        "Column that tells people apart, if somebody may have several rows. If every row is a different person: null.",
        "COLUMN",
    )
    knows: str = option(
        "What an attacker may know about a person: one row or all rows.", "one row|all rows", "one row"
    )
    marker: str = option("Text of a suppressed cell.", "TEXT", "*")


class Trial(Options):
    """The recipe to try, on another table if one is given."""

    input: Path | None = option("The table, instead of the recipe's.", "FILE")
