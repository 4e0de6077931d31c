"""A draft of a recipe: a role and a hierarchy for each column, with the reasons as comments."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from veil.base.spell import spell_value
from veil.cli.figures import person_of
from veil.cli.places import release_for
from veil.engines.database import Database
from veil.hierarchies import propose
from veil.recipe.parts import shorten
from veil.recipe.places import spell_database, with_file
from veil.risk.identify.repeats import Repeated
from veil.risk.identify.roles import Proposal
from veil.tables import Format
from veil.tables.csv.ambiguities import NO_AMBIGUITIES, Ambiguities


def draft(
    table: pa.Table,
    place: Path | Database,
    format: Format | None,
    proposed: Sequence[Proposal],
    repeated: Sequence[Repeated],
    folder: Path,
    *,
    guessed: Sequence[str] = (),
    misread: Ambiguities = NO_AMBIGUITIES,
    alternative: Format | None = None,
) -> Iterator[str]:
    """Yield the lines of a runnable recipe for review. `folder` is the folder of its file.

    `guessed` are the reasons for a guessed format. `misread` lists columns that seem to be misread, and
    `alternative` is the format that would read them correctly.
    """
    yield "# A draft: roles and hierarchies are suggestions from names and values. Please review every line."
    if guessed:
        yield from _comment(f"How the file is read is a guess: {'; '.join(guessed)}.")
    yield _entry("input", _input(place, folder, format))
    for note in misread.notes:
        yield from _comment(f"Note: {note}.")
    if alternative is not None:
        redo = ", and draft the recipe again with that --format" if misread.numbers else ""
        yield from _comment(f"If that is right, use this line instead{redo}:")
        yield from _comment(_entry("input", _input(place, folder, alternative)))
    yield _entry("output", release_for(place))
    yield "report: report.html"
    yield "certificate: certificate.json"
    yield from _comment(
        "sign: clinic.pem, to sign the certificate with a key that veil keys new clinic.pem makes"
    )
    yield ""
    yield "# What the first page of the report says. It is the one that is signed; what is missing there is “not stated”."
    yield "about:"
    yield from (f"  {name}:" for name in _ABOUT)
    yield "  language: en  # or de"
    yield ""
    person = person_of(repeated)
    for again in repeated:
        yield from _comment(f"Rows seem to be about the same people: {again}.")
    if person is not None:
        yield _entry("person", person)
        yield ""
    yield "steps:"
    yield "  - kind: Generalize"
    for line in _generalize(table, [each for each in proposed if each.column != person]):
        yield f"    {line}" if line else ""


def _generalize(table: pa.Table, proposed: Sequence[Proposal]) -> Iterator[str]:
    """Yield the lines of the step, without their indentation."""
    yield "# What an attacker may know, and how it may become coarser."
    quasi = [each for each in proposed if each.role == "quasi-identifying"]
    yield "quasi_identifiers:" if quasi else "quasi_identifiers: {}"
    for each in quasi:
        yield from _comment("; ".join(each.reasons), indent="  ")
        yield f"  {_entry(each.column, _hierarchy(table, each))}"
    yield ""
    for role, about in _ROLES.items():
        proposals = [each for each in proposed if each.role == role]
        if proposals:
            yield f"# {about}"
            yield f"{role}:"
            for each in proposals:
                yield from _comment("; ".join(each.reasons), indent="  ")
                yield f"  - {_scalar(each.column)}"
            yield ""
    yield "# What must hold, and the share of records that may be suppressed for it."
    yield "models:"
    yield "  - {kind: KAnonymity, k: 5}"
    for each in proposed:
        if each.role == "sensitive":
            model = _entry("attribute", each.column)
            yield from _comment(f"- {{kind: DistinctLDiversity, {model}, l: 2}}", indent="  ")
    yield "suppression_limit: 0.05"


_ABOUT = ("title", "data_set", "purpose", "recipient", "legal_basis", "version", "prepared_by", "approved_by")

_ROLES = {
    "identifying": "What names a person: removed.",
    "sensitive": "What an attacker must not learn. A model for it protects it, such as the one below.",
    "insensitive": "Published unchanged. Nothing indicates another role, which is weak evidence: please check.",
}


def _input(place: Path | Database, folder: Path, format: Format | None) -> Any:
    """Return the path of the table relative to the folder of the recipe, and its format."""
    if isinstance(place, Database):
        moved = with_file(place, lambda path: path if os.path.isabs(path) else os.path.relpath(path, folder))
        return spell_database(moved)
    path = os.path.relpath(place, folder) + ("/" if place.is_dir() else "")
    fields = spell_value(format) if format is not None else {}
    options = {key: value for key, value in fields.items() if key != "kind"}
    return {"path": path, **options} if options else path


def _hierarchy(table: pa.Table, proposal: Proposal) -> Any:
    """Return the proposed hierarchy of a column; codes that are read as numbers are redacted by digit."""
    if "zip" in proposal.looks_like:
        return "redaction"
    values = pc.unique(table[proposal.column].combine_chunks())
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return shorten(spell_value(propose(values, proposal.column)))


def _entry(key: str, value: Any) -> str:
    return yaml.safe_dump({key: value}, default_flow_style=True, allow_unicode=True, width=10**6).strip()[
        1:-1
    ]


def _scalar(text: str) -> str:
    return yaml.safe_dump([text], default_flow_style=True, allow_unicode=True, width=10**6).strip()[1:-1]


def _comment(text: str, indent: str = "") -> Iterator[str]:
    """Yield a comment on one line, even if the text has line breaks."""
    yield f"{indent}# {' '.join(text.split())}"
