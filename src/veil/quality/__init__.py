"""Quality models: the information loss of a transformation, one family a file. Smaller is better.

New files, and models of other packages (entry point `veil.quality`), are registered automatically.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from veil.base.registry import Family, find, import_files, snake
from veil.errors import ParameterError, did_you_mean
from veil.quality.base import NO_BOUND as NO_BOUND
from veil.quality.base import ClassSums as ClassSums
from veil.quality.base import Evaluation as Evaluation
from veil.quality.base import Measure as Measure
from veil.quality.base import Node as Node
from veil.quality.base import QualityModel as QualityModel
from veil.quality.base import Score as Score

QUALITIES = Family(
    QualityModel,
    "veil.quality",
    order=(
        *("AverageClassSize", "Discernibility", "Ambiguity", "Height", "Precision", "Loss"),
        *("NonUniformEntropy", "NormalizedNonUniformEntropy", "KullbackLeibler", "EntropyBased"),
        *("Classification", "PublisherPayout", "Static"),
    ),
)
"""All quality models by their kind."""

Quality = Annotated[QualityModel, QUALITIES]
"""Any quality model, as a recipe names it by its `kind`."""


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
    model = find(QUALITIES, name)
    if model is None:
        raise ParameterError(
            f"there is no quality model {name!r}.{did_you_mean(name, map(snake, QUALITIES))}"
        )
    try:
        return model()
    except ParameterError as error:
        way_out = f"pass {model.__name__}(...) instead of its name"
        raise ParameterError(f"quality {name!r} needs parameters: {error}; {way_out}") from None


if TYPE_CHECKING:  # names for editors and type checkers; others are found at run time
    from veil.quality.ambiguity import Ambiguity as Ambiguity
    from veil.quality.class_size import AverageClassSize as AverageClassSize
    from veil.quality.classification import Classification as Classification
    from veil.quality.discernibility import Discernibility as Discernibility
    from veil.quality.entropy import NonUniformEntropy as NonUniformEntropy
    from veil.quality.entropy import NormalizedNonUniformEntropy as NormalizedNonUniformEntropy
    from veil.quality.height import Height as Height
    from veil.quality.kullback_leibler import KullbackLeibler as KullbackLeibler
    from veil.quality.loss import Loss as Loss
    from veil.quality.payout import EntropyBased as EntropyBased
    from veil.quality.payout import PublisherPayout as PublisherPayout
    from veil.quality.precision import Precision as Precision
    from veil.quality.static import Static as Static
    from veil.quality.vector import VectorMeasure as VectorMeasure
else:

    def __getattr__(name: str) -> Any:
        return QUALITIES.attribute(__name__, name)

    import_files(__name__)
    from veil.quality.vector import VectorMeasure as VectorMeasure

    __all__ = ["QUALITIES", "QualityModel", *QUALITIES.names]
