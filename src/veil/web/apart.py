"""A process for each session: a crash or a memory leak in one session does not affect the others.

The server itself only authenticates requests (`veil.web.guard`), begins and ends sessions, and forwards all
other requests to the process of their session: a fork of the helper (`veil.web.child`) with a memory limit.
That process holds the tables, releases and tasks and answers like the whole server: routes and tasks do not
know where they run. So results of tasks are not copied, a crash is a message in the waiting panel, and
sessions do not wait for each other's interpreter.

The plan, the tables and the running tasks are saved in the folder of the session whenever they change. After a
crash, the next request starts a process that resumes from there; releases are lost. Budgets are files that
outlive all sessions.

A request is a connection with frames: the head as JSON, then the body, which ends with an empty frame; so is
the answer. Nothing that comes back is unpickled.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import shutil
import socket
import tempfile
import threading
import time
from http import HTTPStatus
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.types import Message, Receive, Scope, Send

from veil.base.references import untrusted
from veil.engines.settings import available_memory
from veil.web.child import CHILDREN
from veil.web.problems import CRASHED, answer, problem, problem_of

_HEAD = ("method", "path", "http_version", "scheme", "root_path")
_SECRETS = (b"cookie", b"authorization")
"""Headers that are not forwarded to sessions."""
PATIENCE = 2.0
"""Seconds for a process to end by itself before it is killed."""


class SessionProcess:
    """The server's end of a session whose tables, releases and tasks are in a process of its own."""

    keys = ()

    def __init__(
        self, number: str, folder: Path, *, initial_table: Path | None, allow_paths: bool, memory: int | None
    ) -> None:
        self.number, self.folder = number, folder
        self.used = time.monotonic()
        self._options = {"initial_table": initial_table, "allow_paths": allow_paths}
        self._memory = memory
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process = 0

    @property
    def is_busy(self) -> bool:
        """Whether a task is running."""
        return self._is_alive() and busy_mark(self.folder).exists()

    def _is_alive(self) -> bool:
        if self._control is None:
            return False
        try:
            return bool(self._control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """End the process, and remove all files."""
        with self._lock:
            if self._control is not None:
                with self._control as control, contextlib.suppress(OSError):
                    control.shutdown(socket.SHUT_WR)
                    control.settimeout(PATIENCE)
                    try:
                        control.recv(1)
                    except TimeoutError:  # it still runs, so the process id is still its own
                        os.kill(self._process, 9)
                        control.recv(1)
                self._control = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _connect(self) -> socket.socket:
        """Return a connection to the process; start the process if there is none."""
        mine, theirs = socket.socketpair()
        with theirs, self._lock:
            if not self._is_alive():
                if self._control is not None:
                    self._control.close()
                memory = available_memory() if self._memory is None else self._memory
                self._process, self._control = CHILDREN.begin(live, self.folder, self._options, memory=memory)
            assert self._control is not None
            with contextlib.suppress(OSError):  # it has died meanwhile: reading the answer will fail
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
        return mine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the process answer a request; a GET is sent again if the process has crashed meanwhile."""
        for _ in range(2 if scope["method"] == "GET" else 1):
            if await self._is_answered(scope, receive, send):
                return
        refusal = problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Crashed", CRASHED)
        await answer(refusal)(scope, receive, send)

    async def _is_answered(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Forward a request and its answer; return whether an answer has at least begun."""
        try:
            connection = await run_in_threadpool(self._connect)
        except (EOFError, OSError):  # the helper has died, or there is no memory for another process
            return False
        reader, writer = await asyncio.open_connection(sock=connection)
        began = asyncio.Event()
        answering = asyncio.create_task(_pass_back(reader, send, began))
        feeding = asyncio.create_task(_pass_on(scope, receive, writer))
        try:
            await asyncio.wait({answering, feeding}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and feeding.exception() is None:
                return True  # the client has disconnected
            await (answering if answering.done() else feeding)
        except HTTPException as error:
            await answer(problem_of(error))(scope, receive, send)
        except (EOFError, OSError):
            return began.is_set()  # a browser that follows a task reconnects if the answer breaks off
        finally:
            for task in (answering, feeding):
                task.cancel()
            await asyncio.gather(answering, feeding, return_exceptions=True)
            writer.close()
        return True


async def _pass_on(scope: Scope, receive: Receive, writer: asyncio.StreamWriter) -> None:
    """Forward a request until the client disconnects."""
    headers = [(name, value) for name, value in scope["headers"] if name not in _SECRETS]
    head = {name: scope.get(name, "") for name in _HEAD}
    head["query_string"] = scope["query_string"].decode("latin-1")
    head["headers"] = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]
    await _write(writer, json.dumps(head).encode())
    is_whole = scope["method"] == "GET"  # the body of a GET is ignored
    if is_whole:
        await _write(writer, b"")
    while (message := await receive())["type"] != "http.disconnect":
        if message.get("body") and not is_whole:
            await _write(writer, message["body"])
        if not message.get("more_body") and not is_whole:
            await _write(writer, b"")


async def _pass_back(reader: asyncio.StreamReader, send: Send, began: asyncio.Event) -> None:
    head = json.loads(await _read(reader))
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head["headers"]]
    began.set()
    await send({"type": "http.response.start", "status": head["status"], "headers": headers})
    while body := await _read(reader):
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _read(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(8)))


