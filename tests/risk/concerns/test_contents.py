"""Names, numbers and sentences in columns that are published as they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.risk import propose_roles
from veil.risk.concerns.concern import Concern

FIRST, LAST = ("Anna", "Peter", "Maria", "Thomas"), ("Huber", "Müller", "Schmidt", "Weber")
SIZE = 400


def column(kind: str) -> list[str]:
    chance = np.random.default_rng(6)
    numbers = chance.integers(1_000_000, 9_999_999, SIZE).tolist()
    names = [f"{FIRST[each % 4]} {LAST[each // 4 % 4]}" for each in numbers]
    dull = [("no findings", "to be seen again", "as before", "discharged")[each % 4] for each in numbers]
    if kind == "names and numbers":
        return [
            name if number % 2 else f"+49 171 {number}" for name, number in zip(names, numbers, strict=True)
        ]
    if kind == "mail":
        return [f"person{number}@example.org" for number in numbers]
    if kind == "names in notes":
        return [
            f"{text}, call {name}, ward {number % 90}" if at % 8 == 0 else f"{text}, ward {number % 90}"
            for at, (text, name, number) in enumerate(zip(dull, names, numbers, strict=True))
        ]
    if kind == "notes":
        return [
            f"patient was seen on ward {number % 997}, {text}"
            for text, number in zip(dull, numbers, strict=True)
        ]
    if kind == "long labels":
        return [
            f"disorders of the {('heart', 'lung', 'liver')[each % 3]} not elsewhere classified"
            for each in numbers
        ]
    return dull


def release_of(texts: list[str]) -> Release:
    table = pa.table({"q": ["x"] * len(texts), "remark": texts})
    return veil.anonymize(
        table, quasi_identifiers={"q": h.suppression()}, insensitive="remark", models=KAnonymity(2)
    )


def about_texts(release: Release) -> list[Concern]:
    return [each for each in release.concerns if each.kind in ("contact data", "free text")]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("names and numbers", "contact data"),
        ("mail", "contact data"),
        ("names in notes", "contact data"),
        ("notes", "free text"),
    ],
)
def test_what_names_people_is_found_and_never_proposed_as_insensitive(content: str, kind: str) -> None:
    texts = column(content)
    (found,) = about_texts(release_of(texts))
    assert found.key == f"{kind}: remark"
    assert not any(text in str(found) for text in texts)
    (proposal,) = propose_roles(
        pa.table({"remark": texts * 3})
    )  # several rows each: no key that gives itself away
    assert proposal.role == "identifying"


@pytest.mark.parametrize("content", ["long labels", "dull"])
def test_labels_are_neither_contact_data_nor_free_text(content: str) -> None:
    assert not about_texts(release_of(column(content)))
    (proposal,) = propose_roles(pa.table({"remark": column(content)}))
    assert proposal.role == "insensitive"


def test_many_long_labels_of_a_large_table_are_no_free_text() -> None:
    """In a sample nearly every label is there once; in the table, each of them is often."""
    texts = [f"other disorders of kind {each % 2000} not elsewhere classified" for each in range(60_000)]
    assert not about_texts(release_of(texts))
