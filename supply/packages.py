"""What Veil is delivered with: licences of the locked packages, and a bill of materials (SBOM).

python supply/packages.py licences          # ends with 1 if somebody would have to look at a licence
python supply/packages.py sbom > sbom.json  # CycloneDX 1.6, of what `pip install veil-anonymizer[all]` brings along

Both read the lock files, and the metadata of the packages as they are installed.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RUNTIME = ("requirements.lock",)
ALL = ("requirements.lock", "requirements-dev.lock", "requirements-mysql.lock", "requirements-spark.lock")

_LOCKED = re.compile(r"^([A-Za-z0-9_.-]+)==([^\s\\;]+)((?:\s*\\?\s*--hash=\S+)*)", re.MULTILINE)

# Licences that let everybody use, change and pass on, with their text and no more asked of Veil.
_FREE = re.compile(
    r"MIT(-0|-CMU)?|MIT License|BSD(-[23]-Clause| License)?|0BSD|ISC( License \(ISCL\))?|Apache(-| |.*)2\.0"
    r"|Apache Software License|Apache-2\.0 WITH LLVM-exception|PSF-2\.0|Python Software Foundation License|CNRI-Python|Zlib"
    r"|CC0-1\.0|Public Domain|The Unlicense \(Unlicense\)"
)
# Licences that ask something of whoever changes the package itself. Veil changes none of them and holds none of their code:
# they are installed beside it, each under its own licence.
_BESIDE = re.compile(r"MPL-2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)|LGPL-3\.0-(only|or-later)")
_NOT_HERE = "not installed"
ARGUED = {
    "axe-playwright-python": "MIT by the text that comes with it, which its metadata do not name, and axe in it under MPL-2.0; for tests only",
    "docutils": "of its parts, those under the GPL are tools that are not installed; it makes the documentation",
    "mysqlclient": "an extra that people install themselves, to reach MySQL; GPL, so it is in no bundle of Veil",
}


class Package(NamedTuple):
    """A locked package, with what it says of its licence."""

    name: str
    version: str
    hashes: tuple[str, ...]
    licence: str

    @property
    def parts(self) -> list[str]:
        """The licences that are named."""
        return [each for each in re.split(r" AND | OR |; ", self.licence) if each]

    @property
    def needs_a_look(self) -> bool:
        """Whether nobody has said yet that its licence is fine."""
        known = all(_FREE.fullmatch(each) or _BESIDE.fullmatch(each) for each in self.parts)
        return self.name not in ARGUED and not (self.parts and known)


def locked(files: tuple[str, ...]) -> list[Package]:
    """Return the packages of some lock files."""
    found: dict[str, Package] = {}
    for file in files:
        for name, version, hashes in _LOCKED.findall((ROOT / file).read_text(encoding="utf-8")):
            digests = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", hashes))
            found[name.lower()] = Package(name.lower(), version, digests, _licence(name))
    return [found[name] for name in sorted(found)]


def _licence(name: str) -> str:
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return _NOT_HERE
    listed = [each for each in told.get_all("Classifier") or [] if each.startswith("License")]
    first = (told.get("License") or "").strip().partition("\n")[0]
    return told.get("License-Expression") or "; ".join(each.split(" :: ")[-1] for each in listed) or first


def sbom(packages: list[Package]) -> dict[str, Any]:
    """Return a bill of materials in CycloneDX; without a time or a number of its own, so that the same locks give the same."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "veil-anonymizer",
                "version": metadata.version("veil-anonymizer"),
                "licenses": [{"license": {"name": _licence("veil-anonymizer") or "see LICENSE"}}],
            }
        },
        "components": [
            {
                "type": "library",
                "name": each.name,
                "version": each.version,
                "purl": f"pkg:pypi/{each.name}@{each.version}",
                "bom-ref": f"{each.name}@{each.version}",
                "licenses": [{"license": {"name": part}} for part in each.parts],
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in each.hashes],
            }
            for each in packages
        ],
    }


def main(arguments: list[str]) -> int:
    """Do what is asked."""
    if arguments == ["sbom"]:
        print(json.dumps(sbom(locked(RUNTIME)), indent=2))
        return 0
    if arguments == ["licences"]:
        packages = locked(ALL)
        absent = [each.name for each in packages if each.licence == _NOT_HERE]
        odd = [each for each in packages if each.needs_a_look and each.name not in absent]
        for each in odd:
            print(f"{each.name} {each.version}: {each.licence or 'names no licence'}")
        print(f"{len(packages)} packages, {len(odd)} to look at, {len(ARGUED)} argued")
        if absent:
            print(f"not installed, so not looked at: {', '.join(absent)}")
        return 1 if odd else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
