"""What a hierarchy builder is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ClassVar, Protocol, runtime_checkable

import numpy.typing as npt
import pyarrow as pa

from veil.base.spell import leaves, spell_value
from veil.hierarchies.hierarchy import Hierarchy

Shown = Callable[[Iterable[str]], bool]
"""Tells whether each of some texts can be read in the labels of the released column anyway."""


@runtime_checkable
class Builds(Protocol):
    """Whatever makes a hierarchy for a column: a declared builder, a `Hierarchy`, or a user's own class."""

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Make the hierarchy for the distinct `values` of a column, given how often each occurs."""
        ...


class Builder:
    """Base of all declared builders, which recipes name by their `kind`.

    `reads_data` says what a builder takes from the values of the column, beyond what each value becomes by itself: None
    if nothing. Reports list it, because it may tell of records that are not published. A builder that does not say
    so is taken for one that reads everything.
    """

    reads_data: ClassVar[str | None] = "the builder does not say what it reads"

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Make the hierarchy for the distinct `values` of a column, given how often each occurs."""
        raise NotImplementedError

    def written_down(self) -> Collection[str | None] | None:
        """Return the values that are written down one by one; None if there are none, and every value has its place."""
        return None

    def withheld(self, shown: Shown) -> Mapping[str, set[str]]:
        """Return the parameters that a report keeps back, each with the values of the column that it names.

        A report must not tell values that the release does not show. A builder that does not say which of its
        parameters name values keeps all of them back.
        """
        given = spell_value(self).items()
        return {name: set(leaves(each, keys=True)) for name, each in given if name != "kind"}


def reads_data(builder: Builds) -> str | None:
    """Say what a builder, or a hierarchy that is there already, takes from the values of a column; None if nothing."""
    found: str | None = (
        None if isinstance(builder, Hierarchy) else getattr(builder, "reads_data", Builder.reads_data)
    )
    return found


def named_ends(builder: Builder, parameters: Iterable[str], shown: Shown) -> Mapping[str, set[str]]:
    """Return those of some parameters that are given, with the limits that they name; nothing if all are shown."""
    spec = spell_value(builder)
    named = {name: set(leaves(spec[name])) for name in parameters if name in spec}
    return {} if shown(set().union(*named.values())) else named
