"""Quality models, one family a file: what a transformation loses. Smaller is better."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from veil.errors import ParameterError, did_you_mean
from veil.quality.ambiguity import Ambiguity
from veil.quality.base import NO_BOUND, Evaluation, Measure, Node, QualityModel, Score, Tally
from veil.quality.class_size import AverageClassSize
from veil.quality.classification import Classification
from veil.quality.discernibility import Discernibility
from veil.quality.entropy import NonUniformEntropy, NormalizedNonUniformEntropy
from veil.quality.height import Height
from veil.quality.kullback_leibler import KullbackLeibler
from veil.quality.loss import Loss
from veil.quality.payout import EntropyBased, PublisherPayout
from veil.quality.precision import Precision
from veil.quality.static import Static
from veil.quality.vector import VectorMeasure

Quality = Annotated[
    AverageClassSize
    | Discernibility
    | Ambiguity
    | Height
    | Precision
    | Loss
    | NonUniformEntropy
    | NormalizedNonUniformEntropy
    | KullbackLeibler
    | EntropyBased
    | Classification
    | PublisherPayout
    | Static,
    Field(discriminator="kind"),
]
"""Any quality model, as a recipe names it by its `kind`."""

_BY_NAME: dict[str, type[QualityModel]] = {
    "average_class_size": AverageClassSize,
    "discernibility": Discernibility,
    "ambiguity": Ambiguity,
    "height": Height,
    "precision": Precision,
    "loss": Loss,
    "non_uniform_entropy": NonUniformEntropy,
    "normalized_non_uniform_entropy": NormalizedNonUniformEntropy,
    "kullback_leibler": KullbackLeibler,
    "entropy_based": EntropyBased,
    "classification": Classification,
    "publisher_payout": PublisherPayout,
    "static": Static,
}

_SYNONYMS = {
    "aecs": "average_class_size",
    "average_equivalence_class_size": "average_class_size",
    "class_size": "average_class_size",
    "discernability": "discernibility",
    "dm": "discernibility",
    "granularity": "loss",
    "entropy": "non_uniform_entropy",
    "nue": "non_uniform_entropy",
    "normalized_entropy": "normalized_non_uniform_entropy",
    "kl": "kullback_leibler",
    "kl_divergence": "kullback_leibler",
    "kullback_leibler_divergence": "kullback_leibler",
    "entropy_based_information_loss": "entropy_based",
    "classification_accuracy": "classification",
    "publisher_payoff": "publisher_payout",
    "payout": "publisher_payout",
    "payoff": "publisher_payout",
}


def by_name(name: str) -> QualityModel:
    """Return the quality model with a short name and its default parameters.

    >>> by_name("loss")
    Loss(aggregate='geometric_mean', factor=0.5, weights={})
    >>> by_name("KL divergence")
    KullbackLeibler()
    >>> by_name("precison")
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: there is no quality model 'precison'. Did you mean 'precision'?
    """
    # CamelCase, spaces and hyphens all become the same snake_case.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    plain = re.sub(r"[\s_-]+", "_", words).lower()
    plain = _SYNONYMS.get(plain, plain)
    if plain not in _BY_NAME:
        raise ParameterError(f"there is no quality model {name!r}.{did_you_mean(plain, _BY_NAME)}")
    model = _BY_NAME[plain]
    try:
        return model()
    except ParameterError as error:
        way_out = f"pass {model.__name__}(...) instead of its name"
        raise ParameterError(f"quality {name!r} needs parameters: {error}; {way_out}") from None


__all__ = [
    "NO_BOUND",
    "Ambiguity",
    "AverageClassSize",
    "Classification",
    "Discernibility",
    "EntropyBased",
    "Evaluation",
    "Height",
    "KullbackLeibler",
    "Loss",
    "Measure",
    "Node",
    "NonUniformEntropy",
    "NormalizedNonUniformEntropy",
    "Precision",
    "PublisherPayout",
    "Quality",
    "QualityModel",
    "Score",
    "Static",
    "Tally",
    "VectorMeasure",
    "by_name",
]
