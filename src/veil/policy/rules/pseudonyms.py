"""Pseudonymization as policies name it.

A policy travels with the data, so it names a key and never holds it. Only the data holder knows the key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from veil.errors import PlanError, did_you_mean
from veil.masking.pseudonyms.methods import KeyedPseudonyms, Pseudonyms, RandomPseudonyms, UnkeyedHash
from veil.policy.documents.elements import PseudonymizationMethod
from veil.policy.rules.names import plain

Keys = Mapping[str, Any]
"""The places of keys, by their names in policies: a path, "env:NAME", or the key as bytes."""

_TITLES = ("HMAC-SHA-256", "PID", "SHA-1", "SHA-256", "MD5", "HMAC-SHA-1", "DES")
_BY_NAME = {plain(each): each for each in _TITLES} | {
    "hmacsha2": "HMAC-SHA-256",
    "sha2": "SHA-256",
    "sha": "SHA-1",
    "3des": "DES",
    "tripledes": "DES",
}
_UNKEYED = {"SHA-1": "sha1", "SHA-256": "sha256", "MD5": "md5"}
_REFUSED = {
    "HMAC-SHA-1": "is on its way out: use HMAC-SHA-256",
    "DES": "can be broken by trying all keys: use HMAC-SHA-256, or PID with the mapping kept apart",
}
_SECRETS = ("key", "seed", "secret", "secretkey", "salt", "password", "passphrase", "pepper", "iv")
_REFERENCES = ("keyref", "keyreference", "keyid")
_LIKE_A_PATH = re.compile(r"[\\/]|^~|\.\.|^file:|^env:|\.(key|pem|txt|hex)$", re.IGNORECASE)


def check_method(method: PseudonymizationMethod, *, secrets: bool = False) -> None:
    """Refuse a method that is unknown, unsafe, or contains a secret.

    >>> check_method(PseudonymizationMethod("HMAC-SHA256"))
    Traceback (most recent call last):
    ...
    veil.errors.PlanError: HMAC-SHA-256 needs the name of a key: add the attribute keyRef
    """
    title = title_of(method)
    if title in _REFUSED:
        raise PlanError(f"{title} {_REFUSED[title]}")
    for each in method.attributes:
        key = plain(each.key or "")
        if key in _SECRETS and not secrets:
            raise PlanError(
                f"{title}: the policy contains a secret ({each.key!r}), and travels with the data: keep the "
                "key elsewhere and refer to it by name (keyRef), or say allow_secrets=True"
            )
        if key in _REFERENCES and _LIKE_A_PATH.search(each.value or ""):
            raise PlanError(
                f"{title}: keyRef {each.value!r} looks like a path or address, but a policy does not say "
                "where keys are: use a plain name, and give its location in `keys`"
            )
        if key not in (*_SECRETS, *_REFERENCES, "context", "length", "output", "outputsize"):
            raise PlanError(
                f"{title} has no parameter {each.key!r}. Its parameters are keyRef, context and length"
            )
    if title == "HMAC-SHA-256" and _reference(method) is None and not (secrets and _secret(method)):
        raise PlanError("HMAC-SHA-256 needs the name of a key: add the attribute keyRef")


def title_of(method: PseudonymizationMethod) -> str:
    """Return the preferred name of a method; refuse an unknown one."""
    title = _BY_NAME.get(plain(method.name or ""))
    if title is None:
        hint = did_you_mean(method.name or "", _TITLES[:5])
        raise PlanError(f"there is no pseudonymization method {method.name!r}.{hint}")
    return title


def masking_method(
    method: PseudonymizationMethod, column: str, keys: Keys, *, unkeyed: bool = False, secrets: bool = False
) -> Pseudonyms:
    """Return the masking method that makes the pseudonyms of a column.

    Parameters
    ----------
    unkeyed
        Whether hashes without a key are accepted, although values can be guessed.
    secrets
        Whether the policy itself may contain a key.
    """
    check_method(method, secrets=secrets)
    title = title_of(method)
    if title == "PID":
        return RandomPseudonyms((column,))
    if title in _UNKEYED:
        if not unkeyed:
            raise PlanError(
                f"{title} without a key can be reversed by hashing guesses: use HMAC-SHA-256 with a keyRef, "
                "or say although_values_can_be_guessed=True"
            )
        return UnkeyedHash(
            (column,),
            although_values_can_be_guessed=True,
            algorithm=_UNKEYED[title],  # type: ignore[arg-type]
        )
    attributes = {plain(each.key or ""): str(each.value) for each in method.attributes}
    return KeyedPseudonyms(
        (column,),
        context=attributes.get("context", ""),
        length=_length(attributes),
        **_key(method, keys, secrets),
    )


def _length(attributes: Mapping[str, str]) -> int:
    text = attributes.get("length", "32")
    if not (text.isascii() and text.isdigit() and 8 <= int(text) <= 64):
        raise PlanError(f"HMAC-SHA-256: length should be from 8 to 64 digits, not {text!r}")
    return int(text)


def _key(method: PseudonymizationMethod, keys: Keys, secrets: bool) -> dict[str, Any]:
    reference = _reference(method)
    if reference is None:
        return {"key": _secret(method)} if secrets else {}
    if reference not in keys:
        raise PlanError(
            f"HMAC-SHA-256: the policy names the key {reference!r}, but `keys` does not say where it is: "
            f"keys={{{reference!r}: 'env:NAME'}}, or the path of its file"
        )
    place = keys[reference]
    if isinstance(place, bytes | bytearray):
        return {"key": bytes(place).hex()}
    if isinstance(place, str) and place.startswith("env:"):
        return {"key_variable": place.removeprefix("env:")}
    if isinstance(place, str | os.PathLike):
        return {"key_file": os.fspath(place)}
    raise PlanError(
        f"the key {reference!r} should be a path, 'env:NAME' or bytes, not a {type(place).__name__}"
    )


def _reference(method: PseudonymizationMethod) -> str | None:
    return next((each.value for each in method.attributes if plain(each.key or "") in _REFERENCES), None)


def _secret(method: PseudonymizationMethod) -> str | None:
    return next((each.value for each in method.attributes if plain(each.key or "") in _SECRETS), None)
