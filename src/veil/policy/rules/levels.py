"""The levels of one person's value that a policy requires at least and allows at most."""

from __future__ import annotations

from typing import NamedTuple

from veil.errors import PlanError, did_you_mean
from veil.policy.documents.elements import Data, cached_by_identity
from veil.policy.rules.names import plain


class Levels(NamedTuple):
    """The chain of one person's value, its least level and its greatest."""

    chain: tuple[str, ...]
    least: int
    most: int | None


FREE = Levels((), 0, None)
_LEAST, _MOST = ("min", "minimumlevel", "minlevel"), ("max", "maximumlevel", "maxlevel")
GENERALIZING, REMOVING = ("", "generalization", "generalisation"), ("deletion", "suppression")
_TITLES = ("Generalization", "Suppression", "Deletion")


@cached_by_identity
def levels_of(data: Data) -> Levels:
    """Return the levels of a datum, checked.

    Suppression and deletion without levels lead to the last entry of the list, or to `*` without a list.

    >>> from veil.policy.documents.elements import AnonymizationMethod, Attribute
    >>> bounds = Attribute("min", "1"), Attribute("Maximum Level", "2")
    >>> levels_of(Data("age", method=AnonymizationMethod("Generalization", bounds, ("25", "20-30", "<50"))))
    Levels(chain=('25', '20-30', '<50'), least=1, most=2)
    """
    method = data.method
    if method is None:
        return FREE
    bounds: dict[str, int] = {}
    for each in method.attributes:
        key = plain(each.key or "")
        which = "min" if key in _LEAST else "max" if key in _MOST else None
        if which is None:
            raise PlanError(
                f"the method of {data.name!r} has the attribute {each.key!r}, which is not known. Its attributes are "
                "min and max"
            )
        text = (each.value or "").strip()
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise PlanError(
                f"the level {each.key!r} of {data.name!r} should be a whole number from 0, not {each.value!r}"
            )
        if which in bounds and bounds[which] != int(text):
            raise PlanError(f"the level {each.key!r} of {data.name!r} appears twice. Write it once")
        bounds[which] = int(text)
    chain = tuple(map(str, method.entries))
    name = plain(method.name or "")
    if name not in (*GENERALIZING, *REMOVING):
        raise PlanError(
            f"there is no anonymization method {method.name!r}, of {data.name!r}."
            f"{did_you_mean(method.name or '', _TITLES)} Choose one of {', '.join(_TITLES)}"
        )
    if not bounds:
        if name in REMOVING:
            last = max(1, len(chain) - 1)
            return Levels(chain, last, last)
        return Levels(chain, 0, None) if chain else FREE
    if len(bounds) == 1:
        there, other = ("min", "max") if "min" in bounds else ("max", "min")
        raise PlanError(f"{data.name!r} has {there} without {other}. Give both levels")
    least, most = bounds["min"], bounds["max"]
    top = len(chain) - 1 if chain else None
    if least > most:
        raise PlanError(f"min {least} of {data.name!r} is above max {most}. Lower it, or raise max")
    if top is not None and most > top:
        raise PlanError(
            f"max {most} of {data.name!r} is above the last entry of its list, {top} ({chain[-1]!r}). Lower it, or add entries"
        )
    if len(set(chain)) < len(chain):
        raise PlanError(
            f"the list of {data.name!r} contains an entry twice: {' → '.join(chain)}. Each level needs its "
            "own"
        )
    return Levels(chain, least, most)
