"""Functions of a higher layer that a lower layer calls without importing it.

Packages import from lower layers only. A lower layer that needs a higher one, such as for a table that only
an engine can open, declares a `Provided`; `veil/__init__.py` binds it to a function, which is imported on its
first call.

>>> square = Provided[float]("the square root of a number")
>>> square.by("math:sqrt")
>>> square(9)
3.0
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Provided(Generic[T]):
    """A function of another package, imported when it is called."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.provider: str | None = None

    def by(self, provider: str) -> None:
        """Bind a function of a module, such as "veil.engines.questions:hold_relation"."""
        self.provider = provider

    def function(self) -> Callable[..., T]:
        """Import and return the function."""
        if self.provider is None:
            raise LookupError(f"nobody provides {self.what}")
        module, _, function = self.provider.partition(":")
        return cast("Callable[..., T]", getattr(importlib.import_module(module), function))

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        return self.function()(*args, **kwargs)


POLICIES_CARRIED_OUT: Provided[Any] = Provided("a way to carry policies out")
"""Given a table and the policies of the people in it, returns a release: `veil.policy.apply`."""
