"""Generalization of items: records with sets, such as purchases or diagnoses, become k^m-anonymous."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import NoSolutionError, PlanError
from veil.hierarchies.hierarchy import Hierarchy
from veil.masking.items.parts import ItemPart, Recoder
from veil.masking.items.parts import Strategy as Strategy
from veil.masking.items.problem import ItemProblem
from veil.masking.items.publishing import PublishedSets
from veil.masking.items.records import ItemRecords, PersonRecords, SetRecords, problem_of
from veil.masking.items.taxonomy import LEFT_OUT, ItemTaxonomy
from veil.masking.parameters import Names, OneHierarchy
from veil.models.base import PrivacyModel
from veil.models.item_sets import KMAnonymity
from veil.outcome.method import MaskedTable, Method
from veil.tables.columns import column_of
from veil.tables.rows import Rows
from veil.tables.spelling import PERSON


@declared(kind_of=Method)
class ItemGeneralization(Method):
    """Items become groups of a hierarchy or are left out, until any m of them are held by k records or none.

    A set is published as the groups of its items, each once. The recoding of items is the same for all
    records ("global"), or for all records of a part ("local"), with parts chosen so that less is lost. Within
    the parts, every combination of at most m published items that some record has is had by at least k
    records. This holds if an attacker knows the hierarchy, the recoding, who is in which part, and up to m
    items of a person: at least k records of the part, the person's among them, publish the groups of these
    items. Items that are left out do not distinguish people: an attacker who knows them is left with the
    records that have the rest. It may be learned that no person in the table holds a combination.

    With `within`, an attacker knows those columns as well, and the promise holds among the records that agree
    in them: (k, k^m)-anonymity. They have to be k-anonymous already, by an earlier step or `veil.anonymize`;
    suppressed rows go. Other columns are released unchanged, and taken to be unknown to attackers.

    The loss is the NCP: for each item of each record, the share of the domain in its group; 0 for an item
    that stays, 1 for a group of everything, and `left_out` for an item that goes. "optimal" finds the least
    loss, however long it takes; "apriori" is quick; "auto" tries for a short time to prove that the quick
    result is optimal, for recodings that are the same in all records of a part. Terrovitis, Mamoulis and
    Kalnis (2008); with other columns: Poulis et al. (2013).

    The column holds lists or text with a separator, or, if `person` names the column that identifies people,
    one item in each row. Then people get random numbers, each of their items one row, and one row without an
    item if none is left; further columns have to be constant for each person. A missing set is published as
    an empty one. Items are published in the order of their names, as text if there is a hierarchy.

    >>> from veil import hierarchies as h
    >>> baskets = pa.table({"items": [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]})
    >>> tree = h.table([["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"]])
    >>> ItemGeneralization("items", 2, 2, tree).mask(Rows.of(baskets), Randomness()).table["items"].to_pylist()
    [['A', 'b1', 'b2'], ['A', 'b1'], ['A', 'b1', 'b2'], ['A', 'b2']]
    """

    column: Annotated[
        str, Field(description="column of items: lists, text with a separator, or one in each row")
    ]
    k: Annotated[int, Field(ge=2, description="least number of records to choose from; 5 to 20 is usual")]
    m: Annotated[
        int, Field(ge=1, le=20, description="number of items that an attacker may know; 1 to 3 is usual")
    ]
    hierarchy: Annotated[
        OneHierarchy, Field(description="groups of items; without, items stay or are left out")
    ] = None
    within: Annotated[
        Names, Field(description="further columns that an attacker may know, k-anonymous already")
    ] = ()
    person: Annotated[
        str | None,
        Field(min_length=1, description="column that tells people apart, if each row has one item"),
        *PERSON,
    ] = None
    recoding: Annotated[
        Literal["global", "local"],
        Field(description="whether items become the same everywhere, or part by part"),
    ] = "global"
    left_out: Annotated[
        float | None,
        Field(
            ge=1,
            le=1000,
            description="cost of leaving out an item, where 1 is a group of all items; none: items are never left out",
        ),
    ] = 2.0
    strategy: Annotated[Strategy, Field(description="how hard to look for the least loss")] = "auto"
    separator: Annotated[str, Field(min_length=1, description="what separates items in text")] = ","
    kind: Literal["ItemGeneralization"] = Field(default="ItemGeneralization", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    why_not_owners: ClassVar[str] = (
        "a row is taken for all that a person holds. Give the items one in each row, and this method the column that tells "
        "people apart"
    )
    takes_rows_of_engines: ClassVar[bool] = True

    @model_validator(mode="after")
    def _different_columns(self) -> ItemGeneralization:
        for name in (self.column, self.person):
            if name in self.within:
                raise ValueError(
                    f"`within` of ItemGeneralization should not name {name!r}, which this step itself changes"
                )
        if self.person == self.column:
            raise ValueError("`person` of ItemGeneralization should be another column than that of the items")
        if self.hierarchy is None and self.left_out is None:
            raise ValueError(
                "ItemGeneralization needs a `hierarchy`, or to be allowed to leave items out: `left_out`"
            )
        return self

    @property
    def column_names(self) -> tuple[str, ...]:
        return (*filter(None, [self.person]), self.column)

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The items, and the columns of `within`."""
        return (*self.within, self.column)

    @property
    def privacy_models(self) -> tuple[PrivacyModel, ...]:
        """k^m-anonymity, if a column holds the sets."""
        return (self._model,) if self.person is None else ()

    @property
    def counts_records(self) -> bool:
        """K of them hold a person's items, unless `person` identifies people."""
        return bool(self.privacy_models)

    @property
    def by_construction(self) -> tuple[str, ...]:
        """The promise within parts, which only the data holder knows."""
        promise = (
            f"{self.k}^{self.m}-anonymity of {self.column!r} within each part that is recoded on its own"
        )
        return (promise,) if self.recoding == "local" else ()

    @property
    def _model(self) -> KMAnonymity:
        return KMAnonymity(self.column, self.k, self.m, self.separator)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        for name in self.within:
            column_of(rows.table, name, self)  # raises if it is missing
        records = self._read(rows.table)
        self._check_sizes(records)
        baskets, hierarchy = records.baskets, self._build_hierarchy(records)
        problem, pair_of = problem_of(records, self.k, self.m)
        grow = self._taxonomy_builder(records, hierarchy)
        recoder = Recoder(problem, grow, self.strategy, self.left_out is not None)
        parts = recoder.whole() if self.recoding == "global" else recoder.each()
        if parts is None:
            raise NoSolutionError(
                f"{self}: even at the top level of the hierarchy, some items or combinations occur in fewer "
                f"than {self.k} records. Allow items to be left out (`left_out`), or choose a smaller `k` "
                "or `m`"
            )
        published_sets = PublishedSets.of(problem, parts, baskets, hierarchy, self.column)
        after, origins = records.publish(published_sets, pair_of, self.separator, randomness)
        facts = _facts(problem, parts, records, proven=self.recoding == "global")
        return MaskedTable(after, origins, facts=facts)

    def _read(self, table: pa.Table) -> ItemRecords:
        if self.person is None:
            return SetRecords.of(table, self.column, self.within, self.separator, self)
        return PersonRecords.of(table, self.column, self.within, self.person, self)

    def _check_sizes(self, records: ItemRecords) -> None:
        """Refuse classes that are too small for any recoding."""
        least = int(np.bincount(records.classes).min()) if records.classes.size else self.k
        if least >= self.k:
            return
        if not self.within:
            raise PlanError(f"{self}: the table has only {least} records. Choose a `k` of at most that")
        raise NoSolutionError(
            f"{self}: only {least} records agree in {', '.join(map(repr, self.within))}, which singles them "
            f"out however their items are generalized. Make these columns {self.k}-anonymous first, for "
            "instance by Mondrian"
        )

    def _build_hierarchy(self, records: ItemRecords) -> Hierarchy | None:
        if self.hierarchy is None or not len(records.baskets.items):
            return None
        baskets = records.baskets
        set_counts = np.bincount(records.baskets.set_of, minlength=baskets.starts.size - 1)
        counts = np.bincount(
            baskets.codes,
            weights=np.repeat(set_counts, np.diff(baskets.starts)),
            minlength=len(baskets.items),
        )
        hierarchy: Hierarchy = self.hierarchy.build(baskets.items, counts.astype(np.int64), self.column)
        return hierarchy

    def _taxonomy_builder(self, records: ItemRecords, hierarchy: Hierarchy | None) -> Any:
        cost = decimal_fraction(1 if self.left_out is None else self.left_out)
        items, column = records.baskets.items, self.column

        def grow(numbers: Integers) -> ItemTaxonomy:
            if hierarchy is None:
                return ItemTaxonomy.flat(numbers, cost)
            return ItemTaxonomy.of(hierarchy, items.take(pa.array(numbers)), column, cost)

        return grow


