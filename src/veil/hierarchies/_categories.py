"""Categories: a tree of names, given by the user."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from veil.base.declare import declared
from veil.errors import HierarchyError, did_you_mean
from veil.hierarchies._builders import Builder, IsPublished
from veil.hierarchies._common import natural_order, present
from veil.hierarchies._labels import Text
from veil.hierarchies.hierarchy import ROOT, Hierarchy
from veil.tables.text import canonical_text

Tree = TypeAliasType("Tree", "dict[Text, Tree | list[Text]]")
"""Names from the top down; a list holds the values."""

Row: TypeAlias = tuple[str, ...]


@declared(kind_of=Builder)
class Categories(Builder):
    """Names for groups of values: a tree from the top down, or mappings from the values up.

    Every value that is written down belongs to the domain, whether the data has it or not. Where a branch of
    the tree is shorter than others, its lowest name is repeated. A root `*` is added if the last level has
    more than one name. Values that are not written down are refused, or get the name `other`.

    >>> import numpy as np, pyarrow as pa
    >>> land = Categories({"Europe": {"DACH": ["AT", "DE"], "Nordics": ["SE"]}, "Asia": ["JP"]})
    >>> land.build(pa.array(["SE"]), np.ones(1), "country").to_rows()[2:]
    [('SE', 'Nordics', 'Europe', '*'), ('JP', 'Asia', 'Asia', '*')]
    """

    tree: Annotated[Tree | None, Field(description="names from the top down, with lists of values")] = None
    mappings: Annotated[
        tuple[dict[Text, Text], ...], Field(description="value to name, then name to name of the next level")
    ] = ()
    other: Annotated[str | None, Field(description="name of all values that are not written down")] = None
    kind: Literal["categories"] = Field(default="categories", repr=False, kw_only=True)

    reads_data: ClassVar[str | None] = None

    @model_validator(mode="after")
    def _check_levels(self) -> Categories:
        if bool(self.tree) == bool(self.mappings):
            raise ValueError("Categories needs either a `tree` or `mappings`")
        for level, (below, above) in enumerate(zip(self.mappings, self.mappings[1:], strict=False), start=1):
            names = set(below.values())
            for name in below.values():
                if name not in above:
                    raise ValueError(
                        f"`mappings` of Categories: the name {name!r} of level {level} has no name on level "
                        f"{level + 1}.{did_you_mean(name, above)}"
                    )
            for name in above:
                if name not in names:
                    raise ValueError(
                        f"`mappings` of Categories: {name!r} gets a name on level {level + 1}, but is not a "
                        f"name of level {level}.{did_you_mean(name, names)}"
                    )
        if next(self._rows(), None) is None:
            raise ValueError("Categories needs at least one value")
        return self

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Categories:
        """Return a hierarchy as a tree of names, which can be edited. The missing value needs no name.

        >>> rows = [["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]]
        >>> Categories.of(Hierarchy.from_rows(rows)).tree
        {'odd': ['1', '3'], 'even': ['2']}
        """
        rows = [[str(label) for label in row] for row in hierarchy.to_rows() if row[0] is not None]
        if not rows:
            raise HierarchyError("a hierarchy without values has no groups")
        height = len(rows[0])
        # The root is added again by itself, unless it is the only level.
        if height > 2 and {row[-1] for row in rows} == {ROOT}:
            height -= 1
        if height < 2:
            return cls(tree={ROOT: [row[0] for row in rows]})
        tree: dict[str, Any] = {}
        for row in rows:
            node = tree
            for name in reversed(row[2:height]):
                node = node.setdefault(name, {})
            node.setdefault(row[1], []).append(row[0])
        return cls(tree=tree)

    def explicit_values(self) -> Collection[str | None] | None:
        """Return the values of the tree; None if all others have a name, too."""
        return {row[0] for row in self._rows()} if self.other is None else None

    def withheld(self, is_published: IsPublished) -> Mapping[str, set[str]]:
        """Return the parameter that lists values."""
        return {"mappings" if self.tree is None else "tree": {row[0] for row in self._rows()}}

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Write the tree as a table, and check that it covers the values."""
        rows = list(self._rows())
        if self.other is not None:
            domain = {row[0] for row in rows}
            present_values = present(values, column)
            texts = canonical_text(present_values, column=column)
            labels = (self.other,) * (len(rows[0]) - 1)
            # In natural order, as the hierarchy must not depend on the order of rows.
            others = (texts[index] for index in natural_order(present_values))
            rows += [(text, *labels) for text in others if text is not None and text not in domain]
        if len({row[-1] for row in rows}) > 1:
            rows = [(*row, ROOT) for row in rows]
        hierarchy = Hierarchy.from_rows(rows, missing=None, source=f"the categories of column {column!r}")
        return hierarchy.build(values, counts, column)

    def _rows(self) -> Iterator[Row]:
        if self.tree is None:
            for value in self.mappings[0]:
                row = [value]
                for mapping in self.mappings:
                    row.append(mapping[row[-1]])
                yield tuple(row)
            return
        leaves = list(_leaves(self.tree, ()))
        longest = max((len(names) for _, names in leaves), default=0)
        for value, names in leaves:
            yield (value, *(names[:1] * (longest - len(names))), *names)


def categories(*levels: Mapping[Any, Any], other: str | None = None) -> Categories:
    """Return a builder that names groups of values.

    Parameters
    ----------
    levels:
        Either one tree from the top down, `{"Europe": ["AT", "DE"], "Asia": ["JP"]}`, with further names in
        between as nested mappings; or one mapping a level, `{"AT": "Europe", "DE": "Europe", "JP": "Asia"}`.
    other:
        The name of all values that are not written down; by default they are refused.

    >>> categories({"AT": "Europe", "JP": "Asia"}, {"Europe": "West", "Asia": "East"}).mappings[1]
    {'Europe': 'West', 'Asia': 'East'}
    """
    nested = len(levels) == 1 and any(
        isinstance(each, (Mapping, list, tuple, set)) for each in levels[0].values()
    )
    if nested:
        return Categories(tree=_plain(levels[0]), other=other)
    return Categories(mappings=tuple(dict(level) for level in levels), other=other)


def _plain(node: Any) -> Any:
    """Return mappings as dicts and collections as lists; sets are sorted, so that results never vary."""
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, (set, frozenset)):
        return sorted(node, key=str)
    return list(node) if isinstance(node, tuple) else node


def _leaves(node: Any, names: Row) -> Iterator[tuple[str, Row]]:
    """Yield the values below a node, each with its names from the lowest to the highest."""
    if isinstance(node, list):
        for value in node:
            yield value, names
        return
    for name, below in node.items():
        yield from _leaves(below, (name, *names))
