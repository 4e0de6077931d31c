"""Hypothesis strategies for small random problems and everything one may ask about them.

The tables are made to hurt: duplicates, values of the domain that never occur, forests without a root, labels
that mean something else on the next level, missing values listed in the hierarchy or not, skewed sensitive
values.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from support import oracle
from support.oracle import Node, Problem, Quality, Value

LETTERS = "abcdefgh"
FACTORS = (0.5, 0, 1, 0.25, 0.75, 0.1, 0.33, 0.9)
WEIGHTS = (0.5, 0, 1, 0.25, 0.8, 3)
SKEWED = ["a"] * 6 + ["b"] * 3 + ["c", "d", "e", None, None, "*"]
ITEMSETS = ["a", "a,b", "a,b", "b,a", "a,c", "b", "a,b,c", "", None]


def awkward_limits() -> list[float]:
    """Return limits of two digits whose product with a row count is misjudged in doubles."""
    found = []
    for percent in range(1, 100):
        limit = percent / 100
        if any(math.floor(limit * n) != Fraction(percent * n, 100) // 1 for n in range(1, 101)):
            found.append(limit)
    return found


def limits() -> st.SearchStrategy[float]:
    """Draw a suppression limit."""
    return st.one_of(
        st.sampled_from([0.0, 1.0, 0.1, 0.2, 0.3, 0.05, 0.7]),
        st.sampled_from(awkward_limits()),
        st.integers(0, 1000).map(lambda thousandths: thousandths / 1000),
    )


@st.composite
def hierarchies(draw: st.DrawFn, max_height: int = 4, missing: bool = True) -> list[list[Value]]:
    """Draw a hierarchy table: a tree or a forest over one to seven values, zero to max_height levels."""
    size = draw(st.integers(1, 7))
    height = draw(st.integers(0, max_height))
    style = draw(st.sampled_from(["fresh", "reused", "kept"]))
    rooted = draw(st.booleans())
    star = draw(st.booleans())
    keys: list[Value] = list(LETTERS[:size])
    if missing and draw(st.booleans()):
        keys[-1] = None
    rows = [[key] for key in keys]
    parent_of = list(range(size))  # the number of each row's group on the level below
    for level in range(1, height + 1):
        groups = sorted(set(parent_of))
        if level == height and rooted:
            target = dict.fromkeys(groups, 0)
        else:
            target = {group: draw(st.integers(0, len(groups) - 1)) for group in groups}
        below, parent_of = parent_of, [target[group] for group in parent_of]
        single_group = len(set(parent_of)) == 1
        for row, group in zip(rows, parent_of, strict=True):
            children = {old for old, new in zip(below, parent_of, strict=True) if new == group}
            if single_group and star:
                row.append("*")
            elif style == "kept" and len(children) == 1:
                row.append(row[-1])
            elif style == "reused":
                row.append(LETTERS[group])
            else:
                row.append(f"{level}.{group}")
    return rows


@st.composite
def problems(
    draw: st.DrawFn,
    max_rows: int = 40,
    max_width: int = 4,
    max_height: int = 4,
    sensitive: bool | None = None,
    subset: bool | None = None,
    microaggregated: bool | None = False,
) -> Problem:
    """Draw a problem.

    sensitive: with the columns S and T (skewed) and I (sets of items); subset: with a research subset, never
    empty; microaggregated: with a column M that is a microaggregated quasi-identifier; None draws it.
    """
    tables = draw(st.lists(hierarchies(max_height), min_size=1, max_size=max_width))
    used = [
        draw(st.lists(st.sampled_from([row[0] for row in table]), min_size=1, max_size=5)) for table in tables
    ]
    pool = draw(st.lists(st.tuples(*(st.sampled_from(values) for values in used)), min_size=1, max_size=10))
    rows = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_rows))
    for table in tables:
        if len(table) > 1 and table[-1][0] is None and draw(st.booleans()):
            table.pop()  # the missing value is left to the rule for values a hierarchy does not list
    columns: dict[str, list[Value]] = {}

    def column(values: list[Value]) -> list[Value]:
        return draw(st.lists(st.sampled_from(values), min_size=len(rows), max_size=len(rows)))

    if draw(st.booleans()) if sensitive is None else sensitive:
        columns = {"S": column(SKEWED), "T": column(["x", "y"]), "I": column(ITEMSETS)}
    if microaggregated is None:
        microaggregated = draw(st.booleans())
    if microaggregated:
        columns["M"] = column(["1", "2", "3", "4", None])
    chosen = None
    if draw(st.booleans()) if subset is None else subset:
        chosen = draw(st.sets(st.integers(0, len(rows) - 1), min_size=1))
    return Problem(rows, tables, columns, chosen, ("M",) if microaggregated else ())


def nodes(problem: Problem) -> st.SearchStrategy[Node]:
    """Draw a transformation."""
    return st.tuples(*(st.integers(0, height) for height in problem.heights))


@st.composite
def level_ranges(draw: st.DrawFn, problem: Problem) -> tuple[Node, Node]:
    """Draw minimum and maximum levels, most often the whole range."""
    if draw(st.integers(0, 2)):
        return (0,) * problem.width, problem.heights
    low = draw(nodes(problem))
    return low, tuple(draw(st.integers(level, top)) for level, top in zip(low, problem.heights, strict=True))


@st.composite
def qualities(draw: st.DrawFn, problem: Problem, names: tuple[str, ...] | None = None) -> Quality:
    """Draw a quality model with its factor, weights, aggregation and own parameters.

    Some examples favour few models; a test that must reach each one passes their names one by one.
    """
    name = draw(st.sampled_from(names or (*oracle.VECTOR_MODELS, *oracle.SINGLE_MODELS)))
    monotonic = name in ("Discernibility", "Precision", "NonUniformEntropy") and draw(st.booleans())
    aggregate, weights = None, None
    if name in oracle.VECTOR_MODELS:
        aggregate = draw(st.sampled_from([None, *oracle.AGGREGATES]))
        entries = problem.width
        if name == "Loss" or (name == "Precision" and not monotonic):
            entries += len(problem.microaggregated)
        if draw(st.booleans()):
            weights = draw(st.lists(st.sampled_from(WEIGHTS), min_size=entries, max_size=entries))
    losses = []
    if name == "Static":
        steps = st.sampled_from([0, 0.1, 0.5, 2])
        for height in problem.heights:
            first, *rises = draw(st.lists(steps, min_size=height + 1, max_size=height + 1))
            column = [Fraction(str(first))]
            for rise in rises:
                column.append(column[-1] + Fraction(str(rise)))
            losses.append([float(loss) for loss in column])
    responses: list[int | str] = []
    if name == "Classification":
        candidates = [*range(problem.width), *problem.sensitive]
        responses = draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=2, unique=True))
    costs: dict[str, Any] = {}
    if name == "PublisherPayout":
        costs = draw(cost_benefits())
    return Quality(
        name,
        gs=draw(st.sampled_from(FACTORS)),
        aggregate=aggregate,
        weights=weights,
        monotonic=monotonic,
        losses=losses,
        responses=responses,
        **costs,
    )


def cost_benefits() -> st.SearchStrategy[dict[str, Any]]:
    """Draw what publisher and attacker win and lose."""
    return st.fixed_dictionaries(
        {
            "benefit": st.sampled_from([1200, 100, 4]),
            "loss": st.sampled_from([300, 80, 0, 1000]),
            "gain": st.sampled_from([300, 60, 0, 2.5]),
            "cost": st.sampled_from([4, 21, 20, 0.5]),
            "attacker": st.sampled_from(["prosecutor", "journalist"]),
        }
    )


@st.composite
def taxonomies(draw: st.DrawFn, values: list[Value]) -> list[list[Value]]:
    """Draw a rooted two- or three-level hierarchy over the given values, for the distance between them."""
    height = draw(st.integers(1, 3))
    rows = [[value] for value in values]
    group = list(range(len(values)))
    for level in range(1, height + 1):
        target = {g: 0 if level == height else draw(st.integers(0, 2)) for g in sorted(set(group))}
        group = [target[g] for g in group]
        for row, g in zip(rows, group, strict=True):
            row.append(f"{level}.{g}")
    return rows


@st.composite
def closeness(draw: st.DrawFn, problem: Problem) -> oracle.TCloseness:
    """Draw t-closeness with one of its distances."""
    name = draw(st.sampled_from(["S", "T"]))
    values = sorted(set(problem.sensitive[name]), key=lambda value: (value is None, value or ""))
    kind = draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
    return oracle.TCloseness(
        name,
        draw(st.sampled_from([0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75, 1])),
        kind,
        order=draw(st.none() | st.permutations(values)) if kind == "ordered" else None,
        hierarchy=draw(taxonomies(values)) if kind == "hierarchical" else None,
    )


def treating_blanks(*models: st.SearchStrategy[oracle.AnyModel]) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw one of some models; what a cell without a value is, is drawn where it matters."""
    ways = st.sampled_from(["left out", "left out", "a value", "worst"])
    return (
        st.tuples(st.one_of(*models), ways)
        .filter(lambda pair: pair[1] != "worst" or getattr(pair[0], "estimator", "") != "Grassberger")
        .map(lambda pair: replace(pair[0], missing=pair[1]) if hasattr(pair[0], "missing") else pair[0])
    )


