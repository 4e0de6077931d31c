"""Who may have whose record: what a policy says to one recipient who asks for one purpose on one day.

The order is fixed: who asks, then the purpose, then the recipient, then retention. The first no is the answer.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from veil.policy.elements import Policy, Purpose
from veil.policy.retention import due_day, is_accepted

UNKNOWN = "the recipient is not known"
CREDENTIAL = "the credential is not that of the recipient"
NO_PURPOSE = "there is no such purpose"
NOT_ACCEPTED = "the purpose was not accepted"
NOT_ALLOWED = "the recipient is not one of the purpose"
WITHDRAWN = "consent was withdrawn"
RETENTION = "retention is over"

REASONS = (UNKNOWN, CREDENTIAL, NO_PURPOSE, NOT_ACCEPTED, NOT_ALLOWED, WITHDRAWN, RETENTION)


class Request(NamedTuple):
    """Who asks for what, and when."""

    purpose: str
    recipient: str
    on: date
    credential: str | None = None
    ended: date | None = None
    """The day on which the purpose ended, if it has."""


class Verdict(NamedTuple):
    """What a policy says: a purpose, or why not."""

    purpose: Purpose | None
    reason: str | None = None


def decide(policy: Policy, asked: Request, withdrawn: date | None = None) -> Verdict:
    """Say whether a record under this policy may be used.

    >>> from veil.policy.elements import Entity
    >>> purposes = (Purpose("research", opt_out=True, recipients=(Entity("lab"),)),)
    >>> decide(Policy("p", purposes=purposes), Request("research", "lab", date(2026, 1, 1))).reason is None
    True
    >>> decide(Policy("p", purposes=purposes), Request("marketing", "lab", date(2026, 1, 1))).reason
    'there is no such purpose'
    """
    known = [
        each for purpose in policy.purposes for each in purpose.recipients if each.name == asked.recipient
    ]
    if not known:
        return Verdict(None, UNKNOWN)
    # All are compared, so that the time tells nothing.
    given = (asked.credential or "").encode()
    fits = [each.auth_info is None or hmac.compare_digest(each.auth_info.encode(), given) for each in known]
    if not all(fits):
        return Verdict(None, CREDENTIAL)
    purpose = policy.purpose(asked.purpose)
    if purpose is None:
        return Verdict(None, NO_PURPOSE)
    if not is_accepted(purpose, asked.on):
        return Verdict(None, NOT_ACCEPTED)
    if all(each.name != asked.recipient for each in purpose.recipients):
        return Verdict(None, NOT_ALLOWED)
    if withdrawn is not None and withdrawn <= asked.on:
        return Verdict(None, WITHDRAWN)
    due = due_day(purpose.retention, asked.ended)
    if due is not None and due <= asked.on:
        return Verdict(None, RETENTION)
    return Verdict(purpose)


def decide_all(
    policies: Mapping[str, Policy], asked: Request, withdrawn: Mapping[str, date] | None = None
) -> dict[str, Verdict]:
    """Say it of each policy."""
    gone = withdrawn or {}
    return {name: decide(each, asked, gone.get(name)) for name, each in policies.items()}
