"""Signals that wait."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from veil.base.signals import uninterrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def _as_a_program_has_it() -> object:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_nested_it_waits_for_the_outermost() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with uninterrupted():
            with uninterrupted():
                signal.raise_signal(signal.SIGINT)
                reached.append("inner")
            reached.append("outer")
        reached.append("never")
    assert reached == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_is_told_if_nobody_interrupts() -> None:
    with pytest.raises(ValueError, match="wrong"), uninterrupted():
        raise ValueError("wrong")


COLLECTED = """
import gc, signal, time, weakref
from veil.base.signals import uninterrupted

class Held:
    pass

def end():
    with uninterrupted(collecting=True):
        signal.raise_signal(signal.SIGINT)

held = Held()
held.itself = held
weakref.finalize(held, end)
del held
try:
    gc.collect()
    for _ in range(3000):
        time.sleep(0.01)
except KeyboardInterrupt:
    print("told")
"""


def test_it_is_not_lost_while_garbage_is_collected() -> None:
    """In a process of its own: a test runner has finalizers and callbacks in which it would be lost."""
    ran = subprocess.run(
        [sys.executable, "-c", COLLECTED], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ran.stdout, ran.stderr) == ("told\n", "")
