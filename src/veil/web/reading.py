"""What a disposable process does with a file that somebody has sent: it is read there, and handed over as plain Arrow data."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.api.verify import verify
from veil.plan.plan import Plan
from veil.published.finding import Verification
from veil.tables import Format, Source, read
from veil.web.packed import check_packed

_EMPTY = pa.table({})


def read_apart(path: Path, format: Format | None, handed: Path, is_sent: bool = True) -> Source:
    """Read a table, check every value in it, and write it to the file `handed`; what is returned is without its rows."""
    if is_sent:
        check_packed(path)
    source = read(path, format=format)
    source.table.validate(full=True)
    with pa.OSFile(str(handed), "wb") as file, pa.ipc.new_stream(file, source.table.schema) as stream:
        stream.write_table(source.table)
    return dataclasses.replace(source, table=_EMPTY)


def with_rows(source: Source, handed: Path) -> Source:
    """Return a table with the rows that were handed over. They stay in the file, which memory is mapped to."""
    with pa.memory_map(str(handed)) as file:
        return dataclasses.replace(source, table=pa.ipc.open_stream(file).read_all())


def verify_apart(
    table: Any, plan: Plan | None, certificate: dict[str, Any] | None, format: Format | None, folder: Path
) -> Verification:
    """Check a published table against a plan or a certificate, which is written to a file in `folder`."""
    format = format if isinstance(table, Path) else None
    if certificate is None:
        return verify(table, plan, format=format)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        file = Path(made) / "certificate.json"
        file.write_text(json.dumps(certificate), "utf-8")
        return verify(table, certificate=file, format=format)
