"""`veil doctor`."""

from __future__ import annotations

from veil.cli.base import START, command


@command(START)
def doctor() -> None:
    """Show versions, extras and where compiled parts are kept: what to include in a bug report."""
    from veil.cli.doctor import examine

    examine()
