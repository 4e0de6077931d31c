"""Ed25519 keys with which the data holder signs certificates, so that recipients can verify who issued them.

The private key stays with the holder, in a file with private access (PKCS #8, optionally with a passphrase).
Recipients get the public key once, through a trusted channel; its fingerprint can be read out by telephone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veil.base.paths import usable
from veil.errors import InputError, MissingDependencyError, OutputError

PASSPHRASE = "VEIL_KEY_PASSPHRASE"  # noqa: S105  (a name)
"""The environment variable of the passphrase, for runs without a terminal."""

AnyKey = str | os.PathLike[str]


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key: checks signatures."""

    raw: bytes

    @classmethod
    def read(cls, path: AnyKey) -> PublicKey:
        """Read a public key from its file (PEM)."""
        serialization, ed25519 = _cryptography()
        try:
            key = serialization.load_pem_public_key(_read(path))
        except ValueError:
            key = None
        if not isinstance(key, ed25519.Ed25519PublicKey):
            raise InputError(
                f"{path}: contains no public Ed25519 key. `veil keys new` makes one, next to the private "
                "key, with the extension .pub"
            )
        return cls(key.public_bytes_raw())

    @classmethod
    def of_text(cls, text: str) -> PublicKey:
        """Read a public key as certificates spell it."""
        return cls(base64.b64decode(text, validate=True))

    def to_text(self) -> str:
        """Spell the key."""
        return base64.b64encode(self.raw).decode()

    @property
    def fingerprint(self) -> str:
        """A short, unique name for the key: its SHA-256."""
        digest = base64.b64encode(hashlib.sha256(self.raw).digest()).decode().rstrip("=")
        return f"SHA256:{digest}"

    def has_signed(self, content: bytes, signature: str) -> bool:
        """Whether a signature of some content was made with the private half."""
        _, ed25519 = _cryptography()
        from cryptography.exceptions import InvalidSignature

        try:
            key = ed25519.Ed25519PublicKey.from_public_bytes(self.raw)
            key.verify(base64.b64decode(signature, validate=True), content)
        except (InvalidSignature, ValueError, binascii.Error):
            return False
        return True


@dataclass(frozen=True)
class PrivateKey:
    """The private half of a key: signs. It stays with its holder and is never shown."""

    _key: Any = field(repr=False)

    @classmethod
    def new(cls) -> PrivateKey:
        """Draw a key."""
        _, ed25519 = _cryptography()
        return cls(ed25519.Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: AnyKey, passphrase: str | None = None) -> PrivateKey:
        """Read a private key from its file; the default passphrase is VEIL_KEY_PASSPHRASE."""
        content = _read(path)
        if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise InputError(
                f"{path}: other users can read this private key. Change its permissions: chmod 600 {path}"
            )
        return cls.of_pem(content, passphrase or os.environ.get(PASSPHRASE), name=str(path))

    @classmethod
    def of_pem(cls, content: bytes, passphrase: str | None = None, *, name: str = "the key") -> PrivateKey:
        """Return the private key of the content of a PEM file, in memory only."""
        serialization, ed25519 = _cryptography()
        # The library refuses a passphrase for a key that has none, and the other way round.
        password = (passphrase or "").encode() if _is_locked(content) else None
        if password == b"":
            raise InputError(f"{name}: the key has a passphrase. Set {PASSPHRASE}, or give `passphrase`")
        key: Any = None
        wrong = ""
        try:
            key = serialization.load_pem_private_key(content, password)
        except (ValueError, TypeError):
            wrong = ", or the passphrase is another one" if password else ""
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise InputError(
                f"{name}: contains no private Ed25519 key{wrong}. `veil keys new` makes one"
            ) from None
        return cls(key)

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, content: bytes) -> str:
        """Sign some content."""
        return base64.b64encode(self._key.sign(content)).decode()

    def pem(self, passphrase: str | None = None) -> tuple[bytes, bytes]:
        """Return both halves as PEM: the private one, encrypted with any passphrase, and the public one."""
        serialization, _ = _cryptography()
        locked = (
            serialization.NoEncryption()
            if not passphrase
            else serialization.BestAvailableEncryption(passphrase.encode())
        )
        pem, kinds = serialization.Encoding.PEM, serialization
        return (
            self._key.private_bytes(pem, kinds.PrivateFormat.PKCS8, locked),
            self._key.public_key().public_bytes(pem, kinds.PublicFormat.SubjectPublicKeyInfo),
        )

    def save(self, path: AnyKey, passphrase: str | None = None) -> Path:
        """Write the private half to `path`, readable by its owner only, and the public half beside it.

        No file is ever replaced, because nothing can be signed again with a lost key.
        """
        private, public = self.pem(passphrase)
        file, beside = Path(path), beside_key(path)
        for each in (file, beside):
            if usable(each, OutputError).exists():
                raise OutputError(f"{each}: already exists, and keys are never replaced. Choose another name")
        for each, content, mode in ((file, private, 0o600), (beside, public, 0o644)):
            try:
                with open(os.open(each, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as stream:
                    stream.write(content)
            except OSError as error:
                raise OutputError(f"{each}: cannot be written: {error.strerror or error}") from None
        return beside


def beside_key(path: AnyKey) -> Path:
    """Return the path of the public half of a key: beside the private one."""
    return Path(f"{os.fspath(path)}.pub")


def _is_locked(content: bytes) -> bool:
    return b"ENCRYPTED" in content.partition(b"\n")[0]


def private_key(key: PrivateKey | AnyKey) -> PrivateKey:
    """Return a private key, read from its file if it is a path."""
    return key if isinstance(key, PrivateKey) else PrivateKey.read(key)


def public_key(key: PublicKey | AnyKey) -> PublicKey:
    """Return a public key, read from its file if it is a path."""
    return key if isinstance(key, PublicKey) else PublicKey.read(key)


def _read(path: AnyKey) -> bytes:
    try:
        return usable(os.path.expanduser(path)).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the key cannot be read: {error.strerror or error}") from None


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingDependencyError(
            "Signatures need cryptography. Install it with: pip install 'veil-anonymizer[sign]'"
        ) from None
    return serialization, ed25519
