"""How much a recoding loses, and what is proven about better ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from veil.base.wording import Phrase
from veil.lattice.optimality import gap_to_optimum
from veil.outcome.lower_bound import UNIT, LowerBound, describe_bound, round_loss

BY_VALUES = "no recoding with one label for each value loses less than {bound}; this one loses {loss}"
WITHIN_PARTS = "no recoding of these parts, each by itself, loses less than {bound}; this one loses {loss}"


@dataclass(frozen=True, eq=False)
class CellTrace:
    """The loss of a recoding: the arithmetic mean over cells, 1 for a suppressed record.

    Bound and gap are figures of the input: they stay with the data holder.

    Attributes
    ----------
    cost : int
        The loss of all records together, in `UNIT`s.
    records : int
        Number of records, suppressed ones among them.
    bound : int, optional
        What no recoding of this kind costs less than, in `UNIT`s of all records.
    proof : LowerBound, optional
        A bound on every recoding, with the prices that prove it.
    why_no_bound : str
        Why nothing is proven.
    curve : tuple
        Seconds after the start, and the loss of the best recoding from then on.
    kind : str
        Which recodings `bound` speaks of.
    full_domain : bool
        Whether all records have the same levels.
    """

    cost: int
    records: int
    bound: int | None
    proof: LowerBound | None
    why_no_bound: str | Phrase
    curve: tuple[tuple[float, float], ...] = ()
    kind: str = BY_VALUES
    full_domain: bool = False

    @staticmethod
    def of_parts(parts: Sequence[CellTrace]) -> CellTrace:
        """Return what parts lose together: their bounds add up to one on all recodings of the parts, each by itself."""
        bounds = [part.least_cost for part in parts]
        return CellTrace(
            sum(part.cost for part in parts),
            sum(part.records for part in parts),
            None if None in bounds else sum(bound or 0 for bound in bounds),
            None,
            next((part.why_no_bound for part in parts if part.least_cost is None), ""),
            (),
            WITHIN_PARTS,
        )

    @property
    def least_cost(self) -> int | None:
        """What no recoding of this kind costs less than, in `UNIT`s of all records; None if nothing is proven."""
        bounds = [self.proof.bound] if self.proof is not None else []
        if self.bound is not None:
            bounds.append(self.bound)
        return max(0, *bounds) if bounds else None

    @property
    def loss(self) -> Fraction:
        """The loss of a record on average, exactly."""
        return Fraction(self.cost, UNIT * max(1, self.records))

    @property
    def least(self) -> Fraction | None:
        """A loss that no recoding of this kind is below; None if nothing is proven."""
        least = self.least_cost
        return None if least is None else Fraction(least, UNIT * max(1, self.records))

    @property
    def gap(self) -> float | None:
        """The share of the loss by which the best one may lie below it, as of nodes; None if nothing is proven."""
        least = self.least
        if least is None or self.loss <= least:
            return None if least is None else 0.0
        return gap_to_optimum(float(self.loss), float(least))

    @property
    def sentence(self) -> Phrase:
        """What a reader should know of the loss."""
        if self.proof is not None:
            return describe_bound(self.proof.loss, self.loss, full_domain=self.full_domain)
        loss, least = round_loss(self.loss, "up"), self.least
        if least is None:
            return Phrase(
                "this recoding loses {loss}; no bound: {reason}", loss=loss, reason=self.why_no_bound
            )
        if self.kind == BY_VALUES and self.loss <= least:
            return Phrase(
                "no recoding with one label for each value loses less than this one: {loss}", loss=loss
            )
        if not least:
            return Phrase("this recoding loses {loss}, and no bound above 0 is proven", loss=loss)
        return Phrase(self.kind, bound=round_loss(least, "down"), loss=loss)
