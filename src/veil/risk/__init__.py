"""Disclosure risks of a table: `analyze` computes all measures, and each also has a function of its own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veil.risk.analysis import RiskAnalysis, analyze
    from veil.risk.attack_rates import SuccessRate, TriedAttack, TriedAttacks
    from veil.risk.attackers import Attack, Attackers, Marketer, attacker_risks
    from veil.risk.attacks import try_attacks
    from veil.risk.before_and_after import risks_of
    from veil.risk.column_sets import AttributeRisk, attribute_risks
    from veil.risk.combinations import Certain, Combination, certain_values, riskiest
    from veil.risk.concerns.collect import concerns_of
    from veil.risk.concerns.concern import Concern
    from veil.risk.difference import Changed, Differencing, differencing
    from veil.risk.distribution import ClassSizes, RiskBin, class_sizes, risk_distribution
    from veil.risk.identify.detection import Identifier, detect_identifiers
    from veil.risk.identify.repeats import Repeated, find_repeats
    from veil.risk.identify.roles import Proposal, propose_roles
    from veil.risk.individual import HouseholdRisk, IndividualRisk, household_risk, individual_risk
    from veil.risk.limits import risk_limits
    from veil.risk.linkage import Linkage, linkage_experiment
    from veil.risk.minimality import Transparency, transparency
    from veil.risk.overlap import Intersection, Overlap, intersection
    from veil.risk.reidentification import Risk, sample_risk
    from veil.risk.singling_out import SingledOut, SinglingOut, singled_out
    from veil.risk.special_uniques import Suda, suda
    from veil.risk.uniques import (
        Estimated,
        PopulationUniques,
        SampleUniques,
        population_uniques,
        sample_uniques,
    )
    from veil.risk.wildcards import WildcardRisk, wildcard_risk

__all__ = [
    "Attack",
    "Attackers",
    "AttributeRisk",
    "Certain",
    "Changed",
    "ClassSizes",
    "Combination",
    "Concern",
    "Differencing",
    "Estimated",
    "HouseholdRisk",
    "Identifier",
    "IndividualRisk",
    "Intersection",
    "Linkage",
    "Marketer",
    "Overlap",
    "PopulationUniques",
    "Proposal",
    "Repeated",
    "Risk",
    "RiskAnalysis",
    "RiskBin",
    "SampleUniques",
    "SingledOut",
    "SinglingOut",
    "SuccessRate",
    "Suda",
    "Transparency",
    "TriedAttack",
    "TriedAttacks",
    "WildcardRisk",
    "analyze",
    "attacker_risks",
    "attribute_risks",
    "certain_values",
    "class_sizes",
    "concerns_of",
    "detect_identifiers",
    "differencing",
    "find_repeats",
    "household_risk",
    "individual_risk",
    "intersection",
    "linkage_experiment",
    "population_uniques",
    "propose_roles",
    "risk_distribution",
    "risk_limits",
    "riskiest",
    "risks_of",
    "sample_risk",
    "sample_uniques",
    "singled_out",
    "suda",
    "transparency",
    "try_attacks",
    "wildcard_risk",
]

# Names are imported from their modules when first used: a release needs little but `sample_risk`.
_HOMES = {
    "analysis": ("RiskAnalysis", "analyze"),
    "attackers": ("Attack", "Attackers", "Marketer", "attacker_risks"),
    "attacks": ("try_attacks",),
    "column_sets": ("AttributeRisk", "attribute_risks"),
    "concerns.concern": ("Concern",),
    "concerns.collect": ("concerns_of",),
    "identify.detection": ("Identifier", "detect_identifiers"),
    "before_and_after": ("risks_of",),
    "difference": ("Changed", "Differencing", "differencing"),
    "distribution": ("ClassSizes", "RiskBin", "class_sizes", "risk_distribution"),
    "individual": ("HouseholdRisk", "IndividualRisk", "household_risk", "individual_risk"),
    "overlap": ("Intersection", "Overlap", "intersection"),
    "limits": ("risk_limits",),
    "linkage": ("Linkage", "linkage_experiment"),
    "identify.repeats": ("Repeated", "find_repeats"),
    "identify.roles": ("Proposal", "propose_roles"),
    "reidentification": ("Risk", "sample_risk"),
    "combinations": ("Certain", "Combination", "certain_values", "riskiest"),
    "singling_out": ("SingledOut", "SinglingOut", "singled_out"),
    "special_uniques": ("Suda", "suda"),
    "attack_rates": ("SuccessRate", "TriedAttack", "TriedAttacks"),
    "minimality": ("Transparency", "transparency"),
    "uniques": ("Estimated", "PopulationUniques", "SampleUniques", "population_uniques", "sample_uniques"),
    "wildcards": ("WildcardRisk", "wildcard_risk"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            member = getattr(importlib.import_module(f"veil.risk.{home}"), name)
            globals()[name] = member
            return member
    raise AttributeError(f"module 'veil.risk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
