"""Names that somebody gives where they are not known: what is meant instead."""

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


def hint(name: str, known: Iterable[str] = ()) -> str:
    """Return where a name that is not known belongs, or the known names that are most like it.

    >>> hint("sampling_weights")[:55]
    ' Sampling weights are used to estimate risks: give them'
    >>> hint("modles", ["models"])
    " Did you mean 'models'?"
    """
    known = list(known)
    if "models" in known and name.lower() in ("k", "l", "t", "model", "kanonymity", "k_anonymity"):
        return f" Privacy models are given as `models`, such as {EXAMPLES['models']}"
    return where_it_belongs(name) or did_you_mean(name, known)


EXAMPLES = {"models": "models=KAnonymity(5)"}
"""How to give what a plan cannot do without."""


def where_it_belongs(name: str) -> str:
    """Return what takes a name that is known elsewhere; nothing of any other."""
    plain = name.lower().replace("_", "").replace("-", "")
    if "weight" in plain:
        return _WEIGHTS
    return _HOUSEHOLD if plain in ("household", "households", "householdid", "hhid") else ""


def own_keywords(function: Function) -> Function:
    """Have a function refuse keywords that it does not take in a sentence, where Python would only say that it does not.

    >>> @own_keywords
    ... def release(*, sensitive=()): ...
    >>> release(sensitiv=["diagnosis"])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `sensitiv` is not a parameter of release. Did you mean 'sensitive'?
    """
    taken = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        for name in given:
            if name not in taken:
                raise ParameterError(
                    f"`{name}` is not a parameter of {function.__name__}.{hint(name, taken)}"
                )
        return function(*args, **given)

    return cast("Function", checked)
