"""What a room asks of a room above it, without knowing it: named by the one that asks, provided for by the package.

Rooms import from those below them only. Where a lower one has to hand something on to a higher one, such as a table
that only an engine can open, it declares what it asks for as a `Provided`; the package itself, `veil/__init__.py`, which
alone knows all rooms, says who provides it. Nothing is imported before it is asked for.

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
    """A function of another room."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.provider: str | None = None

    def by(self, provider: str) -> None:
        """Say who provides it: a module and a function in it, "veil.engines.questions:hold_relation"."""
        self.provider = provider

    def function(self) -> Callable[..., T]:
        """Fetch the function itself."""
        if self.provider is None:
            raise LookupError(f"nobody provides {self.what}")
        module, _, function = self.provider.partition(":")
        return cast("Callable[..., T]", getattr(importlib.import_module(module), function))

    def __call__(self, *given: Any, **named: Any) -> T:
        return self.function()(*given, **named)


TABLE_OF_ENGINE: Provided[Any] = Provided("tables that an engine holds, to ask questions of")
"""Given a source, returns what answers questions about it; None if it belongs into memory."""

REPORT_OF_PRIVATE_TABLE: Provided[Any] = Provided("reports of private tables")
"""Given a private table and a path, writes the report there and returns the path."""

WORKBENCH: Provided[None] = Provided("the workbench")
"""Serves the workbench until it is stopped; given the table to open, and where to listen."""

POLICIES_CARRIED_OUT: Provided[Any] = Provided("a way to carry policies out")
"""Given a table and the policies of the people in it, returns a release: `veil.policy.apply`."""
