"""The work of disposable processes: untrusted files are read there and passed on as plain Arrow data."""

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


def read_apart(path: Path, format: Format | None, arrow_file: Path, is_sent: bool = True) -> Source:
    """Read and validate a table, write its rows to `arrow_file`, and return the source without rows."""
    if is_sent:
        check_packed(path)
    source = read(path, format=format)
    source.table.validate(full=True)
    with pa.OSFile(str(arrow_file), "wb") as file, pa.ipc.new_stream(file, source.table.schema) as stream:
        stream.write_table(source.table)
    return dataclasses.replace(source, table=_EMPTY)


def with_rows(source: Source, arrow_file: Path) -> Source:
    """Return a source with the rows of `arrow_file`, which is memory-mapped."""
    with pa.memory_map(str(arrow_file)) as file:
        return dataclasses.replace(source, table=pa.ipc.open_stream(file).read_all())


def verify_apart(
    table: Any, plan: Plan | None, certificate: dict[str, Any] | None, format: Format | None, folder: Path
) -> Verification:
    """Verify a published table against a plan or a certificate, which is written to a file in `folder`."""
    format = format if isinstance(table, Path) else None
    if certificate is None:
        return verify(table, plan, format=format)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        file = Path(temporary) / "certificate.json"
        file.write_text(json.dumps(certificate), "utf-8")
        return verify(table, certificate=file, format=format)
