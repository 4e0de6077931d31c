"""The JSON schema of a certificate, and reading it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from veil.base.paths import usable
from veil.base.untrusted import check_json
from veil.base.version import __version__
from veil.errors import InputError
from veil.report.certificate.certificate import FORMAT
from veil.report.certificate.digest import Kind
from veil.tables.rows import Knows

_EMBEDDED = re.compile(r'<script type="application/json" id="certificate">(.*?)</script>', re.DOTALL)

Role = Literal["quasi-identifying", "sensitive", "insensitive", "identifying"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Input(_Part):
    whole: bool
    records: int | None
    chosen: bool


class _Stated(_Part):
    promise: str
    found: str | None
    checkable: bool = False


class _Person(_Part):
    column: str
    knows: Knows


class _Promises(_Part):
    quasi_identifiers: list[str] = Field(min_length=1)
    label: str | None = None
    roles: dict[Role, list[str]]
    identifying: dict[str, Literal["remove", "mask", "pseudonym"]]
    marker: str | None
    flag: str | None
    models: list[dict[str, Any]]
    input: _Input | None = None
    person: _Person | None = None
    untouched: bool = False
    every_row_judged: bool = False
    stated: list[_Stated] = Field(default_factory=list)


class _Column(_Part):
    name: str
    kind: Kind | None = None
    type: str | None = None
    sha256: str | None = None


class _Content(_Part):
    sha256: str | None
    rows: int
    columns: list[_Column]


class Form(BaseModel):
    """The form of every certificate. Additions of later versions are covered by checksum and signature."""

    model_config = ConfigDict(strict=True)

    promises: _Promises
    found: list[_Stated]
    content: _Content | None = None
    tables: dict[str, _Content] = Field(default_factory=dict)
    apart: dict[str, _Content] = Field(default_factory=dict)


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate from its own file, or from a report (HTML or JSON) that contains one."""
    try:
        text = usable(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path of the certificate") from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read as text. A certificate is a JSON file") from None
    embedded = _EMBEDDED.findall(text)
    content = embedded[0] if len(embedded) == 1 else text
    check_json(content, str(path))
    try:
        data = json.loads(content, object_pairs_hook=_without_duplicates)
    except (json.JSONDecodeError, RecursionError):
        raise InputError(f"{path}: contains no certificate. Give its JSON file, or a report") from None
    except ValueError as error:
        raise InputError(f"{path}: the certificate is damaged: {error}. Ask for it again") from None
    if isinstance(data, dict) and isinstance(data.get("certificate"), dict):
        data = data["certificate"]
    if not isinstance(data, dict) or "veil_certificate" not in data:
        raise InputError(f"{path}: contains no certificate. Give its JSON file, or a report")
    if data["veil_certificate"] != FORMAT or isinstance(data["veil_certificate"], bool):
        raise InputError(
            f"{path}: a certificate of format {data['veil_certificate']!r}, which this version of Veil "
            f"({__version__}) does not know. Update Veil"
        )
    return data


def names_of_tables(certificate: str | os.PathLike[str]) -> list[str]:
    """Return the names of the tables that a certificate is about, if there are several."""
    tables = read_certificate(Path(certificate)).get("tables")
    return list(tables) if isinstance(tables, dict) else []


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):  # JSON readers disagree on which of two counts
        raise ValueError("it says something twice")
    return fields
