"""Parameters that masking methods share, and random draws."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from veil.base.arrays import Integers, Mask
from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import VeilError, did_you_mean
from veil.hierarchies import BUILDERS, AnyBuilder
from veil.plan.parameters import hierarchy_builder


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} is named twice")
    return names


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_more, json_schema_input_type=str | list[str]),
    AfterValidator(_different),
]
"""One or several columns; one alone needs no brackets."""


Columns = Annotated[Names, Field(min_length=1)]
"""At least one column."""


def _hierarchy(value: Any) -> Any:
    if value is None:
        return None
    kind = value.get("kind") if isinstance(value, Mapping) else value
    if isinstance(kind, str) and not re.search(r"[./]", kind) and kind not in BUILDERS:
        raise ValueError(f"there is no kind of hierarchy {kind!r}.{did_you_mean(kind, BUILDERS)}")
    try:
        return hierarchy_builder(value)
    except VeilError as error:
        raise ValueError(str(error)) from None


OneHierarchy = Annotated[Any, BeforeValidator(_hierarchy, json_schema_input_type=str | AnyBuilder | None)]
"""A builder of a hierarchy, or None."""


def happens(randomness: Randomness, probability: float, size: int) -> Mask:
    """Draw `size` times whether an event of exactly this decimal probability happens."""
    exact = decimal_fraction(probability).limit_denominator(2**62)
    return randomness.integers(exact.denominator, size) < exact.numerator


def in_random_order(keys: NDArray[Any], randomness: Randomness) -> Integers:
    """Return rows in the order of their keys, equal ones in random order."""
    shuffled = randomness.permutation(keys.size)
    return np.asarray(shuffled[np.argsort(keys[shuffled], kind="stable")], np.int64)


def redistribute(groups: Integers, randomness: Randomness) -> Integers:
    """Draw for each row the row of its group whose value it gets, all permutations being equally likely."""
    source = in_random_order(groups, randomness)
    order = np.empty_like(source)
    order[np.argsort(groups, kind="stable")] = source
    return order


def round_half_up(number: Any) -> int:
    """Round a non-negative rational number to the nearest integer, a half up."""
    return int((2 * number + 1) // 2)
