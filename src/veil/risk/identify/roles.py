"""Proposals for the roles of columns, with the reasons; the data holder has to review them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.html import html_table
from veil.base.keywords import own_keywords
from veil.base.wording import Phrase
from veil.risk.grouping import table_of
from veil.risk.identify.content import SHARED, different_texts, matching
from veil.risk.identify.detection import Identifier, detect_identifiers, match_name
from veil.risk.identify.vocabulary import QUASI_IDENTIFYING_NAMES, SENSITIVE_NAMES
from veil.tables.columns import encode_values

Role = Literal["identifying", "quasi-identifying", "sensitive", "insensitive"]

_ROLE_WORDS: dict[Role, frozenset[str]] = {
    "quasi-identifying": QUASI_IDENTIFYING_NAMES,
    "sensitive": SENSITIVE_NAMES,
}

_OWN_VALUE = 0.95
"""Share of different values among records from which on a column is practically a key."""

_WEIGHT = re.compile(r"(?:^|[\W_])(?:\w*weights?|\w*gewichte?|wt|wgt)(?:$|[\W_])")
_HEAVIEST = 400  # kilograms
_ROUNDING = 1e-9  # what floats make of 78.3
_MANY_RECORDS = 20
"""Minimum number of records for this test."""

_DIAGNOSIS = r"[a-z]\d\d(?:\.?\d{1,4}[a-z]?)?"
"""ICD-10 codes."""


@dataclass(frozen=True)
class Proposal:
    """A role for a column. `confidence` is that of the strongest reason, 0 if there is none.

    `looks_like` are the categories of identifiers that its name or its values match.
    """

    column: str
    role: Role
    confidence: float
    reasons: tuple[str, ...]
    looks_like: tuple[str, ...] = ()


class Proposals(tuple[Proposal, ...]):
    """A role for each column, which notebooks show as a table."""

    __slots__ = ()

    def plan(self) -> dict[str, Any]:
        """Return the roles as parameters of `veil.anonymize`, for review: `veil.anonymize(table, **plan)`.

        Hierarchies are derived from the values; postal codes are generalized digit by digit.

        >>> table = pa.table({"age": [34], "zip": ["81667"], "diagnosis": ["flu"]})
        >>> propose_roles(table).plan()
        {'quasi_identifiers': {'age': 'auto', 'zip': 'redaction'}, 'sensitive': ['diagnosis'], 'insensitive': [], 'identifying': []}
        """
        quasi_identifying = [each for each in self if each.role == "quasi-identifying"]
        others = ("sensitive", "insensitive", "identifying")
        return {
            "quasi_identifiers": {
                each.column: "redaction" if "zip" in each.looks_like else "auto" for each in quasi_identifying
            },
            **{role: [each.column for each in self if each.role == role] for role in others},
        }

    def _repr_html_(self) -> str:
        rows = [(each.column, each.role, f"{each.confidence:.0%}", "; ".join(each.reasons)) for each in self]
        return html_table(("Column", "Proposed role", "Confidence", "Why"), rows)


@own_keywords
def propose_roles(
    source: Any, *, threshold: float = 0.5, today: date | None = None, marker: str | None = "*"
) -> Proposals:
    """Propose a role for each column of a table.

    Names, numbers and addresses of people, free text, and columns in which nearly every record has a unique
    value are identifying. Places, dates, ages and other facts that people know about each other are
    quasi-identifying, and so are measurements and amounts that are nearly unique; private facts, such as
    diagnoses and incomes, are sensitive. All other columns are proposed as insensitive, with confidence 0,
    for lack of evidence. Parameters are those of `detect_identifiers`.

    >>> table = pa.table({"Name": ["Anna Huber"], "age": [34], "Diagnose": ["flu"], "x": [1]})
    >>> [(each.column, each.role) for each in propose_roles(table)]
    [('Name', 'identifying'), ('age', 'quasi-identifying'), ('Diagnose', 'sensitive'), ('x', 'insensitive')]
    """
    table = table_of(source)
    identifiers: dict[str, list[Identifier]] = {name: [] for name in table.column_names}
    for each in detect_identifiers(table, threshold=threshold, today=today, marker=marker):
        identifiers[each.column].append(each)
    return Proposals(
        _propose_role(name, table[name], identifiers[name], threshold, marker) for name in table.column_names
    )


def _propose_role(
    name: str, column: pa.ChunkedArray, identifiers: list[Identifier], threshold: float, marker: str | None
) -> Proposal:
    evidence = _evidence(name, column, identifiers, threshold, marker)
    values = encode_values(column)[0]
    own = len(values) / max(1, len(column))
    if len(column) >= _MANY_RECORDS and own >= _OWN_VALUE:
        # With other evidence it is no key; unique measurements single people out, but do not name them.
        template = "{share} of the records have a value of their own"
        unknown: Role = "identifying"
        if _has_fractions(values):
            unknown = "quasi-identifying"
            template += ", as is usual for measurements and amounts: sensitive if nobody else can know them"
        role = max(evidence, key=lambda each: evidence[each][0], default=unknown)
        confidence, reasons = evidence.get(role, (own, []))
        evidence[role] = confidence, [*reasons, Phrase(template, share=f"{own:.0%}")]
    if name_is_weight(name) and _is_survey_weight(values):
        reason = "looks like a survey weight, not a body weight: round it, or leave it out"
        return Proposal(name, "quasi-identifying", own, (reason,))
    if not evidence:
        return Proposal(name, "insensitive", 0.0, ("nothing in its name or values says what it is",))
    best = max(evidence, key=lambda each: evidence[each][0])
    confidence, reasons = evidence[best]
    looks = dict.fromkeys(each.category for each in identifiers if not _is_any_small_number(each))
    return Proposal(name, best, confidence, tuple(reasons), tuple(looks))


def _is_any_small_number(identifier: Identifier) -> bool:
    return identifier.category == "age" and identifier.test == "content"


def name_is_weight(name: str) -> bool:
    """Whether the name of a column means a weight.

    >>> [name for name in ("Gewicht", "person_weight", "wt", "height") if name_is_weight(name)]
    ['Gewicht', 'person_weight', 'wt']
    """
    return bool(_WEIGHT.search(name.casefold()))


def _is_survey_weight(values: pa.Array) -> bool:
    """Whether numbers are survey weights: fractions too fine, or numbers too large, for body weights."""
    if not _has_fractions(values):
        return False
    numbers = values.drop_null().cast(pa.float64())
    rest = pc.abs(pc.subtract(pc.round(numbers, 3), numbers))
    fine = pc.any(pc.greater(rest, _ROUNDING)).as_py()
    return bool(pc.min(numbers).as_py() > 0 and (fine or pc.max(numbers).as_py() > _HEAVIEST))


def _has_fractions(values: pa.Array) -> bool:
    """Whether not all numbers are whole. Keys are, even if missing values have made floats of them."""
    if not (pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        return False
    return bool(pc.any(pc.not_equal(values, pc.floor(values))).as_py())


def _evidence(
    name: str, column: pa.ChunkedArray, identifiers: list[Identifier], threshold: float, marker: str | None
) -> dict[Role, tuple[float, list[str]]]:
    """Return the roles that name and values suggest, each with its highest confidence and its reasons."""
    evidence: dict[Role, list[tuple[float, str]]] = {
        "identifying": [],
        "quasi-identifying": [],
        "sensitive": [],
    }
    for each in identifiers:
        if _is_any_small_number(each):
            continue
        role: Role = "quasi-identifying" if each.category in SHARED else "identifying"
        evidence[role].append((each.confidence, each.reason))
    for role, words in _ROLE_WORDS.items():
        likely = match_name(name, {role: words})
        if likely is not None:
            evidence[role].append((likely[1], Phrase("column name matches {word!r}", word=likely[2])))
    values = different_texts(column, marker)
    codes = int(np.count_nonzero(matching(values, _DIAGNOSIS))) / max(1, len(values))
    if codes > threshold:
        template = "{share} of {all:,} distinct values look like {category}"
        reason = Phrase(template, share=f"{codes:.0%}", all=len(values), category="diagnosis codes")
        evidence["sensitive"].append((codes, reason))
    return {
        role: (
            max(reasons)[0],
            list(dict.fromkeys(reason for _, reason in sorted(reasons, key=lambda each: -each[0]))),
        )
        for role, reasons in evidence.items()
        if reasons
    }
