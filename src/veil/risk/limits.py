"""What privacy models promise about the risk of a release."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from veil.base.exact import decimal_fraction
from veil.models import (
    AlphaKAnonymity,
    AverageReidentificationRisk,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMAnonymity,
    KMap,
    PopulationUniqueness,
    PrivacyModel,
    Profitability,
    RecursiveCLDiversity,
    SampleUniqueness,
)


@dataclass(frozen=True)
class Limits:
    """The highest risks that privacy models promise; 1 where they promise nothing."""

    prosecutor: float = 1.0
    journalist: float = 1.0
    marketer: float = 1.0


def risk_limits(models: Iterable[PrivacyModel], records: int) -> Limits:
    """Return the risks that models promise not to exceed, for a table of so many records.

    Models of class sizes bound all three attackers: 1/k, and for l-diversity 1/l, as l values need l records.
    k-map bounds journalist and marketer, and the prosecutor by the class size derived from it, if it is. Average
    risk and uniqueness bound the marketer.

    >>> risk_limits([KAnonymity(5), AverageReidentificationRisk(0.1)], 1000)
    Limits(prosecutor=0.2, journalist=0.2, marketer=0.1)
    """
    limits = Limits()
    for model in models:
        limits = _lower(limits, _promised(model, records))
    return limits


def _promised(model: PrivacyModel, records: int) -> Limits:
    match model:
        case KAnonymity() | AlphaKAnonymity() | KMAnonymity():
            return _all(model.k)
        case DistinctLDiversity() | EntropyLDiversity() | RecursiveCLDiversity():
            return _all(math.ceil(decimal_fraction(model.l)))
        case KMap():
            derived = 1 if model.population is None else model.derived_class_size(records)
            return Limits(1.0 / derived, 1.0 / model.k, 1.0 / model.k)
        case Profitability() if model.no_attack:
            size = model.unattacked_class_size()
            return _all(size) if model.attacker == "prosecutor" else Limits(1.0, 1.0 / size, 1.0 / size)
        case AverageReidentificationRisk():
            return Limits(marketer=model.average)
        case SampleUniqueness() | PopulationUniqueness():
            return Limits(marketer=model.threshold)
    return Limits()


def _all(size: int) -> Limits:
    return Limits(1.0 / size, 1.0 / size, 1.0 / size)


def _lower(some: Limits, others: Limits) -> Limits:
    return Limits(
        min(some.prosecutor, others.prosecutor),
        min(some.journalist, others.journalist),
        min(some.marketer, others.marketer),
    )
