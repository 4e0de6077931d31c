"""Priority: the least important values are suppressed first, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from veil.base.declare import declared
from veil.hierarchies._builders import Builder, IsPublished
from veil.hierarchies._common import finish, natural_order, present
from veil.hierarchies._labels import Text
from veil.hierarchies.hierarchy import ROOT, Hierarchy
from veil.tables.text import canonical_text


@declared(kind_of=Builder)
class Priority(Builder):
    """Keep the important values longest: each level suppresses a further share of them, the last level all.

    Importance is the frequency in the data, the natural order, or given by `priorities` (0 for values it does
    not mention). Ties keep the natural order.

    >>> import numpy as np, pyarrow as pa
    >>> drinks = pa.array(["tea", "coffee", "mate"])
    >>> Priority(levels=2).build(drinks, np.array([3, 9, 1]), "drink").to_rows()
    [('coffee', 'coffee', '*'), ('tea', 'tea', '*'), ('mate', '*', '*')]
    """

    order: Annotated[Literal["frequency", "natural"], Field(description="what makes a value important")] = (
        "frequency"
    )
    first: Annotated[
        Literal["highest", "lowest"], Field(description="which end of the order is the most important one")
    ] = "highest"
    levels: Annotated[int, Field(ge=1, description="largest number of levels")] = 10
    priorities: Annotated[dict[Text, int], Field(description="importance of values, instead of `order`")] = (
        Field(default_factory=dict)
    )
    kind: Literal["priority"] = Field(default="priority", repr=False, kw_only=True)

    reads_data: ClassVar[str | None] = "how often values occur decides which stay longest"

    def withheld(self, is_published: IsPublished) -> Mapping[str, set[str]]:
        """Return the priorities of single values."""
        return {"priorities": set(self.priorities)} if self.priorities else {}

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Order the values by importance and suppress them from the last to the first."""
        present_values = present(values, column)
        texts = [text or "" for text in canonical_text(present_values, column=column)]
        times = np.asarray(counts)[pc.is_valid(values).to_numpy(zero_copy_only=False)]
        order = natural_order(present_values)
        sign = -1 if self.first == "highest" else 1
        if self.priorities:
            order.sort(key=lambda index: sign * self.priorities.get(texts[index], 0))
        elif self.order == "frequency":
            order.sort(key=lambda index: sign * int(times[index]))
        elif self.first == "highest":
            order.reverse()
        size = len(order)
        levels = min(size, self.levels)
        ordered = [texts[index] for index in order]
        columns = [ordered]
        for level in range(1, levels + 1):
            columns.append(
                [ROOT if level >= levels - at * levels // size else text for at, text in enumerate(ordered)]
            )
        return finish(columns, values, column)
