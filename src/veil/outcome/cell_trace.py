"""How well records with labels of their own are recoded, and what is proven about better recodings."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from veil.base.wording import Phrase
from veil.lattice.optimality import gap_to_optimum
from veil.outcome.lower_bound import LowerBound, describe_bound, round_score, share_of_cost


@dataclass(frozen=True, eq=False)
class CellTrace:
    """What a recoding by cells or by values costs.

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
    why_no_bound: str
    curve: tuple[tuple[float, float], ...]
    base: int = 0
    measure: str = ""
    figure: Fraction | None = None
    least_figure: Fraction | None = None

    @property
    def score(self) -> Fraction:
        """The score by the measure, exactly: loss unless it has another name."""
        return self._share(self.cost) if self.figure is None else self.figure

    @property
    def least(self) -> Fraction | None:
        """A score that no recoding of this kind is below; None if nothing is proven."""
        if self.figure is not None:
            return self.least_figure
        bounds = [] if self.proof is None else [self.proof.score]
        if self.bound is not None:
            bounds.append(self._share(self.bound))
        return max(bounds, default=None)

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
            return describe_bound(least if self.proof is None else self.proof.score, self.score, self.measure)
        values = {"loss": round_score(self.score, "up")} | ({"measure": self.measure} if self.measure else {})
        if least is None:
            template = "by {measure}, this recoding scores {loss}; no bound: {reason}"
            if not self.measure:
                template = "this recoding loses {loss}; no bound: {reason}"
            return Phrase(template, reason=self.why_no_bound, **values)
        template = "by {measure}, no recoding with one label for each value scores less than {bound}; this one scores {loss}"
        if not self.measure:
            template = (
                "no recoding with one label for each value loses less than {bound}; this one loses {loss}"
            )
        return Phrase(template, bound=round_score(least, "down"), **values)

    @property
    def published_sentence(self) -> Phrase:
        """What a reader of the release may know: the score alone."""
        score = round_score(self.score, "up")
        if self.measure:
            return Phrase("the score by {measure} is {score}", measure=self.measure, score=score)
        return Phrase("the loss is {loss}, as the mean over cells", loss=score)
