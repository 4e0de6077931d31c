"""What the tests of masking methods share: running one on literal columns, and seeing what came out.

Examples called lecture_gerl are from A. Gerl, Privacy-Preservation Technologies in Information Systems, chapter 4.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from veil.base.randomness import Randomness
from veil.masking import Method, Outcome
from veil.tables.rows import Rows
from veil.verification.outcome import verified


def outcome(method: Method, table: pa.Table | dict[str, list[Any]], seed: int | None = None) -> Outcome:
    """Run a method and check what it promises, which has to be something; with a seed, always with the same draws."""
    given = pa.table(table) if isinstance(table, dict) else table
    before = given.to_pydict()
    made = method.mask(Rows.of(given), Randomness() if seed is None else Randomness.for_testing(seed))
    assert given.to_pydict() == before
    checked = verified(made)
    assert checked.verification.findings or checked.verification.open_questions
    return checked


def masked(
    method: Method, table: pa.Table | dict[str, list[Any]], seed: int | None = None
) -> dict[str, list[Any]]:
    """Run a method and return the columns."""
    columns: dict[str, list[Any]] = outcome(method, table, seed).table.to_pydict()
    return columns


def holds_the_same(before: list[Any], after: list[Any]) -> bool:
    """Whether two columns hold the same values, each as often."""
    return Counter(map(repr, before)) == Counter(map(repr, after))
