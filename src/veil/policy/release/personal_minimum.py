"""The personal minimum: each record's cells become as coarse as its own policy asks, before all other steps.

This step reads one record at a time and promises nothing by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import HierarchyError
from veil.hierarchies import Hierarchy, Suppression
from veil.hierarchies.hierarchy import ROOT
from veil.plan.parameters import hierarchy_builder
from veil.policy.release.chains import HOLDER, Chain, Chains
from veil.policy.rules.levels import Levels
from veil.published.blank import shows_no_value
from veil.tables.columns import encode_values
from veil.tables.text import canonical_text

TOP = "*"


@dataclass(frozen=True, eq=False)
class CoarsenedColumn:
    """A column after its cells have been made coarser.

    Attributes
    ----------
    values
        The new cells; None if none has changed.
    hierarchy
        The joint hierarchy of the column, for the new values.
    cap
        The level that some policy allows at most; None if none limits it.
    coarser, above_cap
        How many records were made coarser, and how many beyond what other policies allow.
    floors
        The least level of each row.
    uncoarsened
        The hierarchy of the values before they were made coarser.
    """

    name: str
    values: pa.Array | None
    hierarchy: Any
    cap: int | None
    coarser: int
    above_cap: int
    floors: NDArray[np.int64]
    chains: Chains | None = None
    uncoarsened: Any = None

    def unambiguous(self, marker: str | None) -> pa.Array | None:
        """Return the cells, with labels above other shown labels set to missing; None if there are none.

        Such a label is no further value, but any of those below it. At worst (`missing="worst"`), a missing
        cell has the value that breaks a model, which includes those. Withheld cells are missing anyway.
        """
        if self.chains is None or self.values is None:
            return None
        labels, codes = encode_values(pa.chunked_array([self.values]))
        shown_mask = ~shows_no_value(labels, marker)
        above = self.chains.above(
            [label for label, is_shown in zip(labels.to_pylist(), shown_mask, strict=True) if is_shown]
        )
        ambiguous_mask = np.isin(np.array(labels.to_pylist(), object), list(above))
        return pc.if_else(pa.array(ambiguous_mask[codes]), None, self.values) if above else None

    def too_fine(self, column: pa.ChunkedArray, rows: NDArray[np.int64], hidden: NDArray[np.bool_]) -> int:
        """Count the cells of a release that are less coarse than their own policy asks."""
        floors = self.floors[rows]
        if self.chains is None or not floors.any():
            return 0
        values, codes = encode_values(column)
        texts = canonical_text(values)
        levels = np.array(
            [self.chains.height if text is None else self.chains.level_of(text) for text in texts]
        )
        return int(np.count_nonzero((levels[codes] < floors) & ~hidden))


def lift(
    column: pa.ChunkedArray,
    name: str,
    levels: Sequence[Levels | None],
    policies: Sequence[str],
    policy_codes: NDArray[np.int64],
    hierarchy: Any = None,
    withheld: bool = False,
) -> CoarsenedColumn:
    """Make the cells of a column as coarse as each record's policy asks.

    Parameters
    ----------
    levels, policies
        The levels of the column in each policy, and the name of the policy.
    policy_codes
        The policy of each row.
    hierarchy
        A hierarchy of the data holder, for values that no policy lists.
    withheld
        Whether some cells of the column are withheld, so that they become `*` at most.
    """
    values, value_codes = encode_values(column)
    texts = canonical_text(values, column=name)
    least = np.fromiter((0 if each is None else each.least for each in levels), np.int64, len(levels))
    counts = np.bincount(value_codes, minlength=len(texts))
    chains = _chains(name, levels, policies, hierarchy, values, texts, counts)
    if chains is None:  # no policy lists a chain
        own = Suppression() if hierarchy is None else hierarchy
        return CoarsenedColumn(
            name,
            None,
            _ending_in_root(own, values, counts, name) if withheld else own,
            _cap(levels, None),
            0,
            0,
            np.zeros(len(policy_codes), np.int64),
        )
    for text in texts:
        if text is not None and text not in chains:
            raise HierarchyError(
                f"column {name!r}: no policy lists the value {text!r}. List it (HierarchyEntry), or give `hierarchies` for "
                "the column"
            )
    floors = least[policy_codes]
    top = int(least.max(initial=0)) + 1
    own_tops = np.fromiter(
        (
            each is not None and bool(each.chain) and each.least == len(each.chain) - 1 and each.least > 0
            for each in levels
        ),
        np.bool_,
        len(levels),
    )[policy_codes]
    # The end of a shorter chain is the top, at whichever level others have it.
    floors = np.where(own_tops, chains.height, floors)
    size = max(top, chains.height + 1)
    pairs, where = np.unique(value_codes.astype(np.int64) * size + floors, return_inverse=True)
    labels: list[str | None] = []
    for pair in pairs.tolist():
        text = texts[pair // size]
        labels.append(None if text is None else chains.at(text, pair % size))
    new = pa.array(labels, pa.string()).take(pa.array(where))
    present = [label for label in labels if label is not None]
    cap = _cap(levels, chains)
    missing = np.array([text is None for text in texts])[value_codes]
    lifted = (floors > 0) & ~missing
    above = 0 if cap is None else int(np.count_nonzero(lifted & (floors > cap)))
    joint = chains.hierarchy(present) if present else Suppression()
    if withheld:
        distinct_labels, label_counts = np.unique(np.array(present, object), return_counts=True)
        ended = _ending_in_root(joint, pa.array(distinct_labels, pa.string()), label_counts, name)
        cap = cap if cap is None or ended is joint or cap < chains.height else cap + 1
        joint = ended
    before = chains.hierarchy(text for text in texts if text is not None) if present else Suppression()
    floors = np.where(missing, 0, floors)
    return CoarsenedColumn(name, new, joint, cap, int(lifted.sum()), above, floors, chains, before)


def _ending_in_root(hierarchy: Any, values: pa.Array, counts: NDArray[np.int64], name: str) -> Any:
    """Return a hierarchy in which a missing value has no label but `*`.

    Otherwise missing values would join a label that all values share, which a withheld cell must not get.
    """
    valid_mask = np.array(values.is_valid())
    built: Hierarchy = hierarchy_builder(hierarchy).build(values.drop_null(), counts[valid_mask], name)
    above = () if len(built.labels[-1]) > 1 or built.labels[-1] == (ROOT,) else (ROOT,)
    if not above and None not in built.labels[0]:
        return hierarchy
    rows = [(*row, *above) for row in built.to_rows() if row[0] is not None]
    return Hierarchy.from_rows(rows, missing=None, source=f"the hierarchy of {name!r}")


def _chains(
    name: str,
    levels: Sequence[Levels | None],
    policies: Sequence[str],
    hierarchy: Any,
    values: pa.Array,
    texts: Sequence[str | None],
    counts: NDArray[np.int64],
) -> Chains | None:
    sources: dict[Chain, str] = {}
    hides = False
    for each, policy in zip(levels, policies, strict=True):
        if each is None:
            continue
        if each.chain:
            sources.setdefault(each.chain, policy)
        elif each.least:
            hides = True
    if hierarchy is not None and (sources or hides):
        built: Hierarchy = hierarchy_builder(hierarchy).build(values, counts, name)
        for row in built.to_rows():
            if row[0] is not None:
                sources.setdefault(tuple("" if label is None else label for label in row), HOLDER)
    if not sources and hides:
        sources = {(text, TOP): HOLDER for text in texts if text is not None}
    return Chains(name, sources) if sources else None


def _cap(levels: Sequence[Levels | None], chains: Chains | None) -> int | None:
    """Return the least of the greatest levels, in the joint hierarchy; None if there are none."""
    caps = {
        each.most if chains is None else chains.cap(each.most, each.chain)
        for each in levels
        if each is not None and each.most is not None
    }
    return min(caps, default=None)
