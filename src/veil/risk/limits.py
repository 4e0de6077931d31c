"""Bounds on the risk of a release that privacy models promise."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable

from veil.models.base import PrivacyModel, PromisedRisk


def risk_limits(models: Iterable[PrivacyModel], records: int) -> PromisedRisk:
    """Return the risks that models promise not to exceed, for a table with a number of records.

    Models of class sizes bound all three attackers: 1/k, and for l-diversity 1/l, as l values need l records.
    k-map bounds journalist and marketer, and the prosecutor by the class size derived from it, if it is.
    Average risk and uniqueness bound the marketer.

    >>> from veil import AverageReidentificationRisk, KAnonymity
    >>> risk_limits([KAnonymity(5), AverageReidentificationRisk(0.1)], 1000)
    PromisedRisk(prosecutor=0.2, journalist=0.2, marketer=0.1)
    """
    promises = (model.promised(records) for model in models)
    return functools.reduce(operator.and_, promises, PromisedRisk())
