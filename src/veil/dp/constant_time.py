"""Time must not tell: what takes as long as the data make it is rounded up to a multiple of a fixed step.

Covered is the time that one answer takes, seen by whoever waits for it, up to the chance that it is just around a multiple
of the step. Not covered are the load of the machine, memory, the traffic of an engine and its own logs, energy, and what
happens before the session is there (reading the table).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STEP = 0.25
"""Seconds."""


@contextmanager
def steady(step: float = STEP) -> Iterator[None]:
    """Let what is done inside take a multiple of a step, also if it fails.

    >>> begun = time.monotonic()
    >>> with steady(0.05):
    ...     pass
    >>> time.monotonic() - begun >= 0.05
    True
    """
    begun = time.monotonic()
    try:
        yield
    finally:
        if step > 0:
            gone = time.monotonic() - begun
            time.sleep((int(gone / step) + 1) * step - gone)
