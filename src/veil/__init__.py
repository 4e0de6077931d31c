"""Veil anonymizes tables about people, with guarantees that are proven and verified."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veil.base.version import __version__ as __version__

if TYPE_CHECKING:
    from veil import dp, engines, hierarchies, lattice, masking, quality, report, risk, utility
    from veil.api.anonymize import anonymize
    from veil.api.assess import assess
    from veil.api.frontier import frontier
    from veil.api.mask import mask
    from veil.api.release import Release
    from veil.api.run import run
    from veil.api.verify import verify
    from veil.dp.safepub import SafePub
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
    from veil.plan.plan import Plan
    from veil.recipe import Recipe


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
    "SafePub",
    "SampleUniqueness",
    "SubsetKAnonymity",
    "TCloseness",
    "VeilError",
    "anonymize",
    "assess",
    "dp",
    "engines",
    "frontier",
    "hierarchies",
    "lattice",
    "mask",
    "masking",
    "quality",
    "report",
    "risk",
    "run",
    "utility",
    "verify",
]

# Names are fetched from their homes when first used: `veil --help` should not wait for the engine.
_HOMES = {
    "Plan": "veil.plan.plan",
    "Recipe": "veil.recipe",
    "Release": "veil.api.release",
    "SafePub": "veil.dp.safepub",
    "VeilError": "veil.errors",
    "anonymize": "veil.api.anonymize",
    "assess": "veil.api.assess",
    "dp": "veil",
    "engines": "veil",
    "frontier": "veil.api.frontier",
    "hierarchies": "veil",
    "lattice": "veil",
    "mask": "veil.api.mask",
    "masking": "veil",
    "quality": "veil",
    "report": "veil",
    "risk": "veil",
    "run": "veil.api.run",
    "utility": "veil",
    "verify": "veil.api.verify",
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
