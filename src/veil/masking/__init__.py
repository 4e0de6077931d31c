"""Masking methods: what lives beside the lattice, one family a file.

Adding a method: write its file, import its class here, and name it in `Masking`.
"""

from typing import Annotated, Any, get_args

from pydantic import Field

from veil.masking.anatomy import Anatomy
from veil.masking.base import Method, Outcome
from veil.masking.coding import BottomCoding, TopCoding
from veil.masking.confidential_groups import BucketizedTCloseness, ConfidentialAttributePartitioning
from veil.masking.format_preserving import FormatPreservingPseudonyms
from veil.masking.local_suppression import LocalSuppression
from veil.masking.microaggregation import (
    GeneticMicroaggregation,
    KWard,
    MaximumDistanceToAverageVector,
    UnivariateMicroaggregation,
    VariableMaximumDistanceToAverageVector,
)
from veil.masking.mondrian import Mondrian
from veil.masking.noise import CorrelatedNoise, UncorrelatedNoise
from veil.masking.pram import PostRandomization
from veil.masking.probabilistic import IndividualRankingSwapping, MaximumDistanceToAverageVectorSwapping
from veil.masking.pseudonyms import GuessableWarning, KeyedPseudonyms, RandomPseudonyms, UnkeyedHash
from veil.masking.recoding import GlobalRecoding
from veil.masking.rounding import Rounding
from veil.masking.sampling import BernoulliSampling, RandomSampling, StratifiedSampling
from veil.masking.shuffling import ColumnShuffling, Shuffling
from veil.masking.specialization import TopDownSpecialization
from veil.masking.swapping import DataSwapping, RankSwapping
from veil.masking.through_microaggregation import TClosenessThroughMicroaggregation
from veil.masking.verb import Masked, mask

Masking = Annotated[
    RandomSampling
    | StratifiedSampling
    | BernoulliSampling
    | GlobalRecoding
    | TopCoding
    | BottomCoding
    | Rounding
    | LocalSuppression
    | Mondrian
    | TopDownSpecialization
    | UnivariateMicroaggregation
    | MaximumDistanceToAverageVector
    | VariableMaximumDistanceToAverageVector
    | KWard
    | GeneticMicroaggregation
    | TClosenessThroughMicroaggregation
    | ConfidentialAttributePartitioning
    | BucketizedTCloseness
    | Anatomy
    | IndividualRankingSwapping
    | MaximumDistanceToAverageVectorSwapping
    | UncorrelatedNoise
    | CorrelatedNoise
    | DataSwapping
    | RankSwapping
    | PostRandomization
    | Shuffling
    | ColumnShuffling
    | KeyedPseudonyms
    | RandomPseudonyms
    | FormatPreservingPseudonyms
    | UnkeyedHash,
    Field(discriminator="kind"),
]
"""Any masking method, told apart by `kind`: the form that recipes use."""

_union: Any = get_args(Masking)[0]
METHODS: tuple[type[Method], ...] = get_args(_union)

__all__ = [
    "METHODS",
    "Anatomy",
    "BernoulliSampling",
    "BottomCoding",
    "BucketizedTCloseness",
    "ColumnShuffling",
    "ConfidentialAttributePartitioning",
    "CorrelatedNoise",
    "DataSwapping",
    "FormatPreservingPseudonyms",
    "GeneticMicroaggregation",
    "GlobalRecoding",
    "GuessableWarning",
    "IndividualRankingSwapping",
    "KWard",
    "KeyedPseudonyms",
    "LocalSuppression",
    "Masked",
    "Masking",
    "MaximumDistanceToAverageVector",
    "MaximumDistanceToAverageVectorSwapping",
    "Method",
    "Mondrian",
    "Outcome",
    "PostRandomization",
    "RandomPseudonyms",
    "RandomSampling",
    "RankSwapping",
    "Rounding",
    "Shuffling",
    "StratifiedSampling",
    "TClosenessThroughMicroaggregation",
    "TopCoding",
    "TopDownSpecialization",
    "UncorrelatedNoise",
    "UnivariateMicroaggregation",
    "UnkeyedHash",
    "VariableMaximumDistanceToAverageVector",
    "mask",
]