def _facts(
    problem: ItemProblem, parts: list[ItemPart], records: ItemRecords, *, proven: bool
) -> dict[str, Any]:
    """Return figures about the run, without names of items."""
    items = len(records.baskets.items)
    generalized, published_mask = np.zeros(items, np.bool_), np.zeros(items, np.bool_)
    gone = 0
    for part in parts:
        published_mask[part.items[part.recoding != LEFT_OUT]] = True
        generalized[part.items[part.recoding >= part.taxonomy.items]] = True
        item_mask = np.zeros(items, np.bool_)
        item_mask[part.items[part.recoding == LEFT_OUT]] = True
        set_mask = np.zeros(problem.records.size, np.bool_)
        set_mask[part.sets] = True
        owner = np.repeat(np.arange(problem.records.size), np.diff(problem.starts))
        gone += int(problem.records[owner[item_mask[problem.items] & set_mask[owner]]].sum())
    loss, bound = sum(part.loss for part in parts), sum(part.bound for part in parts)
    unit = parts[0].taxonomy.unit if parts else 1
    everything = int(problem.occurrences.sum()) * unit
    facts: dict[str, Any] = {
        "loss": loss / everything if everything else 0.0,
        "different items": items,
        "items generalized": int(generalized.sum()),
        "items left out everywhere": int((~published_mask).sum()),
        "occurrences left out": gone,
        "parts": len(parts),
    }
    if proven:
        facts["optimum"] = (
            "proven"
            if bound == loss
            else f"no less than {bound / everything:.6g}"
            if bound
            else "not looked for"
        )
    return facts
