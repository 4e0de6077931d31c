"""The verb ask: questions to a table under a budget, in memory or in an engine."""

from __future__ import annotations

from typing import Any

from veil.api.open import Engine, find_relation
from veil.dp.accountant import Accountant
from veil.dp.answers import Answer, CostEstimate
from veil.dp.session import Session
from veil.engines.questions import EngineQuestionSource, read_cell_by_cell
from veil.recipe.asking import AskingRecipe
from veil.tables import Format


def open_session(
    source: Any,
    accountant: Accountant,
    *,
    format: Format | None = None,
    engine: Engine = "auto",
    **declared: Any,
) -> Session:
    """Open a table for questions, as `veil.dp.Session` does, with a choice of format and engine.

    >>> import pyarrow as pa
    >>> ages = pa.table({"age": [34, 71, 68]})
    >>> session = open_session(ages, Accountant(1), neighbours="one more or less", person=None, steady=False)
    >>> type(session.count(epsilon=0.5).value)
    <class 'int'>
    """
    return Session(hold_cells(source, format, engine), accountant, **declared)


def hold_cells(source: Any, format: Format | None, engine: Engine) -> Any:
    """Return a table for a promise over neighbours, read cell by cell in memory or by an engine."""
    relation = find_relation(source, format, engine, over_neighbours=True)
    if relation is not None:
        return EngineQuestionSource(relation)
    return read_cell_by_cell(source, format)


def ask(
    recipe: AskingRecipe,
    source: Any,
    accountant: Accountant,
    *,
    preview: bool = False,
    format: Format | None = None,
    engine: Engine = "auto",
) -> list[Answer] | list[CostEstimate]:
    """Ask the questions of a recipe, one after the other; or return what they would cost.

    All of them are built before the first is paid for, so that a mistake in the last one costs nothing.
    """
    session = open_session(
        source,
        accountant,
        format=format,
        engine=engine,
        neighbours=recipe.neighbours,
        bounds=recipe.bounds,
        keys=recipe.keys,
        missing=recipe.missing,
        outside=recipe.outside,
        person=recipe.person,
        rows_per_person=recipe.rows_per_person,
    )
    previews: list[CostEstimate] = [each.put(session.preview) for each in recipe.questions]
    return previews if preview else [each.put(session) for each in recipe.questions]
