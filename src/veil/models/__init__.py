"""Privacy models, one family a file. New files are found automatically, as are models of other packages."""

from typing import TYPE_CHECKING, Annotated, Any

from veil.base.registry import Family, import_files
from veil.models.base import ClassCriterion as ClassCriterion
from veil.models.base import PrivacyModel as PrivacyModel
from veil.models.base import PromisedRisk as PromisedRisk
from veil.models.base import SampleCriterion as SampleCriterion
from veil.models.base import Strength as Strength
from veil.published.finding import Finding as Finding

MODELS = Family(
    PrivacyModel,
    "veil.models",
    order=(
        *("KAnonymity", "SubsetKAnonymity", "KMAnonymity", "KMap"),
        *("DistinctLDiversity", "EntropyLDiversity", "RecursiveCLDiversity", "AlphaKAnonymity"),
        *("TCloseness", "DeltaDisclosure", "RatioDistance", "BetaLikeness"),
        *("DeltaPresence", "Inclusion", "Profitability"),
        *("AverageReidentificationRisk", "SampleUniqueness", "PopulationUniqueness"),
    ),
)
"""Every privacy model by its kind."""

Model = Annotated[PrivacyModel, MODELS]
"""Any privacy model, discriminated by `kind`: the form in recipes."""

if TYPE_CHECKING:  # names for editors and type checkers; what is not among them is found all the same
    from veil.models.alpha_k import AlphaKAnonymity as AlphaKAnonymity
    from veil.models.attribute_subsets import SubsetKAnonymity as SubsetKAnonymity
    from veil.models.average_risk import AverageReidentificationRisk as AverageReidentificationRisk
    from veil.models.closeness.model import TCloseness as TCloseness
    from veil.models.disclosure import DeltaDisclosure as DeltaDisclosure
    from veil.models.diversity import DistinctLDiversity as DistinctLDiversity
    from veil.models.diversity import RecursiveCLDiversity as RecursiveCLDiversity
    from veil.models.entropy_diversity import EntropyLDiversity as EntropyLDiversity
    from veil.models.item_sets import KMAnonymity as KMAnonymity
    from veil.models.k_anonymity import KAnonymity as KAnonymity
    from veil.models.k_map import KMap as KMap
    from veil.models.likeness import BetaLikeness as BetaLikeness
    from veil.models.presence import DeltaPresence as DeltaPresence
    from veil.models.presence import Inclusion as Inclusion
    from veil.models.profitability import Profitability as Profitability
    from veil.models.ratio_distance import RatioDistance as RatioDistance
    from veil.models.safe_harbor import safe_harbor_levels as safe_harbor_levels
    from veil.models.uniqueness import PopulationUniqueness as PopulationUniqueness
    from veil.models.uniqueness import SampleUniqueness as SampleUniqueness
else:

    def __getattr__(name: str) -> Any:
        return MODELS.attribute(__name__, name)

    def __dir__() -> list[str]:  # for completion, which would list what this file imports
        return sorted(__all__)

    import_files(__name__, skip="implication")  # which declares no model, and imports all of them
    from veil.models.safe_harbor import safe_harbor_levels

    __all__ = ["MODELS", "PrivacyModel", "Strength", "safe_harbor_levels", *MODELS.names]
