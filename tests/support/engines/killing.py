"""A process that writes a release and can be killed. Forked from a server that has imported everything already."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver") if os.name == "posix" else None
if _CONTEXT is not None:
    # What takes long to import and is installed: the server of Python 3.11 does not find anything else.
    _CONTEXT.set_forkserver_preload(
        ["ibis.backends.duckdb", "ibis.backends.postgres", "pandas", "pyarrow.parquet", "pydantic"]
    )


class Writer:
    """One run of `write` in a process of its own."""

    def __init__(self, source: str, target: str, chunk_rows: int) -> None:
        assert _CONTEXT is not None
        self.ours, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_write, args=(theirs, source, target, chunk_rows))
        self.process.start()
        theirs.close()
        assert self.ours.recv() == "ready"
        self.started = time.monotonic()

    def kill_after(self, seconds: float) -> None:
        time.sleep(seconds)
        pid = self.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self.process.join()
        self.ours.close()

    def finish(self) -> tuple[dict[str, Any], float]:
        """Return what the run says of itself, and how long it took."""
        if not self.ours.poll(60):
            self.process.kill()
            raise AssertionError("the run does not end")
        found = self.ours.recv()
        took = time.monotonic() - self.started
        self.ours.send("go")
        self.process.join()
        self.ours.close()
        if isinstance(found, BaseException):
            raise found
        return found, took


def _write(pipe: Connection, source: str, target: str, chunk_rows: int) -> None:
    import warnings

    warnings.simplefilter("ignore")
    from veil.engines.relation import relation_of
    from veil.engines.write.writing import write

    try:
        relation = relation_of(source, engine="duckdb")
        assert relation is not None
        transformed = 0

        def transform(table: Any) -> Any:
            nonlocal transformed
            transformed += 1
            return table.mutate(id=table.id + 1)

        def check(staged: Any) -> None:
            assert staged.count().to_pyarrow().as_py() == relation.table.count().to_pyarrow().as_py()

        pipe.send("ready")
        made = write(
            relation, transform, target, check=check, token="t", chunk_rows=chunk_rows, overwrite=True
        )
        pipe.send({"pieces": made.pieces, "continued": made.continued, "transformed": transformed - 1})
        pipe.recv()  # stays until it is told to go, so that a late kill finds it alive
    except BaseException as error:
        pipe.send(AssertionError(f"{type(error).__name__}: {error}"))
        pipe.recv()
