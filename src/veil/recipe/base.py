"""What all recipes have in common: a file, a table to read and one to write, and paths that start at the file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import quote

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DecimalSchema

from veil.base.declare import with_careful_numbers
from veil.engines.database import Database
from veil.errors import ParameterError, Say, VeilError, in_quotes
from veil.recipe.document import Document, read_document
from veil.recipe.places import (
    INPUTS,
    SOURCES,
    AnySource,
    CertificatePath,
    FilePath,
    ReportPath,
    SourceSpec,
    TargetSpec,
    format_of_input,
    is_folder,
)
from veil.tables import Format

Acknowledged = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda value: (value,) if isinstance(value, str) else value, json_schema_input_type=str | list[str]
    ),
]


class Located(BaseModel):
    """A recipe that knows which folder its paths start at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: SourceSpec | None = None
    output: TargetSpec | None = None
    report: Annotated[
        ReportPath | None, Field(description="where a report is written to (.html, .pdf or .json)")
    ] = None
    key: Annotated[
        FilePath | None,
        Field(
            description="where the data holder keeps the key, which says which input row each released row is (.csv), away from the release",
        ),
    ] = None
    certificate: Annotated[
        CertificatePath | None, Field(description="where a certificate for recipients is written to (.json)")
    ] = None
    sign: Annotated[
        FilePath | None,
        Field(
            description="file of the private key that signs the certificate; relative to the recipe",
        ),
    ] = None

    acknowledge: Annotated[
        Acknowledged,
        Field(
            description="concerns about the release that are known and accepted, such as 'no model: income'"
        ),
    ] = ()

    known: ClassVar[tuple[Mapping[str, type[Any]], ...]] = (INPUTS,)
    """The kinds of things that may stand in the recipe, for hints where a parameter is misspelled."""

    own: ClassVar[Collection[str]] = ()
    """Fields that nothing but the recipe tells. Of places and engines, whoever carries it out may say others."""

    _folder: Path = PrivateAttr(default_factory=Path)
    _file: Path | None = PrivateAttr(default=None)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: pydantic.GetCoreSchemaHandler) -> Any:
        return with_careful_numbers(handler(source))

    @model_validator(mode="wrap")
    @classmethod
    def _explain_errors(cls, data: Any, handler: Any, info: pydantic.ValidationInfo) -> Any:
        """Turn pydantic's complaints into an error of Veil that names the file, the line and the field."""
        try:
            return handler(data)
        except pydantic.ValidationError as error:
            document = info.context if isinstance(info.context, Document) else Document("", data)
            raise ParameterError(document.explain(error, cls._fields_by_kind())) from None

    @classmethod
    def _fields_by_kind(cls) -> dict[str, list[str]]:
        fields = {
            kind: [field.name for field in dataclasses.fields(each)]
            for kinds in cls.known
            for kind, each in kinds.items()
        }
        return {"": list(cls.model_fields), **fields}

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a recipe file, YAML or JSON; paths in it are relative to it."""
        file = Path(path)
        document = read_document(file)
        recipe = cls.model_validate(document.data, context=document)
        recipe._folder, recipe._file = file.parent, file
        return recipe

    @property
    def name(self) -> str:
        """The recipe as messages call it: by its file, if it has one."""
        return "the recipe" if self._file is None else str(self._file)

    @property
    def file(self) -> Path | None:
        """Where the recipe was read from."""
        return self._file

    @contextmanager
    def own_words(self) -> Iterator[None]:
        """Have errors name the fields of the plan as the file does. Without a file, they were given in another way."""
        try:
            yield
        except VeilError as error:
            if self._file is None:
                raise
            raise error.spell_ways(lambda way: spell_field(way) if way.field in self.own else None) from None

    def locate(self, path: str) -> Path:
        """Return where a path of the recipe leads to, seen from here."""
        return self._folder / os.path.expanduser(path)

    def move_path(self, path: str, start: Path) -> str:
        """Return a path of the recipe as it reads from another folder."""
        if os.path.isabs(os.path.expanduser(path)) or start.resolve() == self._folder.resolve():
            return path
        end = "/" if is_folder(path) else ""
        try:
            return Path(os.path.relpath(self.locate(path).resolve(), start.resolve())).as_posix() + end
        except ValueError:  # another drive
            return str(self.locate(path).resolve()) + end

    @property
    def source(self) -> Path | Database | None:
        """Where the table is, seen from here."""
        return None if self.input is None else self.place_of(self.input)

    def place_of(self, source: AnySource) -> Path | Database:
        """Where a table is that the recipe names, seen from here."""
        if isinstance(source, Database):
            return with_file(source, lambda path: str(self.locate(path)))
        return self.locate(source.path)

    @property
    def target(self) -> str | Database | None:
        """Where the result is written to, seen from here; a folder keeps the / at its end."""
        if isinstance(self.output, Database):
            return with_file(self.output, lambda path: str(self.locate(path)))
        if self.output is None:
            return None
        return f"{self.locate(self.output)}{os.sep if is_folder(self.output) else ''}"

    @property
    def input_path(self) -> Path | None:
        """Where the table is, if not in a database."""
        return None if isinstance(self.source, Database) else self.source

    @property
    def input_format(self) -> Format | None:
        """How to read the table."""
        return None if self.input is None else format_of_input(self.input)

    @property
    def output_path(self) -> Path | None:
        """Where the result is written to, if not into a database."""
        return Path(self.target) if isinstance(self.target, str) else None

    @property
    def report_path(self) -> Path | None:
        """Where the report is written to."""
        return None if self.report is None else self.locate(self.report)

    @property
    def key_path(self) -> Path | None:
        """Where the key to the order of the rows is written to."""
        return None if self.key is None else self.locate(self.key)

    @property
    def certificate_path(self) -> Path | None:
        """Where the certificate is written to."""
        return None if self.certificate is None else self.locate(self.certificate)

    @property
    def sign_path(self) -> Path | None:
        """Where the key is that signs the certificate."""
        return None if self.sign is None else self.locate(self.sign)


def spell_field(way: Say) -> str:
    """Write a way out as a recipe does.

    >>> print(spell_field(Say("others", "keep")), spell_field(Say("quasi_identifiers", "dates", format="%d.%m.%Y")))
    others: keep {kind: dates, …, format: "%d.%m.%Y"}
    """
    if way.parameters:
        given = [f"{name}: {in_quotes(each)}" for name, each in way.parameters.items()]
        return f"{{{', '.join([f'kind: {way.value}', *way.beside, *given])}}}"
    return f"`{way.field}`" if way.value is None else f"{way.field}: {way.value}"


def with_file(database: Database, move: Callable[[str], str]) -> Database:
    """Return a database whose file, if it is one, is found under another path."""
    if database.file is None:
        return database
    scheme = database.url.partition(":")[0]
    url = f"{scheme}://{quote(Path(move(str(database.file))).as_posix())}"
    return Database(url, database.table, database.schema, database.password_variable)


class _Schema(GenerateJsonSchema):
    """Writes the same schema with every version of pydantic, of which those before 2.14 give decimals a pattern."""

    def decimal_schema(self, schema: DecimalSchema) -> JsonSchemaValue:
        made = super().decimal_schema(schema)
        for each in made.get("anyOf", [made]):
            each.pop("pattern", None)
        return made


def schema_of(recipe: type[Located], *, secret: str | None = None) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of recipes; `secret` is a parameter that they refuse everywhere."""
    made = recipe.model_json_schema(schema_generator=_Schema)
    made["description"] = made["description"].split("\n\n")[0]
    clear = {each.__name__ for each in SOURCES.values()} | {"Settings"}
    for name, definition in made["$defs"].items():
        definition["description"] = " ".join(definition.get("description", name).split("\n\n")[0].split())
        definition.get("properties", {}).pop(secret, None)
        # A default tells Python which class it is; a recipe has to say it. A path or a URL says enough.
        if "const" in definition.get("properties", {}).get("kind", {}) and name not in clear:
            definition["required"] = ["kind", *definition.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
