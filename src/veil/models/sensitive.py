"""Models of a sensitive attribute: how they treat cells that show no value.

A cell of a sensitive attribute is a value, missing (unknown), or withheld (by a policy or a mask). Missing
and withheld cells are not values: a blank makes a class neither more diverse nor different from the table. By
default they are left out of class and table; their records count for class sizes, and a class without any
value discloses nothing and holds.

`missing="worst"` is stricter: a class holds only if it does for every way to fill its blanks with values of
the table, whose own distribution stays that of the cells with a value. A class that holds at worst also holds
with blanks left out, unless it shows no value: no model gets harder to fulfil if blanks become like the other
cells. It is decided exactly, by the few worst fillings (`filling`). A union of classes that hold at worst
does too: a filling of it is one of each part. `missing="a value"` is ARX's form: all blanks together are one
more value.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from veil.base.arrays import Codes, Integers, Marks
from veil.base.views import FillingRule
from veil.base.wording import joined
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

    A union of acceptable classes shows the values of its parts, even if some show none: monotony under
    generalization is kept. Under suppression it is lost if a value is missing: the part of a rejected class
    without any value holds.
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
        """Return the part of a sample that shows a value; None if all of it does, or if blanks are values."""
        if self.missing == "a value" or not sample.attribute(self.attribute).hidden.any():
            return None
        return Visible(sample, self.attribute)

    def why_not_owners(self, *, all_rows: bool) -> str | None:
        """Return the reason why the model cannot count people with several rows; None if it can."""
        if self.missing == "worst":
            return f"{_NOT_OF_PEOPLE}; missing='left out' can count them"
        return super().why_not_owners(all_rows=all_rows)

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the size below which every class is rejected: 1 if a class may show no value.

        At worst, the values of an acceptable class are acceptable; if it may be blank, so may any record.
        """
        visible = self.visible(sample)
        if visible is None:
            return self.least_size(sample)
        if self.missing == "worst":
            self._check_fillable(visible)
            return self.least_size(visible.sample)
        whole = visible.sample.baseline or visible.sample
        return self.least_size(visible.sample) if visible.is_whole and whole.records else 1

    def _check_fillable(self, visible: Visible) -> None:
        if isinstance(visible.sample, OwnerSample):
            raise PlanError(f"{self} cannot count people: {_NOT_OF_PEOPLE}. Use missing='left out'")
        if not (visible.sample.baseline or visible.sample).records:
            raise ImpossibleError(
                f"column {self.attribute!r} shows no value that {type(self).__name__} could fill in with missing='worst': "
                "leave the model out, or use missing='left out'"
            )

    def bind(self, sample: Sample) -> ClassCriterion | None:
        """Judge the records that show a value, or all of them with blanks filled in."""
        visible = self.visible(sample)
        if visible is None:
            return self.criterion(sample)
        if self.missing == "worst":
            self._check_fillable(visible)
        elif not (visible.sample.baseline or visible.sample).records:
            return None
        criterion = self.criterion(visible.to_fill if self.missing == "worst" else visible.sample)
        if criterion is None:
            return None
        if self.missing == "worst":
            values = np.flatnonzero(visible.to_fill.distribution(self.attribute))
            choices = list(fillings(values, self.filling))
            return (_KeepingFilled if isinstance(criterion, BoundsKeptRecords) else OfFilled)(
                criterion, visible, choices
            )
        return (_KeepingVisible if isinstance(criterion, BoundsKeptRecords) else OfVisible)(
            criterion, visible
        )

    def verify(self, published: Published) -> Finding:
        """Check the promise on the records that show a value, or on all of them with blanks filled in."""
        if self.missing == "left out":
            return self.check(published.visible(self.attribute), published)
        table: Published | None = published
        if self.missing == "worst":
            table = fill_published(published, self.attribute, self.filling)
        finding = self.check(table or published, published)
        promise = joined([finding.promise, self.labels[self.missing]], "")
        if self.missing == "worst" and not published.rows.owners.are_records:
            return Finding(promise, False, _NOT_OF_PEOPLE)
        if table is None:
            return Finding(promise, not published.sizes.size, "no value to fill in")
        return Finding(promise, finding.holds, finding.measured)

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the strongest parameters for which the records that show a value fulfil the model."""
        strengths = []
        for name in sensitive:
            visible = published.visible(name)
            strengths += cls.strengths(visible, name, published) if visible.sizes.size else []
        return strengths

    def least_size(self, sample: Sample) -> int:
        """Return the least number of records with a value that an acceptable class has."""
        return 1

    def criterion(self, sample: Sample) -> ClassCriterion | None:
        """Apply the model to records that all have a value."""
        raise NotImplementedError

    def check(self, published: Published, whole: Published) -> Finding:
        """Check the promise on published records with a value; `whole` has all records, for sizes."""
        raise NotImplementedError

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the strongest parameters for one attribute with at least one value."""
        raise NotImplementedError


class OfVisible:
    """Judges classes by the records that show a value; classes without any are left alone."""

    def __init__(self, criterion: ClassCriterion, visible: Visible) -> None:
        self.criterion, self._visible = criterion, visible
        self._last = threading.local()

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Reject classes whose visible records violate the model."""
        visible = self.see(table)
        blank = (visible.count == 0).astype(np.uint8)
        marks = rejected | blank
        self.criterion.reject(visible, marks)
        rejected |= marks & (1 - blank)

    def see(self, table: ClassTable) -> ClassTable:
        """Return the visible records of the classes; cached for the last table."""
        if getattr(self._last, "table", None) is not table:
            self._last.visible, self._last.table = self._visible.see(table), table
        visible: ClassTable = self._last.visible
        return visible


class OfFilled(OfVisible):
    """Judges classes with blank cells filled in: every filling has to be acceptable."""

    def __init__(self, criterion: ClassCriterion, visible: Visible, choices: list[Filling]) -> None:
        super().__init__(criterion, visible)
        self._fillings = choices

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Reject classes that violate the model with some filling."""
        visible = self.see(table)
        for filling in self._fillings if (visible.count < table.count).any() else self._fillings[:1]:
            self.criterion.reject(fill(visible, table.count, filling), rejected)


class _KeepingVisible(OfVisible):
    def keepable(self, table: ClassTable, left: Integers, source: ClassTable, groups: Codes) -> None:
        """Lower `left` to the visible records that can be kept, plus all others."""
        visible = self.see(table)
        most = np.minimum(left, visible.count)
        cast("BoundsKeptRecords", self.criterion).keepable(visible, most, self._visible.see(source), groups)
        np.minimum(left, most + table.count - visible.count, out=left)


class _KeepingFilled(OfFilled, _KeepingVisible):
    """Keeps no more visible records than without blanks, which only make a class worse."""
