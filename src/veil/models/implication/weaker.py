"""The same model with a weaker parameter: implications by definition alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from veil.base.exact import decimal_fraction
from veil.models import (
    AlphaKAnonymity,
    AverageReidentificationRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    PrivacyModel,
    RecursiveCLDiversity,
    SampleUniqueness,
    SubsetKAnonymity,
    TCloseness,
)


def covers(strict: PrivacyModel, lax: PrivacyModel) -> bool:
    """Return whether a model promises all that another of its kind does, by definition.

    >>> covers(KAnonymity(5), KAnonymity(3)), covers(KAnonymity(3), KAnonymity(5))
    (True, False)
    """
    if strict == lax:
        return True
    if type(strict) is not type(lax):
        return False
    compare = _PARAMETERS.get(type(strict))
    if compare is None:
        return False
    rest = {each.name for each in dataclasses.fields(strict)} - set(compare)  # type: ignore[arg-type]
    alike = all(getattr(strict, name) == getattr(lax, name) for name in rest)
    return alike and all(holds(getattr(strict, name), getattr(lax, name)) for name, holds in compare.items())


def _more(strict: Any, lax: Any) -> bool:
    return decimal_fraction(strict) >= decimal_fraction(lax)


def _less(strict: Any, lax: Any) -> bool:
    return decimal_fraction(strict) <= decimal_fraction(lax)


def _limit(strict: Any, lax: Any) -> bool:
    """Compare limits that may be missing: none is the weakest."""
    return lax is None or (strict is not None and _less(strict, lax))


def _values(strict: Any, lax: Any) -> bool:
    """Compare the values that are protected: without a list, all are."""
    return strict is None or (lax is not None and set(map(str, lax)) <= set(map(str, strict)))


_PARAMETERS: dict[type[Any], dict[str, Callable[[Any, Any], bool]]] = {
    KAnonymity: {"k": _more},
    SubsetKAnonymity: {"k": _more},
    DistinctLDiversity: {"l": _more},
    EntropyLDiversity: {"l": _more},
    # r_1 < c (r_l + …): with a smaller c or a larger l, less is on the right.
    RecursiveCLDiversity: {"c": _less, "l": _more},
    TCloseness: {"t": _less},
    BetaLikeness: {"beta": _less},
    DeltaDisclosure: {"delta": _less},
    DeltaPresence: {"minimum": _more, "maximum": _less},
    AlphaKAnonymity: {"alpha": _less, "k": _more, "values": _values},
    AverageReidentificationRisk: {"average": _less},
    SampleUniqueness: {"threshold": _less},
}


def covers_in_population(strict: PrivacyModel, lax: PrivacyModel) -> bool:
    """Compare k-maps whose population is counted; if it is estimated, nothing is proven."""
    return (
        isinstance(strict, KMap)
        and isinstance(lax, KMap)
        and strict.population is None
        and lax.population is None
        and strict.subset == lax.subset
        and strict.k >= lax.k
    )


def follows(strict: PrivacyModel, lax: PrivacyModel) -> bool:
    """Return whether one model is the other with a weaker parameter."""
    return covers(strict, lax) or covers_in_population(strict, lax)
