"""Privacy models, one family a file.

Adding a model: write its file, and name its class here.
"""

from typing import Annotated

from pydantic import Field

from veil.models.base import ClassCriterion, Finding, PrivacyModel, SampleCriterion, Strength
from veil.models.k_anonymity import KAnonymity

MODELS: tuple[type[PrivacyModel], ...] = (KAnonymity,)

Model = Annotated[KAnonymity, Field()]
"""Any privacy model, told apart by `kind`: the form that recipes use."""

__all__ = [
    "MODELS",
    "ClassCriterion",
    "Finding",
    "KAnonymity",
    "Model",
    "PrivacyModel",
    "SampleCriterion",
    "Strength",
]
