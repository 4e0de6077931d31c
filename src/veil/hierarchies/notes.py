"""What is odd about a table and easily overlooked: texts that are meant to be numbers, or to be the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.hierarchies import Auto
from veil.tables.formats import Csv, Format

_NUMBER = re.compile(r"-?[0-9]+([.,][0-9]+)?")
_FEW = 3  # odd values that are worth a name
_MANY = 100_000  # texts of a column that are not looked through any more, as that would take seconds


def notes(table: pa.Table, hierarchies: Mapping[str, Any], format: Format | None) -> Iterator[str]:
    """Tell what is odd about the texts of quasi-identifiers, for a person who may have overlooked it.

    >>> people = pa.table({"sex": ["f", "F", "m"], "age": ["41", "?", "39"]})
    >>> for note in notes(people, {"sex": Auto(), "age": Auto()}, None):
    ...     print(note)
    column 'sex': 'F' and 'f' differ in case or blanks only, and count as different values
    column 'age' is read as text, as '?' is no number. Make it a missing value, or correct it
    """
    for name, hierarchy in hierarchies.items():
        if name in table.column_names and pa.types.is_string(table.schema.field(name).type):
            different = pc.unique(table[name])
            if len(different) > _MANY:
                continue
            texts = sorted(filter(None, different.to_pylist()))
            yield from _of_spelling(name, texts)
            if isinstance(hierarchy, Auto):
                yield from _of_numbers(name, texts, format)


def _of_spelling(name: str, texts: list[str]) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.casefold().split()), []).append(text)
    pairs = [same for same in alike.values() if len(same) > 1]
    if pairs:
        shown = " and ".join(map(repr, pairs[0]))
        more = ", as others do," if len(pairs) > 1 else ","
        yield f"column {name!r}: {shown} differ in case or blanks only{more} and count as different values"


def _of_numbers(name: str, texts: list[str], format: Format | None) -> Iterator[str]:
    others = [text for text in texts if not _NUMBER.fullmatch(text)]
    blanks = [text for text in others if _NUMBER.fullmatch(text.strip())]
    if blanks and len(blanks) == len(others):
        yield (
            f"column {name!r} is read as text, as there are blanks around numbers, such as {blanks[0]!r}. "
            "Remove them, so that it is taken for numbers"
        )
    elif 0 < len(others) <= _FEW and len(others) * 2 <= len(texts):
        shown = " and ".join(map(repr, others))
        way = "Make it a missing value, or correct it"
        if isinstance(format, Csv) and not any(sign in text for text in others for sign in "|,'\""):
            missing = "|".join(dict.fromkeys([*format.missing, *others]))
            way = f"If that means missing: --format {shlex.quote(f'csv:missing={missing}')}"
        yield f"column {name!r} is read as text, as {shown} {'is no number' if len(others) == 1 else 'are no numbers'}. {way}"
