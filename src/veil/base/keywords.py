"""Hints for unknown names of parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from veil.errors import ParameterError, did_you_mean

Function = TypeVar("Function", bound=Callable[..., Any])

_WEIGHTS = (
    " Sampling weights are used to estimate risks: give them as `weights` to veil.risk.analyze or veil.risk.individual_risk "
    "(`veil risk --weights`), and list their column in `insensitive` to publish it. How much each column matters is "
    "`weights` of the quality model, such as Loss(weights={'age': 2})"
)
_HOUSEHOLD = (
    " Households are used to estimate risks: give their column as `household` to veil.risk.analyze "
    "(`veil risk --household`)"
)


def hint(name: str, names: Iterable[str] = ()) -> str:
    """Return where an unknown name belongs, or the most similar of `names`.

    >>> hint("sampling_weights")[:55]
    ' Sampling weights are used to estimate risks: give them'
    >>> hint("modles", ["models"])
    " Did you mean 'models'?"
    """
    names = list(names)
    if "models" in names and name.lower() in ("k", "l", "t", "model", "kanonymity", "k_anonymity"):
        return f" Privacy models are given as `models`, such as {EXAMPLES['models']}"
    return where_it_belongs(name) or did_you_mean(name, names)


EXAMPLES = {"models": "models=KAnonymity(5)"}
"""Examples of the required parameters of a plan."""


def where_it_belongs(name: str) -> str:
    """Return which function takes a name that is a parameter elsewhere; empty for any other name."""
    plain = name.lower().replace("_", "").replace("-", "")
    if "weight" in plain:
        return _WEIGHTS
    return _HOUSEHOLD if plain in ("household", "households", "householdid", "hhid") else ""


def own_keywords(function: Function) -> Function:
    """Make a function refuse unknown keywords with a hint, which Python's own error lacks.

    >>> @own_keywords
    ... def release(*, sensitive=()): ...
    >>> release(sensitiv=["diagnosis"])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `sensitiv` is not a parameter of release. Did you mean 'sensitive'?
    """
    parameters = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in parameters:
                raise ParameterError(
                    f"`{name}` is not a parameter of {function.__name__}.{hint(name, parameters)}"
                )
        return function(*args, **keywords)

    return cast("Function", checked)
