"""Projects: a plan with everything that belongs to it, in one file that others can open.

A `.veil` file is a ZIP archive of texts: `project.json`, `recipe.yaml`, a hierarchy in each
`hierarchies/*.csv`, `certificate.json` of the last release, and on request the table. Parts are not
compressed, so that a file written here is never larger unpacked than packed. Texts of ARX projects (`.deid`)
are read, too: see `veil.recipe.deid`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veil.base.paths import usable
from veil.base.references import untrusted
from veil.base.untrusted import parse_json
from veil.base.version import __version__
from veil.errors import InputError, OutputError, PlanError, VeilError
from veil.recipe.archive import Archive
from veil.recipe.document import file_text, parse
from veil.recipe.recipe import PLACES, Recipe
from veil.tables import atomic
from veil.tables.formats import format_of

if TYPE_CHECKING:
    from veil.plan.plan import Plan

SUFFIX, ARX_SUFFIX = ".veil", ".deid"
FORMAT = "veil project"
VERSION = 1

_PROJECT, _RECIPE, _CERTIFICATE = "project.json", "recipe.yaml", "certificate.json"
_HIERARCHIES, _TABLE = "hierarchies/", "table/"


class Attached(NamedTuple):
    """A table inside a project: the contents and the name of its file."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Project:
    """A plan, complete or not, with everything that belongs to it.

    Attributes
    ----------
    recipe : dict
        The fields of the recipe, without places. It may be incomplete.
    notes : str
        Notes of the user.
    changes : tuple of str
        Descriptions of changes, the oldest first.
    certificate : dict or None
        The certificate of the last release.
    table : Attached or None
        The table, if the project includes it.
    page : dict
        The state of the workbench besides the recipe.
    left_out : tuple of str
        Descriptions of the parts of another program's project that could not be read.

    >>> step = {"kind": "Generalize", "quasi_identifiers": {"sex": "suppression"}}
    >>> Project({"steps": [{**step, "models": [{"kind": "KAnonymity", "k": 2}]}]}).plan().models
    (KAnonymity(k=2),)
    """

    recipe: dict[str, Any] = field(default_factory=dict)
    notes: str = ""
    changes: tuple[str, ...] = ()
    certificate: dict[str, Any] | None = None
    table: Attached | None = None
    page: dict[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, recipe: Recipe, **further: Any) -> Project:
        """Make a project of a recipe; hierarchy files are included, places are left out."""
        spec = {name: value for name, value in recipe.spell().items() if name not in PLACES}
        plan, step = recipe.plan_of_input(), spec["steps"][0]
        for fields in _HIERARCHIES_IN:
            for name, builder in getattr(plan, fields).items():
                if getattr(builder, "kind", None) == "file":
                    rows = [list(row) for row in builder.read().to_rows()]
                    step[fields] = {**step[fields], name: {"kind": "table", "rows": rows}}
        return cls(spec, **further)

    @property
    def generalize(self) -> dict[str, Any]:
        """The step Generalize as far as there is one."""
        return step_in(self.recipe)

    def plan(self) -> Plan:
        """Return the plan, if it is complete."""
        return self.as_recipe().plan()

    def as_recipe(self) -> Recipe:
        """Return the recipe, if it is complete; refuse references to files of this machine."""
        return Recipe.from_elsewhere(self.recipe)

    # --- files

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Project:
        """Open a project of Veil (.veil) or of ARX (.deid)."""
        path = usable(path)
        if path.suffix.lower() == ARX_SUFFIX:
            from veil.recipe.deid import read_deid

            return read_deid(path)
        with Archive(path, times=10) as archive:
            return _read(archive)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the project: whole, or not at all. Only its owner may read it, as recipes name values."""
        path = usable(path, OutputError)
        if path.suffix.lower() != SUFFIX:
            raise OutputError(f"{path}: the name of a project should end in {SUFFIX}: {path.stem}{SUFFIX}")
        if path.exists() and not overwrite:
            raise OutputError(f"{path} already exists: choose another name, or allow it to be replaced")
        with atomic(path) as temporary:
            temporary.touch(0o600)  # readable by the owner only, even while it is written
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
                for name, content in self._parts().items():
                    archive.writestr(zipfile.ZipInfo(name), content)
        return path

    def unpack(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write recipe, hierarchies, certificate and table into a new folder, ready for `veil anonymize`."""
        folder = Path(folder)
        step = {**self.generalize, "pseudonym_key": None}  # `veil anonymize` asks for its file
        others = _changed(self.recipe, lambda each: each if each.get("kind") != "Generalize" else step)
        with untrusted() as refused, contextlib.suppress(VeilError):
            Recipe(**others)
        if refused:
            raise PlanError(refused[0])
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            raise OutputError(f"{folder} already exists: choose another name") from None
        except OSError as error:
            raise OutputError(f"{folder} cannot be created: {error.strerror}") from None
        paths = []
        for name, content in self._parts(located=True).items():
            path = folder / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.write_bytes(content)
            paths.append(path)
        return paths

    def _parts(self, *, located: bool = False) -> dict[str, bytes]:
        """Return the parts of the archive by name; if located, the recipe names its input and output."""
        recipe, hierarchies = _separate_hierarchies(self.recipe)
        if located:
            source = f"{_TABLE}{self.table.name}" if self.table else "table.csv"
            recipe = {"input": source, "output": "release.csv", **recipe}
        about = {
            "format": FORMAT,
            "version": VERSION,
            "made_with": f"veil {__version__}",
            "notes": self.notes,
            "changes": list(self.changes),
            "page": self.page,
            "left_out": list(self.left_out),
        }
        parts = {_PROJECT: _json(about), _RECIPE: file_text(recipe, _RECIPE).encode(), **hierarchies}
        if self.certificate is not None:
            parts[_CERTIFICATE] = _json(self.certificate)
        if self.table is not None:
            parts[f"{_TABLE}{_safe(self.table.name)}"] = self.table.content
        return parts


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def _safe(name: str) -> str:
    """Return the name of a table, which becomes the name of a file; refuse an unsafe one."""
    if Path(name).name != name or name in ("", ".", "..") or any(sign in name for sign in "\\:\0"):
        raise OutputError(f"{name!r} cannot be the name of a table in a project")
    return name


