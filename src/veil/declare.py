"""Declared values: small immutable objects whose parameters state their own range.

Privacy models, quality models, hierarchy builders and strategies are all declared the same way: a class
with annotated fields. The declaration is the single source for the constructor, the range checks (one
uniform message everywhere), the recipe file format and its JSON schema.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast, dataclass_transform

import pydantic
import pydantic.dataclasses
from pydantic import Field

from veil.errors import ParameterError

T = TypeVar("T")

_CONFIG = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def declared(cls: type[T]) -> type[T]:
    """Make a class a frozen value object that refuses parameters outside their declared range.

    >>> from veil.models import KAnonymity
    >>> KAnonymity(5)
    KAnonymity(k=5)
    >>> KAnonymity(0)
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `k` of KAnonymity should be greater than or equal to 1, not 0
    """
    made = pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(cls)
    construct = cast("Callable[..., None]", made.__init__)
    positional = [field.name for field in dataclasses.fields(cast("Any", made)) if not field.kw_only]

    @functools.wraps(construct)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            if len(args) > len(positional):
                raise TypeError(f"takes at most {len(positional)} positional arguments, not {len(args)}")
            # By name, so that a message names the parameter and not its position.
            construct(self, **dict(zip(positional, args, strict=False)), **kwargs)
        except pydantic.ValidationError as error:
            raise ParameterError(explain(error, f"of {cls.__name__} ")) from None
        except TypeError as error:
            raise ParameterError(f"{cls.__name__}: {error}") from None

    made.__init__ = __init__  # type: ignore[method-assign]
    return cast("type[T]", made)


def explain(error: pydantic.ValidationError, owner: str = "") -> str:
    """Say in one line what is wrong: parameter in backticks, the rule, then the value."""
    lines = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "value_error":
            lines.append(str(problem["ctx"]["error"]))
            continue
        if problem["type"] in ("missing", "missing_argument"):
            lines.append(f"`{name}` {owner}is required")
            continue
        if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            lines.append(f"`{name}` {owner}is not a parameter")
            continue
        rule = problem["msg"].removeprefix("Input ")
        lines.append(f"`{name}` {owner}{rule}, not {problem['input']!r}")
    return "; ".join(lines)
