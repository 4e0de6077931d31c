"""`veil doctor`: installed packages, usable extras, and the cache of compiled code."""

from __future__ import annotations

import importlib.metadata as metadata
import platform
import re
import sys
import warnings
from collections.abc import Iterator

from veil.base.version import __version__
from veil.cli import show

_PACKAGE = "veil-anonymizer"
_REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[([^]]*)\])?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?")
_NOT_FOR_USERS = {"all", "dev"}


def doctor(_: object) -> None:
    """Print versions, extras, the cache of compiled code and the machine, for a bug report."""
    console = show.output()
    console.print(show.table("Veil", ("", ""), list(_about())))
    console.print(
        show.table("Needed", ("package", "version"), [(n, _version(n) or "MISSING") for n in _needed()])
    )
    console.print(show.table("Extras", ("extra", "packages", ""), list(_extras())))


def _about() -> Iterator[tuple[str, str]]:
    folder = _cache()  # first, as it suppresses the warning about the same
    from veil.lattice.search import cores

    yield "version", __version__
    yield "Python", f"{platform.python_version()}, {sys.executable}"
    yield "system", f"{platform.system()} {platform.machine()}"
    yield "cores that may be used", str(cores())
    yield "compiled parts are kept in", folder


def _cache() -> str:
    """Return the cache folder of Numba, or a message if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from veil.base import compiled
        from veil.classes import kernels

    if not compiled.caching:
        return "nowhere: no folder can be written to. Name one in NUMBA_CACHE_DIR, or every start takes some seconds longer"
    paths = {getattr(each, "stats", None) and each.stats.cache_path for each in vars(kernels).values()}
    return ", ".join(sorted(path for path in paths if path))


def _requirements(package: str = _PACKAGE) -> Iterator[tuple[str, str | None]]:
    """Yield the requirements of a package, each with its extra; also those of the extras it requires."""
    for line in metadata.requires(package) or ():
        match = _REQUIREMENT.match(line)
        if match is None:
            continue
        name, inner, extra = match.groups()
        yield name, extra
        if inner and package == _PACKAGE and _version(name):
            extras = {each.strip() for each in inner.split(",")}
            yield from ((each, extra) for each, of in _requirements(name) if of in extras)


def _needed() -> list[str]:
    return [name for name, extra in _requirements() if extra is None]


def _extras() -> Iterator[tuple[str, str, str]]:
    extras: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if extra is not None and extra not in _NOT_FOR_USERS:
            extras.setdefault(extra, []).append(name.lower())
    for extra, names in sorted(extras.items()):
        versions = {name: _version(name) for name in sorted(set(names))}
        packages = ", ".join(
            f"{name} {version}" if version else f"{name} –" for name, version in versions.items()
        )
        yield extra, packages, "ready" if all(versions.values()) else f"pip install '{_PACKAGE}[{extra}]'"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
