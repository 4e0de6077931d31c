"""The server process: bind, print the address, open a browser, serve, and clean up."""

from __future__ import annotations

import gc
import ipaddress
import socket
import stat
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from veil.errors import MissingDependencyError, ParameterError, PlanError, Say


def serve(
    table: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token_file: Path | None = None,
    allow_paths: bool = False,
    allow_host: Sequence[str] = (),
    browser: bool = True,
    memory: str | None = None,
    echo: Callable[[str], None] = print,
) -> None:
    """Serve the workbench until it is stopped; `veil workbench --help` describes the parameters."""
    gc.disable()  # imports leave no garbage, and collections take a tenth of a second
    try:
        import uvicorn

        from veil.web.child import CAN_FORK, CHILDREN

        CHILDREN.warm()  # while this process imports its modules
        from veil.engines.settings import Settings
        from veil.web.app import create_app
        from veil.web.workbench import Workbench
    except ImportError:
        raise MissingDependencyError(
            "The workbench needs FastAPI and uvicorn. Install them with: pip install 'veil-anonymizer[workbench]'"
        ) from None
    finally:
        gc.freeze()
        gc.enable()

    limit = None if memory is None else Settings(memory=memory).bytes
    token = None if token_file is None else _read_token(token_file)
    if not _is_loopback(host):
        if token is None:
            raise PlanError(
                f"{host} can be reached from other machines: give a token of your own with ",
                Say("token_file"),
            )
        echo(
            "Other machines can reach this server. Put something in front of it that speaks TLS: it does not itself."
        )
    listening = _listen(host, port)
    try:
        workbench = Workbench(
            host=host,
            port=listening.getsockname()[1],
            token=token,
            table=table,
            allow_paths=allow_paths,
            allow_host=allow_host,
            apart=CAN_FORK,
            memory=limit,
        )
    except BaseException:
        listening.close()
        raise
    address = f"{workbench.hosts.address}#token={workbench.token}"
    # Nothing is logged: the message of an unexpected error may contain a value of a table.
    config = uvicorn.Config(
        create_app(workbench),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    try:
        # The user knows a token from a file, and others may read the terminal.
        echo(f"The workbench is open at {address if token_file is None else workbench.hosts.address}")
        echo("Stop it with Ctrl-C.")
        sys.stdout.flush()
        if browser and token_file is None:
            webbrowser.open(address)
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
        workbench.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(100)  # from here on connections wait and are not refused
    except OSError as error:
        listening.close()
        raise ParameterError(
            f"{host}:{port} cannot be listened at: {error.strerror}. Choose another ", Say("port")
        ) from None
    return listening


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_token(path: Path) -> str:
    try:
        token = path.read_text("utf-8").strip()
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: the token cannot be read: {error}") from None
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise ParameterError(f"{path}: others may read the token. Say: chmod 600 {path}")
    if len(token) < 32 or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError(
            f"{path}: a token should have 32 characters or more, without blanks. Make one: openssl rand -hex 32"
        )
    return token
