"""Questions as a session makes them, to ask one of them of small tables over and over."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from veil.base.randomness import Randomness
from veil.dp.declared import Declared
from veil.dp.source import MemorySource
from veil.dp.unit import Unit
from veil.questions.mechanisms.question import Question
from veil.questions.session.session import Asking

Table = tuple[int, ...]
Ask = Callable[[Any, Any], Question]
"""What is asked, and its epsilon."""

RECORDS = (0, 3)


class Questions(Asking[Any]):
    """Questions before they are paid for."""

    def _handle(self, question: Question) -> Question:
        return question


def make_question(ask: Ask, neighbours: str, epsilon: object) -> Question:
    """Make a question about the column x, of numbers from 0 to 3."""
    declared = Declared(neighbours, Unit(None), {"x": (0, 3)}, {"x": list(RECORDS)}, {"x": 0})  # type: ignore[arg-type]
    return ask(Questions(declared), epsilon)


@functools.cache
def holding(table: Table) -> MemorySource:
    """Hold a table of the column x."""
    return MemorySource(pa.table({"x": pa.array(table, pa.int64())}))


def respond(question: Question, table: Table, source: Randomness | None = None) -> Any:
    """Answer as a session does, but for the ledger."""
    selected = holding(table).select(question.reads)
    return question.respond(selected, question.choose(selected), source)[0]
