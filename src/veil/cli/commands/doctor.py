"""`veil doctor`."""

from __future__ import annotations

from veil.cli.base import START, Options, declared


@declared(START, "doctor.doctor", tables=False)
class Doctor(Options):
    """Show versions, extras and where compiled parts are kept: what to include in a bug report."""
