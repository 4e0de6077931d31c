"""Veil anonymizes tables about people, with guarantees that are proven and verified."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veil.base.annexes import ANNEXES
from veil.base.version import __version__ as __version__

if TYPE_CHECKING:  # names for editors and type checkers
    from veil import dp as dp
    from veil import engines as engines
    from veil import hierarchies as hierarchies
    from veil import lattice as lattice
    from veil import masking as masking
    from veil import policy as policy
    from veil import private_table as private_table
    from veil import quality as quality
    from veil import questions as questions
    from veil import report as report
    from veil import risk as risk
    from veil import utility as utility
    from veil.api.anonymize import anonymize as anonymize
    from veil.api.assess import assess as assess
    from veil.api.frontier import frontier as frontier
    from veil.api.mask import mask as mask
    from veil.api.promises import promises as promises
    from veil.api.relax import relax as relax
    from veil.api.release import Release as Release
    from veil.api.run import run as run
    from veil.api.steps import release as release
    from veil.api.verify import verify as verify
    from veil.api.ways import compare_ways as compare_ways
    from veil.dp.safepub import SafePub as SafePub
    from veil.errors import VeilError as VeilError
    from veil.models import AlphaKAnonymity as AlphaKAnonymity
    from veil.models import AverageReidentificationRisk as AverageReidentificationRisk
    from veil.models import BetaLikeness as BetaLikeness
    from veil.models import DeltaDisclosure as DeltaDisclosure
    from veil.models import DeltaPresence as DeltaPresence
    from veil.models import DistinctLDiversity as DistinctLDiversity
    from veil.models import EntropyLDiversity as EntropyLDiversity
    from veil.models import Inclusion as Inclusion
    from veil.models import KAnonymity as KAnonymity
    from veil.models import KMAnonymity as KMAnonymity
    from veil.models import KMap as KMap
    from veil.models import PopulationUniqueness as PopulationUniqueness
    from veil.models import Profitability as Profitability
    from veil.models import RatioDistance as RatioDistance
    from veil.models import RecursiveCLDiversity as RecursiveCLDiversity
    from veil.models import SampleUniqueness as SampleUniqueness
    from veil.models import SubsetKAnonymity as SubsetKAnonymity
    from veil.models import TCloseness as TCloseness
    from veil.plan.plan import Plan as Plan
    from veil.recipe import Project as Project
    from veil.recipe import Recipe as Recipe
    from veil.tables.profile import profile as profile

# Modules that declare steps of recipes, and stand above what these call (see `veil.base.annexes`).
ANNEXES[:] = ["veil.policy.step", "veil.private_table.step", "veil.questions.step"]

# Modules of the public names, imported on first use, so that `veil --help` does not wait for the engine. All
# privacy models are public names as well.
_HOMES = {
    "Plan": "veil.plan.plan",
    "Project": "veil.recipe",
    "Recipe": "veil.recipe",
    "Release": "veil.api.release",
    "SafePub": "veil.dp.safepub",
    "VeilError": "veil.errors",
    "anonymize": "veil.api.anonymize",
    "assess": "veil.api.assess",
    "compare_ways": "veil.api.ways",
    "dp": "veil",
    "engines": "veil",
    "frontier": "veil.api.frontier",
    "hierarchies": "veil",
    "lattice": "veil",
    "mask": "veil.api.mask",
    "masking": "veil",
    "policy": "veil",
    "private_table": "veil",
    "profile": "veil.tables.profile",
    "promises": "veil.api.promises",
    "quality": "veil",
    "questions": "veil",
    "relax": "veil.api.relax",
    "release": "veil.api.steps",
    "report": "veil",
    "risk": "veil",
    "run": "veil.api.run",
    "utility": "veil",
    "verify": "veil.api.verify",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return __dir__()
        home = _HOMES.get(name)
        if home == "veil":
            attribute = importlib.import_module(f"veil.{name}")
        elif home is not None:
            attribute = getattr(importlib.import_module(home), name)
        elif name[:1].isupper():
            attribute = importlib.import_module("veil.models").MODELS.attribute("veil", name)
        else:
            raise AttributeError(f"module 'veil' has no attribute {name!r}")
        globals()[name] = attribute
        return attribute


def __dir__() -> list[str]:
    return sorted([*_HOMES, *importlib.import_module("veil.models").MODELS.names])
