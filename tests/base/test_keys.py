"""Keys that nobody should use, wherever they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.refusals import refused
from veil.base.keys import is_weak, read_key, read_referred_key
from veil.errors import ParameterError, PlanError
from veil.masking import FormatPreservingPseudonyms, KeyedPseudonyms

WEAK = ["00" * 16, "ff" * 32, "ab" * 16, "0123456789abcdef" * 2, b"password".hex() * 4, bytes(range(16)).hex(),
        bytes(range(32, 0, -1)).hex(), "00" * 31 + "01", b"aaaaaaaabbbbbbbbccccccccdddddddd".hex()]  # fmt: skip


@pytest.mark.parametrize("key", WEAK)
def test_keys_that_repeat_themselves_are_refused(
    tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "veil.key").write_text(key)
    monkeypatch.setenv("VEIL_KEY", key)
    tries = [
        lambda: read_key(key, None, None),
        lambda: read_key(None, str(tmp_path / "veil.key"), None),
        lambda: read_referred_key("env:VEIL_KEY"),
    ]
    for each in tries:
        with refused(PlanError, "repeating pattern") as found:
            each()
        assert key not in str(found.value)
        assert "secrets.token_hex(32)" in str(found.value)
    for method in (KeyedPseudonyms, FormatPreservingPseudonyms):
        with refused(ParameterError, "repeating pattern"):
            method("name", key=key)


def test_random_keys_are_fine() -> None:
    import random

    chance = random.Random(3)
    assert not any(is_weak(chance.randbytes(length)) for length in (16, 24, 32, 64) for _ in range(5000))
