"""A cell of a sensitive attribute is a value, missing or withheld: on every surface that judges one."""

from __future__ import annotations

import dataclasses
import random
from itertools import combinations_with_replacement, product
from typing import Any

import pyarrow as pa
import pytest

import veil
from support import oracle
from support.judging import problem_of, publish, rejected_classes
from support.models import ours
from support.policies import datum, model, policy
from support.refusals import refused
from support.samples import sample_of
from veil.base.randomness import Randomness
from veil.errors import ImpossibleError, InputError, ParameterError, PlanError, VeilError
from veil.masking import Anatomy, Mondrian, TClosenessThroughMicroaggregation
from veil.masking.ties.invariance import MInvariance
from veil.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    RatioDistance,
    RecursiveCLDiversity,
    TCloseness,
)
from veil.published.blank import shows_no_value
from veil.published.table import Published
from veil.tables.rows import Rows

MODELS: list[Any] = [
    oracle.DistinctLDiversity("S", 2),
    oracle.EntropyLDiversity("S", 1.5),
    oracle.EntropyLDiversity("S", 1.5, "Grassberger"),
    oracle.RecursiveCLDiversity("S", 2, 2),
    oracle.TCloseness("S", 0.3),
    oracle.TCloseness("S", 0.3, "ordered"),
    oracle.TCloseness("S", 0.3, "hierarchical", None, [["a", "A", "*"], ["b", "A", "*"], ["*", "?", "*"]]),
    oracle.AlphaKAnonymity("S", 0.6, 2),
    oracle.BetaLikeness("S", 0.4),
    oracle.BetaLikeness("S", 0.4, True),
    oracle.DeltaDisclosure("S", 0.6),
    oracle.RatioDistance("S", 1.6),
]
CLASSES = [cells for size in (1, 2) for cells in combinations_with_replacement("ab*", size)]


@pytest.mark.slow
@pytest.mark.parametrize("theirs", MODELS, ids=str)
@pytest.mark.parametrize("missing", ["left out", "a value", "worst"])
def test_all_small_tables_are_judged_by_the_definition(theirs: Any, missing: str) -> None:
    """Search and verifier, on all pairs of classes of up to two cells with two values and what is withheld."""
    theirs = dataclasses.replace(theirs, missing=missing)
    if missing == "worst" and getattr(theirs, "estimator", "") == "Grassberger":
        with refused(ParameterError, "`missing`", "'worst'", "estimator='shannon'"):
            ours(theirs)
        return
    asked = ours(theirs)
    assert asked is not None
    for one, other in product(CLASSES, CLASSES):
        cells = [*one, *other]
        rows = [("x",)] * len(one) + [("y",)] * len(other)
        problem = oracle.Problem(rows, [[["x", "*"], ["y", "*"]]], {"S": cells})
        for levels in ((0,), (1,)):
            truth = [oracle.rejects(theirs, problem, levels, cls) for cls in oracle.classes(problem, levels)]
            assert asked.verify(publish(problem, levels)).holds == (not any(truth)), (cells, levels)
            try:
                assert rejected_classes(asked, sample_of(problem), levels) == truth, (cells, levels)
            except VeilError:
                assert any(truth) or not set(cells) - {"*"}


def seen(*classes: list[Any]) -> Published:
    rows = [(str(at), cell) for at, cells in enumerate(classes) for cell in cells]
    return Published(Rows.of(pa.table({"Q": [q for q, _ in rows], "S": [cell for _, cell in rows]})), ["Q"])


EVERY = [
    DistinctLDiversity("S", 2),
    EntropyLDiversity("S", 1.5),
    EntropyLDiversity("S", 1.5, "grassberger"),
    RecursiveCLDiversity("S", 4, 2),
    AlphaKAnonymity("S", 0.8, 2),
    TCloseness("S", 0.4),
    TCloseness("S", 0.4, "ordered"),
    BetaLikeness("S", 0.5),
    DeltaDisclosure("S", 0.6),
    RatioDistance("S", 1.6),
]