def monotone_models(problem: Problem) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw a model that stays satisfied under generalization. The problem must have sensitive columns."""
    small = st.integers(1, 5)
    name = st.sampled_from(["S", "T"])
    return treating_blanks(
        st.builds(oracle.KAnonymity, small),
        st.builds(oracle.KMap, small),
        st.builds(
            oracle.KMap,
            small,
            st.sampled_from([40, 100, 1000]),
            st.sampled_from([0.01, 0.1, 0.5]),
            st.sampled_from(["Poisson", "ZeroTruncatedPoisson"]),
        ),
        st.builds(oracle.DistinctLDiversity, name, small),
        st.builds(oracle.EntropyLDiversity, name, st.sampled_from([1, 1.5, 1.89, 2, 2.5, 3])),
        st.builds(oracle.RecursiveCLDiversity, name, st.sampled_from([0.5, 1, 1.5, 2, 4]), st.integers(1, 4)),
        closeness(problem),
        st.builds(oracle.RatioDistance, name, st.sampled_from([1, 1.5, 2, 3.3, 10])),
        st.builds(oracle.BetaLikeness, name, st.sampled_from([0, 0.3, 0.5, 1, 2]), st.booleans()),
        st.builds(oracle.AlphaKAnonymity, name, st.sampled_from([0.25, 0.5, 0.6, 0.75, 1]), small),
        st.builds(oracle.KMAnonymity, st.just("I"), small, st.integers(1, 3)),
        st.builds(oracle.SubsetKAnonymity, small, st.integers(1, 3)),
        st.builds(
            oracle.NoAttack,
            st.sampled_from([0, 2.5, 6, 10]),
            st.sampled_from([1, 2, 2.5]),
            st.sampled_from(["prosecutor", "journalist"]),
        ),
    )


def models(problem: Problem) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw any privacy model. The problem must have sensitive columns."""
    name = st.sampled_from(["S", "T"])
    return st.one_of(
        monotone_models(problem),
        class_models(name),
        sample_models(),
    )


