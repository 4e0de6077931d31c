"""Real servers for the tests: a PostgreSQL, a MariaDB and a Spark of their own, each ended by its starter."""

from __future__ import annotations

import contextlib
import importlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

OWNER, PASSWORD = "veil", "p@ss/w#rd?:% é"


@dataclass(frozen=True)
class Postgres:
    """A server, and a database of it that is ours. `url()` names it for Veil."""

    host: str
    port: int
    socket: str
    database: str

    def url(self, table: str = "", *, user: str = OWNER, password: str | None = PASSWORD) -> str:
        """The URL of the database or of a table in it; without a password if that is None."""
        secret = "" if password is None else f":{quote(password, safe='')}"
        fragment = f"#{quote(table)}" if table else ""
        return f"postgres://{user}{secret}@{self.host}:{self.port}/{self.database}{fragment}"

    def connect(self, database: str | None = None) -> Any:
        """A connection of the driver's own, as the superuser, for setting the stage."""
        import psycopg

        return psycopg.connect(
            host=self.socket,
            port=self.port,
            user="postgres",
            password=PASSWORD,
            dbname=database or self.database,
            autocommit=True,
        )

    def execute(self, *statements: str) -> None:
        """Run statements as the superuser."""
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)


def postgres_programs() -> Path | None:
    """The folder with initdb and postgres; Debian keeps it off the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next(
        (each for each in folders if (each / "initdb").exists() and (each / "postgres").exists()), None
    )


@contextlib.contextmanager
def postgres_server(programs: Path) -> Iterator[Postgres]:
    """Start a server in a folder of its own, with passwords asked for everywhere, and stop it at the end."""
    user = _unprivileged("postgres")
    # Short, because a socket's path may have about 100 characters only.
    folder = Path(tempfile.mkdtemp(prefix="veil-pg-", dir="/tmp"))
    data, secret = folder / "data", folder / "password"
    secret.write_text(PASSWORD + "\n")
    if user is not None:
        for each in (folder, secret):
            os.chown(each, user.pw_uid, user.pw_gid)
    try:
        _run(
            user, folder, programs / "initdb", "-D", data, "-U", "postgres", "--auth=scram-sha-256",
            f"--pwfile={secret}", "--encoding=UTF8", "--no-locale", "--no-sync",
        )  # fmt: skip
        port = _free_port()
        log = (folder / "log").open("wb")
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1",
             "-c", "fsync=off", "-c", "shared_buffers=32MB"],
            stdout=log, stderr=log, cwd=folder, **_as(user),
        )  # fmt: skip
        log.close()
        try:
            running = Postgres("127.0.0.1", port, str(folder), "postgres")
            _answered(lambda: running.connect().close(), server, folder / "log")
            yield running
        finally:
            _end(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server: Postgres) -> Postgres:
    """Make a database that the ordinary user OWNER may use and nobody else does."""
    name = f"veil_{secrets.token_hex(4)}"
    made = Postgres(server.host, server.port, server.socket, name)
    with server.connect() as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (OWNER,)).fetchone():
            connection.execute(f"CREATE ROLE {OWNER} LOGIN PASSWORD '{PASSWORD}'")
        connection.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
    return made


@dataclass(frozen=True)
class MySQL:
    """A MariaDB server with a database of ours, whose text is Latin-1 unless a column says otherwise."""

    host: str
    port: int
    socket: str
    database: str = "clinic"

    def url(self, table: str = "", *, password: str = PASSWORD) -> str:
        """The URL of the database or of a table in it."""
        fragment = f"#{quote(table)}" if table else ""
        return f"mysql://{OWNER}:{quote(password, safe='')}@{self.host}:{self.port}/{self.database}{fragment}"

    def connect(self, **options: Any) -> Any:
        """A connection of the driver's own, as the superuser, for setting the stage."""
        return importlib.import_module("MySQLdb").connect(
            unix_socket=self.socket, user="root", charset="utf8mb4", autocommit=True, **options
        )

    def execute(self, *statements: str) -> None:
        """Run statements as the superuser."""
        connection = self.connect(database=self.database)
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the superuser sees."""
        connection = self.connect(database=self.database)
        with connection.cursor() as cursor:
            cursor.execute(query)
            found = list(cursor.fetchall())
        connection.close()
        return found


def mysql_programs() -> tuple[str, str] | None:
    """MariaDB's server, and what makes its first files. Debian keeps the server off the path of users."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/libexec"
    server, install = (shutil.which(name, path=path) for name in ("mariadbd", "mariadb-install-db"))
    return (server, install) if server and install else None


@contextlib.contextmanager
def mysql_server(programs: tuple[str, str]) -> Iterator[MySQL]:
    """Start a MariaDB in a folder of its own, and stop it at the end."""
    program, install = programs
    user = _unprivileged("mysql")
    folder = Path(tempfile.mkdtemp(prefix="veil-my-", dir="/tmp"))
    data, log = folder / "data", folder / "log"
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    small = [
        "--no-defaults",
        f"--datadir={data}",
        "--innodb-buffer-pool-size=32M",
        "--innodb-log-file-size=8M",
    ]
    try:
        _run(user, folder, install, *small, "--auth-root-authentication-method=normal", "--skip-test-db")
        port, socket_path = _free_port(), folder / "s"
        with log.open("wb") as into:
            server = subprocess.Popen(
                [program, *small, f"--socket={socket_path}", f"--port={port}", "--bind-address=127.0.0.1",
                 "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", "--skip-name-resolve"],
                stdout=into, stderr=into, cwd=folder, **_as(user),
            )  # fmt: skip
        try:
            running = MySQL("127.0.0.1", port, str(socket_path))
            _answered(lambda: running.connect().close(), server, log)
            _prepare(running)
            yield running
        finally:
            _end(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(server: MySQL) -> None:
    connection = server.connect()
    with connection.cursor() as cursor:
        # Not what Veil speaks with the server, so that nothing rests on the two being the same.
        cursor.execute(f"CREATE DATABASE {server.database} CHARACTER SET latin1 COLLATE latin1_swedish_ci")
        cursor.execute(f"CREATE USER {OWNER}@'127.0.0.1' IDENTIFIED BY %s", (PASSWORD,))
        cursor.execute(f"GRANT ALL ON {server.database}.* TO {OWNER}@'127.0.0.1'")
    connection.close()


def spark_session() -> Any:
    """Start a small, quiet Spark in this process."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .appName("veil tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp(prefix="veil-spark-"))
        .getOrCreate()
    )


def has_java() -> bool:
    """Whether a Java runtime starts."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    return java is not None and subprocess.run([java, "-version"], capture_output=True).returncode == 0


def _unprivileged(name: str) -> pwd.struct_passwd | None:
    """Servers refuse to run as root; Debian's packages have made users for them."""
    if os.geteuid() != 0:
        return None
    for each in (name, "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(each)
    return None


def _as(user: pwd.struct_passwd | None) -> dict[str, Any]:
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _run(user: pwd.struct_passwd | None, folder: Path, *command: Any) -> None:
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, cwd=folder, **_as(user)
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-2000:]}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answered(ask: Callable[[], None], server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server takes connections."""
    for _ in range(3000):
        if server.poll() is not None:
            raise RuntimeError(f"the server ended: {log.read_text()[-2000:]}")
        try:
            return ask()
        except Exception as error:
            if type(error).__name__ != "OperationalError":  # which both drivers raise
                raise
        time.sleep(0.1)
    raise RuntimeError(f"the server does not answer: {log.read_text()[-2000:]}")


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