@pytest.mark.parametrize("asked", EVERY, ids=str)
@pytest.mark.parametrize("blank", [None, "", "  ", "*"])
def test_a_blank_is_no_second_value(asked: Any, blank: str | None) -> None:
    table = seen(["HIV", "HIV", "HIV", blank], ["HIV", "flu", "flu", "flu"])
    assert not asked.verify(table).holds
    found = dataclasses.replace(asked, missing="a value").verify(table)
    assert "ARX's form" in found.promise
    assert "ARX's form" not in asked.verify(table).promise


@pytest.mark.parametrize("asked", EVERY, ids=str)
def test_a_class_without_any_value_holds(asked: Any) -> None:
    assert asked.verify(seen(["HIV", "flu"], [None, None])).holds
    assert asked.verify(seen([None, None], [None, "*"])).holds
    if not isinstance(asked, AlphaKAnonymity):
        assert asked.verify(seen(["HIV", "flu"], [None])).holds


def test_what_shows_no_value() -> None:
    assert shows_no_value(pa.array([1.5, float("nan"), None]), "*").tolist() == [False, True, True]
    assert shows_no_value(pa.array(["n/a", "none", "unknown", "*", "-"]), None).tolist() == [False] * 5
    assert shows_no_value(pa.array([["a"], [], None]), "*").tolist() == [False, False, True]


def test_assess_leaves_blanks_out() -> None:
    strongest = DistinctLDiversity.strongest(seen(["flu", None, "flu"], [None]), ["S"])
    assert [each.value for each in strongest] == [1]
    assert DistinctLDiversity.strongest(seen([None], ["*"]), ["S"]) == []


def test_l_values_promise_no_size_where_cells_may_be_blank() -> None:
    assert DistinctLDiversity("S", 4).promised(100).prosecutor == 1
    assert DistinctLDiversity("S", 4, missing="a value").promised(100).prosecutor == 0.25


def test_a_policy_that_does_not_list_a_field_strips_nobody_of_protection() -> None:
    """{flu, blank, flu} is {flu, flu}."""
    asked = (model("l-Diversity", "illness", l=2),)
    age = datum("age", "QID", ("30", "*"))
    lists = policy("lists", (age, datum("illness", "SD")), asked)
    silent = policy("silent", (age,))
    table = pa.table(
        {"age": ["30"] * 3, "illness": ["flu", "gout", "flu"], "policy": ["lists", "silent", "lists"]}
    )
    with pytest.raises(VeilError):
        veil.policy.apply(
            table,
            {"lists": lists, "silent": silent},
            purpose="research",
            recipient="lab",
            link="policy",
            suppression_limit=0.0,
        )


ILL = ["flu", None, "gout", "cold", None, "flu", "gout", "*", "cold", "flu", "gout", "cold"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "promise"),
    [
        (Anatomy("ill", 3), "distinct 3-diversity of 'ill'"),
        (
            TClosenessThroughMicroaggregation("age", 2, "ill", 0.3, "equal"),
            "0.3-closeness of 'ill' (equal distance)",
        ),
        (Mondrian({"age": None}, [DistinctLDiversity("ill", 2)]), "distinct 2-diversity of 'ill'"),
    ],
    ids=["anatomy", "microaggregation", "mondrian"],
)
@pytest.mark.parametrize("ill", [ILL, [None] * 12], ids=["some", "none"])
def test_masks_leave_blanks_out(method: Any, promise: str, ill: list[str | None]) -> None:
    table = pa.table({"age": list(range(20, 32)), "ill": pa.array(ill, pa.string())})
    made = veil.mask(table, method, person=None)
    assert {each.promise: each.holds for each in made.verification.findings}[promise]


def test_groups_of_anatomy_hold_values_beside_blanks() -> None:
    made = Anatomy("ill", 3).mask(Rows.of(pa.table({"age": list(range(12)), "ill": ILL})), Randomness())
    second = made.apart["confidential"].to_pylist()
    for number in {row["group"] for row in second}:
        values = [row["ill"] for row in second if row["group"] == number and row["ill"] not in (None, "*")]
        assert len(set(values)) == len(values) >= 3


@pytest.mark.parametrize("blank", [None, "", "*"])
def test_invariance_refuses_blanks(blank: str | None, tmp_path: Any) -> None:
    table = pa.table({"id": ["a", "b"], "age": [1, 2], "ill": ["flu", blank]})
    method = MInvariance("ill", 2, ["age"], "id", str(tmp_path / "history.json"))
    with refused(InputError, "'ill'", "row 2", "missing"):
        method.mask(Rows.of(table), Randomness())


