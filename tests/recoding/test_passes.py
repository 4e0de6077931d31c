"""Local recoding: against its definition, step by step; what must not be taken; tables in and out."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import veil
from support import local_recoding as twin
from support import oracle, strategies
from support.models import ours
from support.outcomes import with_prepared
from support.plans import any_models, modes, table_of
from support.refusals import refused
from support.samples import E1, WITH_FACTOR, as_tuple, hierarchy_of, model_of, names_of
from veil import hierarchies as h
from veil import models as m
from veil.api.anonymize import anonymize
from veil.api.release import Release
from veil.errors import ParameterError, PlanError
from veil.lattice import Optimal
from veil.lattice.evaluator import Evaluator
from veil.outcome.assemble import assemble
from veil.outcome.generalize import Choice, generalize
from veil.outcome.outcome import RecodedPart
from veil.plan.plan import Plan
from veil.quality import AverageClassSize, Discernibility, Loss
from veil.recoding import FastIterative, FromTheStart, Iterative, Mode, SinglePass
from veil.recoding.passes import recode
from veil.verification.outcome import verified
from veil.verification.recoded import verify_recoded

E1_TABLE = pa.table(
    {name: [row[j] for row in E1.rows] for j, name in enumerate("AGZ")} | {"S": E1.sensitive["S"]}
)


E1_HIERARCHIES = {name: h.table(E1.hierarchies[j]) for j, name in enumerate("AGZ")}


def e1(**changes: Any) -> Release:
    plan: dict[str, Any] = {
        "quasi_identifiers": E1_HIERARCHIES,
        "insensitive": ["S"],
        "models": m.KAnonymity(2),
        "quality": Loss(factor=0),
        "suppression_limit": 0.8,
    }
    return veil.anonymize(E1_TABLE, **(plan | changes), order="input")


def test_worked_value_9_of_the_reference_fast_iterative() -> None:
    release = e1()
    assert (tuple(release.transformation.values()), release.suppressed) == ((0, 0, 0), 8)
    recoded = release.local_recoding(FastIterative(0.2))
    found = [(tuple(each.transformation.values()), each.recoded, each.score) for each in recoded.passes]
    assert found == [
        ((1, 0, 1), 6, pytest.approx(0.185631101487, abs=1e-9)),
        ((2, 1, 1), 2, pytest.approx(0.747160929458, abs=1e-9)),
    ]
    assert recoded.suppressed == 0
    assert "nothing is suppressed" in recoded.ending
    assert recoded.arrow.select(["A", "G", "Z"]).to_pylist()[:4] == [
        {"A": "21", "G": "f", "Z": "110"},
        {"A": "*", "G": "*", "Z": "11*"},
        {"A": "20-29", "G": "m", "Z": "11*"},
        {"A": "*", "G": "*", "Z": "11*"},
    ]
    assert recoded.arrow["S"] == E1_TABLE["S"]


def test_worked_value_9_of_the_reference_single_pass() -> None:
    recoded = e1().local_recoding(SinglePass(0.5))
    (only,) = recoded.passes
    assert (tuple(only.transformation.values()), only.recoded) == ((1, 0, 1), 6)
    assert only.score == pytest.approx(0.391670351869, abs=1e-9)
    assert recoded.suppressed == 2
    assert np.flatnonzero(recoded.suppressed_rows).tolist() == [1, 3]
    assert "all passes" in recoded.ending


def small_classes(problem: oracle.Problem) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw a model that most classes of two or three records fulfil."""
    return st.one_of(
        st.builds(oracle.KAnonymity, st.integers(2, 3)),
        st.builds(oracle.SubsetKAnonymity, st.integers(2, 4), st.integers(1, 2)),
        st.builds(oracle.DistinctLDiversity, st.sampled_from(["S", "T"]), st.just(2)),
        st.builds(oracle.SampleUniqueness, st.sampled_from([0, 0.1, 0.3])),
        st.builds(oracle.AverageReidentificationRisk, st.sampled_from([0.3, 0.5])),
        st.builds(oracle.TCloseness, st.just("T"), st.sampled_from([0.3, 0.5])),
        st.builds(oracle.BetaLikeness, st.just("T"), st.just(1)),
        st.builds(oracle.KMAnonymity, st.just("I"), st.just(2), st.just(1)),
        st.just(oracle.Profitability(100, 300, 300, 4)),
    )


