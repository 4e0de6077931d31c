"""A linkage experiment: how many records an attacker re-identifies who knows the input and sees the output.

For every record of the input the attacker takes the nearest record of the output (in the other direction, for
every record of the output the nearest one of the input). The squared distance is a sum over columns:

* numbers and dates in both tables: the squared difference over the range of the input;
* other values: 0 if they are equal and 1 if not;
* a value and a label: the share of the domain that the label covers besides the value, (covered - 1) /
  domain, if it covers the value, and 1 if not. So a label of few values is nearer than one of many, one that
  covers everything (or a suppressed cell) is nearly as far as a wrong one, and a label that rules the record
  out is as far as a different value.

A label covers the values below it in the hierarchy of the column or, if none is given, the values that were
generalized to it in the two tables. A label that is a value of the input covers that value only.

`veil.risk.nearest` measures the same for methods that do not generalize or suppress; the results are then
equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.errors import InputError, PlanError
from veil.hierarchies import Hierarchy
from veil.plan.plan import ASK
from veil.risk.distances import SLACK, Distances, DistanceTable, Integers, cells_of
from veil.risk.grouping import column_names, table_of
from veil.risk.identify.repeats import check_people
from veil.risk.nearest import FEWEST, PAIRS, Linkage

__all__ = ["Linkage", "linkage_experiment"]


def linkage_experiment(
    before: Any,
    after: Any,
    columns: str | Iterable[str],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    origins: NDArray[np.int64] | None = None,
    marker: str | None = "*",
    person: str | None = ASK,
    pairs: int = PAIRS,
) -> Linkage:
    """Link the records of an input and an output table by their distance.

    Parameters
    ----------
    before, after
        The tables.
    columns
        Columns that the attacker knows.
    hierarchies
        Hierarchies of generalized columns, which define what a label covers.
    origins
        For each row of the output the row of the input that it comes from; by default the same row.
    marker
        Text of a suppressed cell, which covers everything. So does a missing cell, unless the input has some.
    person
        None if every row of the input is a different person. With several rows a person, the nearest record
        may be another one of the same person, and there is no such experiment.
    pairs
        Maximum number of pairs of different records to compare in each direction. If there are more, a random
        sample of the records is looked up among all.

    >>> import pyarrow as pa
    >>> before = pa.table({"age": [21, 23, 35, 38], "sex": ["f", "m", "m", "m"]})
    >>> after = pa.table({"age": ["20-29", "20-29", "30-39", "30-39"], "sex": ["f", "m", "m", "m"]})
    >>> linkage_experiment(before, after, ["age", "sex"]).forward  # two are linked, and two are mixed up
    0.75
    """
    old_table, new_table, names = table_of(before), table_of(after), column_names(columns)
    if person not in (None, ASK):
        raise PlanError(
            "records cannot be linked one by one if a person has several: give one row of each person"
        )
    check_people(old_table, person)
    owners = np.arange(new_table.num_rows) if origins is None else np.asarray(origins, np.int64)
    if owners.size != new_table.num_rows or (owners < 0).any() or (owners >= old_table.num_rows).any():
        raise InputError(
            f"`origins` should give a row of the input, from 0 to {old_table.num_rows - 1}, for each of the "
            f"{new_table.num_rows} rows of the output. It is needed if the tables do not have the same rows"
        )
    old, new = DistanceTable.of(old_table, names), DistanceTable.of(new_table, names)
    own = old.group[owners], new.group
    arrays = cells_of(old, new, own, names, hierarchies or {}, marker)
    rows = np.arange(owners.size)
    forward, some = _share_linked(Distances(arrays, True), old, new, owners, rows, pairs)
    backward, others = _share_linked(Distances(arrays, False), new, old, rows, owners, pairs)
    return Linkage(forward, backward, max(some, others), max(old_table.num_rows, new_table.num_rows))


def _share_linked(
    distances: Distances,
    targets: DistanceTable,
    candidates: DistanceTable,
    target_of: Integers,
    candidate_of: Integers,
    pairs: int,
) -> tuple[float, int]:
    """Return the share of targets whose nearest candidate is their own, and the number of targets looked up.

    `target_of` and `candidate_of` are the rows of true pairs. A tie among t candidates counts 1/t.
    """
    size, others = targets.group.size, candidates.counts.size
    if not size or not others:
        return 0.0, 0
    looked_up = np.ones(size, np.bool_)
    if targets.counts.size * others > pairs and size > (affordable := max(FEWEST, pairs // others)):
        # Not a secret, and the same records for all methods, so that results can be compared.
        looked_up[:] = False
        looked_up[np.random.default_rng(0).choice(size, affordable, replace=False)] = True
    groups = np.unique(targets.group[looked_up])
    least, ties = np.full(targets.counts.size, np.inf), np.zeros(targets.counts.size)
    least[groups], ties[groups] = distances.nearest(groups, candidates.counts)
    here = looked_up[target_of]
    mine, own = targets.group[target_of[here]], candidates.group[candidate_of[here]]
    near = distances.between(mine, own) <= least[mine] * (1 + SLACK)
    return float((near / ties[mine]).sum() / np.count_nonzero(looked_up)), int(np.count_nonzero(looked_up))
