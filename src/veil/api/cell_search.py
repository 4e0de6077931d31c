"""What a search for the labels of every record has found: its score, and what is proven about better ones."""

from __future__ import annotations

from typing import NoReturn

from veil.errors import PlanError, Say
from veil.outcome.cell_trace import CellTrace
from veil.outcome.outcome import Outcome


class CellSearch:
    """The score of a release whose records have labels of their own, and how far it may be from the best.

    With `veil.quality.Loss`, it is the arithmetic mean over cells of the share of the other values of the domain that a
    label covers, 1 for a suppressed record: unlike the score of full-domain recoding, which by default is the geometric
    mean over columns. With `Precision`, it is the arithmetic mean of level by height; with `NonUniformEntropy`, the share
    of all bits that is lost, and with `NormalizedNonUniformEntropy` the mean of these shares over columns. Quality models
    that judge classes have their own score: `Discernibility`, `AverageClassSize`, `Classification`.

    Attributes
    ----------
    score : float
        The score; lower is better.
    lower_bound : float, optional
        A score that no recoding with these hierarchies is below (with "subtree": none with one label for each value);
        None if there is no bound: see `sentence`. A figure of the input, as `gap` is: keep it to yourself.
    gap : float, optional
        Largest relative distance of the score to the best one, as of a `SearchResult`: 0.05 means that no recoding has
        a score more than 5 % below this one.
    proven_optimal : bool
        Whether no recoding has a lower score.
    measure : str
        The name of the quality model; empty for loss.
    ending : str
        Why the search ended.
    curve : list
        Seconds since the start of the search, and the score of the best recoding from then on; empty if the quality model
        judges classes.
    sentence : str
        Score, bound and distance in words, rounded so that they claim no more than is proven.
    """

    def __init__(self, outcome: Outcome, trace: CellTrace) -> None:
        least = trace.least
        self.score = float(trace.score)
        self.lower_bound = None if least is None else float(least)
        self.gap = trace.gap
        self.measure = trace.measure
        self.proven_optimal = self.gap == 0
        self.ending: str = outcome.facts.get("ending", "")
        self.curve = list(trace.curve)
        self.sentence = str(trace.sentence)
        self._recoding = outcome.recoding

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise PlanError(
            f"{self._recoding} gives records levels of their own, so this release is no node of the lattice, and has no "
            "neighbours: search for one level for each column (",
            Say("recoding", "full-domain"),
            ") to look at others",
        )

    apply = neighbours = nodes = evaluate = level_costs = mapping = _refuse
