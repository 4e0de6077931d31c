"""Whole records from noisy tables of columns and of the pairs of a tree (McKenna, Miklau and Sheldon 2021).

Three steps, each for a third of rho: all columns are counted; a tree of pairs is chosen, pair by pair, by the
exponential mechanism on the distance of the pair from independence; the chosen pairs are counted. A row is in
one cell of each table, and a person has at most r rows, perhaps in the same cell. With one person more or
less, a table moves by at most r in Euclidean distance, and its L1 distance from any fixed table by at most r;
with one changed, r rows leave a cell and r enter another, so it moves by sqrt(2) r and 2 r. Gaussian noise
for that is rho-zCDP, and the exponential mechanism for epsilon is (epsilon^2 / 8)-zCDP (Cesar and Rogers
2021). The rest is post-processing, and so is the number of rows, unless it is the same for all neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from veil.base.declare import declared
from veil.base.exact import ball
from veil.base.randomness import Randomness
from veil.dp.gaussian import Gaussian
from veil.dp.mechanisms import ExponentialChoice
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.symbolic import Symbolic, enclosure
from veil.dp.zcdp import rho_of_epsilon
from veil.errors import ParameterError
from veil.private_table.mechanisms.by_mbi import fit_by_mbi, require_mbi
from veil.private_table.mechanisms.cells import CellColumn, cut
from veil.private_table.mechanisms.columns import Column
from veil.private_table.mechanisms.consistent import Table, draw_child, draw_root, fit, nearest_counts
from veil.private_table.mechanisms.table_mechanism import (
    DrawnTable,
    Neighbourhood,
    PublicNumber,
    TableMechanism,
)

Pair = tuple[int, int]

_UNITS = 1024
"""Expected counts are rounded to so many parts of 1, so that scores are whole numbers."""

_MOST_CELLS = 10**6


@declared(kind_of=TableMechanism)
class MarginalTree(TableMechanism):
    """Whole records, drawn from noisy counts of all columns and of the pairs of columns of a tree.

    Parameters
    ----------
    breaks
        Where columns of numbers are cut: public numbers between their bounds. By default ten parts of equal
        width. Within its part, a number is drawn uniformly.
    library
        Code that makes noisy counts consistent: "own", or "mbi" (Private-PGM), which has to be installed.
    """

    breaks: Annotated[
        dict[str, list[PublicNumber]],
        Field(description="for columns of numbers, where they are cut: public numbers between their bounds"),
    ] = Field(default_factory=dict)
    library: Annotated[
        Literal["own", "mbi"], Field(description="who makes noisy counts consistent; mbi has to be installed")
    ] = "own"
    kind: Literal["MarginalTree"] = Field(default="MarginalTree", repr=False, kw_only=True)

    @property
    def name(self) -> str:
        return "marginal tree"

    def check(self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood) -> None:
        sizes = sorted((each.size for each in cut(columns, self.breaks)), reverse=True)
        if len(sizes) > 1 and sizes[0] * sizes[1] > _MOST_CELLS:
            raise ParameterError(
                f"two columns have {sizes[0]} and {sizes[1]} values, and a table of both "
                f"{sizes[0] * sizes[1]} cells: use fewer breaks for numbers, and coarser categories"
            )
        _rho(loss)
        if self.library == "mbi":
            require_mbi()

    def make(
        self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood, randomness: Randomness
    ) -> DrawnTable:
        cells, third = cut(columns, self.breaks), _rho(loss) / 3
        counter = _Counter(cells, hidden, randomness)
        singles, deviation = counter.count([(place,) for place in range(len(cells))], third)
        # The number of rows is public, or else estimated from the noisy counts.
        total = float(len(cells[0].codes)) if hidden.size_is_public else _total(singles)
        margins = [nearest_counts(single, total) for single in singles]
        tree = counter.choose_tree(margins, third)
        pairs, wider = counter.count(tree, third)
        tables = dict(zip(tree, pairs, strict=True))
        if self.library == "mbi":
            margins, tables = fit_by_mbi(singles, deviation, tables, wider, total)
        else:
            margins = _combine(singles, deviation, tables, wider, total)
        codes = _draw(margins, tables, total, randomness)
        table = pa.table(
            {each.column.name: each.values(codes[place], randomness) for place, each in enumerate(cells)}
        )
        names = ", ".join(f"{cells[a].column.name} with {cells[b].column.name}" for a, b in tree) or "none"
        proof = (
            f"Counts of each column, {len(tree)} choices of a pair of columns and counts of these pairs were each drawn with noise "
            "for what one person can change, for a third of rho each; records were drawn from these noisy counts, and not from "
            "the data."
        )
        notes = (
            f"Pairs that were counted: {names}. Of other pairs, records know only what follows from these.",
        )
        return DrawnTable(table, proof, notes)


class _Counter:
    """The part that reads the data: noisy counts, and choices of pairs."""

    def __init__(self, cells: Sequence[CellColumn], hidden: Neighbourhood, randomness: Randomness) -> None:
        self._cells, self._hidden, self._randomness = cells, hidden, randomness

    def count(self, tables: Sequence[tuple[int, ...]], rho: Fraction) -> tuple[list[Table], float]:
        """Return noisy tables, for one rho together, and the standard deviation of the noise."""
        if not tables:
            return [], 0.0
        # sqrt(2) r if 2 r rows differ, r of them in one cell and r in another, and r otherwise.
        distance = enclosure(lambda bits: ball(self._hidden.moved * self._hidden.rows).sqrt())[1]
        noise = Gaussian(Symbolic(distance), rho=rho / len(tables), whole=True)
        noisy = []
        for places in tables:
            exact = self._table(places)
            noise_values = np.array([noise.draw(self._randomness) for _ in range(exact.size)], np.float64)
            noisy.append(exact + noise_values.reshape(exact.shape))
        return noisy, noise.sigma

    def choose_tree(self, margins: Sequence[Table], rho: Fraction) -> list[Pair]:
        """Choose pairs that connect all columns, those farther from independence with higher probability."""
        pairs, edges = list(itertools.combinations(range(len(margins)), 2)), len(margins) - 1
        scores = {pair: self._gap(pair, margins) for pair in pairs}
        part = list(range(len(margins)))
        tree: list[Pair] = []
        for _ in range(edges):
            epsilon = enclosure(lambda bits: (8 * ball(rho / edges)).sqrt())[0]
            choice: ExponentialChoice[Pair] = ExponentialChoice(
                Symbolic(epsilon), self._hidden.moved * _UNITS, self._randomness
            )
            for one, other in pairs:
                if part[one] != part[other]:
                    choice.add((one, other), scores[one, other])
            one, other = choice.draw()
            tree.append((one, other))
            part = [part[one] if each == part[other] else each for each in part]
        return tree

    def _gap(self, pair: Pair, margins: Sequence[Table]) -> int:
        one, other = (margins[place] for place in pair)
        expected = np.rint(np.outer(one, other) / max(one.sum(), 1) * _UNITS).astype(np.int64)
        return int(np.abs(self._table(pair).astype(np.int64) * _UNITS - expected).sum())

    def _table(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        shape = [self._cells[place].size for place in places]
        code = np.zeros(len(self._cells[0].codes), np.int64)
        for place, size in zip(places, shape, strict=True):
            code = code * size + self._cells[place].codes
        return np.bincount(code, minlength=int(np.prod(shape))).reshape(shape)


def _total(singles: Sequence[Table]) -> float:
    """Return an estimate of the number of records from noisy counts, weighted by one over their size."""
    weights = np.array([1 / single.size for single in singles])
    return max(1.0, float(np.round(weights @ [single.sum() for single in singles] / weights.sum())))


def _combine(
    singles: Sequence[Table], deviation: float, pairs: Mapping[Pair, Table], wider: float, total: float
) -> list[Table]:
    """Return the counts of each column from its own and those of its pairs, weighted by inverse variances."""
    margins = []
    for place, single in enumerate(singles):
        weight = 1 / deviation**2
        weighed, weights = weight * single, weight
        for pair, table in pairs.items():
            if place in pair:
                axis = 1 - pair.index(place)
                weight = 1 / (wider**2 * table.shape[axis])
                weighed, weights = weighed + weight * table.sum(axis=axis), weights + weight
        margins.append(nearest_counts(weighed / weights, total))
    return margins


def _draw(
    margins: Sequence[Table], pairs: Mapping[Pair, Table], total: float, randomness: Randomness
) -> dict[int, NDArray[np.int64]]:
    """Draw records, column after column along the tree."""
    codes = {0: draw_root(margins[0], round(total), randomness)}
    while len(codes) < len(margins):
        for (one, other), noisy in pairs.items():
            if (one in codes) == (other in codes):
                continue
            table = fit(nearest_counts(noisy, total), margins[one], margins[other])
            parent, child, joint = (one, other, table) if one in codes else (other, one, table.T)
            codes[child] = draw_child(codes[parent], joint, randomness)
    return codes


def _rho(loss: PrivacyLoss) -> Fraction:
    """Return the rho of a privacy loss."""
    if loss.rho:
        return loss.rho
    if not loss.delta:
        raise ParameterError("MarginalTree needs a `delta` above 0 with `epsilon`, or `rho` instead of both")
    return rho_of_epsilon(loss.epsilon, Symbolic(loss.delta))
