"""k^m-anonymity: protection of records that carry a set of items, such as diagnoses or purchases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from veil.base.arrays import Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.wording import Phrase
from veil.classes.kernels import Entries
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.errors import ParameterError
from veil.models.base import PrivacyModel, PromisedRisk, Strength
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.columns import encode_values, is_text

_MANY = 1 << 24
"""Combinations of items, over all distinct sets, that easily fit in memory."""

_ASSESSED_M = 3
"""Largest m for which `strongest` looks for k."""

_SEPARATOR = ","

Items = tuple[object, ...]


@declared(kind_of=PrivacyModel)
class KMAnonymity(PrivacyModel):
    """Knowing a record's quasi-identifiers and at most m of its items leaves at least k records.

    Within each class, every combination of at most m items that some record holds is held by at least k
    records. Knowing no item is included, so each class has at least k records. The column holds lists, or
    text with a separator; a missing or empty value is the empty set, and text is taken literally: blanks
    around an item belong to it.

    Monotone under generalization: a combination that occurs in a union of classes occurs in one of them, k
    times at least. Not under suppression: a part of a class may be without the rare combination.
    Terrovitis, Mamoulis and Kalnis (2008); within classes: Poulis et al. (2013).
    """

    attribute: Annotated[str, Field(description="column that holds a set of items in each record")]
    k: Annotated[int, Field(ge=1, description="least number of records to choose from; 5 to 20 is usual")]
    m: Annotated[int, Field(ge=1, description="number of items that an attacker may know; 1 to 3 is usual")]
    separator: Annotated[str, Field(min_length=1, description="what separates items in text")] = _SEPARATOR
    kind: Literal["KMAnonymity"] = Field(default="KMAnonymity", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("k", 1)
    attribute_may_be_known: ClassVar[bool] = True

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The set-valued attribute."""
        return (self.attribute,)

    def minimal_class_size(self, sample: Sample) -> int:
        """Return k: knowing no item leaves the whole class."""
        return self.k

    def bind(self, sample: Sample) -> _Criterion | None:
        """Find the combinations to count. None if k is 1."""
        return _Criterion(sample, self) if self.k > 1 else None

    def promised(self, records: int) -> PromisedRisk:
        """A record is hidden among k."""
        return PromisedRisk.of_classes(self.k)

    def verify(self, published: Published) -> Finding:
        """Count all combinations in all classes."""
        promise = Phrase("{k}^{m}-anonymity of {attribute!r}", k=self.k, m=self.m, attribute=self.attribute)
        if self.attribute in published.names:  # by a mask: some items are known, not whole sets
            others = [name for name in published.names if name != self.attribute]
            published = Published(published.rows, others, suppressed="none")
        if not published.sizes.size:
            return Finding(promise, True, "no class")
        least = int(_rarest(published, self.attribute, self.m, self.separator).min())
        return Finding(promise, least >= self.k, f"k = {least}")

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return, for columns of sets, how few records share m items of a record, for m up to 3."""
        strengths = []
        for name in sensitive if published.sizes.size else ():
            if m := _assessable(published, name):
                least = np.minimum.accumulate(_rarest(published, name, m, _SEPARATOR))
                strengths += [
                    Strength("KMAnonymity", f"k (m = {i})", int(least[i]), name) for i in range(1, m + 1)
                ]
        return strengths


def _items(value: object, separator: str, column: str) -> Items:
    """Return the distinct items of a set."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return tuple(dict.fromkeys(value.split(separator)))
    if isinstance(value, list | tuple):
        return tuple(dict.fromkeys(value))
    raise ParameterError(
        f"`attribute` of KMAnonymity should be a column of lists or text, but {column!r} holds {value!r}"
    )


# --- criterion ------------------------------------------------------------------------------------


class _Criterion:
    """Counts, combination by combination, the records of each class that hold it.

    Two facts leave little to count. A combination of fewer than m items of a set is held by all who hold a
    larger one of that set: combinations of m items suffice, and whole sets that are smaller. And a
    combination held by fewer than k records altogether spoils every class it occurs in, so the sets that
    contain it are hopeless; records with hopeless sets do not count towards other combinations, as their
    classes are rejected anyway, which may make further sets hopeless.
    """

    def __init__(self, sample: Sample, model: KMAnonymity) -> None:
        self.sample, self.model = sample, model
        sets = [
            _items(value, model.separator, model.attribute)
            for value in sample.attribute(model.attribute).values
        ]
        index = _Index(sets, sample.distribution(model.attribute), model)
        self.hopeless, self.starts, self.values = index.hopeless, index.starts, index.values

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        histogram = self.sample.histogram(table, self.model.attribute)
        _reject_rare(
            histogram, table.count, self.model.k, self.hopeless, self.starts, self.values, rejected
        )  # fmt: skip


