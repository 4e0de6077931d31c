"""Redaction: characters are replaced one after the other, from one end to the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.declare import declared
from veil.base.wording import plural
from veil.errors import HierarchyError
from veil.hierarchies._builders import Builder
from veil.hierarchies._common import finish, natural_order, present
from veil.hierarchies.hierarchy import Hierarchy
from veil.tables.text import canonical_text

Character = Annotated[str, Field(min_length=1, max_length=1)]


@declared(kind_of=Builder)
class Redaction(Builder):
    """Replace one more character on each level, until nothing is left.

    Values are first padded to the length of the longest: at the end if aligned left, at the beginning if
    aligned right. Level i then redacts i characters, beginning at the right or the left end. In a release,
    labels are as long as the longest published value, so that they do not disclose the length of others.

    A label's share of the domain is the share of values below it, unless the domain is described: with an
    alphabet of `alphabet` characters and values of `length` characters (default: the longest) out of a domain
    of `domain` possible ones, the share depends on the level alone. An alphabet alone implies the domain of
    all combinations, and a domain alone the alphabet that yields it; with `measured=True`, parameters that
    are not given are taken from the data.

    >>> import numpy as np, pyarrow as pa
    >>> Redaction().build(pa.array(["8010", "8045"]), np.ones(2), "zip").to_rows()[0]
    ('8010', '801*', '80**', '8***', '****')
    """

    align: Annotated[Literal["left", "right"], Field(description="side on which values line up")] = "left"
    start: Annotated[Literal["right", "left"], Field(description="end at which redaction begins")] = "right"
    character: Annotated[Character, Field(description="replaces a redacted character")] = "*"
    padding: Annotated[Character, Field(description="fills short values up")] = "*"
    alphabet: Annotated[int | None, Field(ge=2, description="number of possible characters")] = None
    length: Annotated[int | None, Field(ge=1, description="number of characters of a value")] = None
    domain: Annotated[float | None, Field(gt=1, description="number of possible values")] = None
    measured: Annotated[bool, Field(description="take alphabet, length and domain from the data")] = False
    kind: Literal["redaction"] = Field(default="redaction", repr=False, kw_only=True)

    names_values: ClassVar[bool] = False
    reads_data: ClassVar[str | None] = (
        "their length is that of the longest published value, and the number of levels that of the longest one"
    )

    @model_validator(mode="after")
    def _check_domain(self) -> Redaction:
        if self.length is not None and self.alphabet is None and self.domain is None and not self.measured:
            raise ValueError(
                "`length` of Redaction describes a domain only along with `alphabet` or `domain`"
            )
        return self

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Pad the values and redact them character by character."""
        present_values = present(values, column)
        unsorted = canonical_text(present_values, column=column)
        texts = [unsorted[index] or "" for index in natural_order(present_values)]
        longest = max(map(len, texts), default=0)
        columns = [texts]
        columns += [[self._redact(text, longest, level) for text in texts] for level in range(1, longest + 1)]

        def naming(level: int, members: Mapping[int, list[str]]) -> Mapping[int, str]:
            """Cut labels to the longest published value: beyond it, they are padding and redaction only."""
            most = max((len(value) for values in members.values() for value in values), default=0)
            most = max(most, 2)  # a single `*` means that a value is suppressed
            labels = {code: self._redact(values[0], longest, level) for code, values in members.items()}
            return {
                code: label[:most] if self.align == "left" else label[-most:]
                for code, label in labels.items()
            }

        names = [column, *(plural(longest - level, "character") for level in range(1, longest + 1))]
        if self.alphabet is None and self.domain is None and not self.measured:
            return finish(columns, values, column, names=names, naming=naming)
        shares, size = self._shares(texts, longest, column)
        counts_of_labels = [len(set(each)) for each in columns]
        per_label = [np.full(count, share) for count, share in zip(counts_of_labels, shares, strict=True)]
        return finish(columns, values, column, names=names, shares=per_label, domain_size=size, naming=naming)

    def _redact(self, text: str, longest: int, level: int) -> str:
        padded = (text.ljust if self.align == "left" else text.rjust)(longest, self.padding)
        mask = self.character * level
        return padded[: longest - level] + mask if self.start == "right" else mask + padded[level:]

    def _shares(self, texts: list[str], longest: int, column: str) -> tuple[list[float], float]:
        """Return the share of a label on each level, and the domain size, as ARX derives them."""
        length = self.length or max(longest, 1)
        if length < longest:
            raise HierarchyError(
                f"values of column {column!r} have up to {longest} characters, such as "
                f"{max(texts, key=len)!r}, but `length` of Redaction is {length}"
            )
        alphabet, domain = float(self.alphabet or 0), self.domain or 0.0
        if self.measured:
            alphabet = alphabet or max(2.0, len(set("".join(texts))))
            domain = domain or float(len(texts))
        alphabet = alphabet or domain ** (1 / length)
        domain = domain or alphabet**length
        least = alphabet**-length
        shares = []
        for level in range(longest + 1):
            spread = (alphabet ** (level - length) - least) / (1 - least)
            shares.append(spread * (1 - 1 / domain) + 1 / domain)
        return shares, domain
