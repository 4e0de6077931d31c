"""k-anonymity for attackers who know only some of the quasi-identifiers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.base.arrays import Floats, Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.wording import Phrase
from veil.classes.encoding import Encoding
from veil.classes.kernels import Words
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.errors import ParameterError, did_you_mean
from veil.models.base import PrivacyModel, Reads, Strength
from veil.published.blank import shows_nothing
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.columns import encode_values

_ASSESSED_SETS = 60
"""Sets of quasi-identifiers that `strongest` considers for one m."""

_FEW = 1 << 20
"""Combinations of values that are counted in an array with room for all of them."""


@declared(kind_of=PrivacyModel)
class SubsetKAnonymity(PrivacyModel):
    """Anyone who knows some of a record's quasi-identifiers finds at least k records that share their values.

    An attacker knows any m of the quasi-identifiers (then also any fewer: they single out larger groups), or
    one of the sets that are listed. With m below the number of quasi-identifiers this is weaker than
    k-anonymity, and keeps much more of tables with many columns.

    A group of records spans classes, so the released records are judged together: classes in too small a
    group are suppressed, which shrinks other groups, until no group is too small. The remainder does not
    depend on the order: a union of two sets of classes without small groups has none either, so there is a
    largest one.

    Monotone under generalization: groups only merge. Under suppression too: consider the classes, at a more
    general node, of the records kept at a node; no group among those is smaller, so the more general node
    keeps them all.
    """

    k: Annotated[int, Field(ge=1, description="smallest allowed group; 5 to 20 is usual for publication")]
    m: Annotated[
        int | None,
        Field(ge=1, description="number of quasi-identifiers an attacker may know; 2 to 4 is usual"),
    ] = None
    subsets: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] | None,
        Field(min_length=1, description="instead of `m`: the sets of quasi-identifiers an attacker may know"),
    ] = None
    kind: Literal["SubsetKAnonymity"] = Field("SubsetKAnonymity", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True
    reads: ClassVar[Reads] = "unions"
    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("k", 1)

    def __post_init__(self) -> None:
        if (self.m is None) == (self.subsets is None):
            raise ParameterError(
                "`m` or `subsets` of SubsetKAnonymity should be given, one of them and not "
                + ("none" if self.m is None else "both")
            )

    def known_sets(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the sets of quasi-identifiers that an attacker may know, without subsets of others.

        >>> SubsetKAnonymity(5, 2).known_sets(["age", "sex", "zip"])
        [('age', 'sex'), ('age', 'zip'), ('sex', 'zip')]
        >>> SubsetKAnonymity(5, subsets=[["zip"], ["sex", "zip"]]).known_sets(["age", "sex", "zip"])
        [('sex', 'zip')]
        """
        if self.m is not None:
            return list(combinations(names, min(self.m, len(names))))
        assert self.subsets is not None
        for name in (name for subset in self.subsets for name in subset):
            if name not in names:
                raise ParameterError(
                    f"`subsets` of SubsetKAnonymity should name quasi-identifiers ({', '.join(names)}), "
                    f"not {name!r}.{did_you_mean(name, names)}"
                )
        unordered = dict.fromkeys(frozenset(subset) for subset in self.subsets)
        largest = [each for each in unordered if not any(each < other for other in unordered)]
        return [tuple(name for name in names if name in each) for each in largest]

    def minimal_class_size(self, sample: Sample) -> int:
        """Return k if an attacker may know all quasi-identifiers; otherwise groups may span classes."""
        names = sample.encoding.names
        return self.k if names in self.known_sets(names) else 1

    def bind(self, sample: Sample) -> _Criterion | None:
        """Prepare the masks of packed keys."""
        names = sample.encoding.names
        subsets = self.known_sets(names)
        if self.k == 1 or subsets == [names]:
            return None
        return _Criterion(sample.encoding, subsets, min(self.k, sample.records + 1))  # no group is larger

    def verify(self, published: Published) -> Finding:
        """Count the records of every group of every set."""
        subsets = self.known_sets(published.names)
        columns: str = Phrase("any {number}", number=len(subsets[0]) if subsets else 0)
        if self.m is None:
            columns = " or ".join(" and ".join(map(repr, s)) for s in subsets)
        template = "{k}-anonymity against anyone who knows {columns} of the quasi-identifiers"
        promise = Phrase(template, k=self.k, columns=columns)
        if not published.sizes.size:
            return Finding(promise, True, "no class")
        groups = _Groups(published)
        least, worst = min((groups.smallest(subset), subset) for subset in subsets)
        return Finding(promise, least >= self.k, f"k = {least} for {', '.join(map(repr, worst))}")

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the size of the smallest group for each m, until k is that of k-anonymity.

        The list ends before an m with too many sets.
        """
        strengths: list[Strength] = []
        if not published.sizes.size:
            return strengths
        groups = _Groups(published)
        least, floor = published.records + 1, int(published.sizes.min())
        for m in range(1, len(published.names)):
            if least == floor or math.comb(len(published.names), m) > _ASSESSED_SETS:
                break
            for subset in combinations(published.names, m):
                least = min(least, groups.smallest(subset))
                if least == floor:  # no subset of columns has a smaller group
                    break
            strengths.append(Strength("SubsetKAnonymity", f"k (m = {m})", least))
        return strengths


# --- criterion ------------------------------------------------------------------------------------


class _Criterion:
    """Groups classes by the part of their packed keys that an attacker knows."""

    def __init__(self, encoding: Encoding, subsets: Iterable[tuple[str, ...]], k: int) -> None:
        self.k = k
        self.cardinalities = encoding.cardinalities
        members = [[name in subset for name in encoding.names] for subset in subsets]
        self.members = np.array(members, np.bool_)
        self.masks = np.zeros((len(members), encoding.words), np.uint64)
        for j, (word, shift, mask) in enumerate(encoding.layout.tolist()):
            self.masks[self.members[:, j], word] |= np.uint64(mask << shift)

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Mark classes in too small a group of classes without a mark, until there is none."""
        self._reject_groups(table, rejected, True)

    def suppress(self, table: ClassTable, rejected: Marks, losses: Floats | None) -> None:
        self.reject(table, rejected)

    def fulfilled(self, table: ClassTable, rejected: Marks) -> bool:
        return self._reject_groups(table, rejected, False)

    def _reject_groups(self, table: ClassTable, rejected: Marks, mark: bool) -> bool:
        rooms = np.where(self.members, self._sizes(table), 1.0).prod(axis=1)
        return bool(_reject_small(table.keys, table.count, self.masks, rooms, self.k, mark, rejected))

    def _sizes(self, table: ClassTable) -> Floats:
        return self.cardinalities[np.arange(len(table.levels)), list(table.levels)].astype(np.float64)


