"""Columns that identify people, detected by name and by content: the categories of HIPAA's Safe Harbor.

There are two tests. By *name*: the column name matches a usual English or German name of such a column, up to
a typing error or two, or contains one as words. By *content*: more than a share `threshold` of its different
values match. The lists of names and places (`veil.risk.identify.vocabulary`) are Veil's own.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from veil.base.keywords import own_keywords
from veil.base.wording import Phrase
from veil.errors import ParameterError
from veil.risk.grouping import table_of
from veil.risk.identify.content import (
    SHARED,
    content_hits,
    count_restricted,
    different_texts,
    texts_about_people,
)
from veil.risk.identify.vocabulary import COLUMN_NAMES, is_person_number, plain
from veil.tables.columns import is_list, is_text


@dataclass(frozen=True)
class Identifier:
    """A column that looks like an identifier.

    `confidence` is the share of the column's different values that match, or of the letters of its name.
    """

    column: str
    category: str
    test: Literal["name", "content"]
    confidence: float
    reason: str


@own_keywords
def detect_identifiers(
    source: Any, *, threshold: float = 0.5, today: date | None = None, marker: str | None = "*"
) -> tuple[Identifier, ...]:
    """Find the columns of a table that identify people, by name and by content.

    Parameters
    ----------
    source
        A table, as for `analyze`.
    threshold
        A column is reported if more than this share of its different values match.
    today
        The date from which ages are calculated.
    marker
        Text of suppressed cells, which are no values.

    >>> table = pa.table({"Vorname": ["x", "y"], "contact": ["a@example.org", "b@example.org"]})
    >>> [(each.column, each.category, each.test) for each in detect_identifiers(table)]
    [('Vorname', 'first name', 'name'), ('contact', 'email', 'content')]
    """
    if not 0 <= threshold < 1:
        raise ParameterError(f"`threshold` should be at least 0 and below 1, not {threshold:g}")
    table = table_of(source)
    identifiers: list[Identifier] = []
    for name in table.column_names:
        by_name = match_name(name, COLUMN_NAMES)
        if is_person_number(name) is not None and (by_name is None or by_name[0] == "identifier"):
            identifiers.append(
                Identifier(
                    name,
                    "identifier",
                    "name",
                    1.0,
                    "the column name suggests a number that tells people apart",
                )
            )
        elif by_name is not None:
            category, likeness, word = by_name
            identifiers.append(
                Identifier(
                    name, category, "name", likeness, Phrase("column name matches {word!r}", word=word)
                )
            )
        identifiers += by_content(name, table[name], threshold, today or date.today(), marker)
    return tuple(identifiers)


_MANY = {
    "identifier": "identifiers",
    "name": "full names",
    "first name": "first names",
    "last name": "last names",
    "address": "addresses",
    "city": "names of cities",
    "zip": "postal codes",
    "state": "names of states",
    "geography": "coordinates",
    "date": "dates",
    "age": "ages",
    "phone": "phone numbers",
    "email": "e-mail addresses",
    "social security": "social security numbers",
    "health plan": "health insurance numbers",
    "account": "account numbers",
    "vehicle": "vehicle numbers",
    "device": "device addresses",
    "url": "web addresses",
    "ip address": "IP addresses",
}


# --- by name --------------------------------------------------------------------------------------


def match_name(column: str, lists: dict[str, frozenset[str]]) -> tuple[str, float, str] | None:
    """Return the list that a column's name is on, its likeness, and the matching entry; None without a match.

    A name matches an entry up to a few typing errors (one from 6 letters on, two from 10), or if it contains
    the entry as a word; the likeness is then the share of letters that match.

    >>> match_name("Geburts-Datum", COLUMN_NAMES)
    ('date', 1.0, 'geburtsdatum')
    >>> match_name("patientFirstNmae", {"first": frozenset({"patient first name"})})
    ('first', 0.875, 'patient first name')
    >>> match_name("home_phone", COLUMN_NAMES)[:2]
    ('phone', 0.5555555555555556)
    """
    for words in _words(column), [each.rstrip("0123456789") for each in _words(column)]:
        letters = "".join(words)
        runs = {"".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, len(words) + 1)}
        best: tuple[str, float, str] | None = None
        for category, entries in lists.items():
            for entry, joined in _joined_entries(entries):
                likeness = _likeness(letters, runs, joined)
                if likeness > (best[1] if best else 0.0):
                    best = category, likeness, entry
        if best is not None:
            return best
    return None


def _words(column: str) -> list[str]:
    """Split a name at signs and changes of case; numbers are left out.

    >>> _words("dateOfBirth_2")
    ['date', 'of', 'birth']
    """
    apart = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", column)
    return [each for each in re.findall(r"[a-z0-9]+", plain(apart)) if not each.isdigit()]


@functools.cache
def _joined_entries(entries: frozenset[str]) -> list[tuple[str, str]]:
    """Return the entries of a list in order, each also without blanks and hyphens."""
    return [(entry, entry.replace(" ", "").replace("-", "")) for entry in sorted(entries)]


def _likeness(letters: str, runs: set[str], entry: str) -> float:
    errors = 0 if len(entry) < 6 else 1 if len(entry) < 10 else 2
    if letters == entry:
        return 1.0
    # An error changes the length by at most one, and removes or adds at most one letter each.
    lengths, others = abs(len(letters) - len(entry)), len(set(letters) ^ set(entry))
    if errors and lengths <= errors and others <= 2 * errors:
        distance = levenshtein(letters, entry)
        if distance <= errors:
            return 1 - distance / len(letters)
    return len(entry) / len(letters) if entry in runs else 0.0


def levenshtein(a: str, b: str) -> int:
    """Return the edit distance of two texts: letters to change, add or leave out.

    >>> levenshtein("kitten", "sitting")
    3
    """
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


# --- by content -----------------------------------------------------------------------------------


def by_content(
    name: str, column: pa.ChunkedArray, threshold: float, today: date, marker: str | None
) -> list[Identifier]:
    """Return the categories that more than a share of the different values of a column match."""
    values = different_texts(column, marker)
    if not len(values):
        return []
    kind = column.type
    while pa.types.is_dictionary(kind) or is_list(kind):
        kind = kind.value_type
    identifiers, looks = [], content_hits(values, kind, today)
    for category, hits in looks.items():
        share = int(np.count_nonzero(hits)) / len(values)
        if share > threshold:
            template = "{count:,} of {all:,} distinct values look like {category}"
            small = count_restricted(values) if category == "zip" else 0
            if small:
                template += ", {small:,} of them in US areas of 20,000 people or fewer"
            counts = {"count": int(np.count_nonzero(hits)), "all": len(values), "small": small}
            reason = Phrase(template, category=_MANY.get(category, category), **counts)
            identifiers.append(Identifier(name, category, "content", share, reason))
    if is_text(kind) and not any(each.category not in SHARED for each in identifiers):
        further = texts_about_people(values, looks, threshold, different=len(values), records=len(column))
        identifiers += [
            Identifier(name, category, "content", share, reason)
            for category, (share, reason) in further.items()
        ]
    return identifiers


def personal_category(
    values: pa.Array, *, different: int, records: int, marker: str | None, threshold: float = 0.5
) -> tuple[str, str] | None:
    """Return the category of texts that identify people, and the reason; None if there is none.

    `values` are a sample of the `different` values of `records`.
    """
    texts = different_texts(pa.chunked_array([values]), marker)
    if not len(texts):
        return None
    hits = content_hits(texts, pa.string(), date.today())
    shares = {each: int(np.count_nonzero(hits[each])) / len(texts) for each in hits if each not in SHARED}
    likely = max(shares, key=lambda each: shares[each])
    if shares[likely] > threshold:
        template = "{share} of {different:,} different values do"
        return likely, Phrase(template, share=f"{shares[likely]:.0%}", different=different)
    further = texts_about_people(texts, hits, threshold, different=different, records=records)
    return next(((category, reason) for category, (_, reason) in further.items()), None)
