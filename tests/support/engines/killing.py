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
    """One run of `write` in a process of its own, which tells when it has made so many steps and waits at the next."""

    def __init__(self, source: str, target: str, chunk_rows: int, steps: int | None = None) -> None:
        assert _CONTEXT is not None
        self.ours, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_write, args=(theirs, source, target, chunk_rows, steps))
        self.process.start()
        theirs.close()
        assert self._next() == "ready"
        self.started = time.monotonic()

    def _next(self) -> Any:
        if not self.ours.poll(300):
            self.process.kill()
            raise AssertionError("the run does not go on")
        found = self.ours.recv()
        if isinstance(found, BaseException):
            raise found
        return found

    def kill(self, later: float) -> None:
        """Kill it some seconds after its last step: before the next one, as it waits there."""
        assert self._next() == "here"
        time.sleep(later)
        pid = self.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self.process.join()
        self.ours.close()

    def finish(self) -> tuple[dict[str, Any], float]:
        """Return what the run says of itself, and how long it took."""
        found = self._next()
        took = time.monotonic() - self.started
        self.ours.send("go")
        self.process.join()
        self.ours.close()
        return found, took


def _write(pipe: Connection, source: str, target: str, chunk_rows: int, last: int | None) -> None:
    import warnings

    warnings.simplefilter("ignore")
    from veil.base.progress import Reported
    from veil.engines.relation import relation_of
    from veil.engines.write.writing import write

    try:
        relation = relation_of(source, engine="duckdb")
        assert relation is not None
        transformed = steps = 0

        def step(*_: object) -> None:
            nonlocal steps
            if steps == last:
                pipe.recv()  # nobody sends anything
            steps += 1
            if steps == last:
                pipe.send("here")

        def transform(table: Any) -> Any:
            nonlocal transformed
            transformed += 1
            step()
            return table.mutate(id=table.id + 1)

        def check(staged: Any) -> None:
            step()
            assert staged.count().to_pyarrow().as_py() == relation.table.count().to_pyarrow().as_py()

        pipe.send("ready")
        made = write(
            relation, transform, target, check=check, token="t", chunk_rows=chunk_rows, overwrite=True,
            progress=Reported(step),
        )  # fmt: skip
        pipe.send(
            {
                "pieces": made.pieces,
                "continued": made.continued,
                "transformed": transformed - 1,
                "steps": steps,
            }
        )
        pipe.recv()  # stays until it is told to go, so that a late kill finds it alive
    except BaseException as error:
        pipe.send(AssertionError(f"{type(error).__name__}: {error}"))
        pipe.recv()
