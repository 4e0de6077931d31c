"""URLs of databases, split into a part that may be shown, the table, and secrets for the driver alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from veil.errors import InputError

_SECRET = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)


class UrlParts(NamedTuple):
    """A URL without its secrets and its table."""

    url: str
    table: str | None
    schema: str | None
    secrets: dict[str, str]


def table_and_schema(fragment: str, *, has_schemas: bool = True) -> tuple[str | None, str | None]:
    """Return the table and the schema behind ``#``; names with a dot are given as `table` and `schema`."""
    if not fragment:
        return None, None
    name = unquote(fragment)
    schema, dot, table = name.partition(".")
    return (table, schema) if dot and has_schemas else (name, None)


def server_parts(scheme: str, url: str, *, has_schemas: bool = True) -> UrlParts:
    """Split the URL of a server."""
    encode = (
        f"`url` of Database ({scheme}://...) cannot be read. It should be {scheme}://user@host:port/database#table; "
        "characters such as / # ? @ : in a password should be percent-encoded, for example %23 for #"
    )
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError:
        raise ValueError(encode) from None
    # A password that is not encoded ends the host too early and leaves its @ behind it.
    if "@" in split.path + split.query + split.fragment or not url[len(scheme) + 1 :].startswith("//"):
        raise ValueError(encode)
    secrets = {"password": unquote(split.password)} if split.password else {}
    options = []
    for name, value in parse_qsl(split.query, keep_blank_values=True):
        if _SECRET.search(name):
            secrets[name] = value
        else:
            options.append((name, value))
    user = "" if not split.username else f"{split.username}@"
    host = split.hostname or ""
    host = f"[{host}]" if ":" in host else host
    place = f"{user}{host}{f':{port}' if port else ''}"
    query = f"?{urlencode(options, quote_via=quote)}" if options else ""
    table = table_and_schema(split.fragment, has_schemas=has_schemas)
    return UrlParts(f"{scheme}://{place}{split.path}{query}", *table, secrets)


def file_parts(scheme: str, url: str, *, has_schemas: bool = True) -> UrlParts:
    """Split the URL of a file."""
    location, _, fragment = url.partition(":")[2].partition("#")
    if not location.strip("/") or location.strip("/") == ":memory:":
        raise ValueError(f"`url` of Database should name a file: {scheme}:///folder/file.db#table")
    if "?" in location:
        raise ValueError(
            f"`url` of Database ({scheme}:) should name a file and a table, and no options after a question mark. "
            "Open the connection yourself with Ibis, and give its table"
        )
    return UrlParts(f"{scheme}:{location}", *table_and_schema(fragment, has_schemas=has_schemas), {})


def file_of(url: str) -> Path:
    """Return the file that a URL names."""
    path = unquote(url.partition(":")[2]).removeprefix("//")
    return Path(path.removeprefix("/") if re.match(r"^/[A-Za-z]:", path) else re.sub("^/+", "/", path))


def server_arguments(url: str, timeout: str | None) -> dict[str, Any]:
    """Return the arguments of a driver, which waits ten seconds for a server unless the URL sets a time."""
    split = urlsplit(url)
    arguments: dict[str, Any] = {
        "host": split.hostname,
        "port": split.port,
        "user": unquote(split.username) if split.username else None,
        "database": unquote(split.path.strip("/")) or None,
        **dict(parse_qsl(split.query)),
    }
    if timeout is not None:
        seconds = str(arguments.get(timeout, 10))
        if not seconds.isdigit():
            raise InputError(f"{url}: `{timeout}` should be a number of seconds, not {seconds!r}")
        arguments[timeout] = int(seconds)
    return {name: value for name, value in arguments.items() if value is not None}