# --- hierarchies as separate files


_HIERARCHIES_IN = ("quasi_identifiers", "items")


def step_in(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step Generalize of a recipe as plain data, which may be incomplete; empty if there is none.

    >>> step_in({"steps": [{"kind": "Generalize", "sensitive": ["diagnosis"]}]})["sensitive"]
    ['diagnosis']
    """
    steps = [each for each in steps_in(recipe) if each.get("kind") == "Generalize"]
    return dict(steps[0]) if steps else {}


def steps_in(recipe: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the steps of a recipe as plain data, as far as they are mappings."""
    steps = recipe.get("steps")
    return [each for each in steps if isinstance(each, Mapping)] if isinstance(steps, list | tuple) else []


def _changed(recipe: Mapping[str, Any], change: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    """Return a recipe with its steps changed."""
    return (
        {**recipe, "steps": [change(each) for each in steps_in(recipe)]} if steps_in(recipe) else dict(recipe)
    )


def _with_hierarchies(recipe: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a recipe with all hierarchies of its steps changed."""

    def change_step(step: Mapping[str, Any]) -> dict[str, Any]:
        fields = {name: step[name] for name in _HIERARCHIES_IN if isinstance(step.get(name), Mapping)}
        changes = {
            name: {column: change(each) for column, each in builders.items()}
            for name, builders in fields.items()
        }
        return {**step, **changes}

    return _changed(recipe, change_step)


def _separate_hierarchies(recipe: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    files: dict[str, bytes] = {}
    return _with_hierarchies(recipe, lambda builder: _file(builder, files)), files


def _file(builder: Any, files: dict[str, bytes]) -> Any:
    """Move the rows of a hierarchy to a file, unless the file would be read differently."""
    if not isinstance(builder, Mapping) or builder.get("kind") != "table" or set(builder) != {"kind", "rows"}:
        return builder
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(
        ["NULL" if label is None else label for label in row] for row in builder["rows"]
    )
    content = text.getvalue().encode()
    if _rows(content) != [
        [None if label is None else str(label) for label in row] for row in builder["rows"]
    ]:
        return builder  # for example, a label is NULL
    name = f"{_HIERARCHIES}{len(files) + 1}.csv"
    files[name] = content
    return name


def _rows(content: bytes) -> list[list[str | None]]:
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=";", strict=True)
    return [[None if label.casefold() == "null" else label for label in row] for row in reader if row]


def _read(archive: Archive) -> Project:
    names = set(archive.names)
    for needed in (_PROJECT, _RECIPE):
        if needed not in names:
            raise InputError(f"{archive.path}: is not a Veil project: it has no part {needed!r}")
    about = parse_json(archive.read(_PROJECT), f"{archive.path}: {_PROJECT}")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{archive.path}: is not a Veil project")
    if about.get("version") != VERSION:
        raise InputError(
            f"{archive.path}: has format version {about.get('version')!r}, but this version of Veil reads "
            f"{VERSION}. Update Veil"
        )
    text = _text(archive, _RECIPE)
    recipe = dict(parse(text, f"{archive.path}: {_RECIPE}").data) if text.strip() not in ("", "{}") else {}
    recipe = _with_hierarchies(recipe, lambda builder: _with_rows(builder, archive, names))
    project = Project(
        recipe,
        _words(about, "notes", archive.path),
        tuple(_list(about, "changes", archive.path)),
        left_out=tuple(_list(about, "left_out", archive.path)),
    )
    page = about.get("page", {})
    if not isinstance(page, dict):
        raise InputError(f"{archive.path}: `page` of {_PROJECT} should be a mapping")
    project = replace(project, page=page)
    if _CERTIFICATE in names:
        certificate = parse_json(archive.read(_CERTIFICATE), f"{archive.path}: {_CERTIFICATE}")
        if not isinstance(certificate, dict):
            raise InputError(f"{archive.path}: the certificate is invalid")
        project = replace(project, certificate=certificate)
    tables = [name for name in names if name.startswith(_TABLE)]
    if len(tables) > 1:
        raise InputError(f"{archive.path}: has {len(tables)} tables, but may have only one")
    for name in tables:
        short = name.removeprefix(_TABLE)
        format_of(Path(short))
        project = replace(project, table=Attached(short, archive.read(name)))
    return project


def _with_rows(builder: Any, archive: Archive, names: set[str]) -> Any:
    if not isinstance(builder, str) or not builder.startswith(_HIERARCHIES):
        return builder
    if builder not in names:
        raise PlanError(f"{archive.path}: the hierarchy {builder!r} is not in it")
    try:
        return {"kind": "table", "rows": _rows(archive.read(builder))}
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{archive.path}: {builder}: is not a hierarchy: {error}") from None


def _text(archive: Archive, name: str) -> str:
    try:
        return archive.read(name).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{archive.path}: {name} is not UTF-8 text") from None


def _words(about: Mapping[str, Any], name: str, path: Path) -> str:
    value = about.get(name, "")
    if not isinstance(value, str):
        raise InputError(f"{path}: `{name}` of {_PROJECT} should be a text")
    return value


def _list(about: Mapping[str, Any], name: str, path: Path) -> list[str]:
    value = about.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InputError(f"{path}: `{name}` of {_PROJECT} should be a list of texts")
    return value
