"""The interface of hierarchy builders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ClassVar, Protocol, runtime_checkable

import numpy.typing as npt
import pyarrow as pa

from veil.base.spell import leaves, spell_value
from veil.hierarchies.hierarchy import Hierarchy

IsPublished = Callable[[Iterable[str]], bool]
"""Returns whether all of some texts can be read in the labels of the released column anyway."""


@runtime_checkable
class Builds(Protocol):
    """A source of hierarchies for columns: a declared builder, a `Hierarchy`, or a user's own class."""

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Return the hierarchy for the distinct `values` of a column with these frequencies."""
        ...


class Builder:
    """Base of all declared builders, which recipes name by their `kind`.

    `reads_data` describes what a builder derives from the values of the column, beyond a function of each
    value: None if nothing. Reports list it, because it may disclose unpublished records. A builder without
    such a description is assumed to read everything.
    """

    reads_data: ClassVar[str | None] = "the builder does not say what it reads"
    names_values: ClassVar[bool] = True
    """Whether a parameter may name a value of the column. Bounds that the user chooses are none."""

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Return the hierarchy for the distinct `values` of a column with these frequencies."""
        raise NotImplementedError

    def explicit_values(self) -> Collection[str | None] | None:
        """Return the values that the builder lists one by one; None if it covers every value."""
        return None

    def withheld(self, is_published: IsPublished) -> Mapping[str, set[str]]:
        """Return the parameters that a report withholds, each with the values of the column that it names.

        A report must not disclose values that are not published. By default, all parameters are withheld, if
        any names a value.
        """
        parameters = spell_value(self).items() if self.names_values else ()
        return {name: set(leaves(each, keys=True)) for name, each in parameters if name != "kind"}


def reads_data(builder: Builds) -> str | None:
    """Describe what a builder, or a given hierarchy, derives from the values of a column; None if nothing."""
    description: str | None = getattr(builder, "reads_data", Builder.reads_data)
    return None if isinstance(builder, Hierarchy) else description


def unpublished_ends(
    builder: Builder, parameters: Iterable[str], is_published: IsPublished
) -> Mapping[str, set[str]]:
    """Return the parameters that are set, with the limits they name; nothing if all are published."""
    spec = spell_value(builder)
    ends = {name: set(leaves(spec[name])) for name in parameters if name in spec}
    return {} if is_published(set().union(*ends.values())) else ends
