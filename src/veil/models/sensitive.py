"""What models of a sensitive attribute have in common: how they treat cells that show no value.

A cell of a sensitive attribute is a value, missing (nobody knows), or withheld (by a policy or a mask). Missing and withheld
cells are no values: a blank does not make a class more diverse, nor does it make it differ from the table. So by default they
are left out of the class and of the table; their records still count for the sizes of classes, and a class in which nobody
shows a value tells nothing and holds.

`missing="worst"` is stricter: a class holds only if it does whatever its missing and withheld cells are, of the values that
the table shows; the table's own distribution stays that of the cells that show one. What holds at worst holds with such
cells left out, unless a class shows no value: no model gets harder to fulfil if the blanks of a class become like its other
cells. It is decided exactly, by the few fillings that no other is worse than (`filling`). A union of classes that hold at
worst does: a filling of it is one of each part. `missing="a value"` is ARX's form: all of them together are one more value.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.base.views import FillingRule
from veil.classes.owner_sample import OwnerSample
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.classes.visible import Filling, Visible, fill, fillings
from veil.errors import ImpossibleError, PlanError
from veil.models.base import BoundsKeptRecords, ClassCriterion, PrivacyModel, Strength
from veil.published.filling import fill_published
from veil.published.finding import Finding
from veil.published.table import Published

Missing = Annotated[
    Literal["left out", "a value", "worst"],
    Field(
        description="cells that are missing or withheld: left out of what is judged; a value like others, as in ARX; or, "
        "stricter, whichever value is worst"
    ),
]


_NOT_OF_PEOPLE = "at worst, blank cells are filled in one by one, and a person may have several"


class SensitiveModel(PrivacyModel):
    """Base of models that judge the values of one sensitive attribute in each class.

    Parts of an acceptable class may be without any value, and a union of acceptable classes shows what its parts show: so what
    is monotone under generalization stays so. Under suppression nothing is, where a value is missing: the part of a rejected
    class that shows no value holds.
    """

    attribute: str
    missing: Missing
    filling: ClassVar[FillingRule] = "each"
    labels: ClassVar[Mapping[str, str]] = {
        "a value": " (missing is a value: ARX's form)",
        "worst": " (missing is whichever value is worst: the stricter form)",
    }

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The sensitive attribute."""
        return (self.attribute,)

    def visible(self, sample: Sample) -> Visible | None:
        """Return what the model sees of a sample in which cells may show no value; None if it sees all of it."""
        if self.missing == "a value" or sample.attribute(self.attribute).hidden is None:
            return None
        return Visible(sample, self.attribute)

    def why_not_owners(self, *, all_rows: bool) -> str | None:
        """Say why the model cannot count people who may have several rows, or None: it can."""
        if self.missing == "worst":
            return f"{_NOT_OF_PEOPLE}; missing='left out' can count them"
        return super().why_not_owners(all_rows=all_rows)

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the size below which a class is rejected whatever else it holds: 1 if it may show no value.

        At worst, what an acceptable class shows is acceptable; and if a class may show nothing, so may one record any value.
        """
        seen = self.visible(sample)
        if seen is None:
            return self.least_size(sample)
        if self.missing == "worst":
            self._check_fillable(seen)
            return self.least_size(seen.sample)
        whole = seen.sample.baseline or seen.sample
        return self.least_size(seen.sample) if seen.is_whole and whole.records else 1

    def _check_fillable(self, seen: Visible) -> None:
        if isinstance(seen.sample, OwnerSample):
            raise PlanError(f"{self} cannot count people: {_NOT_OF_PEOPLE}. Use missing='left out'")
        if not (seen.sample.baseline or seen.sample).records:
            raise ImpossibleError(
                f"column {self.attribute!r} shows no value that {type(self).__name__} could fill in with missing='worst': "
                "leave the model out, or use missing='left out'"
            )

    def bind(self, sample: Sample) -> ClassCriterion | None:
        """Judge the records that show a value, or all of them as if they did."""
        seen = self.visible(sample)
        if seen is None:
            return self.criterion(sample)
        if self.missing == "worst":
            self._check_fillable(seen)
        elif not (seen.sample.baseline or seen.sample).records:
            return None
        criterion = self.criterion(seen.to_fill if self.missing == "worst" else seen.sample)
        if criterion is None:
            return None
        if self.missing == "worst":
            values = np.flatnonzero(seen.to_fill.distribution(self.attribute))
            some = list(fillings(values, self.filling))
            return (_KeepingFilled if isinstance(criterion, BoundsKeptRecords) else OfFilled)(
                criterion, seen, some
            )
        return (_KeepingVisible if isinstance(criterion, BoundsKeptRecords) else OfVisible)(criterion, seen)

    def verify(self, published: Published) -> Finding:
        """Check the promise on the records that show a value, or on all of them as if they did."""
        if self.missing == "left out":
            return self.check(published.visible(self.attribute), published)
        seen: Published | None = published
        if self.missing == "worst":
            seen = fill_published(published, self.attribute, self.filling)
        finding = self.check(seen or published, published)
        promise = finding.promise + self.labels[self.missing]
        if self.missing == "worst" and not published.rows.owners.are_records:
            return Finding(promise, False, _NOT_OF_PEOPLE)
        if seen is None:
            return Finding(promise, not published.sizes.size, "no value to fill in")
        return Finding(promise, finding.holds, finding.measured)

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


class OfFilled(OfVisible):
    """Judges classes whose blank cells are filled in; they have to be acceptable however that is done."""

    def __init__(self, criterion: ClassCriterion, visible: Visible, some: list[Filling]) -> None:
        super().__init__(criterion, visible)
        self._fillings = some

    def reject(self, table: ClassTable, rejected: NDArray[np.uint8]) -> None:
        """Reject classes that violate the model with some filling."""
        seen = self.see(table)
        for filling in self._fillings if (seen.count < table.count).any() else self._fillings[:1]:
            self.criterion.reject(fill(seen, table.count, filling), rejected)


class _KeepingVisible(OfVisible):
    def keepable(
        self, table: ClassTable, left: NDArray[np.int64], source: ClassTable, groups: NDArray[np.int32]
    ) -> None:
        """Lower `left` to what can be kept of the visible records, and all others."""
        seen = self.see(table)
        visible = np.minimum(left, seen.count)
        cast("BoundsKeptRecords", self.criterion).keepable(seen, visible, self._visible.see(source), groups)
        np.minimum(left, visible + table.count - seen.count, out=left)


class _KeepingFilled(OfFilled, _KeepingVisible):
    """Keeps no more of the visible records than if they were alone: what is acceptable at worst is so without blanks."""
