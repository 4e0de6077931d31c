"""The audit of consent: cells of a release whose owner has refused them.

It starts from the policies, the released cells and the owner of each row. With the code that decides what is
released it shares only the reading of dates and retentions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.hierarchies.hierarchy import ROOT
from veil.policy.documents.elements import Data, Entity, Policy, Purpose
from veil.policy.rules.countries import COUNTRIES, ECONOMIC_AREA
from veil.policy.rules.decide import Request
from veil.policy.rules.retention import day, due_day
from veil.published.blank import is_blank
from veil.tables.columns import encode_values


def refused_cells(
    table: pa.Table,
    owners: Sequence[str | None] | NDArray[Any],
    policies: Mapping[str, Policy],
    asked: Request,
    withdrawn: Mapping[str, date] | None = None,
    marker: str | None = ROOT,
) -> dict[str, int]:
    """Count, by column, the cells that show a value although the policy of their owner does not allow it.

    Parameters
    ----------
    owners
        The id of the policy of each row; None for a row without an owner, of which nothing may be shown.
    marker
        The text of suppressed cells. They show nothing, as missing cells and `*` do.
    """
    names, codes = np.unique(np.array([each or "" for each in owners], object), return_inverse=True)
    withdrawals = withdrawn or {}
    allowed_columns = [
        _allowed(policies[name], asked, withdrawals.get(name)) if name in policies else frozenset()
        for name in names
    ]
    counts: dict[str, int] = {}
    for name in table.column_names:
        values, places = encode_values(table[name])
        if not (len(values) and len(codes)):
            continue
        shown_mask = ~(is_blank(values, ROOT) | is_blank(values, marker))
        refused_mask = np.array([name not in each for each in allowed_columns], np.bool_)
        count = int(np.count_nonzero(shown_mask[places] & refused_mask[codes]))
        if count:
            counts[name] = count
    return counts


def _allowed(policy: Policy, request: Request, withdrawn: date | None) -> frozenset[str]:
    """Return the columns that may be shown under a policy: data, and the pseudonyms that are made of them."""
    purpose = next((each for each in policy.purposes if each.name == request.purpose), None)
    if purpose is None or (withdrawn is not None and withdrawn <= request.on):
        return frozenset()
    if _is_refused_whole(policy, purpose, request):
        return frozenset()
    family = [each for each in policy.purposes if _are_related(policy, purpose, each)]
    refused = {each.name for one in family for each in one.data if _is_refused_datum(each, request.on)}
    fine = {str(each.name) for each in purpose.data if each.name not in refused}
    for under in policy.underlying:
        fine &= _allowed(under, request, None)
    for method in purpose.pseudonymization:
        if not fine.issuperset(method.data):
            fine -= set(method.data)
        elif method.attr_name:
            fine.add(method.attr_name)
    return frozenset(fine)


def _is_refused_whole(policy: Policy, purpose: Purpose, request: Request) -> bool:
    on = request.on
    people = (*policy.controllers, *policy.officers, policy.source, policy.complaint)
    if any(each is not None and _is_refused_part(each, on) for each in (policy, *people)):
        return True
    if any(each.required and _is_refused_purpose(each, on) for each in policy.purposes):
        return True
    if not (purpose.opt_out or purpose.accepted or purpose.point_of_acceptance):
        return True
    family = [each for each in policy.purposes if _are_related(policy, purpose, each)]
    if any(_is_refused_purpose(each, on) for each in family):
        return True
    end = due_day(purpose.retention, request.ended)
    if end is not None and end <= on:
        return True
    if request.recipient not in [each.name for each in purpose.recipients]:
        return True
    recipients = [each for one in family for each in one.recipients if each.name == request.recipient]
    return any(_is_refused_part(each, on) or _is_exposed(each) for each in recipients)


def _is_refused_part(part: Any, on: date) -> bool:
    moment = part.point_of_acceptance
    return part.accepted is False or (bool(moment) and day(moment) > on)


def _is_refused_datum(data: Data, on: date) -> bool:
    return _is_refused_part(data, on) or (data.method is not None and _is_refused_part(data.method, on))


def _is_refused_purpose(purpose: Purpose, on: date) -> bool:
    parts = [purpose, *purpose.models, *purpose.pseudonymization]
    parts += [] if purpose.retention is None else [purpose.retention]
    parts += [each for each in purpose.recipients if each.required]
    return any(_is_refused_part(each, on) for each in parts) or any(
        each.required and _is_refused_datum(each, on) for each in purpose.data
    )


def _is_exposed(recipient: Entity) -> bool:
    code = (recipient.country or "").strip().upper()
    if not recipient.third_country_transfer and (code not in COUNTRIES or code in ECONOMIC_AREA):
        return False
    return not recipient.has_safeguards and not (recipient.adequacy_decision and code in COUNTRIES)


def _are_related(policy: Policy, one: Purpose, other: Purpose) -> bool:
    """Return whether one of two purposes is part of the other, or both are the same."""
    return _is_part(policy, one.name, other.name) or _is_part(policy, other.name, one.name)


def _is_part(policy: Policy, inner: str | None, outer: str | None, depth: int = 0) -> bool:
    if inner == outer:
        return True
    above = [each.super_purpose for each in policy.hierarchy if each.sub_purpose == inner]
    return depth < len(policy.hierarchy) and any(_is_part(policy, each, outer, depth + 1) for each in above)
