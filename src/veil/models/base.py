"""Privacy models: parameters with their ranges, properties, and a decision on classes.

A model is declared without data (`KAnonymity(5)`); `bind` applies it to a sample and returns a criterion that
the search calls at every node. Models do not depend on how the search works.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import pyarrow as pa

from veil.base.arrays import Codes, Floats, Integers, Marks, Mask
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
        """Return the risks if classes have at least `size` records: no attacker does better than by chance.

        >>> PromisedRisk.of_classes(5).journalist
        0.2
        """
        return cls(1.0 / size, 1.0 / size, 1.0 / size)

    def __and__(self, other: PromisedRisk) -> PromisedRisk:
        """Return the risks if both promises hold."""
        return PromisedRisk(
            min(self.prosecutor, other.prosecutor),
            min(self.journalist, other.journalist),
            min(self.marketer, other.marketer),
        )


Beside = Literal["distribution", "records", "population", "hierarchies"]
"""Information beside the released cells on which a verdict may rest: the frequencies of sensitive values in
the input, its number of records, the population, or the hierarchies."""


Reads = Literal["records", "sizes", "labels", "levels", "unions"]
"""What a verdict rests on: the records of a class; the sizes of classes alone, where labels only break ties;
labels as well; labels and their generalization levels; the records of several classes added up, by labels."""


@dataclass(frozen=True)
class _ByParameters:
    """A property of models that depends on parameters: the class has the safe answer, a model its own."""

    of_model: Callable[[Any], Any]
    safe: Any
    condition: str

    def __get__(self, model: Any, cls: type[Any]) -> Any:
        return self.safe if model is None else self.of_model(model)


def by_parameters(of_model: Callable[[Any], Any], safe: Any = False, condition: str = "") -> Any:
    """Return a class variable that depends on parameters; `condition` is when it is true, in words."""
    return _ByParameters(of_model, safe, condition)


class Subset(Protocol):
    """A choice of rows."""

    def mask(self, table: pa.Table) -> Mask:
        """Return a mask of the rows of the subset."""


class ClassCriterion(Protocol):
    """A decision on each class by itself."""

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Set the mark of every class that violates the model; leave the other marks alone."""


@runtime_checkable
class HasMinimalSize(Protocol):
    """A criterion with the result of `PrivacyModel.minimal_class_size`, which is costly to compute."""

    @property
    def smallest(self) -> int:
        """The size below which every class is rejected."""


@runtime_checkable
class BoundsKeptRecords(Protocol):
    """A class criterion that can bound how much of a class more specific nodes can keep."""

    def keepable(self, table: ClassTable, left: Integers, source: ClassTable, groups: Codes) -> None:
        """Lower `left` to the most records of each class that nodes between `source` and the table can keep.

        `groups` maps each class of the source to the class of the table that contains it. The bound rests on
        a necessary condition that holds for a union of classes if it holds for each.
        """


@runtime_checkable
class RulesOutNodes(Protocol):
    """A class criterion that can also rule out a node, regardless of suppression."""

    def forbids(self, table: ClassTable) -> bool:
        """Whether no suppression can make these classes acceptable."""


@runtime_checkable
class SampleCriterion(Protocol):
    """A decision on all classes together that remain after the class criteria."""

    def suppress(self, table: ClassTable, rejected: Marks, losses: Floats | None) -> None:
        """Mark further classes until the model is fulfilled, if possible; `losses` breaks ties of size."""

    def fulfilled(self, table: ClassTable, rejected: Marks) -> bool:
        """Whether the classes that are not marked fulfil the model as a whole."""


@runtime_checkable
class BoundsSuppression(Protocol):
    """A sample criterion that can bound how many records every more specific node must suppress."""

    def least(self, table: ClassTable) -> int:
        """Return how many records must be suppressed at this node and at every more specific one."""


