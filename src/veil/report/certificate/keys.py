"""Keys by which the holder of the data signs certificates (Ed25519), so that recipients can tell whom they are from.

The private key stays with the holder, in a file that nobody else can read (PKCS #8, with a passphrase if wanted). The
public key goes to recipients once, by a way that they trust; its fingerprint can be read out over the telephone.
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
"""The environment variable that a passphrase is taken from where nobody can be asked."""

AnyKey = str | os.PathLike[str]


@dataclass(frozen=True)
class PublicKey:
    """The half of a key that everybody may know: checks signatures."""

    raw: bytes

    @classmethod
    def read(cls, path: AnyKey) -> PublicKey:
        """Read a public key from its file (PEM)."""
        serialization, ed25519 = _cryptography()
        try:
            found = serialization.load_pem_public_key(_read(path))
        except ValueError:
            found = None
        if not isinstance(found, ed25519.Ed25519PublicKey):
            raise InputError(
                f"{path}: contains no public Ed25519 key. `veil keys new` makes one, next to the private "
                "key, with the extension .pub"
            )
        return cls(found.public_bytes_raw())

    @classmethod
    def of_text(cls, text: str) -> PublicKey:
        """Read a public key as certificates spell it."""
        return cls(base64.b64decode(text, validate=True))

    def to_text(self) -> str:
        """Spell the key."""
        return base64.b64encode(self.raw).decode()

    @property
    def fingerprint(self) -> str:
        """A short name of the key, which no other key has."""
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
    """The half of a key that stays with its holder: signs. It is never shown."""

    _key: Any = field(repr=False)

    @classmethod
    def new(cls) -> PrivateKey:
        """Draw a key."""
        _, ed25519 = _cryptography()
        return cls(ed25519.Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: AnyKey, passphrase: str | None = None) -> PrivateKey:
        """Read a private key from its file; a passphrase that is not given is taken from VEIL_KEY_PASSPHRASE."""
        content = _read(path)
        if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise InputError(
                f"{path}: other users can read this private key. Change its permissions: chmod 600 {path}"
            )
        return cls.of_pem(content, passphrase or os.environ.get(PASSPHRASE), called=str(path))

    @classmethod
    def of_pem(cls, content: bytes, passphrase: str | None = None, *, called: str = "the key") -> PrivateKey:
        """Take a private key as its file holds it; nothing is written anywhere."""
        serialization, ed25519 = _cryptography()
        # A key without a passphrase is refused if one is given, and the other way round.
        given = (passphrase or "").encode() if _is_locked(content) else None
        if given == b"":
            raise InputError(f"{called}: the key has a passphrase. Set {PASSPHRASE}, or give `passphrase`")
        found: Any = None
        wrong = ""
        try:
            found = serialization.load_pem_private_key(content, given)
        except (ValueError, TypeError):
            wrong = ", or the passphrase is another one" if given else ""
        if not isinstance(found, ed25519.Ed25519PrivateKey):
            raise InputError(
                f"{called}: contains no private Ed25519 key{wrong}. `veil keys new` makes one"
            ) from None
        return cls(found)

    @property
    def public(self) -> PublicKey:
        """The half for everybody."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, content: bytes) -> str:
        """Sign some content."""
        return base64.b64encode(self._key.sign(content)).decode()

    def pem(self, passphrase: str | None = None) -> tuple[bytes, bytes]:
        """Return both halves as files hold them: the private one, locked if there is a passphrase, and the public one."""
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
        """Write both halves to files: the private one to `path`, which nobody else can read, the public one beside it.

        No file is ever replaced: what was signed with a key that is gone can be signed by nobody again.
        """
        private, public = self.pem(passphrase)
        file, beside = Path(path), beside_key(path)
        for each in (file, beside):
            if usable(each, OutputError).exists():
                raise OutputError(f"{each}: already exists, and keys are never replaced. Choose another name")
        for each, content, mode in ((file, private, 0o600), (beside, public, 0o644)):
            try:
                with open(os.open(each, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as opened:
                    opened.write(content)
            except OSError as error:
                raise OutputError(f"{each}: cannot be written: {error.strerror or error}") from None
        return beside


def beside_key(path: AnyKey) -> Path:
    """Return where the public half of a key lies: beside the private one."""
    return Path(f"{os.fspath(path)}.pub")


def is_locked(path: AnyKey) -> bool:
    """Whether a private key has a passphrase."""
    return _is_locked(_read(path))


def _is_locked(content: bytes) -> bool:
    return b"ENCRYPTED" in content.partition(b"\n")[0]


def private_key(given: PrivateKey | AnyKey) -> PrivateKey:
    """Return a private key that is given itself, or as a file."""
    return given if isinstance(given, PrivateKey) else PrivateKey.read(given)


def public_key(given: PublicKey | AnyKey) -> PublicKey:
    """Return a public key that is given itself, or as a file."""
    return given if isinstance(given, PublicKey) else PublicKey.read(given)


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
