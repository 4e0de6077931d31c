"""The same models in the oracle's words and in Veil's."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from support import oracle
from veil import hierarchies as h
from veil import models as m
from veil.models.attribute_subsets import SubsetKAnonymity
from veil.models.base import PrivacyModel


def ours(model: oracle.AnyModel) -> PrivacyModel | None:
    """The same model of Veil; None where the oracle speaks of something that is no model of a plan."""
    made = _ours(model)
    return dataclasses.replace(made, missing=model.missing) if made and hasattr(model, "missing") else made


def _ours(model: oracle.AnyModel) -> PrivacyModel | None:
    match model:
        case oracle.KAnonymity(k):
            return m.KAnonymity(k)
        case oracle.KMap(k, None):
            return m.KMap(k)
        case oracle.KMap(k, population, alpha, estimator):
            name = {"Poisson": "poisson", "ZeroTruncatedPoisson": "zero_truncated_poisson"}[estimator]
            return m.KMap(k, population=population, significance=alpha, estimator=name)
        case oracle.DistinctLDiversity(attribute, l):
            return m.DistinctLDiversity(attribute, l)
        case oracle.EntropyLDiversity(attribute, l, estimator):
            return m.EntropyLDiversity(attribute, l, estimator.lower())
        case oracle.RecursiveCLDiversity(attribute, c, l):
            return m.RecursiveCLDiversity(attribute, c, l)
        case oracle.TCloseness(attribute, t, distance, order, hierarchy):
            if order is not None:
                return None  # the samples of these tests know no other order than that of types
            return m.TCloseness(attribute, t, distance, h.table(hierarchy) if hierarchy else None)
        case oracle.DeltaDisclosure(attribute, delta):
            return m.DeltaDisclosure(attribute, delta)
        case oracle.RatioDistance(attribute, t):
            return m.RatioDistance(attribute, t)
        case oracle.BetaLikeness(attribute, beta, enhanced):
            return m.BetaLikeness(attribute, beta, enhanced)
        case oracle.AlphaKAnonymity(attribute, alpha, k, values):
            return m.AlphaKAnonymity(attribute, alpha, k, values)
        case oracle.KMAnonymity(attribute, k, size):
            return m.KMAnonymity(attribute, k, size)
        case oracle.SubsetKAnonymity(k, size):
            return m.SubsetKAnonymity(k, size)
        case oracle.DeltaPresence(low, high):
            return m.DeltaPresence(low, high)
        case oracle.NoAttack(gain, cost, attacker):
            return m.Profitability(attacker, no_attack=True, adversary_gain=gain, cost=cost)
        case oracle.Profitability():
            return m.Profitability(
                model.attacker,
                benefit=model.benefit,
                publisher_loss=model.loss,
                adversary_gain=model.gain,
                cost=model.cost,
            )
        case oracle.AverageReidentificationRisk(average, highest, at_risk):
            return m.AverageReidentificationRisk(average, highest, at_risk)
        case oracle.SampleUniqueness(threshold):
            return m.SampleUniqueness(threshold)
        case oracle.PopulationUniqueness(threshold, population, estimator):
            return m.PopulationUniqueness(threshold, population, estimator.lower())
    return None


@st.composite
def asked(draw: st.DrawFn, width: int) -> tuple[oracle.SubsetKAnonymity, SubsetKAnonymity]:
    """Draw a model of the oracle and the same of Veil."""
    k = draw(st.integers(1, 5))
    if draw(st.booleans()):
        m = draw(st.integers(1, 4))
        return oracle.SubsetKAnonymity(k, m), SubsetKAnonymity(k, m)
    some = st.lists(st.integers(0, width - 1), min_size=1, max_size=width)
    subsets = draw(st.lists(some, min_size=1, max_size=4))
    names = [[f"q{j}" for j in subset] for subset in subsets]
    return oracle.SubsetKAnonymity(k, subsets=subsets), SubsetKAnonymity(k, subsets=names)
