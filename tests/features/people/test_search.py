"""Nodes judged in people against plain Python; and pruned searches against exhaustive ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from support import oracle
from support.longitudinal import draw
from support.oracle.people import worst_view
from support.searching import assert_finds_the_best
from veil.classes.encoding import Levels
from veil.classes.table import keep, roll_up
from veil.errors import PlanError
from veil.lattice.evaluator import Evaluator
from veil.models import PrivacyModel
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.tables.rows import Owners


def drawn(seed: int, **changes: Any) -> Prepared | None:
    case = draw(seed)
    try:
        return prepare(case.table, Plan(**case.options | changes))
    except PlanError:
        return None


def evaluator_of(prepared: Prepared) -> Evaluator:
    plan = prepared.plan
    return Evaluator(prepared.sample, plan.models, plan.quality, plan.suppression_limit)


def nodes_of(prepared: Prepared) -> list[Levels]:
    return list(oracle.nodes(prepared.minimum, prepared.maximum))


# --- the slow twin ----------------------------------------------------------------------------------


def groups_of(prepared: Prepared, levels: Levels) -> list[Hashable]:
    """What each row's attacker knows of its person."""
    shown = [
        tuple(
            int(hierarchy.label_map(level)[codes[row]])
            for hierarchy, level, codes in zip(
                prepared.encoding.hierarchies, levels, prepared.codes, strict=True
            )
        )
        for row in range(prepared.table.num_rows)
    ]
    whose = prepared.table["who"].to_pylist()
    if prepared.plan.knows == "one row":
        return list(shown)
    return [tuple(sorted(s for s, w in zip(shown, whose, strict=True) if w == person)) for person in whose]


def rejected_rows(prepared: Prepared, levels: Levels) -> list[bool] | None:
    """Which rows are rejected, class by class; None if a model judges all classes together."""
    groups, whose = groups_of(prepared, levels), prepared.table["who"].to_pylist()
    values = prepared.table["dx"].to_pylist()
    bad: set[Hashable] = set()
    for model in prepared.plan.models:
        for group in set(groups):
            inside = [i for i, each in enumerate(groups) if each == group]
            people = {whose[i] for i in inside}
            shows = Counter(value for _, value in {(whose[i], values[i]) for i in inside})
            verdict = breaks(model, shows, len(people), len(set(whose)))
            if verdict is None:
                return None
            if verdict:
                bad.add(group)
    return [group in bad for group in groups]


def breaks(model: PrivacyModel, shows: Counter[str], people: int, everybody: int) -> bool | None:
    match type(model).__name__:
        case "KAnonymity":
            return people < model.k
        case "KMap":
            return people < model.derived_class_size(everybody)
        case "DistinctLDiversity":
            return len(worst_view(list(shows.values()), people)) < model.l
        case "RecursiveCLDiversity":
            ranked = worst_view(list(shows.values()), people)
            return not ranked[0] < oracle.exact(model.c) * sum(ranked[model.l - 1 :])
        case "AlphaKAnonymity":
            return people < model.k or max(shows.values()) > oracle.exact(model.alpha) * people
    return None


def test_every_node_is_judged_as_plain_python_does() -> None:
    judged = 0
    for seed in range(120):
        prepared = drawn(seed)
        if prepared is None or prepared.sample.persons.are_records:
            continue
        evaluator = evaluator_of(prepared)
        whose = np.array(prepared.table["who"].to_pylist())
        for levels in nodes_of(prepared):
            expected = rejected_rows(prepared, levels)
            if expected is None:
                break
            judged += 1
            verdict = evaluator.judge(levels, prepared.sample.table)
            found = verdict.node.rejected[prepared.sample.classes_of_rows(levels)[1]].astype(bool)
            assert found.tolist() == expected, f"seed {seed} at {levels}"
            assert verdict.lost == len(set(whose[np.array(expected)]))
            assert verdict.node.tally.suppressed == sum(expected)
    assert judged > 500


def test_where_a_table_comes_from_does_not_matter() -> None:
    for seed in range(60):
        prepared = drawn(seed)
        if prepared is None or prepared.sample.persons.are_records:
            continue
        chance, evaluator = random.Random(seed), evaluator_of(prepared)
        for _ in range(5):
            low = tuple(chance.randint(a, b) for a, b in zip(prepared.minimum, prepared.maximum, strict=True))
            high = tuple(chance.randint(a, b) for a, b in zip(low, prepared.maximum, strict=True))
            between = keep(roll_up(evaluator.encoding, evaluator.table, low, evaluator.work))
            by_way = evaluator.evaluate(high, between, score=True)[0]
            assert by_way == evaluator.evaluate(high, prepared.sample.table, score=True)[0]


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_pruned_searches_find_what_exhaustive_ones_do(knows: str) -> None:
    for seed in range(80):
        prepared = drawn(seed, knows="one row" if knows == "one row" else draw(seed).options["knows"])
        if prepared is not None and prepared.plan.knows == knows and not prepared.sample.persons.are_records:
            assert_finds_the_best(
                evaluator_of(prepared), prepared.minimum, prepared.maximum, threads=1 + seed % 2
            )


# --- people who are rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_people_with_one_row_each_are_judged_as_rows_are(knows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a row as person, once as rows, and once the whole way that people take."""
    compared = 0
    for seed in range(80):
        case = draw(seed)
        if knows != case.options["knows"]:
            continue
        table = case.table.set_column(0, "who", [[f"r{i}" for i in range(case.table.num_rows)]])
        try:
            as_rows = evaluator_of(
                prepare(table, Plan(**case.options | {"person": None, "identifying": "who"}))
            )
        except PlanError:
            continue
        quick = prepare(table, Plan(**case.options))
        assert quick.sample.persons.are_records
        with monkeypatch.context() as patch:
            patch.setattr(Owners, "have_one_record", lambda owners, weights: False)
            prepared = prepare(table, Plan(**case.options))
        assert not prepared.sample.persons.are_records
        as_people = evaluator_of(prepared)
        # Which of several classes of one size goes first follows from labels, and sets of rows have none: others may go.
        by_size = knows == "all rows" and any(model.reads == "sizes" for model in prepared.plan.models)
        for levels in nodes_of(prepared):
            row, person = (
                each.evaluate(levels, each.sample.table, score=True)[0] for each in (as_rows, as_people)
            )
            assert (person.anonymous, person.tally) == (row.anonymous, row.tally)
            if not by_size:
                assert person.score == row.score
            assert person.lost == row.tally.suppressed
            compared += 1
    assert compared > 100
