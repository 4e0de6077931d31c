"""Notes on oddities of a table: texts that are probably meant to be numbers, or to be the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.hierarchies import Auto, Suppression
from veil.hierarchies._auto import look_like_dates
from veil.hierarchies._priority import Priority
from veil.tables.formats import Csv, Format

_NUMBER = re.compile(r"-?[0-9]+([.,][0-9]+)?")
_FEW = 3  # odd values that are named
_MANY = 100_000  # texts above which a column is not examined, as that would take seconds


def notes(table: pa.Table, hierarchies: Mapping[str, Any], format: Format | None) -> Iterator[str]:
    """Yield notes on oddities in the texts of quasi-identifiers.

    >>> people = pa.table({"sex": ["f", "F", "m"], "age": ["41", "?", "39"]})
    >>> for note in notes(people, {"sex": Auto(), "age": Auto()}, None):
    ...     print(note)
    column 'sex': 'F' and 'f' differ only in case or blanks, and count as different values
    column 'age' is read as text because '?' is not a number. Make it a missing value, or correct it
    """
    for name, hierarchy in hierarchies.items():
        if name in table.column_names and pa.types.is_string(table.schema.field(name).type):
            different = pc.unique(table[name])
            if len(different) > _MANY:
                continue
            texts = sorted(filter(None, different.to_pylist()))
            yield from _notes_on_spelling(name, texts)
            if isinstance(hierarchy, Auto):
                yield from list(_notes_on_numbers(name, texts, format)) or _notes_on_fallback(
                    name, different, hierarchy
                )


def _notes_on_spelling(name: str, texts: list[str]) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.casefold().split()), []).append(text)
    pairs = [same for same in alike.values() if len(same) > 1]
    if pairs:
        examples = " and ".join(map(repr, pairs[0]))
        more = ", as do other values," if len(pairs) > 1 else ","
        yield f"column {name!r}: {examples} differ only in case or blanks{more} and count as different values"


def _notes_on_fallback(name: str, different: pa.Array, hierarchy: Auto) -> Iterator[str]:
    """Yield a note if `auto` finds nothing better than suppression, or than the frequency of values.

    >>> print(*_notes_on_fallback("day", pa.array([f"{i}.1.2020" for i in range(1, 9)] + ["1/9/2020"]), Auto()))
    column 'day' holds dates in several forms (9.9.9999, 9/9/9999), and not all of them can be read for certain: each date is either kept as it is or suppressed. Write all of them in one form, or list the forms: dates(..., format=["%d.%m.%Y", "%m/%d/%Y"])
    """
    proposal = hierarchy.propose(different, name)
    texts = list(filter(None, different.to_pylist()))
    if isinstance(proposal, Suppression) and look_like_dates(texts) and len(texts) > hierarchy.few:
        forms = sorted({re.sub(r"\d", "9", text) for text in texts})
        what = "in several forms" if len(forms) > 1 else "whose form is not clear"
        yield (
            f"column {name!r} holds dates {what} ({', '.join(forms[:_FEW])}), and not all of them can be read for certain: "
            "each date is either kept as it is or suppressed. Write all of them in one form, or list the forms: "
            'dates(..., format=["%d.%m.%Y", "%m/%d/%Y"])'
        )
    elif isinstance(proposal, Priority):
        yield (
            f"column {name!r} is text without a known structure: rare values are suppressed first. Grouping the values yourself keeps "
            "more: h.categories(...), or a file with one row per value"
        )


def _notes_on_numbers(name: str, texts: list[str], format: Format | None) -> Iterator[str]:
    others = [text for text in texts if not _NUMBER.fullmatch(text)]
    blanks = [text for text in others if _NUMBER.fullmatch(text.strip())]
    if blanks and len(blanks) == len(others):
        yield (
            f"column {name!r} is read as text because of blanks around its numbers, such as {blanks[0]!r}. "
            "Remove the blanks to have it read as numbers"
        )
    elif 0 < len(others) <= _FEW and len(others) * 2 <= len(texts):
        examples = " and ".join(map(repr, others))
        way = "Make it a missing value, or correct it"
        if isinstance(format, Csv) and not any(sign in text for text in others for sign in "|,'\""):
            missing = "|".join(dict.fromkeys([*format.missing, *others]))
            way = f"If that means missing: --format {shlex.quote(f'csv:missing={missing}')}"
        yield f"column {name!r} is read as text because {examples} {'is not a number' if len(others) == 1 else 'are not numbers'}. {way}"
