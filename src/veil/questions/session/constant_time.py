"""Protect answers against timing side channels: durations are rounded up to a multiple of a fixed step.

Covered is the time that one answer takes, up to the chance that it is just around a multiple of the step. Not
covered are the load of the machine, memory, energy, the traffic and logs of an engine, and reading the table
before the session starts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STEP = 0.25
"""Seconds."""


@contextmanager
def pad_time(step: float = STEP) -> Iterator[None]:
    """Pad the time of a block to a multiple of a step, also if it fails.

    >>> start = time.monotonic()
    >>> with pad_time(0.05):
    ...     pass
    >>> time.monotonic() - start >= 0.05
    True
    """
    start = time.monotonic()
    try:
        yield
    finally:
        if step > 0:
            elapsed = time.monotonic() - start
            time.sleep((int(elapsed / step) + 1) * step - elapsed)
