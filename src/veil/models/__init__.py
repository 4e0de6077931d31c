"""Privacy models, one family a file.

Adding a model: write its file, import its class here, and name it in `Model`.
"""

from typing import Annotated, Any, get_args

from pydantic import Field

from veil.models.alpha_k import AlphaKAnonymity
from veil.models.attribute_subsets import SubsetKAnonymity
from veil.models.average_risk import AverageReidentificationRisk
from veil.models.base import ClassCriterion, PrivacyModel, SampleCriterion, Strength
from veil.models.closeness.model import TCloseness
from veil.models.disclosure import DeltaDisclosure
from veil.models.diversity import DistinctLDiversity, RecursiveCLDiversity
from veil.models.entropy_diversity import EntropyLDiversity
from veil.models.item_sets import KMAnonymity
from veil.models.k_anonymity import KAnonymity
from veil.models.k_map import KMap
from veil.models.likeness import BetaLikeness
from veil.models.presence import DeltaPresence, Inclusion
from veil.models.profitability import Profitability
from veil.models.safe_harbor import safe_harbor_levels
from veil.models.uniqueness import PopulationUniqueness, SampleUniqueness
from veil.published.finding import Finding

Model = Annotated[
    KAnonymity
    | SubsetKAnonymity
    | KMAnonymity
    | KMap
    | DistinctLDiversity
    | EntropyLDiversity
    | RecursiveCLDiversity
    | AlphaKAnonymity
    | TCloseness
    | DeltaDisclosure
    | BetaLikeness
    | DeltaPresence
    | Inclusion
    | Profitability
    | AverageReidentificationRisk
    | SampleUniqueness
    | PopulationUniqueness,
    Field(discriminator="kind"),
]
"""Any privacy model, told apart by `kind`: the form that recipes use."""

_union: Any = get_args(Model)[0]
MODELS: tuple[type[PrivacyModel], ...] = get_args(_union)

__all__ = [
    "MODELS",
    "AlphaKAnonymity",
    "AverageReidentificationRisk",
    "BetaLikeness",
    "ClassCriterion",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Finding",
    "Inclusion",
    "KAnonymity",
    "KMAnonymity",
    "KMap",
    "Model",
    "PopulationUniqueness",
    "PrivacyModel",
    "Profitability",
    "RecursiveCLDiversity",
    "SampleCriterion",
    "SampleUniqueness",
    "Strength",
    "SubsetKAnonymity",
    "TCloseness",
    "safe_harbor_levels",
]