WORST: list[Any] = [
    *(oracle.DistinctLDiversity("S", l) for l in (2, 3)),
    *(oracle.EntropyLDiversity("S", l) for l in (1.3, 1.9)),
    *(oracle.RecursiveCLDiversity("S", c, l) for c, l in ((2, 1), (3, 2), (5, 3))),
    *(oracle.TCloseness("S", t, kind) for t, kind in ((0.3, "equal"), (0.5, "equal"), (0.3, "ordered"))),
    oracle.TCloseness("S", 0.3, "hierarchical", None, [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]]),
    *(oracle.AlphaKAnonymity("S", alpha, 2, values) for alpha, values in ((0.7, None), (0.4, ("c",)))),
    *(oracle.BetaLikeness("S", beta, enhanced) for beta, enhanced in ((0.5, False), (2, False), (2, True))),
    *(oracle.DeltaDisclosure("S", delta) for delta in (1, 2.5)),
    oracle.RatioDistance("S", 3),
]


def disagreements(theirs: Any) -> list[str]:
    """Compare search and verifier with all fillings of some tables of two classes with up to four blanks each."""
    chance = random.Random(5)
    theirs = dataclasses.replace(theirs, missing="worst")
    asked, wrong = ours(theirs), []
    tables = [({"a": 4, "b": 4, "*": 2}, {"a": 4, "b": 4, "c": 5})]  # one c would be too few, two are not
    for _ in range(60):
        most = chance.choice([2, 9])
        first = {value: chance.randint(0, 4) for value in "abc"} | {"*": chance.randint(1, 4)}
        tables.append((first, {value: chance.randint(value != "*", most) for value in "abc*"}))
    for classes in tables:
        problem = problem_of(*classes)
        for levels in ((0,), (1,)):
            truth = [oracle.rejects(theirs, problem, levels, cls) for cls in oracle.classes(problem, levels)]
            if asked.verify(publish(problem, levels)).holds == any(truth):
                wrong.append(f"verifier: {classes} {levels}")
            try:
                if rejected_classes(asked, sample_of(problem), levels) != truth:
                    wrong.append(f"search: {classes} {levels}")
            except VeilError:
                wrong += [] if all(truth) else [f"refused: {classes} {levels}"]
            left = dataclasses.replace(asked, missing="left out").verify(publish(problem, levels))
            if not any(truth) and not left.holds:
                wrong.append(f"left out: {classes} {levels}")
    return wrong


@pytest.mark.parametrize("theirs", WORST, ids=str)
def test_the_worst_filling_is_that_of_all_fillings(theirs: Any) -> None:
    assert disagreements(theirs) == []


@pytest.mark.parametrize(
    ("rule", "theirs"),
    [
        ("commonest", oracle.TCloseness("S", 0.5)),
        ("commonest", oracle.BetaLikeness("S", 2)),
        ("commonest", oracle.AlphaKAnonymity("S", 0.4, 2, ("c",))),
        ("each", oracle.DeltaDisclosure("S", 1)),
    ],
    ids=str,
)
def test_a_rule_that_leaves_fillings_out_is_noticed(rule: str, theirs: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(type(ours(theirs)), "filling", rule)
    assert {each.split(":")[0] for each in disagreements(theirs)} >= {"search", "verifier"}


def test_what_is_said_of_the_worst_filling() -> None:
    asked = DistinctLDiversity("S", 2, missing="worst")
    found = asked.verify(seen(["flu", "gout", None], [None, None]))
    assert not found.holds
    assert "stricter" in found.promise
    assert not asked.verify(seen([None, None])).holds
    assert asked.promised(100).prosecutor == 0.5
    with refused(ImpossibleError, "missing='left out'"):
        veil.anonymize(
            pa.table({"Q": ["x"] * 2, "S": pa.array([None] * 2, pa.string())}),
            quasi_identifiers={"Q": "suppression"}, models=[asked], sensitive=["S"], person=None,
        )  # fmt: skip
    with refused(PlanError, "cannot count people"):
        veil.Plan(quasi_identifiers={"Q": "suppression"}, models=[asked], sensitive=["S"], person="P")
