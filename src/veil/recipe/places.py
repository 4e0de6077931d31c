"""The places in a recipe: the table to read, the release and the files beside it, and the engine."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from veil.base.declare import declared
from veil.base.references import Reference
from veil.base.spell import spell_value
from veil.engines.database import Database, is_url
from veil.engines.relation import Engine
from veil.engines.scan.files import is_pattern
from veil.engines.settings import Settings
from veil.errors import VeilError
from veil.recipe.parts import members, with_kind
from veil.tables import Csv, Excel, Feather, Format, Parquet
from veil.tables.formats import format_of

_Path = Annotated[str, Field(min_length=1, description="where the file is; relative to the recipe")]

_INSTEAD = "leave it out, and say it where the recipe is carried out"
PLACE = Reference("a table", _INSTEAD)
FILE = Reference("a file", _INSTEAD)
VARIABLE = Reference("an environment variable", _INSTEAD, is_file=False)


# The table to anonymize


@declared
class CsvInput(Csv):
    """A CSV file; unspecified properties are detected."""

    path: _Path = Field(kw_only=True)


@declared
class ParquetInput(Parquet):
    """A Parquet file."""

    path: _Path = Field(kw_only=True)


@declared
class FeatherInput(Feather):
    """An Arrow IPC (Feather) file."""

    path: _Path = Field(kw_only=True)


@declared
class ExcelInput(Excel):
    """A sheet of an Excel workbook."""

    path: _Path = Field(kw_only=True)


@declared
class FilesInput:
    """A folder, or a pattern with * and **, of CSV or Parquet files; their names show which."""

    path: _Path = Field(kw_only=True)
    kind: Literal["files"] = Field(default="files", repr=False, kw_only=True)


Input = CsvInput | ParquetInput | FeatherInput | ExcelInput
AnySource = Input | FilesInput | Database
INPUTS = members(Input)
SOURCES = members(AnySource)
FORMATS = members(Format)


def input_of(path: str, format: Format | None) -> Input:
    """Describe a file; without a format, by its name."""
    format = format_of(Path(path)) if format is None else format
    result: Input = INPUTS[format.kind](path=path, **_fields(format))
    return result


def source_of(place: str | Path | Database, format: Format | None) -> AnySource:
    """Describe a table that a recipe can read: a file, a folder or pattern of files, or a database table.

    A password is left out, as it does not belong in a recipe.
    """
    if isinstance(place, str) and is_url(place):
        place = Database(place)
    if isinstance(place, Database):
        return without_password(place)
    path = str(place)
    if format is None and kind_of_name(path) is None:
        if Path(path).is_dir():
            return FilesInput(path=path if is_folder(path) else f"{path}/")
        if is_folder(path) or is_pattern(path):
            return FilesInput(path=path)
    return input_of(path, format)


def without_password(database: Database) -> Database:
    """Return a database as a recipe names it."""
    return Database(database.url, database.table, database.schema, database.password_variable)


def is_folder(path: str) -> bool:
    """Return whether a path ends as a folder does.

    >>> is_folder("releases/"), is_folder("release.csv")
    (True, False)
    """
    return path.endswith(("/", "\\"))


def kind_of_name(path: str) -> str | None:
    """Return the format that the name of a file or a pattern shows, if any."""
    try:
        return format_of(Path(path)).kind
    except VeilError:
        return None


def format_of_input(source: AnySource) -> Format | None:
    """Return the format alone, if it is known."""
    if isinstance(source, FilesInput | Database):
        return None
    cls = FORMATS[source.kind]
    result: Format = cls(**{each.name: getattr(source, each.name) for each in dataclasses.fields(cls)})
    return result


def _fields(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


def _source(value: Any) -> Any:
    if isinstance(value, str) and is_url(value):
        value = {"url": value}
    if isinstance(value, str):
        value = {"path": value}
    if not isinstance(value, Mapping) or "kind" in value:
        return with_kind(value, SOURCES, "a path, a URL, or a mapping with `path` or `url`,")
    if "url" in value:
        return {**value, "kind": "Database"}
    path = value.get("path")
    if not isinstance(path, str):
        return with_kind(value, INPUTS, "a path, or a mapping with `path`,")
    kind = kind_of_name(path)
    if kind is None and (is_folder(path) or re.search(r"[*?\[]", path)):
        kind = "files"
    if kind is None:
        raise ValueError(
            f"the name {path!r} does not show the file format; add `kind`, one of {', '.join(INPUTS)}, or "
            "end it with / if it is a folder"
        )
    return {**value, "kind": kind}


def _refuse_password(value: Any) -> Any:
    if isinstance(value, Database) and value.has_password:
        raise ValueError(
            "a password does not belong in a recipe: name an environment variable that holds it with "
            "`password_variable`, or leave it to the driver (PGPASSWORD, ~/.pgpass)"
        )
    return value


SourceSpec = Annotated[
    Annotated[AnySource, Field(discriminator="kind")],
    BeforeValidator(_source, json_schema_input_type=str | AnySource),
    AfterValidator(_refuse_password),
    PLACE,
]
"""A path or a mapping with the path and the properties of the format, a folder or pattern of files, or a table of a database as URL or mapping."""


def _target(value: Any) -> Any:
    return {"url": value} if isinstance(value, str) and is_url(value) else value


def _text_or(kind: str) -> Discriminator:
    """Distinguish a word from a mapping, so that errors in a mapping are reported for its kind only."""
    return Discriminator(lambda value: "text" if isinstance(value, str) else kind)


_AnyTarget = Annotated[
    Annotated[str, Field(min_length=1), Tag("text")] | Annotated[Database, Tag("Database")],
    _text_or("Database"),
]
TargetSpec = Annotated[
    _AnyTarget,
    BeforeValidator(_target, json_schema_input_type=_AnyTarget),
    AfterValidator(_refuse_password),
    PLACE,
]
"""A file, a folder (with / at its end), or a table of a database."""


_WITH_LIMITS = [name for name in get_args(Engine) if name not in ("auto", "memory")]


def _engine(value: Any) -> Any:
    """Read `{kind: duckdb, memory: 2GB}` as DuckDB with limits, and an engine without any by its name."""
    if isinstance(value, Settings):
        return value
    if isinstance(value, str | Mapping):
        kind = value if isinstance(value, str) else value.get("kind", "Settings")
        limits = {} if isinstance(value, str) else {name: value[name] for name in value if name != "kind"}
        name = str(kind).lower()
        if name in get_args(Engine) and not limits:
            return name
        if name in (*_WITH_LIMITS, "settings") and not isinstance(value, str):
            return limits
    raise ValueError(
        "auto, memory or duckdb is expected, or duckdb with limits, such as {kind: duckdb, memory: 2GB, threads: 2}, "
        f"not {value!r}"
    )


EngineSpec = Annotated[
    Annotated[Engine, Tag("text")] | Annotated[Settings, Tag("Settings")],
    _text_or("Settings"),
    BeforeValidator(_engine),
]
"""The engine that reads files, or DuckDB with limits."""


def url_with_table(database: Database) -> str:
    """Write a database as a URL with its table, as commands take it, and without a password.

    >>> url_with_table(Database("postgres://veil:s3cret@host/clinic#public.patients"))
    'postgres://veil@host/clinic#public.patients'
    """
    names = [quote(each, safe="") for each in (database.schema, database.table) if each is not None]
    return f"{database.url}#{'.'.join(names)}" if names else database.url


def with_file(database: Database, move: Callable[[str], str]) -> Database:
    """Return a database with the path of its file changed by `move`; unchanged if it has no file."""
    if database.file is None:
        return database
    scheme = database.url.partition(":")[0]
    url = f"{scheme}://{quote(Path(move(str(database.file))).as_posix())}"
    return Database(url, database.table, database.schema, database.password_variable)


def spell_source(source: AnySource, move: Callable[[str], str]) -> Any:
    """Write the place of a table, with its path changed by `move`: the path alone, if that says it all."""
    if isinstance(source, Database):
        return spell_database(with_file(source, move))
    path, spec = move(source.path), spell_value(source)
    kind = kind_of_name(path) or ("files" if isinstance(source, FilesInput) else None)
    if kind == source.kind:
        del spec["kind"]
    del spec["path"]
    return {"path": path, **spec} if spec else path


def spell_database(database: Database) -> Any:
    """Write a database as a URL if that is complete, otherwise as a mapping."""
    text = url_with_table(database)
    if Database(text) == database:
        return text
    spec = spell_value(database)
    del spec["kind"]
    return spec


# Files beside the release

REPORTS = (".html", ".pdf", ".json")
CERTIFICATES = (".json",)
PROCESSING_RECORDS = (".jsonld", ".ttl")


def _ending(endings: tuple[str, ...]) -> Any:
    def check(path: str) -> str:
        if Path(path).suffix.lower() not in endings:
            raise ValueError(f"the name should end in {' or '.join(endings)}, not {path!r}")
        return path

    return AfterValidator(check)


FilePath = Annotated[str, Field(min_length=1), FILE]
ReportPath = Annotated[FilePath, _ending(REPORTS)]
CertificatePath = Annotated[FilePath, _ending(CERTIFICATES)]
