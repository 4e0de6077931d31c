"""What was asked by policies, and how it was met: figures for people, without values, names or keys of anybody."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.policy.elements import Data, Entity, Policy, PseudonymizationMethod, once
from veil.policy.form import spell


@dataclass(frozen=True)
class Account:
    """How policies were carried out.

    Attributes
    ----------
    purpose, recipient, on
        Who asked for what, and when.
    records, policies
        How many records went in, and how many policies they are under.
    left_out
        How many records were left out, by reason.
    asked
        What the remaining policies ask together, each with the number of records whose policy asks it.
    substituted
        What was searched for instead, and how the rest follows.
    columns
        The role of each column and why.
    coarser
        How many records have cells that their own policy made coarser, by column.
    notes
        What else a person should know: names that were read one way, conflicts where privacy won.
    digests
        Digests of what the policies ask, without what they tell of a person, from the current one to the oldest, with the
        number of records under each.
    findings
        What was found of each promise on the output.
    legal_bases
        On which legal bases the records are used.
    rows
        Which rows of the input were used, by which `release.key` counts. For the data holder; it is told nowhere.
    """

    purpose: str
    recipient: str
    on: date
    records: int
    policies: int
    left_out: Mapping[str, int]
    asked: tuple[tuple[str, int], ...] = ()
    substituted: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    coarser: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    digests: tuple[tuple[tuple[str, ...], int], ...] = ()
    findings: tuple[str, ...] = ()
    legal_bases: tuple[str, ...] = ()
    rows: NDArray[np.int64] | None = field(default=None, repr=False, compare=False)

    @property
    def released(self) -> int:
        """How many records could be used."""
        return self.records - sum(self.left_out.values())

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        data = {
            each.name: getattr(self, each.name) for each in dataclasses.fields(self) if each.name != "rows"
        }
        data["on"] = self.on.isoformat()
        data["used"] = self.released
        return data

    def __str__(self) -> str:
        first = (
            f"{self.recipient!r} asks for {self.purpose!r} on {self.on}: {self.released} of {self.records} records, under "
            f"{self.policies} policies"
        )
        lines = [first]
        lines += [f"left out: {count}, {reason}" for reason, count in self.left_out.items()]
        lines += [f"asked by {count}: {what}" for what, count in self.asked]
        lines += [f"column {name!r}: {role}" for name, role in self.columns.items()]
        lines += [f"made coarser for {count}: {name!r}" for name, count in self.coarser.items()]
        lines += [*self.substituted, *self.notes, *self.findings]
        return "\n".join(lines)


def public_digest(policy: Policy) -> str:
    """Return the SHA-256 of what a policy asks, without what it tells of a person.

    A digest of somebody's age can be found out by trying all ages. So names of people, credentials, points of acceptance,
    keys and lists of values are left out.
    """
    made = hashlib.sha256()
    for each in (policy.version, policy.lang, policy.uri):
        made.update(json.dumps(each).encode())
    for purpose in policy.purposes:
        bare = [
            purpose.name,
            purpose.opt_out,
            purpose.required,
            purpose.legal_bases,
            purpose.automated_decisions,
        ]
        made.update(json.dumps(bare).encode())
        for part in (*purpose.recipients, *purpose.models, *purpose.pseudonymization, *purpose.data):
            made.update(_public(part))
        if purpose.retention is not None:
            made.update(_public(purpose.retention))
    return made.hexdigest()


@once
def _public(element: Any) -> bytes:
    """Spell a part of a policy without what it tells of a person."""
    if isinstance(element, Entity):
        element = dataclasses.replace(element, auth_info=None, point_of_acceptance=None, extra={})
    elif isinstance(element, PseudonymizationMethod):
        element = dataclasses.replace(element, attributes=(), extra={})
    elif isinstance(element, Data):
        method = element.method
        bare = None if method is None else dataclasses.replace(method, entries=(), extra={})
        element = dataclasses.replace(element, point_of_acceptance=None, method=bare, extra={})
    return json.dumps(spell(element), sort_keys=True, ensure_ascii=False).encode()


def digests_of(policy: Policy) -> tuple[str, ...]:
    """Return the digests of a policy and of those under it, the current one first."""
    found = [public_digest(policy)]
    for under in policy.underlying:
        found += digests_of(under)
    return tuple(found)
