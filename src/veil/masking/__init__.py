"""Masking methods, one family a file. New files are found automatically, as are methods of other packages."""

from typing import TYPE_CHECKING, Annotated, Any

from veil.base.registry import Family
from veil.outcome.method import Method as Method
from veil.outcome.outcome import Outcome as Outcome

METHODS = Family(
    Method,  # type: ignore[type-abstract]
    "veil.masking",
    order=(
        *("RandomSampling", "StratifiedSampling", "BernoulliSampling"),
        *("GlobalRecoding", "TopCoding", "BottomCoding", "Rounding"),
        *("DateShifting", "DaysSinceFirst"),
        *("LocalSuppression", "ItemGeneralization", "Mondrian", "TopDownSpecialization"),
        *("UnivariateMicroaggregation", "MDAV", "VMDAV", "KWard", "GeneticMicroaggregation"),
        *("TClosenessThroughMicroaggregation", "ConfidentialAttributePartitioning", "BucketizedTCloseness"),
        *("Anatomy", "MInvariance", "IndividualRankingSwapping", "MDAVSwapping", "WholeRecordSwapping"),
        *("UncorrelatedNoise", "CorrelatedNoise", "DataSwapping", "RankSwapping"),
        *("PRAM", "RandomizedResponse", "Shuffling", "ColumnShuffling"),
        *("KeyedPseudonyms", "RandomPseudonyms", "FormatPreservingPseudonyms", "UnkeyedHash"),
    ),
    package=__name__,
)
"""Every masking method by its kind."""

Masking = Annotated[Method, METHODS]
"""Any masking method, discriminated by `kind`: the form in recipes."""

if TYPE_CHECKING:  # names for editors and type checkers; others are found as well
    from veil.masking.items.method import ItemGeneralization as ItemGeneralization
    from veil.masking.microaggregation.closeness import (
        TClosenessThroughMicroaggregation as TClosenessThroughMicroaggregation,
    )
    from veil.masking.microaggregation.methods import MDAV as MDAV
    from veil.masking.microaggregation.methods import VMDAV as VMDAV
    from veil.masking.microaggregation.methods import GeneticMicroaggregation as GeneticMicroaggregation
    from veil.masking.microaggregation.methods import KWard as KWard
    from veil.masking.microaggregation.methods import UnivariateMicroaggregation as UnivariateMicroaggregation
    from veil.masking.partition.mondrian import Mondrian as Mondrian
    from veil.masking.partition.specialization import TopDownSpecialization as TopDownSpecialization
    from veil.masking.pseudonyms.format_preserving import (
        FormatPreservingPseudonyms as FormatPreservingPseudonyms,
    )
    from veil.masking.pseudonyms.methods import GuessableWarning as GuessableWarning
    from veil.masking.pseudonyms.methods import KeyedPseudonyms as KeyedPseudonyms
    from veil.masking.pseudonyms.methods import RandomPseudonyms as RandomPseudonyms
    from veil.masking.pseudonyms.methods import UnkeyedHash as UnkeyedHash
    from veil.masking.suppression.method import LocalSuppression as LocalSuppression
    from veil.masking.ties.anatomy import Anatomy as Anatomy
    from veil.masking.ties.confidential_groups import BucketizedTCloseness as BucketizedTCloseness
    from veil.masking.ties.confidential_groups import (
        ConfidentialAttributePartitioning as ConfidentialAttributePartitioning,
    )
    from veil.masking.ties.invariance import MInvariance as MInvariance
    from veil.masking.ties.probabilistic import IndividualRankingSwapping as IndividualRankingSwapping
    from veil.masking.ties.probabilistic import MDAVSwapping as MDAVSwapping
    from veil.masking.ties.whole_record_swapping import WholeRecordSwapping as WholeRecordSwapping
    from veil.masking.values.coding import BottomCoding as BottomCoding
    from veil.masking.values.coding import TopCoding as TopCoding
    from veil.masking.values.dates import DateShifting as DateShifting
    from veil.masking.values.dates import DaysSinceFirst as DaysSinceFirst
    from veil.masking.values.noise import CorrelatedNoise as CorrelatedNoise
    from veil.masking.values.noise import UncorrelatedNoise as UncorrelatedNoise
    from veil.masking.values.pram import PRAM as PRAM
    from veil.masking.values.randomized_response import RandomizedResponse as RandomizedResponse
    from veil.masking.values.recoding import GlobalRecoding as GlobalRecoding
    from veil.masking.values.rounding import Rounding as Rounding
    from veil.masking.values.sampling import BernoulliSampling as BernoulliSampling
    from veil.masking.values.sampling import RandomSampling as RandomSampling
    from veil.masking.values.sampling import StratifiedSampling as StratifiedSampling
    from veil.masking.values.shuffling import ColumnShuffling as ColumnShuffling
    from veil.masking.values.shuffling import Shuffling as Shuffling
    from veil.masking.values.swapping import DataSwapping as DataSwapping
    from veil.masking.values.swapping import RankSwapping as RankSwapping
else:

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return __dir__()
        if name == "GuessableWarning":
            from veil.masking.pseudonyms.methods import GuessableWarning

            return GuessableWarning
        return METHODS.attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted(["METHODS", "GuessableWarning", "Method", *METHODS.names])
