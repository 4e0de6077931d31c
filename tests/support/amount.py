"""How much chance is tried: little in every run of the tests, more on request.

`VEIL_FUZZ=100000` asks for so many random tables where a property is tried on such, `VEIL_RUNS=8` for eight times as many
draws where distributions are compared.
"""

from __future__ import annotations

import os


def tables(usual: int) -> int:
    """Return how many random tables to try."""
    return int(os.environ.get("VEIL_FUZZ", "0")) or usual


def runs(usual: int) -> int:
    """Return how often to draw."""
    return usual * int(os.environ.get("VEIL_RUNS", "1"))
