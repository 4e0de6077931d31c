"""`veil doctor`."""

from __future__ import annotations

from veil.cli.base import START, command


@command(START)
def doctor() -> None:
    """Show versions, extras and where compiled parts are kept: what a report of a problem should hold."""
    from veil.cli.doctor import examine

    examine()
