"""Spellings of one identifier: texts that differ in blanks, case or Unicode form only.

``A17``, ``A17 ``, ``a17`` and the full-width ``Ａ17`` are one number of a patient, typed four times. *Not*
unified are punctuation (``A-17``), leading zeros (``007``), accents (``José``, ``Jose``) and similar letters
of other alphabets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import PlainSerializer, WrapValidator

from veil.errors import InputError, Say
from veil.tables.columns import Encoded, encode_comparable, encode_values, is_text

_INVISIBLE = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Blanks, control characters, and default ignorable code points of Unicode: all invisible."""


def fold_text(text: str) -> str:
    r"""Return the common spelling of all texts that differ in blanks, case or Unicode form only.

    This is Unicode's compatibility caseless matching (D146), without invisible characters.

    >>> {fold_text(each) for each in ("A17", " a 17", "A17\u200b", "Ａ１７", "a17\xa0")}
    {'a17'}
    >>> fold_text("STRASSE") == fold_text("Straße"), fold_text("007") == fold_text("7")
    (True, False)
    """
    if text.isascii():
        return _INVISIBLE.sub("", text).lower()
    for form in ("NFD", "NFKD", "NFKD"):
        text = unicodedata.normalize(form, _INVISIBLE.sub("", text)).casefold()
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


def fold_texts(values: pa.Array) -> pa.Array:
    """Fold many texts as `fold_text` does; missing ones stay missing.

    >>> fold_texts(pa.array(["A17 ", None, "ａ17"])).to_pylist()
    ['a17', None, 'a17']
    """
    values = values.cast(pa.string())
    plain = pc.replace_substring_regex(pc.ascii_lower(values), r"[\x00-\x20\x7f]+", "")
    strange = pc.fill_null(pc.invert(pc.string_is_ascii(values)), False)
    if not pc.any(strange, min_count=0).as_py():
        return plain
    folded = pa.array([fold_text(text) for text in values.filter(strange).to_pylist()], pa.string())
    return pc.replace_with_mask(plain, strange, folded)


class Person(str):
    """The column that identifies people, and whether spellings that `fold_text` unifies are one person.

    They are one person if `folded`, different people if `as written`. A plain text leaves that open, so that
    any code that turns this into plain text makes Veil ask again.
    """

    spelling: str

    def __new__(cls, column: str, spelling: str) -> Person:
        person = super().__new__(cls, column)
        person.spelling = spelling
        return person

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.spelling

    def __repr__(self) -> str:
        return repr(spell_person(self))


def read_person(text: Any) -> Any:
    """Read the column that identifies people, as users write it; other values than text are returned.

    >>> read_person("patient=as written").spelling, read_person("patient"), read_person(None)
    ('as written', 'patient', None)
    """
    if isinstance(text, str) and not isinstance(text, Person):
        column, _, spelling = text.rpartition("=")
        if column and spelling in ("folded", "as written"):
            return Person(column, spelling)
    return text


def spell_person(person: str) -> str:
    """Write the column that identifies people as `read_person` reads it."""
    return f"{person}={person.spelling}" if isinstance(person, Person) else person


def renamed(person: str, column: str) -> str:
    """Return another column of the same people, with the same rule for spellings."""
    return Person(column, person.spelling) if isinstance(person, Person) else column


def key_text(text: str | None, person: str) -> str:
    """Return the text to which keys are applied: one for all spellings of a person, if these are folded."""
    return fold_text(str(text)) if isinstance(person, Person) and person.spelling == "folded" else str(text)


def _validate(value: Any, check: Callable[[Any], Any]) -> Any:
    return value if isinstance(value, Person) else read_person(check(value))


PERSON = (WrapValidator(_validate), PlainSerializer(lambda person: person and spell_person(person)))
"""Annotations of a field that `read_person` reads."""


def encode_people(column: pa.ChunkedArray, name: str) -> Encoded:
    """Encode a column that identifies people, with one code for all spellings of an identifier.

    Without a rule for spellings in the name of the column (see `Person`), a column with several is refused.

    >>> keys = pa.chunked_array([["A17", "B2", "a17 "]])
    >>> encode_people(keys, Person("patient", "folded"))[1].tolist()
    [0, 1, 0]
    >>> encode_people(keys, "patient")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: column 'patient' should tell people apart, but 'A17' and 'a17 ' differ in blanks, case or \
Unicode form only. If such values are the same person, say person="patient=folded"; if they are different people, say \
person="patient=as written"
    """
    values, codes = encode_comparable(column, name)
    spelling = name.spelling if isinstance(name, Person) else None
    if spelling == "as written":
        return values, codes
    merged, places, alike = fold_values(values)
    if alike and spelling is None:
        examples = ", ".join(map(repr, alike[:-1]))
        raise InputError(
            f"column {name!r} should tell people apart, but {examples} and {alike[-1]!r} differ in blanks, case or Unicode "
            "form only. If such values are the same person, say ",
            Say("person", f"{name}=folded"),
            "; if they are different people, say ",
            Say("person", f"{name}=as written"),
        )
    return merged, places[codes]


def fold_values(values: pa.Array) -> tuple[pa.Array, NDArray[np.int32], tuple[str, ...]]:
    """Return the first spelling of each value, the code of each spelling, and some spellings of one value."""
    itself = np.arange(len(values), dtype=np.int32)
    if not is_text(values.type):
        return values, itself, ()
    folded, places = encode_values(pa.chunked_array([fold_texts(values)]))
    if len(folded) == len(values):
        return values, itself, ()
    first = np.unique(places, return_index=True)[1]
    twice = places[np.setdiff1d(itself, first)[0]]
    alike = values.take(pa.array(np.flatnonzero(places == twice)[:4]))
    return values.take(pa.array(first)), places, tuple(alike.to_pylist())
