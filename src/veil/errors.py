"""Errors. Every message names the thing at fault and a way out.

Python, recipes and the command line spell the same way out differently: `others="keep"`, `others: keep` and
`--others keep`. So a message consists of text and, for each way out, a `Say`.
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
    """The empty value of a field: None in Python, null elsewhere."""

    def __repr__(self) -> str:
        return "None"

    def __str__(self) -> str:
        return "null"


NOTHING = Nothing()


@dataclass(frozen=True, init=False)
class Say:
    """A way out, as data: a field, its value, and parameters of that value. Without a value, only the field.

    >>> print(Say("others", "keep"), Say("format", "Csv", encoding="latin-1"), Say("sensitive"), Say("person", NOTHING))
    others="keep" format=Csv(encoding="latin-1") `sensitive` person=None
    """

    field: str
    value: str | bool | Nothing | None
    parameters: dict[str, Any]

    def __init__(self, field: str, value: str | bool | Nothing | None = None, **parameters: Any) -> None:
        self.__dict__.update(field=field, value=value, parameters=parameters)

    def __str__(self) -> str:
        """Return the way out as Python code."""
        if self.value is None:
            return f"`{self.field}`"
        if not self.parameters:
            return f"{self.field}={in_quotes(self.value)}"
        arguments = [f"{name}={in_quotes(each)}" for name, each in self.parameters.items()]
        call = f"{self.value}({', '.join([*self.beside, *arguments])})"
        # `format` is a parameter of every reading function.
        return f"format={call}" if self.field == "format" else call

    @property
    def beside(self) -> list[str]:
        """A placeholder for further parameters, which hierarchies have besides the one to change."""
        return ["…"] if self.field == "quasi_identifiers" else []


def in_quotes(value: Any) -> str:
    """Write a value as both Python and YAML read it; `...` is a placeholder."""
    if value is ...:
        return "..."
    return (
        f'"{value}"' if isinstance(value, str) and value.isprintable() and '"' not in value else repr(value)
    )


_PACKAGE = PurePath(__file__).parent

_PASSWORDS = re.compile(
    # In an address, up to its last @, as passwords may contain one; it has one slash if taken for a path.
    r"""(:/{1,2}[^\s:/?#@'"]*:)[^\s'"]*(?=@)"""
    # In its options, and as drivers spell it.
    r"""|((?<![\w-])(?:password|passwd|pwd)=)(?:'[^']*'|"[^"]*"|[^\s&;,)'"]+)""",
    re.IGNORECASE,
)


def without_passwords(text: str) -> str:
    """Return a text with the passwords of database addresses replaced.

    >>> without_passwords("no table 'postgres://ann:s3cr@et@host/db?password=s3cret'")
    "no table 'postgres://ann:…@host/db?password=…'"
    """
    return _PASSWORDS.sub(lambda match: f"{match[1] or match[2]}…", text)


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
        """Return this error with its ways out as `spell` writes them; where that is None, they stay data."""
        return type(self)(*(each if isinstance(each, str) else spell(each) or each for each in self.args))

    def _render_traceback_(self) -> list[str]:
        """Return what notebooks show: the line that called Veil and the message, without Veil's frames."""
        home = str(PurePath(__file__).parent)
        outside = takewhile(
            lambda frame: not frame.filename.startswith(home), traceback.extract_tb(self.__traceback__)
        )
        caller = traceback.format_list([*outside][-1:])
        return [*(text.rstrip() for text in caller), f"{type(self).__name__}: {self}"]


class InputError(VeilError):
    """The table, or the file it is read from, cannot be used as it is."""


class PlanError(VeilError):
    """The plan contradicts itself or the table it is meant for."""


class ParameterError(PlanError):
    """A parameter lies outside its range."""


class ImpossibleError(ParameterError):
    """No release of the table can fulfil a model."""


class HierarchyError(PlanError):
    """A hierarchy is not a tree, is ragged, or does not cover a value of the column."""


class NoSolutionError(VeilError):
    """No transformation in the search space keeps every promise of the plan."""


class VerificationError(VeilError):
    """The output does not keep a promise. Nothing was written."""


class OutputError(VeilError):
    """The result cannot be written to its target."""


class BudgetError(VeilError):
    """A privacy budget does not suffice for a request."""


class MissingDependencyError(VeilError):
    """An optional library is needed for this and is not installed."""


class ExtensionError(VeilError):
    """An extension by another package cannot be used."""


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
    """Return the kind, place and id of an unexpected error, without its message, as that may contain a value.

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
