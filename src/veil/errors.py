"""What can go wrong, by kind. Every message names the thing at fault and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class VeilError(Exception):
    """The base of every error that Veil raises on purpose."""


class InputError(VeilError):
    """The table, or the file it is read from, cannot be used as it is."""


class PlanError(VeilError):
    """The plan contradicts itself or the table it is meant for."""


class ParameterError(PlanError):
    """A parameter lies outside its range."""


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
