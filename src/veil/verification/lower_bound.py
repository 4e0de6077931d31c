"""The lower bound on what every recoding costs, computed anew from the prices that are said to prove it.

A record may use any label above it: one node of each hierarchy, at a cost that does not depend on who else uses it.
A label is used by no record or by at least `smallest`. Whatever the prices a_i of the records are, a release that uses
labels f for the records S_f, and suppresses the others, costs

    sum of a_i over all records - sum over labels of (sum of a_i - c_f over S_f) - sum of a_i - 1 over the suppressed.

Each term of the second sum is at most the largest surplus that a choice of `smallest` or more of the records under f
can have, or 0 (`surplus`). The third sum is at most that of max(0, a_i - 1 - m) over all records, plus m for each
record that may be suppressed, for any price m >= 0 of suppression. What is left is a bound on the cost of every
release. If every class shows `least_values` different values, the choices under a label have to show them as well.

Two labels with the same records under them may be taken for one, the cheaper: a release that uses the other one can
use it instead, since unions of classes are as large, and as diverse, as their parts. So only such labels count of
which no column can go down a level without losing a record or becoming dearer.

Costs are rounded down to whole `UNIT`s (`cell_costs`), so that the bound holds for the true costs, and all sums are
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from veil.base.arrays import Codes, Integers
from veil.base.distinct import distinct_rows
from veil.base.wording import Phrase
from veil.errors import InputError
from veil.hierarchies import Hierarchy
from veil.outcome.lower_bound import NO_TIME, UNIT, LowerBound, measure_of
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.published.finding import Finding
from veil.tables.columns import encode_values
from veil.tables.rows import Rows
from veil.tables.text import canonical_text
from veil.verification.cell_costs import cell_costs
from veil.verification.surplus import ColumnLabels, Interrupted, PricedRows, total_surplus


def prove_bound(
    prepared: Prepared,
    prices: Integers,
    suppression_price: int = 0,
    keep: Callable[[], bool] = lambda: True,
) -> LowerBound | Phrase:
    """Return the bound that prices by row of an input prove, or the reason why there is none.

    All bounds come from here: whatever found the prices does not say what they prove. It goes on while `keep` says so.
    """
    size = forced_size(prepared)
    if not isinstance(size, ForcedSize):
        return size
    hierarchies = dict(zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True))
    try:
        bound, base = recompute_bound(
            prepared.rows, prepared.plan, hierarchies, size, prices, suppression_price, keep
        )
    except Interrupted:
        return NO_TIME
    return LowerBound(
        bound,
        prepared.records(),
        size.smallest,
        size.allowed,
        prices,
        suppression_price,
        size.attribute,
        size.least_values,
        base,
        measure_of(prepared.plan.quality),
    )


def bound_by_size(prepared: Prepared) -> Fraction | Phrase:
    """Return the least score of a quality model that judges classes, as far as sizes say it, or why there is none.

    By discernibility, a record is charged the records of its class, which are `smallest` at least, or all records. The
    average class size is least if as many records as possible make classes of `smallest`; all suppressed ones make one
    more.
    """
    size, measure, records = forced_size(prepared), measure_of(prepared.plan.quality), prepared.records()
    if not isinstance(size, ForcedSize):
        return size
    if measure == "Discernibility":
        return Fraction(records * min(size.smallest, records))
    if measure == "AverageClassSize":
        suppressed = [0, 1] if size.allowed else [0]
        most = max((records - number) // size.smallest + number for number in suppressed)
        return Fraction(records / max(1, most))  # as a score is rounded
    return Phrase("nothing is proven about how well others predict the target")


def verify_lower_bound(prepared: Prepared, proof: LowerBound) -> Finding:
    """Check a bound for an input and a plan: that its prices prove it."""
    again = prove_bound(prepared, proof.prices, proof.suppression_price)
    if not isinstance(again, LowerBound):
        return Finding(proof.claim, False, again)
    # A table of prices does not say what the input costs.
    claim = replace(again, bound=proof.bound).claim
    return Finding(claim, again.bound >= proof.bound, Phrase("{claim}, by its prices", claim=again.claim))


def recompute_bound(
    rows: Rows,
    plan: Plan,
    hierarchies: Mapping[str, Hierarchy],
    size: ForcedSize,
    prices: Integers,
    suppression_price: int,
    keep: Callable[[], bool] = lambda: True,
) -> tuple[int, int]:
    """Return the bound that prices prove for every release of a plan, and what the input costs.

    Both are in `UNIT`s of all records together.
    """
    columns = [_encode(rows.table[name], hierarchy, name) for name, hierarchy in hierarchies.items()]
    if size.attribute is None:
        value_codes = np.zeros(rows.table.num_rows, np.int32)
    else:
        value_codes = encode_values(rows.table[size.attribute])[1].astype(np.int32)
    distinct = _distinct(columns, value_codes, prices, rows.weights.array)
    costs = cell_costs(plan, hierarchies, distinct.codes, distinct.counts)
    labels = [
        column_labels(
            hierarchies[name],
            by_level,
            plan.minimum_levels.get(name, 0),
            plan.maximum_levels.get(name),
            codes,
        )
        for name, by_level, codes in zip(hierarchies, costs.by_label, distinct.codes, strict=True)
    ]
    bound = bound_of_prices(
        distinct,
        labels,
        smallest=size.smallest,
        allowed=size.allowed,
        suppression_price=suppression_price,
        least_values=size.least_values,
        keep=keep,
    )
    return bound, costs.base


def bound_of_prices(
    rows: PricedRows,
    columns: Sequence[ColumnLabels],
    *,
    smallest: int,
    allowed: int,
    suppression_price: int,
    least_values: int = 1,
    keep: Callable[[], bool] = lambda: True,
) -> int:
    """Return the bound that prices prove."""
    if suppression_price < 0:
        raise InputError(f"the price of suppression should be at least 0, not {suppression_price}")
    records: list[tuple[int, int]] = list(zip(rows.prices.tolist(), rows.counts.tolist(), strict=True))
    bound = sum(price * count for price, count in records)
    bound -= total_surplus(rows, columns, smallest, least_values, keep)
    if allowed > 0:
        dear = UNIT + suppression_price
        bound -= sum((price - dear) * count for price, count in records if price > dear)
        bound -= suppression_price * allowed
    return bound


def _encode(column: pa.ChunkedArray, hierarchy: Hierarchy, name: str) -> Codes:
    """Return the place of each cell among the values of a hierarchy."""
    values, codes = encode_values(column)
    places = {text: place for place, text in enumerate(hierarchy.labels[0])}
    try:
        of_values = [places[text] for text in canonical_text(values, column=name)]
    except KeyError as error:
        raise InputError(f"column {name!r} has a value that its hierarchy does not have: {error}") from None
    return np.array(of_values, np.int32)[codes]


def _distinct(columns: Sequence[Codes], values: Codes, prices: Integers, weights: Integers) -> PricedRows:
    """Put rows together that have the same codes and the same price."""
    ranks = np.unique(prices, return_inverse=True)[1]
    one_of, number = distinct_rows([*columns, values, ranks], prices.size)
    counts = np.zeros(one_of.size, np.int64)
    np.add.at(counts, number, weights)
    return PricedRows([column[one_of] for column in columns], counts, prices[one_of], values[one_of])


def column_labels(
    hierarchy: Hierarchy, by_level: Sequence[Integers], low: int, high: int | None, codes: Codes
) -> ColumnLabels:
    """Return the labels of a column on the allowed levels, given what a cell with each costs."""
    high = hierarchy.height if high is None else high
    labels = np.arange(hierarchy.size, dtype=np.int32)
    maps, costs = [], []
    for level in range(high + 1):
        if level:
            labels = hierarchy.maps[level - 1][labels]
        if level >= low:
            maps.append(labels)
            costs.append(by_level[level][labels])
    return ColumnLabels(maps, _least_costs(maps, costs, np.unique(codes)))


def _least_costs(maps: Sequence[Codes], costs: Sequence[Integers], values: Codes) -> list[Integers]:
    """Lower the costs of labels that stand for the same of some values on two levels to the least of them."""
    result = [each.copy() for each in costs]
    sizes = [np.bincount(labels[values], minlength=labels.max() + 1)[labels] for labels in maps]
    pairs = list(range(1, len(maps)))
    for above, below in [(i, i - 1) for i in pairs] + [(i - 1, i) for i in reversed(pairs)]:
        same = sizes[above] == sizes[below]
        result[above][same] = np.minimum(result[above], result[below])[same]
    return result