class _Index:
    """The hopeless sets, and for each combination to count the sets that contain it.

    Combination q is contained in the sets `values[starts[q] : starts[q + 1]]`.
    """

    def __init__(self, sets: list[Items], frequencies: Integers, model: KMAnonymity) -> None:
        number: dict[object, int] = {}
        ordered = [sorted(number.setdefault(item, len(number)) for item in items) for items in sets]
        self.lengths = np.array([len(items) for items in ordered], np.int64)
        self.ends = np.cumsum(self.lengths)
        self.items = np.array([item for items in ordered for item in items], np.int64)
        self.frequencies = frequencies
        self.hopeless = np.zeros(len(sets), np.uint8)
        # In each row the set contains the combination, whose last item is at this place.
        value, combination, last = (
            np.repeat(np.arange(len(sets)), self.lengths),
            self.items,
            np.arange(self.items.size),
        )
        counted, so_far = [(value[:0], combination[:0])], 0
        for size in range(1, model.m + 1):
            if size > 1:
                value, combination, last = self._extend(value, combination, last, size, model)
            value, combination, last = self._without_hopeless(value, combination, last, model.k)
            combination_mask = np.zeros(combination.max(initial=-1) + 1, np.bool_)
            combination_mask[combination[(self.lengths[value] == size) | (size == model.m)]] = True
            row_mask = combination_mask[combination]
            counted.append((value[row_mask], combination[row_mask] + so_far))
            so_far += combination_mask.size
        self._store(*(np.concatenate(part) for part in zip(*counted, strict=True)))

    def _extend(
        self, value: Integers, combination: Integers, last: Integers, size: int, model: KMAnonymity
    ) -> tuple[Integers, Integers, Integers]:
        """Extend each combination by each later item of the set."""
        more = self.ends[value] - last - 1
        total = int(more.sum())
        if total > _MANY:
            raise ParameterError(
                f"`m` of KMAnonymity should be at most {size - 1} for column {model.attribute!r}, whose sets "
                f"have {total} combinations of {size} items, not {model.m}"
            )
        row = np.repeat(np.arange(value.size), more)
        place = np.arange(total) - np.repeat(np.cumsum(more) - more, more)
        last = last[row] + 1 + place
        keys = combination[row] * (self.items.max(initial=0) + 1) + self.items[last]
        return value[row], np.unique(keys, return_inverse=True)[1], last

    def _without_hopeless(
        self, value: Integers, combination: Integers, last: Integers, k: int
    ) -> tuple[Integers, Integers, Integers]:
        while True:
            promising = self.hopeless[value] == 0
            value, combination, last = value[promising], combination[promising], last[promising]
            holder_counts = np.bincount(combination, weights=self.frequencies[value])
            rare = holder_counts[combination] < k
            if not rare.any():
                return value, combination, last
            self.hopeless[value[rare]] = 1

    def _store(self, value: Integers, combination: Integers) -> None:
        promising = self.hopeless[value] == 0
        value, combination = value[promising], combination[promising]
        order = np.argsort(combination, kind="stable")
        self.values = value[order]
        first = np.flatnonzero(np.diff(combination[order], prepend=-1))
        self.starts = np.append(first, value.size)


@kernel
def _reject_rare(
    entries: Entries,
    sizes: Integers,
    k: int,
    hopeless: Marks,
    combination_starts: Integers,
    values: Integers,
    rejected: Marks,
) -> None:
    """Reject classes in which fewer than k records hold a combination that one of them holds."""
    starts, classes, counts = entries
    for i in range(sizes.size):
        if 0 < sizes[i] < k:
            rejected[i] = 1
    for v in range(hopeless.size):
        if hopeless[v]:
            for e in range(starts[v], starts[v + 1]):
                rejected[classes[e]] = 1
    holder_counts = np.zeros(sizes.size, np.int64)
    touched = np.empty(sizes.size, np.int32)
    for q in range(combination_starts.size - 1):
        number = 0
        for p in range(combination_starts[q], combination_starts[q + 1]):
            for e in range(starts[values[p]], starts[values[p] + 1]):
                i = classes[e]
                if rejected[i]:
                    continue
                if holder_counts[i] == 0:
                    touched[number] = i
                    number += 1
                holder_counts[i] += counts[e]
        for p in range(number):
            i = touched[p]
            if holder_counts[i] < k:
                rejected[i] = 1
            holder_counts[i] = 0


