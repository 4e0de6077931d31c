"""What stands under a certificate: a checksum, which finds accidents, and a signature, which finds forgers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from veil.published.finding import Finding
from veil.report.certificate.keys import AnyKey, PrivateKey, PublicKey, private_key, public_key

ALGORITHM = "Ed25519"


def canonical(certificate: dict[str, Any], *, without: tuple[str, ...]) -> bytes:
    """Return the bytes that a certificate stands for, however its file is laid out."""
    kept = {name: value for name, value in certificate.items() if name not in without}
    return json.dumps(kept, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def checksum_of(certificate: dict[str, Any]) -> str:
    """Return the SHA-256 of all that a certificate says."""
    return hashlib.sha256(canonical(certificate, without=("checksum", "signature"))).hexdigest()


def signed(certificate: dict[str, Any], key: PrivateKey | AnyKey | None) -> dict[str, Any]:
    """Return a certificate with its checksum, and a signature of all of it if there is a key.

    The release's fingerprint is part of what is signed, so the signature goes with one table.
    """
    made = {**certificate, "checksum": checksum_of(certificate)}
    if key is None:
        return made
    private = private_key(key)
    return {
        **made,
        "signature": {
            "algorithm": ALGORITHM,
            "public_key": private.public.to_text(),
            "value": private.sign(_signed_bytes(made)),
        },
    }


def _signed_bytes(certificate: dict[str, Any]) -> bytes:
    # The heading keeps a signature from being taken for one of anything else.
    return b"veil certificate\n" + canonical(certificate, without=("signature",))


def check_signature(
    certificate: dict[str, Any], signed_by: PublicKey | AnyKey | None
) -> tuple[list[Finding], list[str]]:
    """Check checksum and signature; also return the questions that they leave open."""
    fits = certificate.get("checksum") == checksum_of(certificate)
    findings = [
        Finding("the certificate is undamaged", fits, f"its checksum {'fits' if fits else 'differs'}")
    ]
    found = certificate.get("signature")
    asked = None if signed_by is None else public_key(signed_by)
    if found is None:
        if asked is None:
            return findings, ["who made the certificate, which is not signed"]
        promise = f"the certificate is signed with the key {asked.fingerprint}"
        return [*findings, Finding(promise, False, "it is not signed")], []
    key = PublicKey.of_text(found["public_key"])
    genuine = found["algorithm"] == ALGORITHM and key.has_signed(
        _signed_bytes(certificate), str(found["value"])
    )
    if asked is None:
        promise = f"the certificate is as it was signed with the key {key.fingerprint}"
        told = "the signature fits" if genuine else "it was changed, or signed with another key"
        return [*findings, Finding(promise, genuine, told)], [
            f"whose the key {key.fingerprint} is, which signed the certificate"
        ]
    promise = f"the certificate is as it was signed with the key {asked.fingerprint}"
    if key != asked:
        told = f"signed with another key, {key.fingerprint}"
    else:
        told = "the signature fits" if genuine else "it was changed after it was signed"
    return [*findings, Finding(promise, key == asked and genuine, told)], []
