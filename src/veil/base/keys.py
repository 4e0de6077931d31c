"""Secret keys from bytes, hexadecimal text, a file or an environment variable; never printed or too short."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import os
from typing import Annotated

from pydantic import BeforeValidator, Field

from veil.base.paths import usable
from veil.base.references import VARIABLE, Reference
from veil.errors import PlanError

SHORTEST = 16
"""Bytes: 128 bits are too many to try all keys."""

HOW_TO_MAKE_ONE = 'python -c "import secrets; print(secrets.token_hex(32))" > veil.key'


def _hexadecimal(value: object) -> object:
    return value.hex() if isinstance(value, bytes | bytearray) else value


Key = Annotated[
    str | None,
    BeforeValidator(_hexadecimal),
    Field(description="the key itself: bytes, or hexadecimal text"),
]
_INSTEAD = "use Python or the command line, or give the key where it is asked for"
KeyReference = Reference("a key", _INSTEAD, is_key=True)
KeyFile = Annotated[str | None, KeyReference, Field(description="file with the key, in hexadecimal text")]
KeyVariable = Annotated[
    str | None,
    Reference("an environment variable", _INSTEAD, is_file=False),
    Field(description="environment variable with the key, in hexadecimal text"),
]


def check_key(name: str, key: str | None, file: str | None, variable: str | None) -> None:
    """Refuse a declaration with no key, more than one, or an invalid one."""
    key_count = sum(each is not None for each in (key, file, variable))
    if key_count != 1:
        what = "no key" if key_count == 0 else "more than one key"
        raise ValueError(
            f"{name} has {what}: give `key_file`, `key_variable` or `key`. To make one: {HOW_TO_MAKE_ONE}"
        )
    if key is not None:
        try:
            _decode_key(key, f"`key` of {name}")
        except PlanError as error:
            raise ValueError(str(error)) from None


def read_key(key: str | None, file: str | None, variable: str | None) -> bytes:
    """Read a key: the text itself, a file, or an environment variable.

    >>> len(read_key("9f2c71e05ad84b36c1f7a40d2e8b9563", None, None))
    16
    >>> read_key("00" * 16, None, None)
    Traceback (most recent call last):
    ...
    veil.errors.PlanError: `key` has a repeating pattern, so it can be guessed. To make one: python -c ...
    >>> read_key("00" * 4, None, None)
    Traceback (most recent call last):
    ...
    veil.errors.PlanError: `key` has 4 bytes, and at least 16 are needed. To make one: python -c ...
    """
    if file is not None:
        try:
            text = usable(os.path.expanduser(file), PlanError).read_text(encoding="ascii")
        except FileNotFoundError:
            raise PlanError(f"{file}: there is no such key file. To make one: {HOW_TO_MAKE_ONE}") from None
        except UnicodeDecodeError:
            raise PlanError(
                f"{file}: the key should be hexadecimal text. To make one: {HOW_TO_MAKE_ONE}"
            ) from None
        except OSError as error:
            raise PlanError(f"{file}: the key cannot be read: {error.strerror or error}") from None
        return _decode_key(text, f"the key in {file}")
    if variable is not None:
        text = os.environ.get(variable, "")
        if not text:
            raise PlanError(
                f"the environment variable {variable} is not set or empty. To make one: {HOW_TO_MAKE_ONE}"
            )
        return _decode_key(text, f"the key in the environment variable {variable}")
    return _decode_key(key or "", "`key`")


def read_referred_key(reference: str) -> bytes:
    """Read a key from a file, or from an environment variable: `env:NAME`."""
    if reference.startswith(VARIABLE):
        return read_key(None, None, reference.removeprefix(VARIABLE))
    return read_key(None, reference, None)


def start_hmac(key: bytes, *parts: str) -> hmac.HMAC:
    """Start an HMAC-SHA-256 with texts, each after its length, so that no two sequences of texts agree."""
    result = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        content = part.encode()
        result.update(len(content).to_bytes(8, "big") + content)
    return result


def _decode_key(text: str, where: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        raise PlanError(f"{where} should be hexadecimal text. To make one: {HOW_TO_MAKE_ONE}") from None
    if len(key) < SHORTEST:
        raise PlanError(
            f"{where} has {len(key)} bytes, and at least {SHORTEST} are needed. To make one: {HOW_TO_MAKE_ONE}"
        )
    if is_weak(key):
        raise PlanError(
            f"{where} has a repeating pattern, so it can be guessed. To make one: {HOW_TO_MAKE_ONE}"
        )
    return key


def is_weak(key: bytes) -> bool:
    """Whether a key looks typed: a repeated piece, bytes at equal steps, or few different bytes.

    16 random bytes have fewer than 8 different ones once in 10^12 keys.

    >>> is_weak(bytes(32)), is_weak(b"secret" * 6), is_weak(bytes(range(32))), is_weak(os.urandom(32))
    (True, True, True, False)
    """
    repeats = any(
        key == (key[:length] * (len(key) // length + 1))[: len(key)] for length in range(1, len(key) // 2 + 1)
    )
    steps = {(after - before) % 256 for before, after in itertools.pairwise(key)}
    return repeats or len(steps) == 1 or len(set(key)) < 8
