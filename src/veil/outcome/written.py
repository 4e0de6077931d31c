"""A record of the files or tables that an outcome was written to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from veil.published.finding import Verification


@dataclass(frozen=True)
class Written:
    """The place of a written table, its number of pieces, and how many of them an earlier run had finished.

    `apart` are the files of tables that are kept separately, `verification` the findings on the written rows
    (None if an earlier run checked them), and `note` the place that rows were copied to, if they were.
    """

    name: str
    pieces: int = 1
    continued: int = 0
    apart: tuple[Path, ...] = field(default=(), repr=False)
    verification: Verification | None = field(default=None, repr=False)
    note: str | None = field(default=None, repr=False)
