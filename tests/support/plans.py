"""Plans drawn at random, with the tables they are made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from support import oracle, strategies
from support.models import ours
from support.samples import hierarchy_of, model_of, names_of
from veil import models as m
from veil.errors import PlanError
from veil.lattice import Optimal
from veil.models.subset import Where
from veil.plan.plan import Plan
from veil.recoding import FastIterative, Iterative, Mode, SinglePass


def modes() -> st.SearchStrategy[Mode]:
    factors = st.sampled_from([0.0, 0.05, 0.33, 0.5, 0.9, 1.0])
    shares = st.sampled_from([0.01, 0.07, 0.1, 0.25, 0.5, 1.0])
    steps = st.sampled_from([0.0, 0.05, 0.3, 0.5])
    return st.one_of(
        st.builds(SinglePass, factors),
        st.builds(Iterative, factors, st.integers(1, 5), steps),
        st.builds(FastIterative, shares, st.none() | factors),
    )


def any_models(problem: oracle.Problem) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw a model that records can be recoded under."""
    share = st.sampled_from([0, 0.05, 0.2, 0.34, 0.5, 1])
    return st.one_of(
        strategies.monotone_models(problem),
        strategies.class_models(st.sampled_from(["S", "T"])),
        st.builds(oracle.SampleUniqueness, share),
        st.builds(oracle.AverageReidentificationRisk, share, share, share),
    ).filter(
        lambda model: (
            not isinstance(model, oracle.DeltaPresence | oracle.Inclusion | oracle.DifferentialPrivacy)
            and getattr(model, "attacker", "") != "journalist"
            and (not isinstance(model, oracle.KMap) or model.population is not None)
        )
    )


def table_of(problem: oracle.Problem) -> pa.Table:
    columns = {name: [row[j] for row in problem.rows] for j, name in enumerate(names_of(problem))}
    return pa.table(
        {name: pa.array(column, pa.string()) for name, column in (columns | dict(problem.sensitive)).items()}
    )


def drawn_plan(
    data: st.DataObject,
    problem: oracle.Problem,
    models: Sequence[oracle.AnyModel | m.PrivacyModel],
    quality: oracle.Quality,
    **changes: Any,
) -> Plan:
    found = [each if isinstance(each, m.PrivacyModel) else ours(each) for each in models]
    assume(all(model is not None for model in found))
    assume(len({type(model) for model in found}) == len(found))
    names = names_of(problem)
    options: dict[str, Any] = {
        "sensitive": tuple(problem.sensitive),
        "quality": model_of(quality, names),
        "suppression_limit": data.draw(strategies.limits()),
        "strategy": Optimal(),
        "suppressed_rows": data.draw(st.sampled_from(["blank", "drop"])),
        "marker": data.draw(st.sampled_from(["*", "*", None])),
    }
    hierarchies = {name: hierarchy_of(problem, j) for j, name in enumerate(names)}
    try:
        return Plan(hierarchies, found, **(options | changes))
    except PlanError:  # a pair that no plan allows
        assume(False)
        raise


MEMBERS = Where("member = 'yes' or (T = 'x' and not S is missing)")
WITH_SUBSET = [
    m.KMap(2, subset=MEMBERS),
    m.DeltaPresence(0, 0.5, subset=MEMBERS),
    m.DeltaPresence(0.25, 0.75, subset=MEMBERS),
    m.Inclusion(MEMBERS),
    m.Profitability("journalist", subset=MEMBERS, benefit=100, publisher_loss=80, adversary_gain=60, cost=4),
    m.Profitability("journalist", subset=MEMBERS, no_attack=True, adversary_gain=6, cost=2),
]
