"""What has been written of an outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from veil.published.finding import Verification


@dataclass(frozen=True)
class Written:
    """What has been written: where, in how many pieces, and how many of them a run before had done already.

    `apart` are the files of the tables that do not belong into the same file. `verification` is what was found on the
    written rows; None if a run before had checked them. `note` says where rows were brought over to, if they were.
    """

    name: str
    pieces: int = 1
    continued: int = 0
    apart: tuple[Path, ...] = field(default=(), repr=False)
    verification: Verification | None = field(default=None, repr=False)
    note: str | None = field(default=None, repr=False)
