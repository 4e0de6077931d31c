"""The names by which a server may be asked: those that it was bound to, and those that somebody has allowed.

A page of another site can have its own name resolved to this machine (DNS rebinding), and the browser then sends what the
page asks here, with that name as the host. So a name is known only if it is said to be. An address of this machine is no such
name: nobody else can have it resolve to anything.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from veil.errors import ParameterError, Say

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ALLOWED = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


class Hosts:
    """What the header `Host` of a request may be.

    >>> hosts = Hosts("0.0.0.0", 8000, ["clinic.example"])
    >>> [hosts.know(each, "192.0.2.7") for each in ("localhost:8000", "192.0.2.7:8000", "clinic.example", "evil.example:8000")]
    [True, True, True, False]
    """

    def __init__(self, host: str, port: int, allowed: Sequence[str] = ()) -> None:
        self.port, self.everywhere = port, _is_everywhere(host)
        named = _LOOPBACK[0] if self.everywhere else _spelled(host)
        names = {named, *_LOOPBACK} if self.everywhere or host in ("127.0.0.1", "localhost") else {named}
        self.names = {way for name in names for way in self._ways(name)}
        for each in allowed:
            self.names |= self._allow(each.lower())
        self.address = f"http://{named}:{port}/"

    def _ways(self, name: str) -> set[str]:
        """Return how browsers write a name with the port of this server: without it where that goes without saying."""
        return {name, f"{name}:{self.port}"} if self.port in (80, 443) else {f"{name}:{self.port}"}

    def _allow(self, name: str) -> set[str]:
        """Return what a name that somebody has allowed may be written as: with this port, and as servers in front send it."""
        if not _ALLOWED.fullmatch(name):
            raise ParameterError(
                Say("allow_host"),
                f" should be a name such as clinic.example or clinic.example:8443, not {name!r}",
            )
        return {name} if re.search(r"[^:]:[0-9]+$|\]:[0-9]+$", name) else {name, f"{name}:{self.port}"}

    def know(self, host: str | None, own: str | None) -> bool:
        """Tell whether a request may name this host; `own` is the address of this machine that it came in by."""
        if host is None:
            return False
        if host.lower() in self.names:
            return True
        return self.everywhere and own is not None and host.lower() in self._ways(_spelled(own))

    def is_own_origin(self, origin: str, host: str | None) -> bool:
        """Tell whether a request comes from a page of the host that it names."""
        return origin.lower() in {f"{scheme}://{(host or '').lower()}" for scheme in ("http", "https")}


def _is_everywhere(host: str) -> bool:
    """Whether a server that is bound so listens at all addresses of its machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _spelled(host: str) -> str:
    """Return a host as addresses of pages have it.

    >>> _spelled("::1"), _spelled("::ffff:192.0.2.7"), _spelled("clinic.example")
    ('[::1]', '192.0.2.7', 'clinic.example')
    """
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.lower()
    if isinstance(found, ipaddress.IPv6Address):
        return f"[{found}]" if found.ipv4_mapped is None else str(found.ipv4_mapped)
    return str(found)
