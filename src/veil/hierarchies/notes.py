"""What is odd about a table and easily overlooked: texts that are meant to be numbers, or to be the same."""

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
_MARKS = {
    r"^-?[0-9]+(,[0-9]+)?$": ("1,5", 'decimal=","'),
    r"^-?[0-9]{1,3}(\.[0-9]{3})*(,[0-9]+)?$": ("16.092,04", 'decimal=",",thousands=.'),
    r"^-?[0-9]{1,3}(,[0-9]{3})*(\.[0-9]+)?$": ("16,092.04", 'thousands=","'),
}
_NO_ANSWER = frozenset(
    {
        "k.a.",
        "k. a.",
        "ka",
        "keine angabe",
        "unbekannt",
        "weiss nicht",
        "weiß nicht",
        "unknown",
        "not known",
        "n/a",
        "na",
        "n.a.",
    }
    | {"missing", "null", "nan", "no answer", "refused", "don't know", "?"}
)
_NUMBERS_FOR_NONE = (-999, -998, -997, -99, -98, -97, -9, -8, -7, -1, 99, 98, 97, 999, 998, 997, 9999)
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
                yield from list(_of_numbers(name, texts, format)) or _of_falling_back(
                    name, different, hierarchy
                )


def notes_of_marks(table: pa.Table, format: Format | None) -> Iterator[str]:
    """Tell which columns are read as text because of a decimal comma, or of a mark between thousands.

    >>> for note in notes_of_marks(pa.table({"cost": ["16.092,04", "7,50"], "size": ["1,5", "12"]}), Csv(separator=";")):
    ...     print(note)
    column 'cost' is read as text, as its numbers look like 16.092,04. To read them: --format 'csv:decimal=",",thousands=.'
    column 'size' is read as text, as its numbers look like 1,5. To read them: --format 'csv:decimal=","'
    """
    if not isinstance(format, Csv):
        return
    for name in table.column_names:
        if not pa.types.is_string(table.schema.field(name).type):
            continue
        texts = pc.unique(table[name]).drop_null()
        texts = texts.filter(pc.not_equal(texts, ""))
        for look, (like, way) in _MARKS.items():
            if len(texts) and pc.all(pc.match_substring_regex(texts, look)).as_py():
                if (
                    pc.any(pc.match_substring(texts, ",")).as_py()
                    or pc.any(pc.match_substring(texts, ".")).as_py()
                ):
                    given = f"{way},separator=;" if format.separator == "," else way
                    yield f"column {name!r} is read as text, as its numbers look like {like}. To read them: --format {shlex.quote(f'csv:{given}')}"
                break


def notes_of_missing(table: pa.Table, format: Format | None) -> Iterator[str]:
    """Tell which columns hold what is usually a code for a missing value, but is read as one like any other.

    >>> some = pa.table({"v": [1, 5, 3, -9], "land": ["Hessen", "k.A.", "unbekannt", None], "age": [98, 99, 97, 40]})
    >>> for note in notes_of_missing(some, Csv()):
    ...     print(note)
    column 'v' holds -9, which looks like a code for a missing value. If so: --format 'csv:missing=|-9'
    column 'land' holds 'k.A.' and 'unbekannt', which look like codes for a missing value. If so: --format 'csv:missing=|k.A.|unbekannt'
    """
    for name in table.column_names:
        values = pc.unique(table[name]).drop_null()
        if pa.types.is_string(values.type):
            found = sorted(text for text in values.to_pylist() if text.strip().casefold() in _NO_ANSWER)
        elif pa.types.is_integer(values.type):
            found = _numbers_for_none(values)
        else:
            continue
        if found:
            shown = " and ".join(repr(each) for each in found[:_FEW])
            what = "look like codes" if len(found) > 1 else "looks like a code"
            way = ""
            if isinstance(format, Csv):
                missing = "|".join(dict.fromkeys([*format.missing, *map(str, found)]))
                way = f". If so: --format {shlex.quote(f'csv:missing={missing}')}"
            yield f"column {name!r} holds {shown}, which {what} for a missing value{way}"


def _numbers_for_none(values: pa.Array) -> list[int]:
    """Codes such as -9 and 999, where they lie apart from all other numbers of the column."""
    codes = pc.is_in(values, pa.array(_NUMBERS_FOR_NONE, values.type, safe=False))
    others = values.filter(pc.invert(codes))
    if not len(others):
        return []
    least, most = pc.min(others).as_py(), pc.max(others).as_py()
    return [
        each
        for each in sorted(values.filter(codes).to_pylist())
        if (each < 0 <= least) or (each > 0 and each >= 3 * most)
    ]


def _of_spelling(name: str, texts: list[str]) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.casefold().split()), []).append(text)
    pairs = [same for same in alike.values() if len(same) > 1]
    if pairs:
        shown = " and ".join(map(repr, pairs[0]))
        more = ", as others do," if len(pairs) > 1 else ","
        yield f"column {name!r}: {shown} differ in case or blanks only{more} and count as different values"


def _of_falling_back(name: str, different: pa.Array, hierarchy: Auto) -> Iterator[str]:
    """Say where `auto` has nothing better than all or nothing, or than the frequency of values.

    >>> print(*_of_falling_back("day", pa.array([f"{i}.1.2020" for i in range(1, 9)] + ["2020-01-09"]), Auto()))
    column 'day' holds dates in several forms (9.9.9999, 9999-99-99), so that they are shown or suppressed as they are. Write all of them in one form
    """
    chosen = hierarchy.propose(different, name)
    texts = list(filter(None, different.to_pylist()))
    if isinstance(chosen, Suppression) and look_like_dates(texts) and len(texts) > hierarchy.few:
        forms = sorted({re.sub(r"\d", "9", text) for text in texts})
        what = "in several forms" if len(forms) > 1 else "whose form is not clear"
        yield (
            f"column {name!r} holds dates {what} ({', '.join(forms[:_FEW])}), so that they are shown or suppressed as they are. "
            "Write all of them in one form"
        )
    elif isinstance(chosen, Priority):
        yield (
            f"column {name!r} is text that nothing is known of: rare values are suppressed first. Groups of your own keep more: "
            "h.categories(...), or a file with a row for each value"
        )


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