def fragile_models(problem: oracle.Problem) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw a model that may not survive when two classes become one."""
    return st.one_of(
        st.builds(oracle.DeltaDisclosure, st.just("T"), st.sampled_from([1, 1.2, 1.33, 1.5])),
        st.builds(oracle.DeltaDisclosure, st.just("S"), st.sampled_from([2, 3])),
        st.builds(
            oracle.EntropyLDiversity, st.just("S"), st.sampled_from([1.2, 1.5]), st.just("Grassberger")
        ),
    )


@st.composite
def crowds(draw: st.DrawFn, *, one_column: bool) -> oracle.Problem:
    """Draw a table in which some records are alone and others are not.

    Hierarchies have a root more often than not, and labels of a group that also are those of one of its members:
    always so in a table of one column.
    """
    rng = random.Random(draw(st.integers(0, 10**9)))  # what Hypothesis draws value by value is mostly alike
    tables = [tree(rng, 0 if one_column else 0.4) for _ in range(1 if one_column else rng.randint(1, 3))]
    pool = [tuple(rng.choice(table)[0] for table in tables) for _ in range(rng.randint(4, 14))]
    size = draw(st.integers(12, 40) if one_column else st.integers(8, 26))
    rows = [pool[int(len(pool) * rng.random() ** 2)] for _ in range(size)]
    further = {"S": strategies.SKEWED, "T": ["x", "y"], "I": strategies.ITEMSETS}
    columns = {name: [rng.choice(values) for _ in rows] for name, values in further.items()}
    if one_column:  # the most frequent have one value in common: where others join them, theirs become rare
        columns["T"] = [
            "x" if row == pool[0] else value for row, value in zip(rows, columns["T"], strict=True)
        ]
    return oracle.Problem(rows, tables, columns)


def tree(rng: random.Random, fresh: float) -> list[list[str | None]]:
    levels: list[list[str | None]] = [list("abcdef")[: rng.randint(2, 6)]]
    if rng.random() < 0.3:
        levels[0][-1] = None
    own = rng.random() < fresh
    for level in range(1, rng.randint(2, 4)):
        names = [f"{level}.{i}" for i in range(3)] if own else list("abc")
        group = {each: rng.choice(names) for each in levels[-1]}
        levels.append([group[each] for each in levels[-1]])
    if rng.random() < 0.8:
        levels.append([rng.choice(["*", "all"])] * len(levels[0]))
    return [list(row) for row in zip(*levels, strict=True)]


def drawn_release(
    data: st.DataObject, problem: oracle.Problem, models: list[oracle.AnyModel], quality: oracle.Quality
) -> Release:
    """Anonymize, and go on to a transformation that suppresses something."""
    names = names_of(problem)
    found = [ours(model) for model in models]
    assume(all(model is not None for model in found))
    assume(len({type(model) for model in found}) == len(found))
    try:
        plan = Plan(
            {name: hierarchy_of(problem, j) for j, name in enumerate(names)},
            found,
            sensitive=tuple(problem.sensitive),
            quality=model_of(quality, names),
            suppression_limit=1.0,
            strategy=Optimal(),
            suppressed_rows=data.draw(st.sampled_from(["blank", "drop"])),
            order="input",
        )
        release = anonymize(table_of(problem), plan, progress=False, threads=1)
    except PlanError:  # refused at once, as no table could fulfil it
        assume(False)
        raise
    some = [
        node.levels
        for levels in oracle.nodes((0,) * problem.width, problem.heights)
        for node in release.search.neighbours(levels)[:1]
        if node.state == "anonymous" and node.suppressed
    ]
    assume(some)
    limit = data.draw(st.sampled_from([0.9, 1.0, 0.75, 0.6, 0.5, 0.33, 0.1, 0.0]))
    limited = dataclasses.replace(plan, suppression_limit=limit)
    prepared = dataclasses.replace(release.outcome.prepared, plan=limited)
    evaluator = Evaluator(prepared.sample, limited.models, limited.quality, limited.suppression_limit)
    levels = data.draw(st.sampled_from(some[:6]))
    choice = Choice(levels, release.outcome.trace(Choice).found, evaluator)
    return Release(verified(generalize(release.outcome.source, prepared, choice)))


class Lockstep:
    """The passes that were made, checked one by one, following what was chosen among equally good ones."""

    def __init__(
        self,
        problem: oracle.Problem,
        models: list[oracle.AnyModel],
        quality: oracle.Quality,
        release: Release,
        recoded: Release,
    ) -> None:
        self.problem, self.models, self.quality = problem, models, quality
        self.limit = oracle.exact(release.plan.suppression_limit)
        self.parts = list(recoded.outcome.parts[1:])
        self.passes = list(recoded.passes)
        assert len(self.parts) == len(self.passes)
        levels = tuple(release.transformation.values())
        self.levels = dict.fromkeys(np.flatnonzero(~release.suppressed_rows).tolist(), levels)
        self.left = sorted(np.flatnonzero(release.suppressed_rows).tolist())

    def possible(self) -> bool:
        return len(self.left) >= max(1, twin.smallest(self.problem, self.models))

    def recode(self, factor: Fraction | None, share: Fraction | None) -> int:
        if not self.possible():
            return 0
        quality = self.quality if factor is None else dataclasses.replace(self.quality, gs=factor)
        most = twin.allowed(self.limit, share, len(self.problem.rows), len(self.left))
        every = {
            levels: twin.transform(self.problem, self.models, quality, levels, self.left, most)
            for levels in oracle.nodes((0,) * self.problem.width, self.problem.heights)
        }
        results = {
            levels: oracle.Result(each.anonymous, frozenset(), each.score) for levels, each in every.items()
        }
        best = {levels: self.taken(levels, every[levels].kept) for levels in oracle.ties(results)}
        counts = {bool(rows) for rows in best.values()}
        assume(len(counts) < 2)  # rounding decides whether anything is recoded at all
        if counts != {True}:
            return 0
        part, made = self.parts.pop(0), self.passes.pop(0)
        assert part.levels in best
        assert set(part.rows.tolist()) == best[part.levels]
        assert made.recoded == part.rows.size
        assert made.transformation == dict(zip(names_of(self.problem), part.levels, strict=True))
        score = as_tuple(every[part.levels].score)
        assert (made.score if isinstance(made.score, tuple) else (made.score,)) == pytest.approx(
            score, rel=1e-9, abs=1e-9
        )
        if self.quality.name in WITH_FACTOR:
            assert oracle.exact(made.factor) == (oracle.exact(self.quality.gs) if factor is None else factor)
        self.left = [row for row in self.left if row not in best[part.levels]]
        self.levels |= dict.fromkeys(best[part.levels], part.levels)
        return len(best[part.levels])

    def taken(self, levels: oracle.Node, kept: frozenset[int]) -> set[int]:
        """Leave out records that would show nothing, and those that would break a promise."""
        everything = [tuple(range(self.problem.width))]
        subsets = any(  # with groups that span classes
            isinstance(model, oracle.SubsetKAnonymity)
            and model.k > 1
            and model.attribute_sets(self.problem.width) != everything
            for model in self.models
        )
        new = {row for row in kept if subsets or set(self.labels(row, levels)) != {"*"}}
        if self.holds(levels, new):
            return new
        before = {self.labels(row, level) for row, level in self.levels.items()}
        new = {row for row in new if self.labels(row, levels) not in before}
        return new if self.holds(levels, new) else set()

    def labels(self, row: int, levels: oracle.Node) -> twin.Labels:
        return twin.labels_of(self.problem, row, levels)

    def holds(self, levels: oracle.Node, new: set[int]) -> bool:
        everybody = self.levels | dict.fromkeys(new, levels)
        shown = {row: self.labels(row, level) for row, level in everybody.items()}
        return twin.holds(self.problem, self.models, shown, everybody)


def follow(mode: Mode, steps: Lockstep) -> None:
    match mode:
        case SinglePass(factor):
            twin.single_pass(steps.recode, oracle.exact(factor))
        case Iterative(factor, iterations, adaptation):
            twin.iterative(
                steps.recode, steps.possible, oracle.exact(factor), iterations, oracle.exact(adaptation)
            )
        case FastIterative(share, factor):
            twin.fast_iterative(
                steps.recode,
                steps.possible,
                oracle.exact(share),
                None if factor is None else oracle.exact(factor),
            )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [any_models, small_classes, fragile_models])
def test_every_pass_is_what_the_definition_says_and_every_promise_holds(kind: Any) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        agrees(data, kind)

    check()


def agrees(data: st.DataObject, kind: Any) -> None:
    problem = data.draw(crowds(one_column=kind is fragile_models))
    models = [data.draw(kind(problem))]
    if kind is any_models:
        quality, mode = data.draw(strategies.qualities(problem)), data.draw(modes())
        models += data.draw(st.lists(any_models(problem), max_size=1))
    else:  # pass after pass, each for the records that need the least
        quality, mode = oracle.Quality("Loss", gs=0), FastIterative(data.draw(st.sampled_from([0.01, 0.1])))
        models += [oracle.KAnonymity(data.draw(st.integers(1, 4)))]
    release = drawn_release(data, problem, models, quality)
    recoded = release.local_recoding(mode, progress=False, threads=1)
    steps = Lockstep(problem, models, quality, release, recoded)
    follow(mode, steps)
    assert not steps.passes
    hidden = np.flatnonzero(recoded.suppressed_rows).tolist()
    assert hidden == steps.left
    assert recoded.suppressed == len(hidden)
    check_cells(problem, release, recoded, steps)
    check_measures(problem, recoded, steps)


def check_cells(problem: oracle.Problem, release: Release, recoded: Release, steps: Lockstep) -> None:
    """Look at every cell of the output, and judge its classes by the oracle."""
    labels = {row: steps.labels(row, levels) for row, levels in steps.levels.items()}
    rows = list(range(len(problem.rows)))
    if release.plan.suppressed_rows == "drop":
        rows = [row for row in rows if row in labels]
    cells = list(zip(*(recoded.arrow[name].to_pylist() for name in names_of(problem)), strict=True))
    assert cells == [labels.get(row, ("*",) * problem.width) for row in rows]
    assert recoded.arrow["S"].to_pylist() == [
        problem.sensitive["S"][row] if row in labels else "*" for row in rows
    ]
    assert twin.holds(problem, steps.models, labels, steps.levels)
    assert recoded.verification.holds


def check_measures(problem: oracle.Problem, recoded: Release, steps: Lockstep) -> None:
    """Compute the three measures from the definitions."""
    found = recoded.measures()
    n = len(problem.rows)
    sizes = Counter(steps.labels(row, levels) for row, levels in steps.levels.items())
    bare = n - sizes.total()
    assert found["classes"] == len(sizes) + (bare > 0)
    assert found["average class size"] == pytest.approx(n / (len(sizes) + (bare > 0)))
    assert found["discernibility"] == sum(size**2 for size in sizes.values()) + bare * n
    product = 1.0
    for j in range(problem.width):
        covered = Fraction(len(steps.left))
        for row, levels in steps.levels.items():
            covered += problem.share(j, levels[j], steps.labels(row, levels)[j])
        least = n / problem.domain_size(j)
        product *= 1 + float((covered - least) / (n - least)) if n != least else 1
    assert found["loss"] == pytest.approx(product ** (1 / problem.width) - 1, abs=1e-9)


def test_measures_of_a_release_are_its_scores() -> None:
    """Loss with the neutral factor is what the search minimizes; so are the others, each with its model."""
    release = e1(quality="loss", suppression_limit=0.1)
    assert release.suppressed == 1
    assert release.measures()["loss"] == pytest.approx(release.score, abs=1e-9)
    release = e1(quality=Discernibility(), suppression_limit=0.3)
    assert release.measures()["discernibility"] == release.score
    release = e1(quality=AverageClassSize(), suppression_limit=0.3)
    assert release.measures()["average class size"] == pytest.approx(release.score)


PLACES = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]


def places(rows: list[tuple[str, str]], models: Any, **changes: Any) -> Release:
    """Anonymize people with a place and a disease."""
    table = pa.table({"place": [place for place, _ in rows], "disease": [disease for _, disease in rows]})
    plan: dict[str, Any] = {
        "quasi_identifiers": {"place": h.table(PLACES)},
        "sensitive": ["disease"],
        "models": models,
        "quality": Loss(factor=0),
        "suppression_limit": 0.5,
    }
    return veil.anonymize(table, **(plan | changes), order="input")


def test_closeness_is_to_the_whole_table() -> None:
    """Those who are left have one disease: compared with each other, they would be as close as can be."""
    rows = [("a", "flu"), ("a", "gout")] * 3 + [("c", "flu"), ("d", "flu")] * 2
    release = places(rows, [m.TCloseness("disease", 0.25)])
    assert release.suppressed == 4
    recoded = release.local_recoding(FastIterative(0.1))
    assert recoded.passes == []
    assert "no transformation" in recoded.ending
    assert "4 suppressed" in recoded.ending


def test_k_map_keeps_the_class_size_of_the_whole_table() -> None:
    """Ten records by themselves would be content with classes of four, and nobody would stay suppressed."""
    model = m.KMap(5, population=80, significance=0.1)
    assert [model.derived_class_size(records) for records in (20, 10)] == [5, 4]
    rows = [("a", "flu")] * 10 + [("b", "flu")] * 4 + [("c", "flu"), ("d", "flu")] * 3
    release = places(rows, [model])
    assert release.suppressed == 10
    recoded = release.local_recoding(FastIterative(0.1))
    (only,) = recoded.passes
    assert (only.transformation, only.recoded) == ({"place": 1}, 6)
    assert "only 4" in recoded.ending
    assert "needs 5" in recoded.ending


def test_of_several_k_the_largest_counts() -> None:
    rows = [("a", "flu")] * 4 + [("c", "flu")] * 2 + [("d", "flu")] * 1
    recoded = places(rows, [m.KAnonymity(2), m.KAnonymity(3)]).local_recoding(FastIterative(0.1))
    (only,) = recoded.passes
    assert (only.transformation, only.recoded) == ({"place": 1}, 3)


TWICE = [["x", "x"], ["y1", "x"], ["y2", "x"], ["w1", "w"], ["w2", "w"], ["z", "z"]]
"""The label x means one place on level 0 and three on level 1."""


def twice(*more: str, **changes: Any) -> Release:
    """Twenty people at x with flu, and others with flu or gout.

    Those from y1 and y2 are acceptable as one class; but as that is called x as well, it tells nobody of gout that
    hardly anybody has it, whereas in the table a quarter has.
    """
    rows = [("x", "flu")] * 20 + [("z", "flu"), ("z", "gout")] * 10
    rows += [(place, disease) for place in more for disease in ("flu", "gout")]
    table = pa.table({"place": [place for place, _ in rows], "disease": [disease for _, disease in rows]})
    plan: dict[str, Any] = {
        "quasi_identifiers": {"place": h.table(TWICE)},
        "sensitive": ["disease"],
        "models": [m.KAnonymity(4), m.DeltaDisclosure("disease", 1.5)],
        "suppression_limit": 0.2,
    }
    return veil.anonymize(table, **(plan | changes), order="input")


def test_a_pass_that_would_break_a_promise_is_not_taken() -> None:
    release = twice("y1", "y2")
    assert (release.transformation, release.suppressed) == ({"place": 0}, 4)
    recoded = release.local_recoding(FastIterative(0.05))
    assert recoded.passes == []
    assert recoded.suppressed == 4
    assert recoded.arrow == release.arrow
    assert "last pass" in recoded.ending
    assert "a promise" in recoded.ending
    # The pass itself is what the models accept: it is the class that it becomes one with.
    broken = assemble(
        release.outcome.source,
        release.outcome.prepared,
        [*release.outcome.parts, RecodedPart((1,), np.flatnonzero(release.suppressed_rows))],
        np.zeros(release.records, np.bool_),
    )
    findings = verify_recoded(broken, None).findings
    assert [finding.promise for finding in findings if not finding.holds] == [
        "1.5-disclosure privacy of 'disease'"
    ]


def test_records_apart_from_earlier_classes_are_taken() -> None:
    release = twice("y1", "y2", "w1", "w2")
    assert release.suppressed == 8
    recoded = release.local_recoding(FastIterative(0.05))
    assert [each.recoded for each in recoded.passes] == [4]
    assert recoded.suppressed == 4
    shown = recoded.arrow["place"].to_pylist()
    assert shown[-8:] == ["*"] * 4 + ["w"] * 4


def test_classes_become_one_where_the_models_survive_that() -> None:
    release = twice("y1", "y2", models=m.KAnonymity(4))
    recoded = release.local_recoding(FastIterative(0.05))
    assert recoded.suppressed == 0
    assert Counter(recoded.arrow["place"].to_pylist()) == {"x": 24, "z": 20}
    assert recoded.classes == 2
    assert recoded.risk()[1].highest == pytest.approx(1 / 20)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (m.PopulationUniqueness(0.5, 1000), "under PopulationUniqueness.*what holds for two sets of records"),
        (m.Inclusion(subset=[0, 1, 2, 3, 4, 5, 9]), "under Inclusion.*research subset"),
        (m.KMap(2, subset=[0, 1, 2, 3, 4, 5, 9]), "under KMap.*research subset"),
    ],
)
def test_models_that_do_not_allow_it(model: m.PrivacyModel, match: str) -> None:
    release = e1(models=[m.KAnonymity(2), model])
    with pytest.raises(PlanError, match=match):
        release.local_recoding()


def test_a_private_release_is_not_recoded() -> None:
    from support.publishing import publish
    from veil.base.randomness import Randomness
    from veil.dp.safepub import SafePub
    from veil.tables import read

    plan = Plan({"sex": h.table([["f", "*"], ["m", "*"]])}, SafePub(1, 1e-4), person=None)
    private = publish(read(pa.table({"sex": ["f", "m"] * 500})), plan, randomness=Randomness.for_testing(1))
    with pytest.raises(PlanError, match="SafePub"):
        private.local_recoding()


def test_nothing_is_suppressed() -> None:
    release = e1(suppression_limit=0)
    recoded = release.local_recoding()
    assert (recoded.passes, recoded.ending) == ([], "nothing is suppressed")
    assert recoded.arrow == release.arrow
    assert recoded.suppressed == 0


def test_too_few_are_suppressed() -> None:
    release = e1(quality="loss", suppression_limit=0.1)
    recoded = release.local_recoding(SinglePass())
    assert "only 1" in recoded.ending
    assert "needs 2" in recoded.ending
    assert recoded.arrow == release.arrow


def test_everything_is_suppressed() -> None:
    """The transformation that was asked for keeps nobody: all records are recoded."""
    release = e1(models=m.KAnonymity(3), suppression_limit=1).search.apply([0, 0, 0])
    assert release.suppressed == 10
    recoded = release.local_recoding(SinglePass())
    assert recoded.suppressed < 10
    assert recoded.verification.holds


def test_the_time_limit_of_a_plan_is_a_total() -> None:
    """Not one for each of many passes."""
    release = e1(models=m.KAnonymity(3), suppression_limit=1).search.apply([0, 0, 0])
    prepared = release.outcome.prepared
    assert prepared is not None
    hasty = dataclasses.replace(prepared, plan=dataclasses.replace(prepared.plan, time_limit=1e-9))
    recoded = recode(with_prepared(release.outcome, hasty), FastIterative(0.1))
    assert not recoded.passes
    assert "time was over" in recoded.facts["ending"]


def test_a_release_without_rows() -> None:
    release = e1(models=m.KAnonymity(8), suppression_limit=1, suppressed_rows="drop").search.apply([0, 0, 0])
    assert release.arrow.num_rows == 0
    recoded = release.local_recoding(FastIterative(0.1), time_limit=1e-9)
    assert recoded.arrow.schema == release.arrow.schema
    assert recoded.arrow.num_rows == 0
    assert "time was over" in recoded.ending


def test_over_the_limit_knowingly() -> None:
    release = e1(suppression_limit=0.1).search.apply([0, 0, 0])
    assert not release.within_limit
    recoded = release.local_recoding(FastIterative(0.2))
    assert recoded.within_limit
    few = release.local_recoding(SinglePass(0.0))
    assert few.suppressed == 0  # the limit of the plan holds for what is left: none of eight


def test_recoding_goes_on_where_another_ended() -> None:
    first = e1().local_recoding(SinglePass())
    second = first.local_recoding(FastIterative(0.2))
    assert [each.recoded for each in second.passes] == [6, 2]
    assert second.suppressed == 0


def test_a_mode_and_nothing_else() -> None:
    with refused(ParameterError, "`mode`", "SinglePass()", "not 'fast'"):
        e1().local_recoding("fast")  # type: ignore[arg-type]


def test_a_model_without_factor_is_not_tried_with_others() -> None:
    """What adaptation changes does not exist, so a pass that recodes nothing is the last."""
    told: list[str] = []
    rows = [("a", "flu")] * 4 + [("b", "flu"), ("c", "flu"), ("d", "gout")]
    release = places(rows, [m.KAnonymity(3)], quality="height", suppression_limit=1).search.apply([0])
    release.local_recoding(Iterative(), progress=lambda phase, *_: told.append(phase))
    assert len({phase for phase in told if phase.startswith("recoding")}) <= 2


def test_time_and_cancelling() -> None:
    release = e1()
    late = release.local_recoding(FastIterative(0.2), time_limit=1e-9)
    assert (late.passes, late.ending) == ([], "the time was over")
    assert late.suppressed == 8
    after_the_first = threading.Event()
    stopped = release.local_recoding(
        FastIterative(0.2),
        cancel=after_the_first.is_set,
        progress=lambda phase, done, *_: after_the_first.set() if done else None,
    )
    assert stopped.ending == "it was cancelled"
    assert [each.recoded for each in stopped.passes] == [6]
    assert stopped.suppressed == 2


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    e1().local_recoding(
        FastIterative(0.2), progress=lambda phase, done, total, note: told.append((phase, done, total))
    )
    assert ("recoding, pass 1", 6, 8) in told
    assert ("recoding, pass 2", 8, 8) in told
    assert told[-1][0] == "applying"


PEOPLE: dict[str, list[Any]] = {
    "name": ["Ann", "Bob", "Cid", "Dee", "Eve", "Fay", "Gus"],
    "age": [21, 21, 35, 38, None, 60, 63],
    "sex": ["f", "f", "m", "m", "*", "f", "f"],
    "cost": [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5],
}


def people(frame: Any, **changes: Any) -> Release:
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20), "sex": h.suppression()},
        "insensitive": ["cost"],
        "identifying": {"name": "mask"},
        "models": m.KAnonymity(2),
        "quality": Loss(factor=0),
        "suppression_limit": 0.75,
        "progress": False,
    }
    return veil.anonymize(frame, **(plan | changes), order="input")


def test_original_values_beside_labels_are_text() -> None:
    recoded = people(pa.table(PEOPLE)).local_recoding(FastIterative(0.1))
    assert recoded.arrow.to_pydict() == {
        "name": ["*"] * 7,
        "age": ["21", "21", "[30, 40[", "[30, 40[", "*", "[60, 70[", "[60, 70["],
        "sex": ["f", "f", "m", "m", "*", "f", "f"],
        "cost": [None if row == 4 else cost for row, cost in enumerate(PEOPLE["cost"])],
    }
    assert recoded.suppressed_rows.tolist() == [False] * 4 + [True] + [False] * 2


def test_types_are_kept_where_no_record_is_generalized() -> None:
    release = people(pa.table(PEOPLE), maximum_levels={"age": 0}, suppression_limit=1)
    recoded = release.local_recoding(FastIterative(0.1))
    assert recoded.arrow.schema.field("age").type == pa.int64()
    assert recoded.arrow["age"].to_pylist() == [21, 21, None, None, None, None, None]


def test_a_flag_where_cells_alone_do_not_tell() -> None:
    """A record that is all missing looks like one that is suppressed, until text can tell them apart."""
    frame = pa.table({"age": pa.array([30, 30, None, None, 51, 58, 80])})
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20)}, "insensitive": [], "identifying": []
    }  # fmt: skip
    release = people(frame, **plan)
    assert release.arrow["suppressed"].to_pylist() == [False] * 4 + [True] * 3
    recoded = release.local_recoding(FastIterative(0.1))
    assert recoded.arrow.to_pydict() == {"age": ["30", "30", None, None, "[50, 60[", "[50, 60[", "*"]}
    unmarked = people(frame, marker=None, **plan).local_recoding(FastIterative(0.1))
    assert unmarked.arrow["suppressed"].to_pylist() == [False] * 6 + [True]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_kind_of_frame_comes_out(kind: Any) -> None:
    recoded = people(kind(PEOPLE)).local_recoding(FastIterative(0.1))
    assert type(recoded.table) is type(kind(PEOPLE))
    assert list(recoded.table["age"].to_list() if kind is pl.DataFrame else list(recoded.table["age"]))[
        2:4
    ] in (
        ["[30, 40[", "[30, 40["],
        [pa.scalar("[30, 40["), pa.scalar("[30, 40[")],
    )


def test_rows_that_stay_suppressed_are_dropped_if_asked() -> None:
    recoded = people(pd.DataFrame(PEOPLE), suppressed_rows="drop").local_recoding(FastIterative(0.1))
    assert recoded.outcome.origins.tolist() == [0, 1, 2, 3, 5, 6]
    assert recoded.table.index.equals(pd.RangeIndex(6))
    assert recoded.table["cost"].tolist() == [1.5, 2.0, 2.5, 3.0, 4.0, 4.5]


def test_saved_and_read_again(tmp_path: Path) -> None:
    recoded = people(pa.table(PEOPLE)).local_recoding(FastIterative(0.1))
    recoded.save(tmp_path / "recoded.parquet")
    assert pa.parquet.read_table(tmp_path / "recoded.parquet").equals(recoded.arrow)
    assert veil.verify(tmp_path / "recoded.parquet", recoded.plan).holds


def test_aggregates_are_those_of_each_pass() -> None:
    """A class of the first transformation and one of a later pass have their own means."""
    table = pa.table(
        {
            "age": [20, 22, 30, 34, 40, 50],
            "place": ["a", "a", "c", "d", "c", "d"],
        }
    )
    release = veil.anonymize(
        table,
        quasi_identifiers={"place": h.table(PLACES)},
        microaggregated={"age": "mean"},
        models=m.KAnonymity(2),
        quality=Loss(factor=0),
        suppression_limit=1,
        order="input",
    ).search.apply([0])
    assert release.suppressed == 0
    release = veil.anonymize(
        table,
        quasi_identifiers={"place": h.table(PLACES)},
        microaggregated={"age": "mean"},
        models=m.KAnonymity(3),
        quality=Loss(factor=0),
        suppression_limit=1,
        order="input",
    ).search.apply([0])
    assert release.suppressed == 6
    recoded = release.local_recoding(FastIterative(0.1))
    assert recoded.arrow["place"].to_pylist() == ["*", "*", "cd", "cd", "cd", "cd"]
    assert recoded.arrow["age"].to_pylist() == [None, None, 39, 39, 39, 39]
    assert recoded.verification.holds
    assert recoded.measures()["classes"] == 2


def test_repr_tells_what_happened() -> None:
    recoded = e1().local_recoding(FastIterative(0.2))
    assert repr(recoded) == (
        "Release(10 records, 0 suppressed, 5 classes, 2 passes (6 records at {'A': 1, 'G': 0, 'Z': 1}, "
        f"score {recoded.passes[0].score}; 2 records at {{'A': 2, 'G': 1, 'Z': 1}}, "
        f"score {recoded.passes[1].score}), ended as nothing is suppressed any more)"
    )
    assert "1 pass (" in repr(e1().local_recoding(SinglePass()))


def test_local_from_the_start_is_the_worked_value_9_with_five_iterations() -> None:
    recoded = anonymize(
        E1_TABLE,
        quasi_identifiers=E1_HIERARCHIES,
        insensitive=["S"],
        models=m.KAnonymity(2),
        recoding=FromTheStart(5),
    )
    assert [each.recoded for each in recoded.passes] == [6, 2]
    assert recoded.suppressed == 0
    assert recoded.plan.suppression_limit == 0.8
    assert recoded.plan.quality == Loss(factor=0)


@pytest.mark.parametrize("iterations", [1, 3, 7, 11, 13, 49, 100])
def test_limits_are_exact_for_any_number_of_iterations(iterations: int) -> None:
    """One record in so many is enough: no rounding asks for a second one."""
    mode = FromTheStart(iterations)
    share = next(mode.passes()).share
    limit = mode.first(Plan({"A": "suppression"}, m.KAnonymity(2))).suppression_limit
    counts = range(iterations + 1)
    assert min(count for count in counts if count / iterations >= share) == 1
    assert max(count for count in counts if count / iterations <= limit) == iterations - 1


def test_local_from_the_start_keeps_another_quality_as_it_is() -> None:
    options: dict[str, Any] = {
        "quasi_identifiers": E1_HIERARCHIES,
        "insensitive": ["S"],
        "models": m.KAnonymity(2),
    }
    recoded = anonymize(E1_TABLE, recoding=FromTheStart(5, factor=None), quality=Loss(factor=0.3), **options)
    assert recoded.plan.quality == Loss(factor=0.3)
    assert anonymize(E1_TABLE, quality="discernibility", recoding=FromTheStart(5), **options).suppressed == 0
    with refused(PlanError, "`suppression_limit`", "left out"):
        anonymize(E1_TABLE, suppression_limit=0.1, recoding=FromTheStart(), **options)
    with refused(ParameterError, "`iterations`", "FromTheStart", "not 0"):
        anonymize(E1_TABLE, recoding=FromTheStart(0), **options)
