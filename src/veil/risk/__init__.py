"""Disclosure risks of a table: `analyze` computes all measures, and each also has a function of its own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veil.risk.analysis import analyze
    from veil.risk.attackers import attacker_risks
    from veil.risk.attacks import try_attacks
    from veil.risk.column_sets import attribute_risks
    from veil.risk.combinations import certain_values, riskiest
    from veil.risk.difference import differencing
    from veil.risk.distribution import class_sizes
    from veil.risk.identify.detection import detect_identifiers
    from veil.risk.identify.repeats import find_repeats
    from veil.risk.identify.roles import propose_roles
    from veil.risk.individual import household_risk, individual_risk
    from veil.risk.linkage import linkage_experiment
    from veil.risk.minimality import transparency
    from veil.risk.overlap import intersection
    from veil.risk.refinement import refine
    from veil.risk.singling_out import singled_out
    from veil.risk.special_uniques import suda
    from veil.risk.uniques import population_uniques
    from veil.risk.wildcards import wildcard_risk

__all__ = [
    "analyze",
    "attacker_risks",
    "attribute_risks",
    "certain_values",
    "class_sizes",
    "detect_identifiers",
    "differencing",
    "find_repeats",
    "household_risk",
    "individual_risk",
    "intersection",
    "linkage_experiment",
    "population_uniques",
    "propose_roles",
    "refine",
    "riskiest",
    "singled_out",
    "suda",
    "transparency",
    "try_attacks",
    "wildcard_risk",
]

# Names are imported from their modules when first used: most callers need few of them.
_HOMES = {
    "analyze": "analysis",
    "attacker_risks": "attackers",
    "attribute_risks": "column_sets",
    "certain_values": "combinations",
    "class_sizes": "distribution",
    "detect_identifiers": "identify.detection",
    "differencing": "difference",
    "find_repeats": "identify.repeats",
    "household_risk": "individual",
    "individual_risk": "individual",
    "intersection": "overlap",
    "linkage_experiment": "linkage",
    "population_uniques": "uniques",
    "propose_roles": "identify.roles",
    "refine": "refinement",
    "riskiest": "combinations",
    "singled_out": "singling_out",
    "suda": "special_uniques",
    "transparency": "minimality",
    "try_attacks": "attacks",
    "wildcard_risk": "wildcards",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'veil.risk' has no attribute {name!r}")
    member = getattr(importlib.import_module(f"veil.risk.{_HOMES[name]}"), name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return __all__
