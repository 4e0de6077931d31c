"""Names that somebody gives where they are not known: what is meant instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from veil.errors import ParameterError, did_you_mean

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
    plain = name.lower().replace("_", "").replace("-", "")
    if "weight" in plain:
        return _WEIGHTS
    if plain in ("household", "households", "householdid", "hhid"):
        return _HOUSEHOLD
    if plain in ("k", "l", "t", "model", "kanonymity"):
        return f" Privacy models are given as `models`, such as {EXAMPLES['models']}"
    return did_you_mean(name, known)


EXAMPLES = {"models": "models=KAnonymity(5)"}
"""How to give what a plan cannot do without."""


def refuse_unknown(function: str, unknown: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse keywords that a function does not take."""
    for name in unknown:
        taken = [each for each in known if each not in ("unknown", "return")]
        raise ParameterError(f"`{name}` is not a parameter of {function}.{hint(name, taken)}")
