"""Models that claim to survive a union do: parts that fulfil them by themselves fulfil them together."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.judging import often
from support.models import ours
from support.oracle.suppression import sizes_of, without_small_groups
from support.samples import sample_of
from veil import models as m

SAMPLE_MODELS = (
    oracle.AverageReidentificationRisk,
    oracle.SampleUniqueness,
    oracle.PopulationUniqueness,
)

NEVER = {"DeltaDisclosure", "DeltaPresence", "Inclusion", "PopulationUniqueness"}
"""Models that do not survive a union, whatever their parameters are."""


def kept(
    model: oracle.AnyModel, problem: oracle.Problem, levels: oracle.Node, rows: frozenset[int]
) -> frozenset[int]:
    """Return what a model accepts of some rows that are a part of the table: a class is made of these rows alone."""
    whole = oracle.classes(problem, levels)
    classes = [part for cls in whole if (part := [row for row in cls if row in rows])]
    if isinstance(model, SAMPLE_MODELS):
        holds = oracle.fulfils(model, sizes_of(problem, classes))
        return rows if holds else frozenset()
    if isinstance(model, oracle.SubsetKAnonymity):
        classes = without_small_groups(problem, [model], levels, classes)
    else:
        classes = [cls for cls in classes if not oracle.rejects(model, problem, levels, cls)]
    return frozenset(row for cls in classes for row in cls)


@st.composite
def tables(draw: st.DrawFn) -> oracle.Problem:
    """Draw a table of few classes, so that a class falls into parts that are large enough."""
    size = draw(st.integers(8, 24))

    def column(values: list[oracle.Value]) -> list[oracle.Value]:
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    rows = list(zip(column(["a", "b"]), column(["a", "a", "a", "b"]), strict=True))
    sensitive = {"S": column(strategies.SKEWED), "T": column(["x", "y"]), "I": column(strategies.ITEMSETS)}
    return oracle.Problem(rows, [[["a", "*"], ["b", "*"]]] * 2, sensitive)


def claimants(problem: oracle.Problem) -> dict[str, st.SearchStrategy[oracle.AnyModel]]:
    """Models of each kind that may claim it, with parameters that small classes fulfil now and then."""
    small, share = st.integers(1, 3), st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.8, 1])
    name = st.sampled_from(["S", "T"])
    costs = strategies.cost_benefits().map(lambda costs: oracle.Profitability(**costs))
    unattacked = st.builds(oracle.NoAttack, st.sampled_from([0, 2.5, 6]), st.sampled_from([1, 2, 2.5]))
    return {
        "KAnonymity": st.builds(oracle.KAnonymity, small),
        "SubsetKAnonymity": st.builds(oracle.SubsetKAnonymity, small, small),
        "KMAnonymity": st.builds(oracle.KMAnonymity, st.just("I"), small, small),
        "KMap": st.builds(
            oracle.KMap, small, st.sampled_from([40, 100]), share.filter(lambda each: each < 1)
        ),
        "DistinctLDiversity": st.builds(oracle.DistinctLDiversity, name, small),
        "EntropyLDiversity": st.builds(oracle.EntropyLDiversity, name, st.sampled_from([1, 1.5, 1.89, 2])),
        "RecursiveCLDiversity": st.builds(
            oracle.RecursiveCLDiversity, name, st.sampled_from([0.5, 1, 1.5, 3]), small
        ),
        "AlphaKAnonymity": st.builds(oracle.AlphaKAnonymity, name, share, small),
        "TCloseness": strategies.closeness(problem),
        "RatioDistance": st.builds(oracle.RatioDistance, name, st.sampled_from([1, 2, 5, 20])),
        "BetaLikeness": st.builds(oracle.BetaLikeness, name, st.sampled_from([0.5, 1, 2, 5]), st.booleans()),
        "Profitability": costs | unattacked,
        "AverageReidentificationRisk": st.builds(oracle.AverageReidentificationRisk, share)
        | st.builds(oracle.AverageReidentificationRisk, share, share, share),
        "SampleUniqueness": st.builds(oracle.SampleUniqueness, share),
    }


HARD = {"AlphaKAnonymity", "RatioDistance", "RecursiveCLDiversity"}
"""Models that few random parts fulfil, both of them."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(m.MODELS) - NEVER))
def test_acceptable_parts_are_acceptable_together(kind: str) -> None:
    joined = 0

    @settings(often, max_examples=400 if kind in HARD else 100)
    @given(st.data())
    def survive(data: st.DataObject) -> None:
        nonlocal joined
        problem = data.draw(tables())
        theirs = data.draw(claimants(problem)[kind])
        model = ours(theirs)
        assume(model is not None)
        assert model is not None
        assert type(model).__name__ == kind
        assert model.survives_union
        levels = data.draw(strategies.nodes(problem))
        part_of = data.draw(st.lists(st.integers(0, 1), min_size=problem.size, max_size=problem.size))
        parts = [frozenset(row for row, each in enumerate(part_of) if each == part) for part in (0, 1)]
        accepted = [kept(theirs, problem, levels, part) for part in parts]
        together = accepted[0] | accepted[1]
        assert kept(theirs, problem, levels, together) == together
        joined += all(accepted)

    survive()
    assert joined > 0


def test_models_that_do_not_survive_do_not_claim_it() -> None:
    assert not m.EntropyLDiversity("S", 2, "grassberger").survives_union
    assert not m.DeltaDisclosure("S", 1).survives_union
    assert not m.PopulationUniqueness(0.1, 1000).survives_union
    assert not m.DeltaPresence(0, 1).survives_union
    assert not m.Inclusion([0]).survives_union
    assert not m.KMap(2).survives_union
    assert not m.KMap(2, subset=[0]).survives_union
    assert not m.Profitability(subset=[0]).survives_union


def test_two_classes_with_too_little_entropy_together() -> None:
    """The counts (1, 1) fulfil l = 2 after Grassberger, and twice that, (2, 2), does not."""
    problem = oracle.Problem([("a",)] * 4, [[["a", "*"]]], {"S": ["x", "y", "x", "y"]})
    model = oracle.EntropyLDiversity("S", 2, "Grassberger")
    assert kept(model, problem, (0,), frozenset({0, 1})) == {0, 1}
    assert kept(model, problem, (0,), frozenset(range(4))) == frozenset()


def test_a_part_is_judged_by_the_class_size_derived_for_the_whole_table() -> None:
    """Of few records fewer would be needed than of all of them."""
    problem = oracle.Problem([("a",)] * 40, [[["a", "*"]]])
    model = m.KMap(8, population=100, significance=0.1)
    needed = oracle.estimated_k(oracle.KMap(8, 100, 0.1), 40)
    assert model.for_part(sample_of(problem)) == m.KAnonymity(needed)
    assert needed > oracle.estimated_k(oracle.KMap(8, 100, 0.1), 10)
    assert m.KAnonymity(3).for_part(sample_of(problem)) == m.KAnonymity(3)
