"""Masking methods: what lives beside the lattice, one family a file.

Adding a method: write its file, import its class here, and name it in `Masking`.
"""

from typing import Annotated, Any, get_args

from pydantic import Field

from veil.masking.microaggregation.closeness import TClosenessThroughMicroaggregation
from veil.masking.microaggregation.methods import (
    GeneticMicroaggregation,
    KWard,
    MaximumDistanceToAverageVector,
    UnivariateMicroaggregation,
    VariableMaximumDistanceToAverageVector,
)
from veil.masking.partition.mondrian import Mondrian
from veil.masking.partition.specialization import TopDownSpecialization
from veil.masking.pseudonyms.format_preserving import FormatPreservingPseudonyms
from veil.masking.pseudonyms.methods import GuessableWarning, KeyedPseudonyms, RandomPseudonyms, UnkeyedHash
from veil.masking.suppression.method import LocalSuppression
from veil.masking.ties.anatomy import Anatomy
from veil.masking.ties.confidential_groups import BucketizedTCloseness, ConfidentialAttributePartitioning
from veil.masking.ties.probabilistic import IndividualRankingSwapping, MaximumDistanceToAverageVectorSwapping
from veil.masking.values.coding import BottomCoding, TopCoding
from veil.masking.values.noise import CorrelatedNoise, UncorrelatedNoise
from veil.masking.values.pram import PostRandomization
from veil.masking.values.recoding import GlobalRecoding
from veil.masking.values.rounding import Rounding
from veil.masking.values.sampling import BernoulliSampling, RandomSampling, StratifiedSampling
from veil.masking.values.shuffling import ColumnShuffling, Shuffling
from veil.masking.values.swapping import DataSwapping, RankSwapping
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome

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
]
