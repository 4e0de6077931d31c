"""The first page of a report: purpose, recipient, legal basis and version of a release, and its authors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from veil.base.declare import declared
from veil.errors import ParameterError, did_you_mean

_Line = Annotated[
    str | None,
    BeforeValidator(
        lambda value: (
            str(value) if isinstance(value, int | float | date) and not isinstance(value, bool) else value
        ),
        json_schema_input_type=str | float | None,
    ),
]
"""A line of text; a version may be written as a number, and a day as a date."""


@declared
class About:
    """Statements about the release for the first page of a report, besides what Veil knows itself.

    >>> About(purpose="Study of waiting times", recipient="University of Ulm").purpose
    'Study of waiting times'
    """

    title: Annotated[_Line, Field(description="title of the report; by default “Anonymization report”")] = (
        None
    )
    data_set: Annotated[
        _Line,
        Field(description="what the table is, such as “Admissions 2025”; by default the name of its file"),
    ] = None
    purpose: Annotated[_Line, Field(description="what the release is for")] = None
    recipient: Annotated[_Line, Field(description="who gets the release")] = None
    legal_basis: Annotated[
        _Line, Field(description="on what ground it is given, such as an article of a law")
    ] = None
    version: Annotated[_Line, Field(description="version of the release")] = None
    prepared_by: Annotated[_Line, Field(description="who made the release, name and function")] = None
    approved_by: Annotated[_Line, Field(description="who is to approve it, name and function")] = None
    language: Annotated[
        Literal["en", "de"], Field(description="language of the report: English or German")
    ] = "en"
    sample_rows: Annotated[
        int, Field(ge=0, le=20, description="rows of the release that the report shows; 0 for none")
    ] = 5


NOTHING = About()

AboutSpec = Annotated[
    About | None,
    Field(
        description="what the first page of the report says: title, data_set, purpose, recipient, legal_basis, version, "
        "prepared_by, approved_by; also the language of the report, and how many sample_rows it shows"
    ),
]
"""The field of a recipe."""


def read_about(about: About | Mapping[str, Any] | None) -> About:
    """Return statements about a release, from a mapping or as they are.

    >>> read_about({"purpos": "research"})
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `about` has no 'purpos'. Did you mean 'purpose'?
    """
    if isinstance(about, About):
        return about
    if about is None:
        return NOTHING
    if not isinstance(about, Mapping):
        raise ParameterError(
            f"`about` should be a mapping such as {{'purpose': 'research', 'recipient': 'the university'}}, not {about!r}"
        )
    for name in about:
        if name not in ABOUT:
            raise ParameterError(f"`about` has no {name!r}.{did_you_mean(str(name), ABOUT)}")
    return About(**about)


def spell_about(about: About) -> dict[str, Any]:
    """Return the fields that differ from their defaults, as a recipe spells them."""
    return {name: value for name in ABOUT if (value := getattr(about, name)) != getattr(NOTHING, name)}


ABOUT = tuple(About.__pydantic_fields__)  # type: ignore[attr-defined]
"""The names of the fields, in their order."""
