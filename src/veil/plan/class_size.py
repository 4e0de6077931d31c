"""What a plan forces into every class: the condition under which a bound on the loss of any recoding may be stated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veil.base.arrays import Codes
from veil.base.exact import decimal_fraction, largest_count
from veil.base.wording import Phrase
from veil.classes.owner_sample import by_owner
from veil.hierarchies import Hierarchy
from veil.models.diversity import DistinctLDiversity, RecursiveCLDiversity
from veil.models.entropy_diversity import EntropyLDiversity
from veil.plan.prepare import Prepared


@dataclass(frozen=True)
class ForcedSize:
    """What every release by a plan keeps to, with any labels of its hierarchies.

    Attributes
    ----------
    smallest : int
        Number of records that every class has at least.
    allowed : int
        Number of records that are suppressed at most.
    attribute : str, optional
        A sensitive attribute of which every class shows `least_values` different values.
    least_values : int
        1 without such an attribute.
    """

    smallest: int
    allowed: int
    attribute: str | None = None
    least_values: int = 1


def forced_size(prepared: Prepared) -> ForcedSize | Phrase:
    """Return what every release by a plan keeps to, or the reason why there is no bound on its loss.

    Only models count that judge a class by itself. One that compares it with the table or with a population may force
    a size, too (a share of 1/3 takes three records), but that is no number which the plan promises.

    The models count owners if people may have several rows. A class of k owners has k records at least, whether a
    class is made of the owners with a row in it or of those with the same rows. So many people who lose a row lose
    the records of those with the most at worst.

    Classes that show l different values have l records with different values. That holds for classes of rows, not
    for people of whom all rows are known, as their values may stand in other rows.
    """
    plan, sample = prepared.plan, prepared.sample
    if plan.over_neighbours:
        return Phrase("a bound is a figure of the input, which differential privacy keeps to itself")
    if prepared.subset is not None:
        return Phrase("the records are a subset that was chosen from a population")
    if plan.aggregated:
        return Phrase("microaggregated columns show values that no hierarchy has")
    for j, name in enumerate(sample.encoding.names):
        label = _ambiguous_label(
            sample.encoding.hierarchies[j], prepared.codes[j], prepared.minimum[j], prepared.maximum[j]
        )
        if label is not None:
            return Phrase(
                "label {label!r} of column {column!r} stands for different values on two levels, and a reader of the "
                "release sees one class",
                label=label[0],
                column=name,
            )
    models = [model for model in plan.searched_models if not model.compares_with]
    smallest = max(
        (model.minimal_class_size(by_owner(sample, model.views[0])) for model in models), default=1
    )
    if smallest <= 1:
        names = ", ".join(sorted({type(model).__name__ for model in plan.models}))
        template = "the plan forces no number of records of the table into every class ({models})"
        return Phrase(template, models=names)
    people = by_owner(sample).records
    allowed = sample.persons.most_records(largest_count(plan.suppression_limit, people))
    diverse: list[tuple[int, str | None]] = [
        (math.ceil(decimal_fraction(model.l)), model.attribute)
        for model in models
        if isinstance(model, DistinctLDiversity | EntropyLDiversity | RecursiveCLDiversity)
        if model.missing != "left out" or model.visible(sample) is None  # a class without any value holds
        if not prepared.rows.owners.know_all_rows
    ]
    least_values, attribute = max(diverse, default=(1, None))
    return ForcedSize(smallest, allowed, attribute, least_values)


def _ambiguous_label(hierarchy: Hierarchy, codes: Codes, low: int, high: int) -> tuple[str | None] | None:
    """Return a label that stands for different values of a column on two levels; None if there is none.

    Labels with a value in common are nested, so that they are equal if they have equally many.
    """
    values = np.unique(codes)
    groups: dict[str | None, tuple[int, int]] = {}
    for level in range(low, high + 1):
        numbers, first, sizes = np.unique(
            hierarchy.label_map(level)[values], return_index=True, return_counts=True
        )
        for number, group in zip(
            numbers.tolist(), zip(first.tolist(), sizes.tolist(), strict=True), strict=True
        ):
            label = hierarchy.labels[level][number]
            if groups.setdefault(label, group) != group:
                return (label,)
    return None
