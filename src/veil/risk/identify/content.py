"""Detection of identifiers by content: one test for each category, on all different values at once.

Differences from ARX: every text of five digits is a ZIP code, not only those of areas with few people, which
are counted separately; there are tests for more categories, and for German forms.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.wording import Phrase
from veil.risk.identify.vocabulary import CITIES, FIRST_NAMES, LAST_NAMES, RESTRICTED_ZIP_AREAS, STATES
from veil.tables.columns import encode_values, is_list, is_text

Hits = NDArray[np.bool_]

_DAY, _MONTH, _YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:1[89]|20)\d\d"
_TIME = r"(?:[t ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:[ap]m|z|[+-]\d\d:?\d\d))?)?"
_MONTHS = r"(?:jan|feb|mar|maer|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*\.?"  # and their long forms
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"

PATTERNS = {
    "identifier": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "address": (
        r"(?:\d+[a-z]? )?.+(?:strasse|str\.|weg|platz|allee|gasse|ring|ufer|damm) ?\d+ ?[a-z]?(?:[-/]\d+)?"
        r"|\d+[a-z]? .+ (?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|way|terrace)\.?"
    ),
    "geography": r"-?\d{1,2}\.\d{3,}[ ,;]+-?\d{1,3}\.\d{3,}",
    "date": "|".join(
        (
            rf"{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}{_TIME}",
            rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])",
            rf"{_DAY}[-/.] ?{_MONTH}[-/.] ?(?:{_YEAR}|\d\d){_TIME}",
            rf"{_MONTH}/{_DAY}/(?:{_YEAR}|\d\d){_TIME}",
            rf"{_DAY}\.? {_MONTHS},? {_YEAR}",
            rf"{_MONTHS} {_DAY},? {_YEAR}",
        )
    ),
    "age": r"(?:\d|[1-9]\d|1[0-2]\d|130)",
    "phone": r"(?:\+|0|\()[\d ()/.\-]{6,20}\d|(?:1[ .-])?[2-9]\d\d[ .-]\d{3}[ .-]\d{4}",
    "email": r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+",
    "social security": r"\d{3}-\d\d-\d{4}|\d{9}|\d\d ?\d{6} ?[a-z] ?\d{3}",
    "health plan": r"[a-z]\d{9}",
    "account": r"[a-z]{2}\d\d(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?|\d{4}(?:[ -]\d{4}){3}",
    "vehicle": r"[a-hj-npr-z0-9]{17}|[a-z]{1,3}[- ][a-z]{1,2}[- ]?\d{1,4}[eh]?",
    "device": r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}",
    "url": r"(?:https?|ftp)://\S+|www\.\S+\.[a-z]{2,}\S*",
    "ip address": rf"{_BYTE}(?:\.{_BYTE}){{3}}|(?:[0-9a-f]{{0,4}}:){{2,7}}[0-9a-f]{{0,4}}",
    "zip": r"(?:d-?|de-?)?\d{5}(?:-\d{4})?",
}
"""Patterns for whole values in plain spelling: lower case, ae for ä."""

_NO_CODE = r"1[3-9]|[2-8]\d|9[0-7]|1[0-2]\d|130"
"""Ages that cannot be codes of a questionnaire."""

SHARED = frozenset({"city", "zip", "state", "geography", "date", "age"})
"""Categories that identify people only in combination; all others name a person."""

_CONTACT = "|".join(
    (
        r"[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+",
        r"(?:^|[^\d+])(?:\+\d{1,3}[ /.-]?\(?\d|\(?0\d{1,4}\)?[ /-])[\d /.-]{5,14}\d",
        r"(?:^|[^\d])(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])\d{3}[ .-]\d{4}(?:[^\d]|$)",
        r"(?:^|[^a-z])(?:mr|mrs|herr|frau)\.? [a-z]{3,}",
    )
)
"""Contact data inside of a text: an e-mail address, a phone number, Mr or Mrs with a name."""

_INSIDE = 0.05
"""Share of the different values with contact data inside from which on a column is reported."""

_WORDS = r"(?:\S+\s+){4,}\S+"
"""Five words or more. Labels of classifications may be as long, but then each occurs many times."""

_OWN_TEXT, _SENTENCES = 0.1, 20
"""Share of different texts among records, and number of them, from which on long texts are no labels."""

_ELDERLY, _OLDEST = 89, 130
"""Ages between which the year of birth alone is an identifier."""


def different_texts(column: pa.ChunkedArray, marker: str | None) -> pa.Array:
    """Return the different values of a column in plain spelling, without missing and suppressed ones.

    >>> different_texts(pa.chunked_array([[" Köln", None, "*", "Ulm"]]), "*").to_pylist()
    ['koeln', 'ulm']
    """
    if is_list(column.type):  # its items count
        items = [chunk.flatten() for chunk in column.chunks]
        return different_texts(pa.chunked_array(items, column.type.value_type), marker)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_primitive(kind) or is_text(kind)) or pa.types.is_interval(kind):
        return pa.array([], pa.string())
    values, _ = encode_values(column)
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(values.drop_null().cast(pa.string())))
    for letter, spelling in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
        texts = pc.replace_substring(texts, letter, spelling)
    value_mask = (
        pc.not_equal(texts, "")
        if marker is None
        else pc.invert(pc.is_in(texts, pa.array(["", marker.lower()])))
    )
    return pc.unique(texts.filter(value_mask))


def content_hits(values: pa.Array, kind: pa.DataType, today: date) -> dict[str, Hits]:
    """Return for each category which values match it. `kind` is the type of the column."""
    if pa.types.is_temporal(kind):
        return {"date": np.ones(len(values), np.bool_)}
    # Most numbers are amounts; only a few categories of identifiers are numbers.
    categories = PATTERNS if is_text(kind) else ("date", "age", "social security")
    hits = {category: matching(values, PATTERNS[category]) for category in categories}
    hits["date"] |= _born_long_ago(values, today)
    if not np.any(hits["age"] & matching(values, _NO_CODE)):
        hits["age"][:] = False  # answers on a scale, with 99 for no answer
    if not is_text(kind):
        return hits
    # Digits with signs between them match several categories, of which a phone number is the last.
    hits["phone"] &= ~(hits["social security"] | hits["date"] | hits["ip address"] | hits["geography"])
    hits["ip address"] &= ~hits["device"]
    # A vehicle identification number has letters and digits.
    letters, digits = matching(values, ".*[a-z].*"), matching(values, r".*\d.*")
    hits["vehicle"] &= letters & digits & ~hits["account"]
    hits["first name"], hits["last name"] = (
        _is_listed(values, FIRST_NAMES),
        _is_listed(values, LAST_NAMES),
    )
    hits["name"] = _full_names(values)
    hits["city"], hits["state"] = _is_listed(values, CITIES), _is_listed(values, STATES)
    return hits


def texts_about_people(
    values: pa.Array, hits: dict[str, Hits], threshold: float, *, different: int, records: int
) -> dict[str, tuple[float, str]]:
    """Return contact data and free text that no single category explains, with their share and a reason.

    `values` are a sample of the `different` plain texts of `records`, and `hits` their categories.

    >>> some = pa.array(["anna huber", "+49 171 1234567", "none"])
    >>> texts_about_people(some, content_hits(some, pa.string(), date.today()), 0.5, different=3, records=3)
    {'contact data': (0.6666666666666666, '67% of 3 different values contain a name, number or address of a person')}
    """
    evidence: dict[str, tuple[float, str]] = {}
    naming = np.logical_or.reduce([hits[each] for each in hits if each not in SHARED])
    inside = _has_inside(values, _CONTACT) | _first_and_last_name(values)
    inside &= matching(values, r".*\S\s+\S.*")
    share = int(np.count_nonzero(naming | inside)) / len(values)
    if share > threshold or int(np.count_nonzero(inside)) > _INSIDE * len(values):
        template = "{share} of {different:,} different values contain a name, number or address of a person"
        evidence["contact data"] = share, Phrase(template, share=f"{share:.0%}", different=different)
    long = int(np.count_nonzero(matching(values, _WORDS))) / len(values)
    if long > threshold and different >= max(_SENTENCES, _OWN_TEXT * records):
        template = "{share} of {different:,} different values have five words or more"
        evidence["free text"] = long, Phrase(template, share=f"{long:.0%}", different=different)
    return evidence


def count_restricted(values: pa.Array) -> int:
    """Count the ZIP codes of areas of the USA with few people."""
    return int(
        np.count_nonzero(matching(values, rf"(?:{'|'.join(sorted(RESTRICTED_ZIP_AREAS))})\d\d(?:-\d{{4}})?"))
    )


def matching(values: pa.Array, pattern: str) -> Hits:
    """Return which values match a pattern from beginning to end."""
    return np.array(pc.match_substring_regex(values, rf"^(?:{pattern})$"), dtype=np.bool_)


def _has_inside(values: pa.Array, pattern: str) -> Hits:
    return np.array(pc.match_substring_regex(values, pattern), dtype=np.bool_)


def _first_and_last_name(values: pa.Array) -> Hits:
    """Return which values have a first name right before a last name."""
    words = pc.split_pattern_regex(values, r"[\s,;:()]+")
    owner = np.array(pc.list_parent_indices(words), dtype=np.int64)
    flat = pc.list_flatten(words)
    first, last = _is_listed(flat, FIRST_NAMES), _is_listed(flat, LAST_NAMES)
    together = first[:-1] & last[1:] & (owner[:-1] == owner[1:])
    hits: Hits = np.bincount(owner[:-1][together], minlength=len(values)) > 0
    return hits


def _is_listed(values: pa.Array, words: frozenset[str]) -> Hits:
    return np.array(pc.is_in(values, pa.array(sorted(words))), dtype=np.bool_)


def _full_names(values: pa.Array) -> Hits:
    """Return which values are two to four words of letters, dots and hyphens, one of them a first name."""
    shaped = matching(values, r"(?:(?:dr|prof|mr|mrs|ms|herr|frau)\.? )*[a-z'-]+,?(?: [a-z'.-]+){1,3}")
    words = pc.split_pattern_regex(values, "[ ,]+")
    owner = np.array(pc.list_parent_indices(words), dtype=np.int64)
    first = np.bincount(owner, _is_listed(pc.list_flatten(words), FIRST_NAMES), len(values)) > 0
    hits: Hits = shaped & first
    return hits


def _born_long_ago(values: pa.Array, today: date) -> Hits:
    years = [str(today.year - age) for age in range(_ELDERLY + 1, _OLDEST)]
    return np.array(pc.is_in(values, pa.array(years)), dtype=np.bool_)
