"""The common part of all recipes: a file, a table to read and one to write, and relative paths."""

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


def one_or_more(value: Any) -> Any:
    """Return a single text as a list."""
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]
Acknowledged = Annotated[
    tuple[str, ...],
    BeforeValidator(one_or_more, json_schema_input_type=str | list[str]),
]


class Located(BaseModel):
    """A recipe that knows the folder of its relative paths."""

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

    kinds: ClassVar[tuple[Mapping[str, type[Any]], ...]] = (INPUTS,)
    """The declared classes that the recipe may contain, for hints about misspelled parameters."""

    own: ClassVar[Collection[str]] = ()
    """Fields that only the recipe can set; places and engines may be overridden by the caller."""

    _folder: Path = PrivateAttr(default_factory=Path)
    _file: Path | None = PrivateAttr(default=None)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: pydantic.GetCoreSchemaHandler) -> Any:
        return with_careful_numbers(handler(source))

    @model_validator(mode="wrap")
    @classmethod
    def _explain_errors(cls, data: Any, handler: Any, info: pydantic.ValidationInfo) -> Any:
        """Turn errors of pydantic into one of Veil that names the file, the line and the field."""
        try:
            return handler(data)
        except pydantic.ValidationError as error:
            document = info.context if isinstance(info.context, Document) else Document("", data)
            raise ParameterError(document.explain(error, cls._fields_by_kind())) from None

    @classmethod
    def _fields_by_kind(cls) -> dict[str, list[str]]:
        fields = {
            kind: [field.name for field in dataclasses.fields(each)]
            for classes in cls.kinds
            for kind, each in classes.items()
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
        """The name of the recipe in messages: its file, if it has one."""
        return "the recipe" if self._file is None else str(self._file)

    @property
    def file(self) -> Path | None:
        """The file that the recipe was read from."""
        return self._file

    @contextmanager
    def own_words(self) -> Iterator[None]:
        """Spell the ways out of errors as the file does, if the recipe was read from one."""
        try:
            yield
        except VeilError as error:
            if self._file is None:
                raise
            raise error.spell_ways(lambda way: spell_field(way) if way.field in self.own else None) from None

    def locate(self, path: str) -> Path:
        """Return a path of the recipe, seen from here."""
        return self._folder / os.path.expanduser(path)

    def move_path(self, path: str, start: Path) -> str:
        """Return a path of the recipe relative to another folder."""
        if os.path.isabs(os.path.expanduser(path)) or start.resolve() == self._folder.resolve():
            return path
        end = "/" if is_folder(path) else ""
        try:
            return Path(os.path.relpath(self.locate(path).resolve(), start.resolve())).as_posix() + end
        except ValueError:  # another drive
            return str(self.locate(path).resolve()) + end

    @property
    def source(self) -> Path | Database | None:
        """The place of the table, seen from here."""
        return None if self.input is None else self.place_of(self.input)

    def place_of(self, source: AnySource) -> Path | Database:
        """Return the place of a table that the recipe names, seen from here."""
        if isinstance(source, Database):
            return with_file(source, lambda path: str(self.locate(path)))
        return self.locate(source.path)

    @property
    def target(self) -> str | Database | None:
        """The place of the result, seen from here; a folder keeps the / at its end."""
        if isinstance(self.output, Database):
            return with_file(self.output, lambda path: str(self.locate(path)))
        if self.output is None:
            return None
        return f"{self.locate(self.output)}{os.sep if is_folder(self.output) else ''}"

    @property
    def input_path(self) -> Path | None:
        """The path of the table, if it is not in a database."""
        return None if isinstance(self.source, Database) else self.source

    @property
    def input_format(self) -> Format | None:
        """The format of the table, if it is known."""
        return None if self.input is None else format_of_input(self.input)

    @property
    def output_path(self) -> Path | None:
        """The path of the result, if it is not written to a database."""
        return Path(self.target) if isinstance(self.target, str) else None

    @property
    def report_path(self) -> Path | None:
        """The path of the report."""
        return None if self.report is None else self.locate(self.report)

    @property
    def key_path(self) -> Path | None:
        """The path of the key to the order of the rows."""
        return None if self.key is None else self.locate(self.key)

    @property
    def certificate_path(self) -> Path | None:
        """The path of the certificate."""
        return None if self.certificate is None else self.locate(self.certificate)

    @property
    def sign_path(self) -> Path | None:
        """The path of the key that signs the certificate."""
        return None if self.sign is None else self.locate(self.sign)


def spell_field(way: Say) -> str:
    """Write a way out as a recipe does.

    >>> print(*map(spell_field, (Say("others", "keep"), Say("quasi_identifiers", "dates", format="%Y"))))
    others: keep {kind: dates, …, format: "%Y"}
    """
    if way.parameters:
        parameters = [f"{name}: {in_quotes(each)}" for name, each in way.parameters.items()]
        return f"{{{', '.join([f'kind: {way.value}', *way.beside, *parameters])}}}"
    return f"`{way.field}`" if way.value is None else f"{way.field}: {way.value}"


def with_file(database: Database, move: Callable[[str], str]) -> Database:
    """Return a database with the path of its file changed by `move`; unchanged if it has no file."""
    if database.file is None:
        return database
    scheme = database.url.partition(":")[0]
    url = f"{scheme}://{quote(Path(move(str(database.file))).as_posix())}"
    return Database(url, database.table, database.schema, database.password_variable)


class _Schema(GenerateJsonSchema):
    """A generator with the same schema for all versions of pydantic: before 2.14, decimals have a pattern."""

    def decimal_schema(self, schema: DecimalSchema) -> JsonSchemaValue:
        result = super().decimal_schema(schema)
        for each in result.get("anyOf", [result]):
            each.pop("pattern", None)
        return result


def schema_of(recipe: type[Located], *, secret: str | None = None) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of recipes; `secret` is a parameter that they always refuse."""
    schema = recipe.model_json_schema(schema_generator=_Schema)
    schema["description"] = schema["description"].split("\n\n")[0]
    clear = {each.__name__ for each in SOURCES.values()} | {"Settings"}
    for name, definition in schema["$defs"].items():
        definition["description"] = " ".join(definition.get("description", name).split("\n\n")[0].split())
        definition.get("properties", {}).pop(secret, None)
        # In Python, `kind` has a default; a recipe has to name it, unless a path or a URL is enough.
        if "const" in definition.get("properties", {}).get("kind", {}) and name not in clear:
            definition["required"] = ["kind", *definition.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
