"""What a model says of the classes of a problem, by the engine, by the verifier and by the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.samples import E1, names_of, sample_of
from veil.classes import kernels
from veil.classes.sample import Sample
from veil.classes.table import roll_up
from veil.errors import ParameterError
from veil.models.base import PrivacyModel, Strength
from veil.published.table import Published
from veil.tables.rows import Rows

often = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))

Pair = tuple[Any, PrivacyModel]
"""A model of the oracle and the same model of Veil."""


def rejected_classes(model: PrivacyModel, sample: Sample, levels: oracle.Node) -> list[bool]:
    """Tell for each class, in order of first appearance, whether the engine rejects it."""
    table = roll_up(sample.encoding, sample.table, levels, sample.workspace())
    marks = np.empty(len(table), np.uint8)
    kernels.below(table.count, model.minimal_class_size(sample), marks, np.empty(5, np.int64))
    criterion = model.bind(sample)
    if criterion is not None:
        before = marks.copy()
        criterion.reject(table, marks)
        assert set(marks.tolist()) <= {0, 1}
        assert (marks >= before).all()
    return ((marks == 1) & (table.count > 0)).tolist()


def suppressed_rows(
    model: PrivacyModel, problem: oracle.Problem = E1, levels: oracle.Node = (1, 1, 1)
) -> set[int]:
    """Return the rows of all classes that the engine rejects."""
    marks = rejected_classes(model, sample_of(problem), levels)
    found = oracle.classes(problem, levels)
    return {row for cls, mark in zip(found, marks, strict=True) if mark for row in cls}


def publish(
    problem: oracle.Problem, levels: oracle.Node, suppressed: Iterable[int] = (), **changes: Sequence[Any]
) -> Published:
    """Publish the relevant rows of a problem, with some of them suppressed and columns replaced."""
    rows = sorted(problem.relevant)
    hidden = set(suppressed)
    generalized = oracle.generalize(problem, levels)
    columns = {
        name: pa.array(["*" if row in hidden else generalized[row][j] for row in rows], pa.string())
        for j, name in enumerate(names_of(problem))
    }
    sensitive = {
        name: pa.array([column[row] for row in rows], pa.string())
        for name, column in problem.sensitive.items()
    }
    shown = sensitive | {name: pa.array(values, pa.string()) for name, values in changes.items()}
    blank = pa.array([row in hidden for row in rows])
    columns |= {name: pc.if_else(blank, "*", cells) for name, cells in shown.items()}
    columns["suppressed"] = blank
    return Published(
        Rows.of(pa.table(columns)),
        names_of(problem),
        flag="suppressed",
        baseline=Rows.of(pa.table(sensitive)) if sensitive else None,
    )


def table_of(*classes: dict[str, int], baseline: dict[str, int] | None = None) -> Published:
    """Publish classes that hold the values of an attribute S so and so often."""
    rows = [(str(i), value) for i, cls in enumerate(classes) for value, n in cls.items() for _ in range(n)]
    table = pa.table({"Q": [q for q, _ in rows], "S": [s for _, s in rows]})
    whole = None if baseline is None else pa.table({"S": [v for v, n in baseline.items() for _ in range(n)]})
    return Published(Rows.of(table), ["Q"], baseline=None if whole is None else Rows.of(whole))


def problem_of(*classes: dict[str, int]) -> oracle.Problem:
    """Return the same classes as a problem; level 1 is one class of everything."""
    rows = [(str(i), value) for i, cls in enumerate(classes) for value, n in cls.items() for _ in range(n)]
    hierarchy = [[str(i), "*"] for i in range(len(classes))]
    return oracle.Problem([(q,) for q, _ in rows], [hierarchy], {"S": [s for _, s in rows]})


def agrees_with_the_oracle(pairs: Callable[[oracle.Problem], st.SearchStrategy[Pair]]) -> None:
    """Check engine and verifier on random tables, class by class and for random parts suppressed."""

    @often
    @given(st.data())
    def check(data: st.DataObject) -> None:
        problem = data.draw(strategies.problems(sensitive=True))
        theirs, ours = data.draw(pairs(problem))
        levels = data.draw(strategies.nodes(problem))
        found = oracle.classes(problem, levels)
        truth = [oracle.rejects(theirs, problem, levels, cls) for cls in found]
        sample = sample_of(problem)
        try:
            assert rejected_classes(ours, sample, levels) == truth
        except ParameterError:
            # Refused because nothing can fulfil it: then the oracle rejects every class of every node that shows a value.
            column = problem.sensitive[theirs.attribute]
            whole = [row for row in range(len(problem.rows)) if row in problem.relevant]
            for some in (*found, whole):
                inside = oracle.members(problem, some)
                shows = any(theirs.missing != "left out" or oracle.is_value(column[row]) for row in inside)
                assert not shows or oracle.rejects(theirs, problem, levels, some)
        for hide in (truth, [data.draw(st.booleans()) for _ in found]):
            hidden = {row for cls, hide_it in zip(found, hide, strict=True) if hide_it for row in cls}
            holds = not any(bad and not gone for bad, gone in zip(truth, hide, strict=True))
            assert ours.verify(publish(problem, levels, hidden)).holds == holds

    check()


def strongest_is_the_boundary(
    model: type[PrivacyModel],
    column: str,
    at: Callable[[Strength, float], Any],
    beyond: Callable[[float], float | None],
    none: Callable[[oracle.Problem, oracle.Node], bool] = lambda problem, levels: False,
) -> None:
    """Check by the oracle that the table fulfils what `strongest` says, and nothing beyond it.

    `at` makes the oracle's model of a strength and a value; `beyond` gives a value a bit stronger, None where
    there is none. `none` tells that no parameter at all makes the table fulfil the model.
    """

    @settings(often, max_examples=120)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        problem = data.draw(strategies.problems(sensitive=True, subset=False))
        levels = data.draw(strategies.nodes(problem))
        found = oracle.classes(problem, levels)

        def holds(asked: Any) -> bool:
            return not any(oracle.rejects(asked, problem, levels, cls) for cls in found)

        strengths = model.strongest(publish(problem, levels), [column])
        assert strengths or none(problem, levels) or not any(map(oracle.is_value, problem.sensitive[column]))
        for strength in strengths:
            assert strength.attribute == column
            assert strength.model == model.__name__
            assert holds(at(strength, strength.value)), strength
            further = beyond(strength.value)
            if further is not None:
                assert not holds(at(strength, further)), strength

    check()


def refused(match: str) -> Any:
    """Expect a parameter error with this text."""
    return pytest.raises(ParameterError, match=match)
