"""How a release meets the requirements of policies, in figures, without values, names or keys of people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
        Requirements of the remaining policies, each with the number of records whose policy asks for it.
    substituted
        The models that were searched for instead, and how the others follow from them.
    columns
        The role of each column and why.
    withheld
        How many records have a blank cell because their own policy does not list or accept it, by column.
    coarser
        How many records have cells that are coarser because of their own policy, by column.
    notes
        Further remarks: interpretations of ambiguous names, conflicts resolved in favour of privacy.
    findings
        The finding on each promise, checked on the output.
    legal_bases
        The legal bases on which the records are used.
    rows
        The rows of the input that were used, as `release.origins` counts them. For the data holder only.
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
    withheld: Mapping[str, int] = field(default_factory=dict)
    coarser: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
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
        lines += [f"withheld for {count}: {name!r}" for name, count in self.withheld.items()]
        lines += [f"made coarser for {count}: {name!r}" for name, count in self.coarser.items()]
        lines += [*self.substituted, *self.notes, *self.findings]
        return "\n".join(lines)
