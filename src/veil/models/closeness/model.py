"""t-closeness: the distribution of a sensitive attribute in each class is close to that in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, WrapSerializer

from veil.base.declare import declared
from veil.base.exact import decimal_fraction, float_at_least
from veil.base.views import View
from veil.base.wording import Phrase, beside, exactly
from veil.classes.owner_sample import OwnerSample
from veil.classes.sample import Sample
from veil.errors import HierarchyError, InputError, PlanError
from veil.hierarchies import AnyBuilder, Hierarchy, Table
from veil.models.base import Beside, PrivacyModel, Strength, by_parameters
from veil.models.closeness import distance as distances
from veil.models.closeness.criteria import ByGroups, Criterion, Ordered
from veil.models.closeness.owners import OrderedOfPeople
from veil.models.sensitive import Missing, SensitiveModel
from veil.models.value_counts import count, count_ends
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.arrow import categories, has_ordered_categories
from veil.tables.text import canonical_text


def _builder(value: Any) -> Any:
    """Accept a hierarchy in the forms of plans and recipes, or as rows."""
    if isinstance(value, str):
        return {"kind": "file", "path": value} if any(c in value for c in "./\\") else {"kind": value}
    if isinstance(value, Hierarchy):
        return Table(tuple(value.to_rows()))
    if isinstance(value, list | tuple):
        return {"kind": "table", "rows": value}
    if value is None or isinstance(value, Mapping) or hasattr(value, "kind"):
        return value
    raise ValueError(f"`hierarchy` of TCloseness should be a hierarchy, its builder or a path, not {value!r}")


def _spell_order(value: Any) -> Any:
    """Convert the values of an order to text, as hierarchies do."""
    if value is None:
        return value
    try:
        if not isinstance(value, list | tuple):  # a set has no order
            raise TypeError
        return tuple(each if isinstance(each, str) else canonical_text(pa.array([each]))[0] for each in value)
    except (TypeError, pa.ArrowInvalid, InputError):
        raise ValueError(
            f"`order` of TCloseness should list values from first to last, not {value!r}"
        ) from None


def _with_kind(value: Any, write: SerializerFunctionWrapHandler) -> Any:
    # `kind` is a default, which is left out otherwise.
    return None if value is None else {"kind": value.kind, **write(value)}


@declared(kind_of=PrivacyModel)
class TCloseness(SensitiveModel):
    """In every class the distribution of a sensitive attribute is within a distance t of that in the table.

    The distance is the least work that turns one distribution into the other: how much is moved, times how
    far (earth mover's distance), with a distance between two values of

    - "equal": 1. Half the sum of |q - p| over all values, for shares q in the class and p in the table.
    - "ordered": how many values they are apart, over the number of values less one. The sum of |Q - P| over
      all values, with shares Q and P of the records up to each value, over the number of values less one.
    - "hierarchical": the level on which they get the same label, over the height of the hierarchy. The sum,
      over the nodes above the values, of level/height * min(pos, neg), where pos and neg are the excess and
      the lack of the children of the node.

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are one value, whichever is farthest away: the distance is convex.

    All values of the input count, in their order (missing ones last, if they are values). Numbers and dates
    have one. Text is in alphabetical order, which hardly ever means anything: use `order`. Categories that
    were made with an order are refused without it, as files and databases do not keep theirs. Decisions are
    exact. Li, Li and Venkatasubramanian (2007).

    Monotone under generalization: the distribution of a union is a mean of those of its parts, and distances
    are convex. Not monotone under suppression: two classes that are too far from the table, on opposite
    sides, can be acceptable together, and so can a part of a class that is not.

    Differences from ARX: no decision depends on rounding, the hierarchical distance does not overflow, and
    its hierarchy must have a root, as nothing could be moved between trees.

    >>> TCloseness("disease", 0.2, distance="hierarchical", hierarchy=[["flu", "*"], ["gout", "*"]])
    TCloseness(attribute='disease', t=0.2, distance='hierarchical')
    """

    attribute: Annotated[str, Field(description="sensitive column whose distribution is compared")]
    t: Annotated[
        float,
        Field(
            ge=0, le=1, description="largest distance allowed; 0.1 to 0.3 is usual, 0 is no difference at all"
        ),
    ]
    distance: Annotated[
        Literal["equal", "ordered", "hierarchical"],
        Field(description="how far apart two values are: all alike, by their order, or by a hierarchy"),
    ] = "equal"
    hierarchy: Annotated[
        AnyBuilder | None,
        BeforeValidator(_builder, json_schema_input_type=str | AnyBuilder | None),
        WrapSerializer(_with_kind),
        Field(description="hierarchy of the sensitive column, with one root, for the hierarchical distance"),
    ] = Field(default=None, repr=False)
    order: Annotated[
        tuple[str, ...] | None,
        BeforeValidator(_spell_order),
        Field(description="values from first to last, for the ordered distance of text"),
    ] = Field(default=None, repr=False)
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["TCloseness"] = Field(default="TCloseness", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage", "probabilistic")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("t", 1)
    compares_with: ClassVar[tuple[Beside, ...]] = ("distribution",)
    # Excesses of values and groups add up and grow with their counts. The ordered distance needs the first and
    # the last value of each person.
    views: ClassVar[tuple[View, ...]] = by_parameters(
        lambda model: ("lowest",) if model.distance == "ordered" else ("most",), safe=("one value",)
    )

    def __post_init__(self) -> None:
        if self.distance == "hierarchical" and self.hierarchy is None:
            raise ValueError(
                "`hierarchy` of TCloseness is required for the hierarchical distance: give a hierarchy of "
                f"column {self.attribute!r}, its builder or the path of its file, not None"
            )
        if self.distance != "hierarchical" and self.hierarchy is not None:
            raise ValueError(
                f"`hierarchy` of TCloseness should be None for the {self.distance} distance, which does not "
                'use it; for the hierarchical distance, use distance="hierarchical"'
            )
        if self.order is not None and (self.distance != "ordered" or len(set(self.order)) < len(self.order)):
            raise ValueError(
                '`order` of TCloseness should list distinct values, and only for distance="ordered", not '
                f"{list(self.order)} for the {self.distance} distance"
            )

    def check_table(self, table: pa.Table) -> None:
        """Refuse lists, which have no order, and categories whose order is not in the plan.

        Files and databases do not keep that order, so a promise based on it could not be checked there.
        """
        if self.distance != "ordered" or self.attribute not in table.column_names:
            return
        kind = table[self.attribute].type
        if pa.types.is_nested(kind):
            raise PlanError(
                f"`distance` of TCloseness should be 'equal' for column {self.attribute!r}, not 'ordered': "
                "lists have no order"
            )
        if self.order is None and has_ordered_categories(kind):
            values = categories(table[self.attribute])
            order = "[…]" if values is None else canonical_text(values)
            raise PlanError(
                f"the categories of column {self.attribute!r} have an order, which files do not keep. Give "
                f"it explicitly: TCloseness({self.attribute!r}, {self.t!r}, 'ordered', order={order})"
            )

    def order_of(self, attribute: str) -> Sequence[str] | None:
        """Return the order of the sensitive attribute's values; () if it is that of their type."""
        return self.order or () if attribute == self.attribute and self.distance == "ordered" else None

    def least_size(self, sample: Sample) -> int:
        """Return the smallest size that any class within distance t of the table has.

        In a class of c records every share is a multiple of 1/c, so it cannot match the table better than the
        best such shares do: see `least_sums` of the criteria, which are exact except for the hierarchical
        distance, for which they add up the best on each level.
        """
        return self._criterion(sample).smallest

    def criterion(self, sample: Sample) -> Criterion | None:
        """Compare distributions. None if t is 1: no distance is larger."""
        criterion = self._criterion(sample)
        return criterion if self.t < 1 and criterion.scale > 0 else None

    def _criterion(self, sample: Sample) -> Criterion:
        t = decimal_fraction(self.t)
        attribute = sample.attribute(self.attribute)
        if self.distance == "ordered":
            return (OrderedOfPeople if isinstance(sample, OwnerSample) else Ordered)(
                sample, self.attribute, t
            )
        if self.distance == "equal":
            return ByGroups(sample, self.attribute, t, [])
        large = any(isinstance(value, int) and value >= 2**63 for value in attribute.values)
        levels = self._levels(
            pa.array(attribute.values, pa.uint64() if large else None), sample.distribution(self.attribute)
        )
        return ByGroups(sample, self.attribute, t, levels[1:-1])

    def _levels(self, values: pa.Array, counts: Any) -> list[Any]:
        """Number the labels of the values on each level."""
        assert self.hierarchy is not None
        hierarchy = self.hierarchy.build(values, counts, self.attribute)
        codes = hierarchy.encode(values, self.attribute)
        maps = [hierarchy.label_map(level)[codes] for level in range(hierarchy.height + 1)]
        roots = sorted({str(hierarchy.labels[-1][code]) for code in maps[-1].tolist()})
        if hierarchy.height == 0 or len(roots) > 1:
            some = f"{len(roots)} labels ({', '.join(roots[:3])} …)"
            raise HierarchyError(
                f"`hierarchy` of TCloseness should lead all values of column {self.attribute!r} to one "
                f"root, but its last level consists of {some if hierarchy.height else 'the values themselves'}: "
                "add a last level with the same label everywhere, such as '*'"
            )
        return [np.unique(map_, return_inverse=True)[1] for map_ in maps]

    def check(self, published: Published, whole: Published) -> Finding:
        """Compute the distance of every class from the definition."""
        promise = Phrase(
            f"{{t}}-closeness of {{attribute!r}} ({self.distance} distance)",
            t=exactly(self.t),
            attribute=self.attribute,
        )
        try:
            self.check_table(published.baseline.table)
            worst = self._largest_distance(published)
        except (HierarchyError, PlanError) as error:
            return Finding(promise, False, str(error))
        measured = f"t = {beside(worst, self.t)}" if published.sizes.size else "no class"
        return Finding(promise, worst <= decimal_fraction(self.t), measured)

    def _largest_distance(self, published: Published) -> Fraction:
        if self.distance == "equal":
            return distances.largest(distances.equal, count(published, self.attribute, ordered=False))
        if self.distance == "ordered" and not published.rows.owners.are_records:
            lowest, highest = count_ends(published, self.attribute, self.order)
            return distances.largest(distances.ordered_between, lowest, highest)
        counted = count(published, self.attribute, ordered=True, order=self.order)
        if self.distance == "ordered":
            return distances.largest(distances.ordered, counted)
        levels = self._levels(counted.values, counted.masses)
        return distances.largest(distances.hierarchical, counted, levels)

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the largest distance of any class: equal, ordered if values have an order, hierarchical if a
        hierarchy is at hand.
        """
        result = []
        kind = published.baseline.table.schema.field(name).type
        values = categories(published.baseline.table[name])
        in_order = values is not None or not (pa.types.is_nested(kind) or has_ordered_categories(kind))
        order = None if values is None else [str(text) for text in canonical_text(values)]
        counted = count(published, name, ordered=in_order, order=order)
        for distance in ("equal", "ordered") if in_order else ("equal",):
            worst = distances.largest(getattr(distances, distance), counted)
            result.append(Strength("TCloseness", f"t ({distance})", float_at_least(worst), name))
        if published.hierarchies is not None and name in published.hierarchies:
            model = cls(name, 1.0, "hierarchical", cast("Any", published.hierarchies[name]))
            worst = model._largest_distance(published)
            result.append(Strength("TCloseness", "t (hierarchical)", float_at_least(worst), name))
        return result
