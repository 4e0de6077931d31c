"""Simple hierarchies: suppression, identity, and tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from veil.base.declare import declared
from veil.base.references import Reference
from veil.hierarchies._builders import Builder, IsPublished
from veil.hierarchies._common import finish, natural_order, present
from veil.hierarchies._labels import Text
from veil.hierarchies.hierarchy import ROOT, Hierarchy
from veil.tables.text import canonical_text


@declared(kind_of=Builder)
class Suppression(Builder):
    """Two levels: the value, and `*`.

    >>> import numpy as np, pyarrow as pa
    >>> Suppression().build(pa.array(["f", "m"]), np.ones(2), "sex").to_rows()
    [('f', '*'), ('m', '*')]
    """

    kind: Literal["suppression"] = Field(default="suppression", repr=False, kw_only=True)

    names_values: ClassVar[bool] = False
    reads_data: ClassVar[str | None] = None

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Return the values as a table."""
        texts = _texts(values, column)
        return finish([texts, [ROOT] * len(texts)], values, column, names=[column, "all"])


@declared(kind_of=Builder)
class Identity(Builder):
    """One level: the values as they are, for a column that must not be generalized.

    >>> import numpy as np, pyarrow as pa
    >>> Identity().build(pa.array([2, None, 1]), np.ones(3), "ward").to_rows()
    [('1',), ('2',), (None,)]
    """

    kind: Literal["identity"] = Field(default="identity", repr=False, kw_only=True)

    names_values: ClassVar[bool] = False
    reads_data: ClassVar[str | None] = None

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Return the values as a table."""
        texts = _texts(values, column)
        if not texts:
            return Hierarchy.from_rows([[None]], level_names=[column])
        return finish([texts], values, column, names=[column])


_FILE = Reference("a hierarchy file", "write down its rows instead")


@declared(kind_of=Builder)
class File(Builder):
    """A hierarchy in a file, read when it is needed; see `read`."""

    path: Annotated[str, Field(min_length=1, description="where the file is"), _FILE]
    separator: Annotated[
        str | None, Field(min_length=1, max_length=1, description="between columns; found out if not given")
    ] = None
    header: Annotated[bool, Field(description="whether the first line names the levels")] = False
    encoding: Annotated[str, Field(description="of the characters")] = "utf-8"
    kind: Literal["file"] = Field(default="file", repr=False, kw_only=True)

    names_values: ClassVar[bool] = False
    reads_data: ClassVar[str | None] = None

    def read(self) -> Hierarchy:
        """Read and check the file."""
        return Hierarchy.read(self.path, separator=self.separator, header=self.header, encoding=self.encoding)

    def explicit_values(self) -> Collection[str | None] | None:
        """Return the first cell of each line."""
        return set(self.read().labels[0])

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Read the file, and check that it covers the values."""
        return self.read().build(values, counts, column)


@declared(kind_of=Builder)
class Table(Builder):
    """A hierarchy written out row by row: the value, then its label on each level.

    >>> import numpy as np, pyarrow as pa
    >>> Table([["f", "*"], ["m", "*"]]).build(pa.array(["m"]), np.ones(1), "sex")
    Hierarchy(2 values, levels 2 → 1)
    """

    rows: Annotated[tuple[tuple[Text | None, ...], ...], Field(min_length=1, description="rows of the table")]
    kind: Literal["table"] = Field(default="table", repr=False, kw_only=True)

    reads_data: ClassVar[str | None] = None

    def explicit_values(self) -> Collection[str | None] | None:
        """Return the first cell of each row."""
        return {row[0] for row in self.rows}

    def withheld(self, is_published: IsPublished) -> Mapping[str, set[str]]:
        """Return its rows, each of which begins with a value."""
        return {"rows": {str(row[0]) for row in self.rows}}

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Check the table, and that it covers the values."""
        hierarchy = Hierarchy.from_rows(self.rows, source=f"the hierarchy of column {column!r}")
        return hierarchy.build(values, counts, column)


def table(frame_or_rows: Any) -> Hierarchy:
    """Return the hierarchy in a dataframe (pandas, polars, pyarrow …) or in rows.

    The first column lists the values, each further one their labels on the next level; `NULL` is missing.

    >>> table([[1, "1-2", "*"], [2, "1-2", "*"], [3, "3-4", "*"]])
    Hierarchy(3 values, levels 3 → 2 → 1)
    """
    if isinstance(frame_or_rows, (list, tuple)):
        return Hierarchy.from_rows(frame_or_rows)
    return Hierarchy.from_frame(frame_or_rows)


def _texts(values: pa.Array, column: str) -> list[str]:
    present_values = present(values, column)
    texts = canonical_text(present_values, column=column)
    return [texts[index] or "" for index in natural_order(present_values)]