# --- verification ---------------------------------------------------------------------------------


def _rarest(published: Published, attribute: str, m: int, separator: str) -> Integers:
    """Return for 0 to m items how few records of a class share so many of one of them; all if none has."""
    number, values, count = published.histograms(attribute)
    distinct, codes = encode_values(pa.chunked_array([values]))
    sets = [_items(value, separator, attribute) for value in distinct.to_pylist()]
    least = np.full(m + 1, published.records, np.int64)
    least[0] = published.sizes.min(initial=published.records)
    for size in range(1, m + 1):
        combination, lengths = _combinations(sets, size)
        width = combination.max(initial=0) + 1
        offsets = np.cumsum(lengths) - lengths
        for part in _parts(number, lengths[codes]):
            code = codes[part]
            entry = np.repeat(np.arange(code.size), lengths[code])
            place = np.arange(entry.size) - np.repeat(np.cumsum(lengths[code]) - lengths[code], lengths[code])
            pairs = number[part][entry] * width + combination[offsets[code][entry] + place]
            order = np.argsort(pairs)
            first = np.flatnonzero(np.diff(pairs[order], prepend=-1))
            if first.size:
                least[size] = min(least[size], np.add.reduceat(count[part][entry[order]], first).min())
    return least


def _combinations(sets: list[Items], size: int) -> tuple[Integers, Integers]:
    """Number the combinations of `size` items, set by set; also return how many each set has."""
    number = {item: i for i, item in enumerate(dict.fromkeys(item for items in sets for item in items))}
    of_length: dict[int, list[int]] = {}
    for i, items in enumerate(sets):
        of_length.setdefault(len(items), []).append(i)
    lengths = np.array([math.comb(len(items), size) for items in sets], np.int64)
    offsets = np.cumsum(lengths) - lengths
    rows = np.zeros((int(lengths.sum()), size), np.int64)
    for length, members in of_length.items():
        if length >= size:
            places = np.array(list(combinations(range(length), size)))
            matrix = np.array([sorted(number[item] for item in sets[i]) for i in members])
            where = offsets[members][:, None] + np.arange(len(places))
            rows[where.ravel()] = matrix[:, places].reshape(-1, size)
    combination = rows[:, 0]
    for column in range(1, size):
        combination = np.unique(combination * len(number) + rows[:, column], return_inverse=True)[1]
    return combination, lengths


def _parts(number: Integers, weights: Integers) -> Iterable[slice]:
    """Split the entries, which are ordered by class, into parts of some million combinations each."""
    reached = np.cumsum(weights)
    start = 0
    while start < number.size:
        before = reached[start - 1] if start else 0
        stop = int(np.searchsorted(reached, before + _MANY // 4, side="right"))
        if stop < number.size:  # not in the middle of a class
            inside = int(np.searchsorted(number, number[stop], side="left"))
            stop = inside if inside > start else int(np.searchsorted(number, number[start], side="right"))
        yield slice(start, stop)
        start = stop


def _assessable(published: Published, column: str) -> int:
    """Return the largest m to assess; 0 if the column does not hold sets."""
    values = published.encode(column)[0]
    if is_text(values.type):
        lengths = np.array(pc.fill_null(pc.count_substring(values, _SEPARATOR), 0), np.int64) + 1
        if lengths.max(initial=1) == 1:
            return 0
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        lengths = np.array(pc.fill_null(pc.list_value_length(values), 0), np.int64)
    else:
        return 0
    combinations_of = np.ones(lengths.size, np.float64)
    total = 0.0
    for m in range(1, _ASSESSED_M + 1):
        combinations_of *= np.maximum(lengths - m + 1, 0) / m
        total += combinations_of.sum()
        if total > _MANY:
            return m - 1
    return _ASSESSED_M
