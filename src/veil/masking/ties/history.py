"""The history of releases over time: the signature of each person, by ids that are used nowhere else.

It is kept like a budget: locked while a release is made, and replaced as a whole. It stays with the data
holder, never in the folder of a release.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from veil.base.untrusted import check_json
from veil.errors import InputError, PlanError
from veil.tables import atomic

_FORMAT = "veil-signatures-1"


class _Content(BaseModel):
    """The content of the file, validated strictly: a misread history would change signatures."""

    model_config = ConfigDict(strict=True, extra="forbid")

    format: str
    attribute: str
    m: Annotated[int, Field(ge=2)]
    releases: Annotated[int, Field(ge=1)]
    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    sets: list[list[str]]
    people: dict[Annotated[str, Field(pattern="^[0-9a-f]{32}$")], Annotated[int, Field(ge=0)]]

    @model_validator(mode="after")
    def _fits(self) -> _Content:
        for each in self.sets:
            if len(set(each)) < max(self.m, len(each)):
                raise ValueError(f"a set of `sets` should have {self.m} or more values, all distinct")
        if max(self.people.values(), default=-1) >= len(self.sets):
            raise ValueError("somebody in `people` has a set that is not in `sets`")
        return self


def _first_problem(error: ValidationError) -> str:
    """Return the first problem, without the content of the file."""
    problem = error.errors(include_input=False)[0]
    place = problem["loc"][0] if problem["loc"] else None
    what = str(problem["msg"]).removeprefix("Value error, ")
    return what if place is None else f"`{place}`: {what}"


@dataclass
class History:
    """Signatures of people in earlier releases."""

    path: Path
    key: bytes
    attribute: str
    m: int
    releases: int
    signatures: dict[str, frozenset[str]]

    @classmethod
    def read(cls, path: Path, attribute: str, m: int) -> History:
        """Read a history; start one where there is none."""
        try:
            text = path.read_text(encoding="utf-8")
            check_json(text, str(path))
            content: Any = json.loads(text)
        except FileNotFoundError:
            return cls(path, secrets.token_bytes(32), attribute, m, 0, {})
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as a history of releases: {error}") from None
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise InputError(f"{path}: is not a history of releases. Choose another file")
        try:
            record = _Content.model_validate(content)
        except ValidationError as error:
            raise InputError(
                f"{path}: is damaged as a history of releases: {_first_problem(error)}. Restore it from a backup: "
                "people must keep their signatures"
            ) from None
        if (record.attribute, record.m) != (attribute, m):
            raise PlanError(
                f"{path}: this history is of {record.attribute!r} with m = {record.m}, not of {attribute!r} "
                f"with m = {m}. Signatures cannot be changed: continue with the same parameters, or start "
                "another history for other people"
            )
        sets = [frozenset(each) for each in record.sets]
        people = {name: sets[at] for name, at in record.people.items()}
        return cls(path, bytes.fromhex(record.key), attribute, m, record.releases, people)

    def name(self, person: str) -> str:
        """Return the id of a person in this history."""
        return hmac.new(self.key, person.encode(), hashlib.sha256).hexdigest()[:32]

    def signatures_of(self, people: Iterable[str]) -> dict[int, frozenset[str]]:
        """Return the signatures of people who have one, by their place."""
        signatures = ((at, self.signatures.get(self.name(person))) for at, person in enumerate(people))
        return {at: signature for at, signature in signatures if signature is not None}

    def add(self, signatures: Mapping[str, frozenset[str]]) -> None:
        """Save the signatures of a release, before anything is released."""
        for person, signature in signatures.items():
            self.signatures[self.name(person)] = signature
        self.releases += 1
        sets = sorted({tuple(sorted(each)) for each in self.signatures.values()})
        place = {each: at for at, each in enumerate(sets)}
        content = {
            "format": _FORMAT,
            "attribute": self.attribute,
            "m": self.m,
            "releases": self.releases,
            "key": self.key.hex(),
            "sets": sets,
            "people": {name: place[tuple(sorted(each))] for name, each in sorted(self.signatures.items())},
        }
        with atomic(self.path) as temporary:
            temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
            os.chmod(temporary, 0o600)
