"""Where results may be written."""

from __future__ import annotations

from pathlib import Path

from support import refusals
from veil.api.targets import check_target
from veil.errors import OutputError


def test_a_database_is_no_file_and_is_not_repeated() -> None:
    with refusals.refused(OutputError, "not to a database") as refused:
        check_target(Path("postgres://veil:secret@host/db#table"), overwrite=True)
    assert "secret" not in str(refused.value)
