"""A table that masks have changed, as the source of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veil.tables.source import Source

if TYPE_CHECKING:
    from veil.outcome.outcome import Outcome


@dataclass(frozen=True, kw_only=True)
class Masked(Source):
    """The output of masks, which a search reads. What leaves has the form of the input of the masks."""

    masks: Outcome

    @staticmethod
    def of(masks: Outcome) -> Masked:
        """Return the output of masks as a source."""
        source = masks.source
        return Masked(
            masks.table,
            source.kind,
            source.path,
            source.format,
            source.frame,
            declared=source.declared,
            masks=masks,
        )

    def fingerprint(self) -> str | None:
        return self.masks.source.fingerprint()
