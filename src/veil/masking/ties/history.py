"""The history of releases over time: which signature everybody has had, by ids that mean nothing elsewhere.

It is kept like a budget: locked while a release is made, and replaced as a whole. It belongs to the data holder, and never
into the folder of a release.
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
from typing import Any

from veil.errors import InputError, PlanError
from veil.tables import atomic

_FORMAT = "veil-signatures-1"


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
            content: Any = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls(path, secrets.token_bytes(32), attribute, m, 0, {})
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as a history of releases: {error}") from None
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise InputError(f"{path}: is no history of releases. Choose another file")
        if (content["attribute"], content["m"]) != (attribute, m):
            raise PlanError(
                f"{path}: this history is of {content['attribute']!r} with m = {content['m']}, not of {attribute!r} with "
                f"m = {m}. Signatures cannot be exchanged: go on with the same, or start another history for other people"
            )
        sets = [frozenset(each) for each in content["sets"]]
        people = {name: sets[at] for name, at in content["people"].items()}
        return cls(path, bytes.fromhex(content["key"]), attribute, m, content["releases"], people)

    def name(self, person: str) -> str:
        """Return the id of a person, which only this history has."""
        return hmac.new(self.key, person.encode(), hashlib.sha256).hexdigest()[:32]

    def known(self, people: Iterable[str]) -> dict[int, frozenset[str]]:
        """Return the signatures of those who have one, by their place."""
        found = ((at, self.signatures.get(self.name(person))) for at, person in enumerate(people))
        return {at: signature for at, signature in found if signature is not None}

    def add(self, signatures: Mapping[str, frozenset[str]]) -> None:
        """Remember the signatures of a release, on the disk before anything is handed out."""
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
