"""Chains of rules: what is proven, and the smallest set of requirements."""

from __future__ import annotations

from veil import (
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    PopulationUniqueness,
    Profitability,
    TCloseness,
)
from veil.models.implication import ValueFrequencies, implied, weakest


def test_estimates_and_mechanisms_prove_nothing() -> None:
    from veil import SafePub

    goals = [
        KAnonymity(2),
        KMap(2, population=1000),
        PopulationUniqueness(0.01, 1000),
        DistinctLDiversity("ill", 2),
    ]
    for premise in (SafePub(1.0, 1e-6), PopulationUniqueness(0.01, 1000), KMap(5, population=1000)):
        for goal in goals:
            assert goal == premise or implied([premise], goal) is None
    assert implied([KAnonymity(50)], PopulationUniqueness(0.01, 1000)) is None
    assert implied([KAnonymity(50)], SafePub(1.0, 1e-6)) is None


def test_a_smallest_set_is_found_with_every_step() -> None:
    asked = [KAnonymity(3), DistinctLDiversity("ill", 5), EntropyLDiversity("ill", 2.5)]
    assert weakest(asked).models == tuple(asked)  # a class may show no value
    found = weakest(asked, {"ill": ValueFrequencies((9, 8, 7, 6, 5))})
    assert found.models == (DistinctLDiversity("ill", 5), EntropyLDiversity("ill", 2.5))
    ((model, steps),) = found.proofs
    assert model == KAnonymity(3)
    assert [each.conclusion for each in steps] == [KAnonymity(5), KAnonymity(3)]
    assert "l records" in str(found)


def test_distributions_prove_more_and_without_them_every_model_stays() -> None:
    asked = [TCloseness("ill", 0.2), DistinctLDiversity("ill", 3)]
    assert len(weakest(asked).models) == 2
    flat = {"ill": ValueFrequencies((10, 10, 10, 10))}
    assert weakest(asked, flat).models == (TCloseness("ill", 0.2),)
    assert len(weakest(asked, {"job": ValueFrequencies((10, 10, 10, 10))}).models) == 2


def test_ties_are_settled_by_trial_runs() -> None:
    paying = Profitability(no_attack=True, adversary_gain=300, cost=4)
    asked = [KAnonymity(76), paying]
    assert weakest(asked).models == (KAnonymity(76),)
    tried = weakest(asked, trial=lambda models: 0.0 if paying in models else 1.0)
    assert (tried.models, tried.others) == ((paying,), ((KAnonymity(76),),))


def test_many_requirements_are_thinned_one_by_one() -> None:
    asked = [KAnonymity(k) for k in range(2, 20)]
    assert weakest(asked).models == (KAnonymity(19),)
    assert weakest([]).models == ()
