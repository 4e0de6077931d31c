"""What can go wrong, by kind. Every message names the thing at fault and the way out.

Python, recipes and the command line spell the same way out differently: `others="keep"`, `others: keep` and
`--others keep`. So a message is text, and in it, where somebody is told what to say, a `Say`.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePath
from typing import Any, Self


class Nothing:
    """What a field is to be given to say that there is nothing: None in Python, null elsewhere."""

    def __repr__(self) -> str:
        return "None"

    def __str__(self) -> str:
        return "null"


NOTHING = Nothing()


@dataclass(frozen=True, init=False)
class Say:
    """A way out, as data: a field, the value to give it, and parameters of that value. Without a value, the field itself.

    >>> print(Say("others", "keep"), Say("format", "Csv", encoding="latin-1"), Say("sensitive"), Say("person", NOTHING))
    others="keep" format=Csv(encoding="latin-1") `sensitive` person=None
    """

    field: str
    value: str | bool | Nothing | None
    parameters: dict[str, Any]

    def __init__(self, field: str, value: str | bool | Nothing | None = None, **parameters: Any) -> None:
        self.__dict__.update(field=field, value=value, parameters=parameters)

    def __str__(self) -> str:
        """Spell it as Python does."""
        if self.value is None:
            return f"`{self.field}`"
        if not self.parameters:
            return f"{self.field}={in_quotes(self.value)}"
        given = [f"{name}={in_quotes(each)}" for name, each in self.parameters.items()]
        made = f"{self.value}({', '.join([*self.beside, *given])})"
        return (
            f"format={made}" if self.field == "format" else made
        )  # which is the parameter of every reading function

    @property
    def beside(self) -> list[str]:
        """What stands for parameters that stay as they are: hierarchies have others beside the one to change."""
        return ["…"] if self.field == "quasi_identifiers" else []


def in_quotes(value: Any) -> str:
    """Write a value as both Python and YAML read it; `...` stands for whatever fits."""
    if value is ...:
        return "..."
    return (
        f'"{value}"' if isinstance(value, str) and value.isprintable() and '"' not in value else repr(value)
    )


_PACKAGE = PurePath(__file__).parent

_PASSWORDS = re.compile(
    # Of an address, to its last @: passwords may hold one. Taken for a path, it has one slash.
    r"""(:/{1,2}[^\s:/?#@'"]*:)[^\s'"]*(?=@)"""
    r"""|((?<![\w-])(?:password|passwd|pwd)=)(?:'[^']*'|"[^"]*"|[^\s&;,)'"]+)""",  # of its options, and as drivers spell it
    re.IGNORECASE,
)


def without_passwords(text: str) -> str:
    """Return a text in which passwords of databases do not stand, wherever in it an address does.

    >>> without_passwords("no table 'postgres://ann:s3cr@et@host/db?password=s3cret'")
    "no table 'postgres://ann:…@host/db?password=…'"
    """
    return _PASSWORDS.sub(lambda found: f"{found[1] or found[2]}…", text)


Words = tuple[str | Say, ...]
"""A message: text, and ways out in it."""


class VeilError(Exception):
    """The base of every error that Veil raises on purpose.

    >>> error = PlanError("column 'note' has no role: name it, or say ", Say("others", "keep"))
    >>> print(error)
    column 'note' has no role: name it, or say others="keep"
    >>> print(error.spell_ways(lambda say: f"--{say.field} {say.value}"))
    column 'note' has no role: name it, or say --others keep
    """

    def __init__(self, *words: str | Say) -> None:
        super().__init__(*(without_passwords(each) if isinstance(each, str) else each for each in words))

    @property
    def words(self) -> Words:
        """The message, with its ways out as data."""
        return self.args

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    def after(self, text: str) -> Self:
        """Return this error with a text before its message."""
        return type(self)(text, *self.args)

    def spell_ways(self, spell: Callable[[Say], str | None]) -> Self:
        """Return this error with its ways out as `spell` writes them; what it knows no word for stays data."""
        return type(self)(*(each if isinstance(each, str) else spell(each) or each for each in self.args))

    def _render_traceback_(self) -> list[str]:
        """What notebooks show: the line that called Veil and the message, which says all; not the way through Veil."""
        home = str(PurePath(__file__).parent)
        outside = takewhile(
            lambda frame: not frame.filename.startswith(home), traceback.extract_tb(self.__traceback__)
        )
        called = traceback.format_list([*outside][-1:])
        return [*(text.rstrip() for text in called), f"{type(self).__name__}: {self}"]


class InputError(VeilError):
    """The table, or the file it is read from, cannot be used as it is."""


class PlanError(VeilError):
    """The plan contradicts itself or the table it is meant for."""


class ParameterError(PlanError):
    """A parameter lies outside its range."""


class ImpossibleError(ParameterError):
    """No release of the table can fulfil a model, whatever is done to it."""


class HierarchyError(PlanError):
    """A hierarchy is not a tree, is ragged, or does not cover a value of the column."""


class NoSolutionError(VeilError):
    """No transformation in the search space keeps every promise of the plan."""


class VerificationError(VeilError):
    """The output does not keep a promise. Nothing was written."""


class OutputError(VeilError):
    """The result cannot be written where it was asked for."""


class BudgetError(VeilError):
    """A privacy budget does not suffice for what is asked."""


class MissingDependencyError(VeilError):
    """An optional library is needed for this and is not installed."""


class ExtensionError(VeilError):
    """What another package adds to Veil cannot be used."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a hint that ends an error message about an unknown name.

    >>> did_you_mean("agee", ["age", "sex"])
    " Did you mean 'age'?"
    >>> did_you_mean("AGE", ["age", "sex"])
    " Did you mean 'age'?"
    >>> did_you_mean("zzz", ["age", "sex"])
    " Choose from: 'age', 'sex'."
    """
    names = [str(candidate) for candidate in candidates]
    close = [each for each in names if each.casefold() == str(name).casefold()]
    close = close or difflib.get_close_matches(str(name), names, n=1)
    if close:
        return f" Did you mean {close[0]!r}?"
    return " Choose from: " + ", ".join(repr(each) for each in names) + "." if names else ""


def what_happened(error: BaseException) -> str:
    """Say what went wrong and where, with an id that the same mistake has again; and nothing that the error itself says, as
    that may be a value of the table.

    >>> try:
    ...     int("Quasimodo")
    ... except ValueError as error:
    ...     print(what_happened(error))
    ValueError in ..., id ...
    """
    places = []
    for frame in traceback.extract_tb(error.__traceback__):
        path = PurePath(frame.filename)
        inside = path.is_relative_to(_PACKAGE)
        place = path.relative_to(_PACKAGE.parent).as_posix() if inside else path.name
        places.append(f"{place}:{frame.lineno}")
    ours = [place for place in places if place.startswith("veil/")] or places or ["nowhere"]
    kind = type(error).__name__
    id = hashlib.sha256("\n".join([kind, *places]).encode()).hexdigest()[:8]
    return f"{kind} in {ours[-1]}, id {id}"