@kernel
def _reject_small(
    keys: Words,
    counts: Integers,
    masks: NDArray[np.uint64],
    rooms: Floats,
    k: int,
    mark: bool,
    rejected: Marks,
) -> bool:
    """Reject classes in groups of fewer than k records, set by set, until no set has such a group.

    Return whether there was none. Without `mark`, stop at the first one instead of rejecting. The records of
    a group are those of classes that are not rejected and agree in the bits of a mask; `rooms` bounds the
    number of groups of each mask.
    """
    alive = np.empty(counts.size, np.int32)
    left = 0
    for i in range(counts.size):
        if rejected[i] == 0 and counts[i] > 0:
            alive[left] = i
            left += 1
    # Hash tables with room for as many groups as classes.
    words = len(keys)
    bits = 1
    while (1 << bits) < 2 * left:
        bits += 1
    slots = np.empty(1 << bits, np.int32)  # group with this hash
    group = np.empty(left, np.int32)
    sums = np.empty(left, np.int64)
    first = np.empty(left, np.int32)
    untouched = True
    unchanged_sets = s = 0
    # Group the remaining classes by one mask after the other, until none of them rejects any.
    while unchanged_sets < masks.shape[0] and left > 0:
        bits = 1
        while (1 << bits) < 2.0 * min(float(left), rooms[s]):
            bits += 1
        last = np.int64((1 << bits) - 1)
        down = np.uint64(64 - bits)
        slots[: last + 1] = -1
        number = 0
        for a in range(left):
            i = alive[a]
            mixed = np.uint64(0)
            for w in range(words):
                mixed = (mixed ^ (keys[w][i] & masks[s, w])) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(32)
            slot = np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> down)
            while True:
                group_number = int(slots[slot])
                if group_number < 0:
                    group_number = number
                    slots[slot] = group_number
                    first[group_number] = i
                    sums[group_number] = 0
                    number += 1
                    break
                same = True
                for w in range(words):
                    same &= ((keys[w][i] ^ keys[w][first[group_number]]) & masks[s, w]) == 0
                if same:
                    break
                slot = (slot + 1) & last
            sums[group_number] += counts[i]
            group[a] = group_number
        # Keep the classes of large groups.
        stay = 0
        for a in range(left):
            if sums[group[a]] >= k:
                alive[stay] = alive[a]
                stay += 1
            else:
                untouched = False
                if not mark:
                    return False
                rejected[alive[a]] = 1
        unchanged_sets = unchanged_sets + 1 if stay == left else 1
        left = stay
        s = s + 1 if s + 1 < masks.shape[0] else 0
    return untouched


# --- verification ---------------------------------------------------------------------------------


class _Groups:
    """The classes of a published table, prepared for grouping by any of their columns."""

    def __init__(self, published: Published) -> None:
        self.sizes = published.sizes
        # Suppressed records match records that are blank in the known columns, unless a flag marks them.
        self.bare = 0 if published.flag is not None else published.suppressed_records
        self.codes: dict[str, Integers] = {}
        self.counts: dict[str, int] = {}
        self.blank: dict[str, int | None] = {}
        for name in published.names:
            values, codes = encode_values(published.labels[name])
            self.codes[name], self.counts[name] = codes.astype(np.int64), len(values)
            blank = np.flatnonzero(shows_nothing(values, published.marker))
            self.blank[name] = int(blank[0]) if blank.size else None

    def smallest(self, names: Sequence[str]) -> int:
        """Return the number of records in the smallest group of classes that agree in some columns."""
        keys, blank, room = np.zeros(self.sizes.size, np.int64), np.ones(self.sizes.size, np.bool_), 1
        for name in names:
            if room * self.counts[name] >= 2**62:
                keys, room = np.unique(keys, return_inverse=True)[1], keys.size
            keys = keys * self.counts[name] + self.codes[name]
            room *= self.counts[name]
            blank &= self.codes[name] == self.blank[name]
        if room > _FEW:
            keys, room = np.unique(keys, return_inverse=True)[1], keys.size
        sums = np.bincount(keys, weights=self.sizes, minlength=1).astype(np.int64)
        if self.bare and blank.any():
            sums[keys[np.argmax(blank)]] += self.bare
        return int(sums[sums > 0].min())
