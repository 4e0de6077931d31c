"""How much a recoding loses, and what is proven about better ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from veil.base.wording import Phrase
from veil.lattice.optimality import gap_to_optimum
from veil.outcome.lower_bound import LowerBound, describe_bound, round_score, share_of_cost

Kind = Literal["values", "parts"]
"""Which recodings a bound speaks of: those with one label for each value, or those of the parts of a table."""

_OF_LOSS: dict[Kind, str] = {
    "values": "no recoding with one label for each value loses less than {bound}; this one loses {loss}",
    "parts": "no recoding of these parts, each by itself, loses less than {bound}; this one loses {loss}",
}
_OF_SCORE: dict[Kind, str] = {
    "values": "by {measure}, no recoding with one label for each value scores less than {bound}; this one scores {loss}",
    "parts": "by {measure}, no recoding of these parts, each by itself, scores less than {bound}; this one scores {loss}",
}


@dataclass(frozen=True, eq=False)
class CellTrace:
    """What a recoding costs.

    Bound and gap are figures of the input: they stay with the data holder.

    Attributes
    ----------
    cost : int
        The cost of all records together, in `UNIT`s.
    records : int
        Number of records, suppressed ones among them.
    bound : int, optional
        What no recoding of this kind costs less than, in `UNIT`s of all records.
    proof : LowerBound, optional
        A bound on every recoding, with the prices that prove it.
    why_no_bound : str
        Why nothing is proven.
    curve : tuple
        Seconds after the start, and the score of the best recoding from then on.
    kind : str
        Which recodings `bound` speaks of.
    full_domain : bool
        Whether all records have the same levels.
    base : int
        What the input costs itself.
    measure : str
        The name of the quality model; empty for loss.
    figure, least_figure : Fraction, optional
        If the quality model judges classes: its own score of the release, and one that no recoding is below. Costs are
        then those of loss.
    """

    cost: int
    records: int
    bound: int | None
    proof: LowerBound | None
    why_no_bound: str | Phrase
    curve: tuple[tuple[float, float], ...] = ()
    kind: Kind = "values"
    full_domain: bool = False
    base: int = 0
    measure: str = ""
    figure: Fraction | None = None
    least_figure: Fraction | None = None

    @staticmethod
    def of_parts(parts: Sequence[CellTrace]) -> CellTrace:
        """Return what parts cost together: their bounds add up to one on all recodings of the parts, each by itself."""
        bounds = [part._least_cost for part in parts]
        return CellTrace(
            sum(part.cost for part in parts),
            sum(part.records for part in parts),
            None if None in bounds else sum(bound or 0 for bound in bounds),
            None,
            next((part.why_no_bound for part in parts if part._least_cost is None), ""),
            kind="parts",
            measure=parts[0].measure,
        )

    @property
    def _least_cost(self) -> int | None:
        bounds = [self.proof.bound] if self.proof is not None else []
        if self.bound is not None:
            bounds.append(self.bound)
        return max(0, *bounds) if bounds else None

    @property
    def score(self) -> Fraction:
        """The score by the measure, exactly: loss unless it has another name."""
        return self._share(self.cost) if self.figure is None else self.figure

    @property
    def least(self) -> Fraction | None:
        """A score that no recoding of this kind is below; None if nothing is proven."""
        if self.figure is not None:
            return self.least_figure
        least = self._least_cost
        return None if least is None else self._share(least)

    def _share(self, cost: int) -> Fraction:
        return share_of_cost(cost, self.records, self.base)

    @property
    def gap(self) -> float | None:
        """The share of the score by which the best one may lie below it, as of nodes; None if nothing is proven."""
        least = self.least
        if least is None or self.score <= least:
            return None if least is None else 0.0
        return gap_to_optimum(float(self.score), float(least))

    @property
    def sentence(self) -> Phrase:
        """What a reader should know of the score."""
        if self.figure is not None:
            template, loss = "{sentence}; its loss is {loss}", round_score(self._share(self.cost), "up")
            return Phrase(template, sentence=self._about_score, loss=loss)
        return self._about_score

    @property
    def _about_score(self) -> Phrase:
        least = self.least
        if least is not None and (self.proof is not None or self.figure is not None):
            bound = least if self.proof is None else self.proof.score
            return describe_bound(bound, self.score, self.measure, full_domain=self.full_domain)
        values = {"loss": round_score(self.score, "up")} | ({"measure": self.measure} if self.measure else {})
        if least is None:
            template = "by {measure}, this recoding scores {loss}; no bound: {reason}"
            if not self.measure:
                template = "this recoding loses {loss}; no bound: {reason}"
            return Phrase(template, reason=self.why_no_bound, **values)
        if self.kind == "values" and not self.measure and self.score <= least:
            return Phrase(
                "no recoding with one label for each value loses less than this one: {loss}", **values
            )
        if not least:
            return describe_bound(least, self.score, self.measure)
        template = (_OF_SCORE if self.measure else _OF_LOSS)[self.kind]
        return Phrase(template, bound=round_score(least, "down"), **values)

    @property
    def published_sentence(self) -> Phrase:
        """What a reader of the release may know: the score alone."""
        score = round_score(self.score, "up")
        if self.measure:
            return Phrase("the score by {measure} is {score}", measure=self.measure, score=score)
        return Phrase("the loss is {loss}, as the mean over cells", loss=score)
