"""What a privacy model is: parameters with their ranges, facts for people, and a decision on classes.

A model is declared without data (`KAnonymity(5)`); `bind` meets it with a sample and returns a criterion
that the search calls at every node. Models never learn how the search works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.views import View
from veil.base.wording import Direction, round_toward
from veil.classes.owner_sample import by_owner
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.published.finding import Finding
from veil.published.table import Published


@dataclass(frozen=True)
class Strength:
    """The strongest parameter of a model that a table already satisfies.

    `rounding` is the direction in which the promise gets weaker, so that a rounded value still holds.
    """

    model: str
    parameter: str
    value: float | int
    attribute: str | None = None
    rounding: Direction = field(default="up", repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.parameter} = {round_toward(self.value, self.rounding)}"


@dataclass(frozen=True)
class PromisedRisk:
    """The highest risks that privacy models promise; 1 where they promise nothing."""

    prosecutor: float = 1.0
    journalist: float = 1.0
    marketer: float = 1.0

    @classmethod
    def of_classes(cls, size: int) -> PromisedRisk:
        """Return what classes of at least so many records promise: no attacker does better than by chance.

        >>> PromisedRisk.of_classes(5).journalist
        0.2
        """
        return cls(1.0 / size, 1.0 / size, 1.0 / size)

    def __and__(self, other: PromisedRisk) -> PromisedRisk:
        """Return what is promised if both promises are kept."""
        return PromisedRisk(
            min(self.prosecutor, other.prosecutor),
            min(self.journalist, other.journalist),
            min(self.marketer, other.marketer),
        )


Beside = Literal["distribution", "records", "population", "hierarchies"]
"""What a verdict may rest on beside the released cells: how often the input has each sensitive value, how many records it
has, the people that the released ones were chosen from, or the hierarchies."""


class Subset(Protocol):
    """A choice of rows."""

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Tell for each row of the table whether it is chosen."""


class ClassCriterion(Protocol):
    """A decision on each class by itself."""

    def reject(self, table: ClassTable, rejected: NDArray[np.uint8]) -> None:
        """Set the mark of every class that violates the model; leave the other marks alone."""


@runtime_checkable
class HasMinimalSize(Protocol):
    """A criterion that knows itself what `PrivacyModel.minimal_class_size` returns, which may be much to compute."""

    @property
    def smallest(self) -> int:
        """The size below which a class is rejected whatever else it holds."""


@runtime_checkable
class BoundsKeptRecords(Protocol):
    """A class criterion that can bound how much of a class more specific nodes can keep."""

    def keepable(
        self, table: ClassTable, left: NDArray[np.int64], source: ClassTable, groups: NDArray[np.int32]
    ) -> None:
        """Lower `left` to what nodes between `source` and the table can keep of each class at most.

        `groups` tells which class of the table each class of the source is part of. The claim rests on a
        necessary condition that holds for a union of classes if it holds for each.
        """


@runtime_checkable
class RulesOutNodes(Protocol):
    """A class criterion that can also rule a node out whatever is suppressed."""

    def forbids(self, table: ClassTable) -> bool:
        """Whether no suppression can make these classes acceptable."""


@runtime_checkable
class SampleCriterion(Protocol):
    """A decision on all classes together that are still there after the classes have been judged one by one."""

    def suppress(
        self, table: ClassTable, rejected: NDArray[np.uint8], losses: NDArray[np.float64] | None
    ) -> None:
        """Mark further classes for suppression until the model is fulfilled, if that can be done.

        `losses` orders classes of equal size by what they cost (None: it does not matter).
        """

    def fulfilled(self, table: ClassTable, rejected: NDArray[np.uint8]) -> bool:
        """Whether the classes that are not marked fulfil the model as a whole."""


@runtime_checkable
class BoundsSuppression(Protocol):
    """A sample criterion that can tell how many records every more specific node must suppress."""

    def least(self, table: ClassTable) -> int:
        """Return how many records have to be suppressed at this node and at every more specific one."""


@runtime_checkable
class HasLargestRemainder(SampleCriterion, Protocol):
    """A sample criterion with one largest remainder, which `reject` finds from whatever is marked before.

    Both kinds of monotone, so that what it rejects at a node is rejected at every more specific one.
    """

    def reject(self, table: ClassTable, rejected: NDArray[np.uint8]) -> None:
        """Mark classes until those without a mark fulfil the model."""


