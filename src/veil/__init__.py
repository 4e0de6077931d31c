"""Veil anonymizes tables about people, with guarantees that are proven and verified."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veil import hierarchies, quality
    from veil.api import anonymize, assess, verify
    from veil.errors import VeilError
    from veil.models import (
        AlphaKAnonymity,
        AverageReidentificationRisk,
        BetaLikeness,
        DeltaDisclosure,
        DeltaPresence,
        DistinctLDiversity,
        EntropyLDiversity,
        Inclusion,
        KAnonymity,
        KMAnonymity,
        KMap,
        PopulationUniqueness,
        Profitability,
        RecursiveCLDiversity,
        SampleUniqueness,
        SubsetKAnonymity,
        TCloseness,
    )
    from veil.plan import Plan
    from veil.recipe import Recipe
    from veil.release import Release

__version__ = "0.1.0"

__all__ = [
    "AlphaKAnonymity",
    "AverageReidentificationRisk",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Inclusion",
    "KAnonymity",
    "KMAnonymity",
    "KMap",
    "Plan",
    "PopulationUniqueness",
    "Profitability",
    "Recipe",
    "RecursiveCLDiversity",
    "Release",
    "SampleUniqueness",
    "SubsetKAnonymity",
    "TCloseness",
    "VeilError",
    "anonymize",
    "assess",
    "hierarchies",
    "quality",
    "verify",
]

# Names are fetched from their homes when first used: `veil --help` should not wait for the engine.
_HOMES = {
    "Plan": "veil.plan",
    "Recipe": "veil.recipe",
    "Release": "veil.release",
    "VeilError": "veil.errors",
    "anonymize": "veil.api",
    "assess": "veil.api",
    "hierarchies": "veil",
    "quality": "veil",
    "verify": "veil.api",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'veil' has no attribute {name!r}")
    home = _HOMES.get(name, "veil.models")
    found = (
        importlib.import_module(f"veil.{name}")
        if home == "veil"
        else getattr(importlib.import_module(home), name)
    )
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
