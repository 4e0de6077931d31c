"""The accepted host names of a server: those it was bound to and those allowed by an option.

A page of another site can have its own name resolve to this machine (DNS rebinding); the browser then sends
the requests of that page here, with that name as the host. So only listed names are accepted. An IP address
of this machine is safe: no other site can make it resolve to anything.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from veil.errors import ParameterError, Say

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ALLOWED = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


class Hosts:
    """The values that the header `Host` of a request may have.

    >>> hosts = Hosts("0.0.0.0", 8000, ["clinic.example"])
    >>> [hosts.know(each, "192.0.2.7") for each in ("192.0.2.7:8000", "clinic.example", "evil.example:8000")]
    [True, True, False]
    """

    def __init__(self, host: str, port: int, allowed: Sequence[str] = ()) -> None:
        self.port, self.everywhere = port, _is_everywhere(host)
        own_name = _LOOPBACK[0] if self.everywhere else _url_host(host)
        is_loopback = self.everywhere or host in ("127.0.0.1", "localhost")
        names = {own_name, *_LOOPBACK} if is_loopback else {own_name}
        self.names = {way for name in names for way in self._ways(name)}
        for each in allowed:
            self.names |= self._allow(each.lower())
        self.address = f"http://{own_name}:{port}/"

    def _ways(self, name: str) -> set[str]:
        """Return the forms of a name with the port of this server, which browsers may omit."""
        return {name, f"{name}:{self.port}"} if self.port in (80, 443) else {f"{name}:{self.port}"}

    def _allow(self, name: str) -> set[str]:
        """Return the forms of an allowed name: with this port, and as reverse proxies send it."""
        if not _ALLOWED.fullmatch(name):
            raise ParameterError(
                Say("allow_host"),
                f" should be a name such as clinic.example or clinic.example:8443, not {name!r}",
            )
        return {name} if re.search(r"[^:]:[0-9]+$|\]:[0-9]+$", name) else {name, f"{name}:{self.port}"}

    def know(self, host: str | None, own: str | None) -> bool:
        """Return whether a request may name this host; `own` is the local address that received it."""
        if host is None:
            return False
        if host.lower() in self.names:
            return True
        return self.everywhere and own is not None and host.lower() in self._ways(_url_host(own))

    def is_own_origin(self, origin: str, host: str | None) -> bool:
        """Return whether a request comes from a page of the host that it names."""
        return origin.lower() in {f"{scheme}://{(host or '').lower()}" for scheme in ("http", "https")}


def _is_everywhere(host: str) -> bool:
    """Return whether a server bound to this host listens at all addresses of its machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _url_host(host: str) -> str:
    """Return a host as URLs write it.

    >>> _url_host("::1"), _url_host("::ffff:192.0.2.7"), _url_host("clinic.example")
    ('[::1]', '192.0.2.7', 'clinic.example')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.lower()
    if isinstance(address, ipaddress.IPv6Address):
        return f"[{address}]" if address.ipv4_mapped is None else str(address.ipv4_mapped)
    return str(address)