class PrivacyModel:
    """Base of all privacy models. The docstring of a model states its definition.

    Attributes
    ----------
    monotone_generalization
        A class made of acceptable classes is acceptable. With nothing suppressed, a node that violates the
        model then proves that every more specific node does.
    monotone_suppression
        A part of a rejected class is rejected. The records rejected at a node are then rejected at every
        more specific one.
    protects_absence
        Whether the model promises something of people of whom no record is shown, so that rows must not be dropped.
    reads_labels
        Whether the model judges what the labels of a class say, not only which records it holds, so that
        microaggregated columns leave it nothing to judge.
    reads_sizes_only
        Whether the model judges the sizes of classes alone, and labels only tell which of several equal ones goes first.
    reads_levels
        Whether the verdict on a class depends on the generalization levels of its labels, so that a table with labels
        of several levels can only be verified part by part.
    attacks
        What the model defends against: "record linkage", "attribute linkage", "table linkage",
        "probabilistic".
    monotone_if
        Which of the two kinds of monotone, "generalization" or "suppression", depend on parameters, and when they
        hold, in words. The class then has the safe answer, and every model its own.
    views
        How it reads a class in which a person has several values of a sensitive attribute, where people may have several
        rows: see `veil.classes.owner_sample`. A class has to be acceptable as each of these. "one value", which rejects such
        classes, is right for every model.
    attribute_may_be_known
        Whether its column may be one that an attacker knows, too: the model then says how much of it. For masks alone.
    counts_owners
        Whether it can count people who may have several rows. Not so if it adds up records of several classes.
    over_neighbours
        Whether it promises that tables which differ by one person lead to the same release, so that nothing may look at a
        cell to find out whose rows there are: the plan has to say it.
    unverifiable
        What the model promises and no table shows, in words: how it was made, for example.
    relaxed_by
        The parameter by which it promises less, and where that ends: there it promises next to nothing. Whatever fulfils the
        model fulfils it with any value on the way there.
    """

    monotone_generalization: ClassVar[bool] = False
    monotone_suppression: ClassVar[bool] = False
    reads_labels: ClassVar[bool] = False
    reads_sizes_only: ClassVar[bool] = False
    protects_absence: ClassVar[bool] = False
    reads_levels: ClassVar[bool] = False
    attacks: ClassVar[tuple[str, ...]] = ()
    monotone_if: ClassVar[Mapping[str, str]] = {}
    over_neighbours: ClassVar[bool] = False
    unverifiable: ClassVar[str | None] = None
    views: ClassVar[tuple[View, ...]] = ("one value",)
    attribute_may_be_known: ClassVar[bool] = False
    counts_owners: ClassVar[bool] = True
    relaxed_by: ClassVar[tuple[str, float] | None] = None

    def why_not_owners(self, *, all_rows: bool) -> str | None:
        """Say why the model cannot count people who may have several rows, or None: it can.

        A class then has as many records as people, who may be in other classes as well; with `all_rows` known to an
        attacker, a class is made of people who have the same rows.
        """
        if not self.counts_owners:
            return "it adds up the records of several classes, in which the same person may be"
        if self.subset is not None:
            return "its research subset chooses rows, and may choose some of a person's rows only"
        if all_rows and self.reads_labels and not self.reads_sizes_only:
            return "it reads the labels of a class, and people with the same rows have several"
        return None

    def check_table(self, table: pa.Table) -> None:
        """Refuse a table that has columns of which the model cannot speak."""

    def order_of(self, attribute: str) -> Sequence[str] | None:
        """Return the order that the values of a sensitive attribute need, spelled as text; () if that of their type.

        None if the model does not look at their order.
        """
        return None

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Sensitive attributes that the model speaks of."""
        return ()

    @property
    def subset(self) -> Subset | None:
        """The research subset that the model defines: the rows to release; the others are the population."""
        return None

    @property
    def compares_with(self) -> tuple[Beside, ...]:
        """What `verify` compares the published table with, and those who have the table alone may not have."""
        return ()

    @property
    def survives_union(self) -> bool:
        """Whether parts of a table that fulfil the model by themselves fulfil it together.

        For everybody who looks, classes of two parts that have the same labels are one. That does no harm where a class
        made of acceptable classes is acceptable. In the population of a research subset nobody could tell which
        part a person would be in.
        """
        return self.monotone_generalization and self.subset is None

    @property
    def survives_union_of_owners(self) -> bool:
        """Whether classes of different people that fulfil the model by themselves fulfil it together.

        Where nobody is in both, whoever shows a value in one is counted once more in both together, and so are those who
        show it in every view that adds up: the histograms of "one value" and of "most" are the sums of those of the two.
        The "worst" view of both may be less even than the sum; models that read it say why they survive. What compares
        with the whole table or with a population would have to know all people.
        """
        return self.survives_union and not self.compares_with and set(self.views) <= {"one value", "most"}

    def for_part(self, sample: Sample) -> PrivacyModel:
        """Return the model by which a part of the sample is judged, such that it says of the part what this one does."""
        return self

    def promised(self, records: int) -> PromisedRisk:
        """Return which risks of re-identification the model bounds, for a table of so many records."""
        return PromisedRisk()

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the size below which a class is rejected whatever else it holds."""
        return 1

    def bind(self, sample: Sample) -> ClassCriterion | SampleCriterion | None:
        """Meet the model with the data. None: the minimal class size says it all."""
        return None

    def verify(self, published: Published) -> Finding:
        """Check the promise on a published table, without any help from the engine."""
        raise NotImplementedError

    def verify_parts(self, whole: Published, parts: Iterable[Published]) -> Finding:
        """Check the promise on a table whose parts are generalized to different levels; each part knows its own."""
        if not self.reads_levels:
            return self.verify(whole)
        found = [self.verify(part) for part in parts] or [self.verify(whole)]
        return next((finding for finding in found if not finding.holds), found[0])

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the strongest parameters for which the table fulfils the model, for each sensitive attribute."""
        return []


def views_of(model: PrivacyModel, sample: Sample) -> Iterator[tuple[View, Sample]]:
    """Return the sample in each way that a model has to accept it; where every record is a person, there is one."""
    for view in model.views[:1] if sample.persons is None else model.views:
        yield view, by_owner(sample, view)


def monotonicity(model: PrivacyModel | type[PrivacyModel]) -> dict[str, str]:
    """Tell whether a model is monotone under generalization and under suppression: yes, no, or if what.

    Of a class that is what holds for all its parameters, of a model what holds for those it has.

    >>> from veil import EntropyLDiversity
    >>> monotonicity(EntropyLDiversity), monotonicity(EntropyLDiversity("disease", 2))["generalization"]
    ({'generalization': 'if estimator is shannon', 'suppression': 'no'}, 'yes')
    """
    known = {
        "generalization": model.monotone_generalization,
        "suppression": model.monotone_suppression,
    }
    conditions = model.monotone_if if isinstance(model, type) else {}
    return {
        name: f"if {conditions[name]}" if name in conditions else "yes" if holds else "no"
        for name, holds in known.items()
    }
