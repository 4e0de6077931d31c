"""Frequencies of the values of a sensitive attribute in published classes and in the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.published.table import Published
from veil.tables.columns import encode_comparable
from veil.tables.text import sorted_places

Integers = NDArray[Any]
"""64-bit integers if the sums fit, otherwise Python integers (dtype object)."""


class Counted(NamedTuple):
    """The count of each value in each class, ordered by class and, within a class, by value.

    `values` are all values there are, missing ones last, and `masses` their counts in the baseline.
    """

    values: pa.Array
    masses: Integers
    classes: Integers
    codes: Integers
    counts: Integers
    sizes: Integers


def count(
    published: Published, attribute: str, *, ordered: bool, order: Sequence[str] | None = None
) -> Counted:
    """Count values by class. `ordered` sorts the values: by `order` if given, else by that of their type."""
    classes, class_values, counts = published.histograms(attribute)
    values, rows = published.compare(attribute, baseline=True)
    arrays = [values, class_values.cast(values.type)]
    if published.population is not None and attribute in published.population.table.column_names:
        arrays.append(
            encode_comparable(published.population.table[attribute], attribute)[0].cast(values.type)
        )
    domain, codes_32 = encode_comparable(pa.chunked_array(arrays), attribute)
    places = codes_32.astype(np.int64)
    if ordered:
        first_to_last = sorted_places(domain, order, attribute)
        domain, places = domain.take(pa.array(first_to_last)), np.argsort(first_to_last)[places]
    codes = places[len(values) : len(values) + len(class_values)]
    masses = published.count_baseline(places[: len(values)][rows], len(domain))
    in_order = np.lexsort((codes, classes))
    return Counted(domain, masses, classes[in_order], codes[in_order], counts[in_order], published.sizes)


def count_ends(
    published: Published, attribute: str, order: Sequence[str] | None = None
) -> tuple[Counted, Counted]:
    """Count people by the first and by the last of the values that they show in a class."""
    most = count(published.with_view("most"), attribute, ordered=True, order=order)
    classes, people, values, codes = published.choices(attribute)
    both = encode_comparable(pa.chunked_array([most.values, values.cast(most.values.type)]), attribute)[1]
    place = np.empty(int(both.max(initial=-1)) + 1, np.int64)
    place[both[: len(most.values)]] = np.arange(len(most.values))
    places = place[both[len(most.values) :]][codes]
    in_order = np.lexsort((places, people, classes))
    changes = np.diff(classes[in_order], prepend=-1) != 0
    changes |= np.diff(people[in_order], prepend=-1) != 0
    first = np.flatnonzero(changes)
    last = np.append(first[1:], in_order.size)[: first.size] - 1  # without people, there is none
    ends = []
    for rows in (in_order[first], in_order[last]):
        pairs, counts = np.unique(classes[rows] * len(most.values) + places[rows], return_counts=True)
        number, code = np.divmod(pairs, len(most.values))
        ends.append(most._replace(classes=number, codes=code, counts=counts))
    return ends[0], ends[1]
