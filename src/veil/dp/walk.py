"""The search for a generalization scheme: a random walk down the lattice, and a choice among its nodes.

The walk is that of Bild, Kuhn and Prasser (2018), Figure 7. It starts at the top, where everything is
generalized most. In each step the direct predecessors of the pivot become candidates, and the next pivot is
drawn among all candidates by the exponential mechanism with its share of the budget. A scheme is a pivot at
most once.

*What is proved.* Let the scores be those of a fixed table D. The candidates of a step follow from the
pivots before it and from the lattice, and from nothing else. So every step is an exponential mechanism on D
with the outcomes of the earlier ones as parameters, and a sequence of such steps is private with the sum of
their budgets (McSherry 2009). The schemes that have been looked at follow from the pivots as well, and the
choice among them is one more exponential mechanism with its own part of the budget. `private_search` is
therefore `epsilon`-differentially private for D.

*When it ends.* The number of steps is fixed beforehand; only a lattice without further candidates ends them
earlier, and that follows from the pivots. An end by the clock is not covered: how many steps fit into a
second depends on the class tables that are scored, so the length of the walk would reveal more about D than
the budgets allow. Therefore limits are refused, and a cancelled search returns nothing (`veil.dp.publish`).

*What the paper does instead, and why that is not private* (`published_search`):

1. It returns the pivot with the best score. Its Theorem 10 calls this step deterministic, as if it were
   post-processing. But it compares scores, which are functions of D: it reads the data again, without any
   noise. With one attribute of two levels and one step, both schemes are visited for sure, and the better
   one is returned; where one record decides which is better, the answers on two neighbouring tables are
   different with probability one.
2. It searches the random sample that is published afterwards. The guarantee of sampling and suppression
   (Theorem 3) is for a scheme that is chosen without looking at the sample. A search that looks prefers
   schemes under which a class happens to have reached k records, the very event whose probability δ bounds.
   So the budgets do not add up as claimed, not even with a private choice at the end: a table of three
   records and k = 2 exceed δ, for any budget of the search.

Both counterexamples are tests (tests/dp/test_walk.py). The remedy for the second is to search the whole
table, and to draw the sample afterwards, with coins of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from veil.base.randomness import Randomness
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, keep, roll_up
from veil.dp.mechanisms import ExponentialChoice
from veil.dp.scores import ScoreFunction
from veil.dp.symbolic import Symbolic

FINAL_SHARE = Fraction(3, 10)
"""Part of the budget for the last choice; bench/safepub.py shows how results depend on it."""

MEMORY = 200 * 2**20
"""Bytes of class tables kept; the oldest go first."""

Scores = Callable[[Levels], Fraction]


@dataclass(frozen=True)
class Walk:
    """The course of a search.

    Attributes
    ----------
    scores : dict
        Every scheme that was scored, with its score. Not private: for the data holder only.
    pivots : tuple
        The schemes that were drawn, in order, from the top on.
    chosen : tuple
        Levels of the scheme that the search returns.
    """

    scores: dict[Levels, Fraction]
    pivots: tuple[Levels, ...]
    chosen: Levels


def private_search(
    score: Scores,
    spread: Fraction,
    minimum: Levels,
    maximum: Levels,
    *,
    epsilon: Symbolic,
    steps: int,
    randomness: Randomness,
    final_share: Fraction = FINAL_SHARE,
) -> Walk:
    """Search for a scheme with a high score, `epsilon`-differentially private.

    Parameters
    ----------
    score
        Score of a scheme. Differences of scores between neighbouring tables are at most `spread` apart.
    minimum, maximum
        The least and the most general scheme.
    steps
        Number of pivots to draw; fewer are drawn only where no candidates are left.
    final_share
        Part of the budget for the choice among all scored schemes.
    """
    step = epsilon * ((1 - final_share) / steps)
    scores, pivots = _walk(score, _choice(step, spread, randomness), minimum, maximum, steps)
    last = _choice(epsilon * final_share, spread, randomness)
    for levels, value in scores.items():
        last.add(levels, value)
    return Walk(scores, pivots, last.draw())


def published_search(
    score: Scores,
    sensitivity: Fraction,
    minimum: Levels,
    maximum: Levels,
    *,
    epsilon: Symbolic,
    steps: int,
    randomness: Randomness,
) -> Walk:
    """Search as published in the paper. The result is not proven to be private: see the module.

    Returns the pivot with the best score, the first one among equals.
    """
    scores, pivots = _walk(
        score, _choice(epsilon / steps, 2 * sensitivity, randomness), minimum, maximum, steps
    )
    return Walk(scores, pivots, max(pivots, key=scores.__getitem__))


def _choice(epsilon: Symbolic, spread: Fraction, randomness: Randomness) -> ExponentialChoice[Levels]:
    return ExponentialChoice(epsilon, spread / 2, randomness)


def _walk(
    score: Scores, candidates: ExponentialChoice[Levels], minimum: Levels, maximum: Levels, steps: int
) -> tuple[dict[Levels, Fraction], tuple[Levels, ...]]:
    pivots = [maximum]
    scores = {maximum: score(maximum)}
    for _ in range(steps):
        for levels in _predecessors(pivots[-1], minimum):
            if levels not in scores:
                scores[levels] = score(levels)
                candidates.add(levels, scores[levels])
        if not len(candidates):
            break
        pivots.append(candidates.draw())
        candidates.remove(pivots[-1])
    return scores, tuple(pivots)


def _predecessors(levels: Levels, minimum: Levels) -> Iterator[Levels]:
    for j, level in enumerate(levels):
        if level > minimum[j]:
            yield (*levels[:j], level - 1, *levels[j + 1 :])


class Scorer:
    """Scores of the schemes of a sample, each from the smallest class table in memory that is fine enough.

    A walk from the top meets general schemes first, so tables of earlier schemes are of no use. But the half
    of the attributes that shrink the table most occurs in few combinations of levels. Their tables, with the
    other half at its minimum, are kept, and everything is rolled up from them.
    """

    def __init__(self, sample: Sample, function: ScoreFunction, minimum: Levels) -> None:
        self.encoding = sample.encoding
        self.function = function
        self.work = sample.workspace()
        self.finest = sample.table
        if self.finest.levels != minimum:
            self.finest = keep(roll_up(self.encoding, self.finest, minimum, self.work))
        self.first = self._strongest(minimum)
        self.halfway: OrderedDict[Levels, ClassTable] = OrderedDict()
        self.bytes = 0

    def __call__(self, levels: Levels) -> Fraction:
        return self.function.score(roll_up(self.encoding, self._source(levels), levels, self.work))

    def _strongest(self, minimum: Levels) -> frozenset[int]:
        """Return the half of the attributes that leave the fewest classes when they are generalized alone."""

        def classes(j: int) -> int:
            top = (*minimum[:j], self.encoding.heights[j], *minimum[j + 1 :])
            return len(roll_up(self.encoding, self.finest, top, self.work))

        ordered = sorted(range(len(minimum)), key=classes)
        return frozenset(ordered[: (len(minimum) + 1) // 2])

    def _source(self, levels: Levels) -> ClassTable:
        finest = self.finest
        half = tuple(level if j in self.first else finest.levels[j] for j, level in enumerate(levels))
        if half == finest.levels:
            return finest
        if half not in self.halfway:
            table = keep(roll_up(self.encoding, finest, half, self.work))
            self.halfway[half] = table
            self.bytes += table.nbytes
            while self.bytes > MEMORY and len(self.halfway) > 1:
                _, oldest = self.halfway.popitem(last=False)
                self.bytes -= oldest.nbytes
        return self.halfway[half]