async def _write(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(8) + frame)
    await writer.drain()


# --- in the process of a session ------------------------------------------------------------------------


@functools.cache
def api() -> FastAPI:
    """Return the application that answers in sessions, created once."""
    from veil.web.app import create_api

    return create_api()


def busy_mark(folder: Path) -> Path:
    """Return the file that exists while a task of a session is running."""
    return folder / "busy"


def live(connection: Connection, folder: Path, options: dict[str, Any]) -> None:
    """Answer the requests of a session until the server closes the connection or dies."""
    from veil.web.session import BrowserSession

    control = socket.socket(fileno=connection.fileno())
    _, helper, _, _ = socket.recv_fds(control, 1, 1)
    if not helper:
        return
    CHILDREN.adopt(socket.socket(fileno=helper[0]))
    tempfile.tempdir = str(folder)  # temporary files are removed with the session
    session = BrowserSession("", folder, **options)
    session.go_on(busy_mark(folder))
    asyncio.run(_serve(control, session))


async def _serve(control: socket.socket, session: Any) -> None:
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    control.setblocking(False)

    def accept() -> None:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)  # even while tasks are running
        task = loop.create_task(_answer(socket.socket(fileno=descriptors[0]), session))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    loop.add_reader(control, accept)
    await asyncio.Event().wait()


async def _answer(connection: socket.socket, session: Any) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)
    is_over = False

    async def receive() -> Message:
        nonlocal is_over
        try:
            body = await _read(reader)
        except (EOFError, OSError):
            is_over = True
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": bool(body)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [
                [name.decode("latin-1"), value.decode("latin-1")] for name, value in message["headers"]
            ]
            await _write(writer, json.dumps({"status": message["status"], "headers": headers}).encode())
            return
        if message.get("body"):
            await _write(writer, message["body"])
        if not message.get("more_body"):
            session.save()
            await _write(writer, b"")

    with contextlib.closing(writer), contextlib.suppress(EOFError, OSError):
        head = json.loads(await _read(reader))
        scope = {
            **{name: head[name] for name in _HEAD},
            "type": "http",
            "asgi": {"version": "3.0"},
            "raw_path": head["path"].encode(),
            "query_string": head["query_string"].encode("latin-1"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head["headers"]],
            "client": None,
            "server": None,
            "state": {"session": session},
        }
        with untrusted(session.keys):
            await api()(scope, receive, send)
        while not is_over:  # closing with unread input would discard the answer
            await receive()