def class_models(name: st.SearchStrategy[str]) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw a model that is judged class by class and not monotone under generalization, or trivial."""
    return treating_blanks(
        st.builds(oracle.EntropyLDiversity, name, st.sampled_from([1, 1.5, 2, 2.9]), st.just("Grassberger")),
        st.builds(oracle.DeltaDisclosure, name, st.sampled_from([0.1, 0.5, 1, 1.33, 2, 3])),
        st.sampled_from([(0, 1), (0, 0.5), (0.1, 0.9), (0.25, 0.75), (0.5, 1)]).map(
            lambda pair: oracle.DeltaPresence(*pair)
        ),
        st.just(oracle.Inclusion()),
        cost_benefits().map(lambda costs: oracle.Profitability(**costs)),
        st.just(oracle.DifferentialPrivacy(2, 0.5)),
    )


def sample_models() -> st.SearchStrategy[oracle.AnyModel]:
    """Draw a criterion that is judged on the whole sample."""
    share = st.sampled_from([0, 0.05, 0.1, 0.2, 0.25, 0.34, 0.5, 1])
    return st.one_of(
        st.builds(oracle.SampleUniqueness, share),
        st.builds(oracle.AverageReidentificationRisk, share),
        st.builds(oracle.AverageReidentificationRisk, share, share, share),
        st.builds(
            oracle.PopulationUniqueness,
            st.sampled_from([0.0001, 0.01, 0.1, 0.5]),
            st.sampled_from([41, 100, 1000, 100000]),
            st.sampled_from(["Zayatz", "Dankar", "Pitman", "SNB"]),
        ),
    )
