"""What models of a sensitive attribute have in common: how they treat cells that show no value.

A cell of a sensitive attribute is a value, missing (nobody knows), or withheld (by a policy or a mask). Missing and withheld
cells are no values: a blank does not make a class more diverse, nor does it make it differ from the table. So by default they
are left out of the class and of the table; their records still count for the sizes of classes, and a class in which nobody
shows a value tells nothing and holds.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.classes.visible import Visible
from veil.models.base import ClassCriterion, Keeping, PrivacyModel, Strength
from veil.published.finding import Finding
from veil.published.table import Published

Missing = Annotated[
    Literal["left out", "a value"],
    Field(
        description="cells that are missing or withheld: left out of what is judged, or a value like others, as in ARX"
    ),
]


class SensitiveModel(PrivacyModel):
    """Base of models that judge the values of one sensitive attribute in each class.

    Parts of an acceptable class may be without any value, and a union of acceptable classes shows what its parts show: so what
    is monotone under generalization stays so. Under suppression nothing is, where a value is missing: the part of a rejected
    class that shows no value holds.
    """

    attribute: str
    missing: Missing
    label: ClassVar[str] = " (missing is a value: ARX's form)"

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The sensitive attribute."""
        return (self.attribute,)

    def visible(self, sample: Sample) -> Visible | None:
        """Return what the model sees of a sample in which cells may show no value; None if it sees all of it."""
        if self.missing == "a value" or sample.attribute(self.attribute).hidden is None:
            return None
        return Visible(sample, self.attribute)

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the size below which a class is rejected whatever else it holds: 1 if it may show no value."""
        seen = self.visible(sample)
        if seen is None:
            return self.least_size(sample)
        whole = seen.sample.baseline or seen.sample
        return self.least_size(seen.sample) if seen.is_whole and whole.records else 1

    def bind(self, sample: Sample) -> ClassCriterion | None:
        """Judge the records that show a value."""
        seen = self.visible(sample)
        if seen is None:
            return self.criterion(sample)
        if not (seen.sample.baseline or seen.sample).records:
            return None
        criterion = self.criterion(seen.sample)
        if criterion is None:
            return None
        return (_KeepingVisible if isinstance(criterion, Keeping) else OfVisible)(criterion, seen)

    def verify(self, published: Published) -> Finding:
        """Check the promise on the records that show a value."""
        if self.missing == "a value":
            finding = self.check(published, published)
            return Finding(finding.promise + self.label, finding.holds, finding.measured)
        return self.check(published.visible(self.attribute), published)

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the strongest parameters for which the records that show a value fulfil the model."""
        found = []
        for name in sensitive:
            seen = published.visible(name)
            found += cls.strengths(seen, name, published) if seen.sizes.size else []
        return found

    def least_size(self, sample: Sample) -> int:
        """Return the least number of records with a value that an acceptable class has."""
        return 1

    def criterion(self, sample: Sample) -> ClassCriterion | None:
        """Meet the model with records that all have a value."""
        raise NotImplementedError

    def check(self, published: Published, whole: Published) -> Finding:
        """Check the promise on published records with a value; those of the whole table are there for sizes."""
        raise NotImplementedError

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the strongest parameters for one attribute, of which there is some value."""
        raise NotImplementedError


class OfVisible:
    """Judges classes by the records that show a value; those without any are left alone."""

    def __init__(self, criterion: ClassCriterion, visible: Visible) -> None:
        self.criterion, self._visible = criterion, visible
        self._last = threading.local()

    def reject(self, table: ClassTable, rejected: NDArray[np.uint8]) -> None:
        """Reject classes whose visible records violate the model."""
        seen = self.see(table)
        blank = (seen.count == 0).astype(np.uint8)
        marks = rejected | blank
        self.criterion.reject(seen, marks)
        rejected |= marks & (1 - blank)

    def see(self, table: ClassTable) -> ClassTable:
        """Return the visible records of classes; of the same table, the same."""
        if getattr(self._last, "table", None) is not table:
            self._last.seen, self._last.table = self._visible.see(table), table
        seen: ClassTable = self._last.seen
        return seen


class _KeepingVisible(OfVisible):
    def keepable(
        self, table: ClassTable, left: NDArray[np.int64], source: ClassTable, groups: NDArray[np.int32]
    ) -> None:
        """Lower `left` to what can be kept of the visible records, and all others."""
        seen = self.see(table)
        visible = np.minimum(left, seen.count)
        cast("Keeping", self.criterion).keepable(seen, visible, self._visible.see(source), groups)
        np.minimum(left, visible + table.count - seen.count, out=left)
