"""The checksum of a certificate, which detects accidents, and its signature, which detects forgery."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from veil.published.finding import Finding
from veil.report.certificate.keys import AnyKey, PrivateKey, PublicKey, private_key, public_key

ALGORITHM = "Ed25519"


def canonical(certificate: dict[str, Any], *, without: tuple[str, ...]) -> bytes:
    """Return the canonical bytes of a certificate, independent of the layout of its file."""
    content = {name: value for name, value in certificate.items() if name not in without}
    return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def checksum_of(certificate: dict[str, Any]) -> str:
    """Return the SHA-256 of the content of a certificate."""
    return hashlib.sha256(canonical(certificate, without=("checksum", "signature"))).hexdigest()


def signed(certificate: dict[str, Any], key: PrivateKey | AnyKey | None) -> dict[str, Any]:
    """Return a certificate with its checksum and, if there is a key, a signature of all of it.

    The signed content includes the fingerprint of the release: the signature is valid for one table only.
    """
    with_checksum = {**certificate, "checksum": checksum_of(certificate)}
    if key is None:
        return with_checksum
    private = private_key(key)
    return {
        **with_checksum,
        "signature": {
            "algorithm": ALGORITHM,
            "public_key": private.public.to_text(),
            "value": private.sign(_signed_bytes(with_checksum)),
        },
    }


def _signed_bytes(certificate: dict[str, Any]) -> bytes:
    # The heading separates the domain: the signature is valid for certificates only.
    return b"veil certificate\n" + canonical(certificate, without=("signature",))


def check_signature(
    certificate: dict[str, Any], signed_by: PublicKey | AnyKey | None
) -> tuple[list[Finding], list[str]]:
    """Check checksum and signature; also return the questions that they leave open."""
    fits = certificate.get("checksum") == checksum_of(certificate)
    findings = [
        Finding("the certificate is undamaged", fits, f"its checksum {'fits' if fits else 'differs'}")
    ]
    signature = certificate.get("signature")
    expected_key = None if signed_by is None else public_key(signed_by)
    if signature is None:
        if expected_key is None:
            return findings, ["who made the certificate, which is not signed"]
        promise = f"the certificate is signed with the key {expected_key.fingerprint}"
        return [*findings, Finding(promise, False, "it is not signed")], []
    key = PublicKey.of_text(signature["public_key"])
    genuine = signature["algorithm"] == ALGORITHM and key.has_signed(
        _signed_bytes(certificate), str(signature["value"])
    )
    if expected_key is None:
        promise = f"the certificate is as it was signed with the key {key.fingerprint}"
        measured = "the signature fits" if genuine else "it was changed, or signed with another key"
        return [*findings, Finding(promise, genuine, measured)], [
            f"whose the key {key.fingerprint} is, which signed the certificate"
        ]
    promise = f"the certificate is as it was signed with the key {expected_key.fingerprint}"
    if key != expected_key:
        measured = f"signed with another key, {key.fingerprint}"
    else:
        measured = "the signature fits" if genuine else "it was changed after it was signed"
    return [*findings, Finding(promise, key == expected_key and genuine, measured)], []