@runtime_checkable
class HasLargestRemainder(SampleCriterion, Protocol):
    """A sample criterion with one largest remainder, which `reject` finds from any initial marks.

    Both kinds of monotone: classes rejected at a node are rejected at every more specific one.
    """

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Mark classes until those without a mark fulfil the model."""


class PrivacyModel:
    """Base of all privacy models. The docstring of a model states its definition.

    Attributes
    ----------
    monotone_generalization
        A class made of acceptable classes is acceptable. With nothing suppressed, a node that violates the
        model then proves that every more specific node does.
    monotone_suppression
        A part of a rejected class is rejected. The records rejected at a node are then rejected at every more
        specific one.
    protects_absence
        Whether the model makes a promise to people without a released record, so that rows must not be
        dropped.
    reads
        What the verdict rests on. Unless it is the records of a class, the model cannot judge microaggregated
        columns; with levels, a table with labels of several levels can only be verified part by part; with
        unions, the model cannot count people with several rows.
    attacks
        The attacks it defends against: "record linkage", "attribute linkage", "table linkage",
        "probabilistic".
    views
        How it reads a class in which a person with several rows has several values of a sensitive attribute:
        see `veil.classes.owner_sample`. A class has to be acceptable in each of these views. "one value",
        which rejects such classes, is right for every model.
    attribute_may_be_known
        Whether an attacker may know its column, too: the model then defines how much of it. For masks alone.
    over_neighbours
        Whether it promises the same release for tables that differ by one person. Owners must then be given
        by the plan, not read from cells.
    unverifiable
        The part of the promise that no table shows, in words: how it was made, for example.
    relaxed_by
        The parameter by which it promises less, and the value at which it promises next to nothing. A table
        that fulfils the model fulfils it with any value on the way there.

    compares_with
        What `verify` compares the published table with, and recipients of the table may not have.
    survives_union
        Whether parts of a table that fulfil the model by themselves fulfil it together. Classes of two parts
        with the same labels are one class to a recipient, which is harmless if a union of acceptable classes
        is acceptable. With a research subset, the part to which a person of the population belongs is
        unknown.
    survives_union_of_owners
        Whether classes of different people that fulfil the model by themselves fulfil it together. If no
        person is in both, counts of people add up, also by value in the views that add up: the histograms of
        "one value" and of "most" are the sums of those of the two classes. The "worst" view of both may be
        less even than the sum; models that read it state why they survive. A comparison with the whole table
        or with a population would need all people.

    What depends on parameters is declared with `by_parameters`.
    """

    monotone_generalization: ClassVar[bool] = False
    monotone_suppression: ClassVar[bool] = False
    reads: ClassVar[Reads] = "records"
    protects_absence: ClassVar[bool] = False
    attacks: ClassVar[tuple[str, ...]] = ()
    over_neighbours: ClassVar[bool] = False
    unverifiable: ClassVar[str | None] = None
    views: ClassVar[tuple[View, ...]] = ("one value",)
    attribute_may_be_known: ClassVar[bool] = False
    relaxed_by: ClassVar[tuple[str, float] | None] = None
    compares_with: ClassVar[tuple[Beside, ...]] = ()
    survives_union: ClassVar[bool] = by_parameters(
        lambda model: model.monotone_generalization and model.subset is None
    )
    survives_union_of_owners: ClassVar[bool] = by_parameters(
        lambda model: (
            model.survives_union and not model.compares_with and set(model.views) <= {"one value", "most"}
        )
    )

    def why_not_owners(self, *, all_rows: bool) -> str | None:
        """Return the reason why the model cannot count people with several rows; None if it can.

        A class then has as many records as people, who may be in other classes as well; with `all_rows` known
        to an attacker, a class consists of people with the same rows.
        """
        if self.reads == "unions":
            return "it adds up the records of several classes, in which the same person may be"
        if self.subset is not None:
            return "its research subset chooses rows, and may choose some of a person's rows only"
        if all_rows and self.reads in ("labels", "levels"):
            return "it reads the labels of a class, and people with the same rows have several"
        return None

    def check_table(self, table: pa.Table) -> None:
        """Refuse a table with columns that the model cannot judge."""

    def order_of(self, attribute: str) -> Sequence[str] | None:
        """Return the order of an attribute's values, as text; () for that of their type, None for any."""
        return None

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The sensitive attributes of the model."""
        return ()

    @property
    def subset(self) -> Subset | None:
        """The research subset that the model defines: the rows to release; the others are the population."""
        return None

    def for_part(self, sample: Sample) -> PrivacyModel:
        """Return the model for a part of the sample that is equivalent to this one for the whole."""
        return self

    def promised(self, records: int) -> PromisedRisk:
        """Return which risks of re-identification the model bounds, for a table of so many records."""
        return PromisedRisk()

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the size below which every class is rejected."""
        return 1

    def bind(self, sample: Sample) -> ClassCriterion | SampleCriterion | None:
        """Apply the model to a sample. None if the minimal class size decides."""
        return None

    def verify(self, published: Published) -> Finding:
        """Check the promise on a published table, independently of the engine."""
        raise NotImplementedError

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the strongest parameters that the table fulfils, for each sensitive attribute."""
        return []


def views_of(model: PrivacyModel, sample: Sample) -> Iterable[Sample]:
    """Return the sample in each view that a model has to accept; only one if every record is a person."""
    return dict.fromkeys(by_owner(sample, view) for view in model.views)


def monotonicity(model: PrivacyModel | type[PrivacyModel]) -> dict[str, str]:
    """Return whether a model is monotone under generalization and suppression: "yes", "no" or "if …".

    A class answers for all its parameters, a model for its own.

    >>> from veil import EntropyLDiversity
    >>> monotonicity(EntropyLDiversity), monotonicity(EntropyLDiversity("disease", 2))["generalization"]
    ({'generalization': 'if estimator is shannon', 'suppression': 'no'}, 'yes')
    """
    answers = {}
    for kind in ("generalization", "suppression"):
        declaration = inspect.getattr_static(model, f"monotone_{kind}")
        answers[kind] = "yes" if getattr(model, f"monotone_{kind}") else "no"
        if isinstance(model, type) and isinstance(declaration, _ByParameters):
            answers[kind] = f"if {declaration.condition}"
    return answers
