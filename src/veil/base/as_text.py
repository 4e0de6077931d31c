"""Whether constructors take text for numbers. A light module, so that the help of the command line comes at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

text_is_taken: ContextVar[bool] = ContextVar("text_is_taken", default=False)


@contextmanager
def numbers_as_text() -> Iterator[None]:
    """Let constructors take text for numbers, as on a command line.

    >>> from veil.models import TCloseness
    >>> with numbers_as_text():
    ...     TCloseness("diagnosis", ".5").t
    0.5
    """
    before = text_is_taken.set(True)
    try:
        yield
    finally:
        text_is_taken.reset(before)
