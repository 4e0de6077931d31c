"""The recipe of a plan: its fields, reading, writing, and the plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from veil.base.references import VARIABLE, relocate, trusted
from veil.base.spell import spell_value
from veil.engines.database import Database, is_url
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import VeilError
from veil.hierarchies import BUILDERS, File
from veil.lattice import STRATEGIES
from veil.local_recoding.modes import LocalRecoding
from veil.plan.linked_tables import for_several
from veil.plan.plan import ASK, Plan, Treatment
from veil.quality import QUALITIES
from veil.recipe.about import NOTHING, About, AboutSpec, spell_about
from veil.recipe.base import Located, Names, one_or_more, schema_of, with_file
from veil.recipe.document import write_document
from veil.recipe.parts import (
    MODELS,
    RECODINGS,
    HierarchySpec,
    ModelSpec,
    QualitySpec,
    RecodingSpec,
    StrategySpec,
    builder_of,
    shorten,
)
from veil.recipe.places import (
    SOURCES,
    AnySource,
    EngineSpec,
    FilesInput,
    Input,
    SourceSpec,
    TargetSpec,
    format_of_input,
    kind_of_name,
    source_of,
    spell_database,
    without_password,
)
from veil.tables import Format
from veil.tables.spelling import spell_person


def _treatments(value: Any) -> Any:
    value = one_or_more(value)
    return {str(name): "remove" for name in value} if isinstance(value, list | tuple) else value


Treatments = Annotated[
    dict[str, Treatment],
    BeforeValidator(_treatments, json_schema_input_type=str | list[str] | dict[str, Treatment]),
]

_AS_TEXT: dict[str, Any] = {
    "quasi_identifiers": Annotated[dict[str, HierarchySpec], Field(json_schema_extra={"minProperties": 1})],
    "items": dict[str, HierarchySpec | None],
    "models": Annotated[list[ModelSpec], Field(min_length=1)],
    "sensitive": Names,
    "insensitive": Names,
    "identifying": Treatments,
    "quality": QualitySpec,
    "strategy": StrategySpec,
}
"""Fields of a plan whose values are spelled differently in a file. The others are as in Python."""


def _plan_fields() -> dict[str, Any]:
    """Return the fields of a plan with their descriptions, in types that a file can hold."""
    types = get_type_hints(Plan, include_extras=True)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(Plan):
        declared = Plan.__pydantic_fields__[field.name]  # type: ignore[attr-defined]
        default = declared.get_default(call_default_factory=True)
        options: dict[str, Any] = {"description": declared.description}
        if hasattr(default, "kind"):
            options["default_factory"] = declared.default_factory
        elif not declared.is_required():
            options["default"] = list(default) if isinstance(default, tuple) else default
        fields[field.name] = (_AS_TEXT.get(field.name, types[field.name]), Field(**options))
    return fields


PLAN_FIELDS = _plan_fields()


class _Places(Located):
    """The places of a table and of its release."""

    input: Annotated[
        SourceSpec | None,
        Field(description="the table to anonymize: file, folder, pattern of files, or table of a database"),
    ] = None
    tables: Annotated[
        dict[str, SourceSpec] | None,
        Field(
            min_length=1,
            description="several tables about the same people instead, by name. `person` tells people apart in all of them, "
            "and `output` is a folder or a database",
        ),
    ] = None
    output: Annotated[
        TargetSpec | None,
        Field(description="where the release is written to: file, folder, or table of a database"),
    ] = None
    overwrite: Annotated[bool, Field(description="whether existing files may be replaced")] = False
    engine: Annotated[
        EngineSpec,
        Field(description="what reads files; by default DuckDB if they are too large for memory"),
    ] = "auto"
    about: AboutSpec = None
    local_recoding: Annotated[
        RecodingSpec | None, Field(description="how to re-anonymize records that would stay suppressed")
    ] = None


if TYPE_CHECKING:

    class _WithPlan(_Places):
        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
else:
    _WithPlan = create_model("_WithPlan", __base__=_Places, **PLAN_FIELDS)


class Recipe(_WithPlan):
    """A plan together with the files it reads and writes.

    >>> recipe = Recipe(quasi_identifiers={"sex": "suppression"}, models=[{"kind": "KAnonymity", "k": 2}])
    >>> recipe.plan().models
    (KAnonymity(k=2),)
    >>> Recipe(quasi_identifiers={"sex": "suppression"}, models=[{"kind": "KAnonymity", "k": 0}])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `models[0].k` should be greater than or equal to 1, not 0
    """

    model_config = ConfigDict(title="Veil recipe")

    own: ClassVar[Collection[str]] = tuple(PLAN_FIELDS)
    kinds: ClassVar[tuple[Mapping[str, type[Any]], ...]] = (
        BUILDERS,
        MODELS,
        QUALITIES,
        STRATEGIES,
        RECODINGS,
        SOURCES,
        {"Settings": Settings},
    )

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        input: str | Path | Database | None = None,
        tables: Mapping[str, str | Path | Database] | None = None,
        format: Format | None = None,
        output: str | Path | Database | None = None,
        report: str | Path | None = None,
        certificate: str | Path | None = None,
        sign: str | Path | None = None,
        key: str | Path | None = None,
        overwrite: bool = False,
        engine: Engine | Settings = "auto",
        local_recoding: LocalRecoding | None = None,
        about: About | None = None,
        acknowledge: Sequence[str] = (),
    ) -> Recipe:
        """Return the recipe of a plan made in Python. Hierarchies given as tables are written out in full.

        A password of a database is left out.

        >>> from veil import KAnonymity, Plan
        >>> recipe = Recipe.of(Plan({"sex": "suppression"}, KAnonymity(2)), input="patients.csv")
        >>> recipe.plan() == Plan({"sex": "suppression"}, KAnonymity(2))
        True
        """
        fields: dict[str, Any] = {name: getattr(plan, name) for name in PLAN_FIELDS}
        fields["quasi_identifiers"] = {
            name: builder_of(each, name) for name, each in plan.quasi_identifiers.items()
        }
        fields["items"] = {name: each and builder_of(each, name) for name, each in plan.items.items()}
        fields["input"] = None if input is None else source_of(input, format)
        fields["tables"] = tables and {name: source_of(each, None) for name, each in tables.items()}
        if isinstance(output, str) and is_url(output):
            output = Database(output)
        if isinstance(output, Database):
            fields["output"] = without_password(output)
        else:
            fields["output"] = None if output is None else str(output)
        files = {"report": report, "certificate": certificate, "sign": sign, "key": key}
        fields |= {name: None if path is None else str(path) for name, path in files.items()}
        fields |= {
            "local_recoding": local_recoding,
            "about": None if about == NOTHING else about,
            "acknowledge": tuple(acknowledge),
        }
        with trusted():  # places come from the caller, who has the plan
            return cls(overwrite=overwrite, engine=engine, **fields)

    def plan(self) -> Plan:
        """Return the plan, checked as a whole, with hierarchy files relative to the folder of the recipe."""
        several = self.tables is not None and self.person not in (None, ASK)
        return self._plan(for_several(self.person, self.identifying) if several else {})

    @property
    def table_places(self) -> dict[str, Path | Database]:
        """The places of several tables by name, seen from here."""
        return {name: self.place_of(each) for name, each in (self.tables or {}).items()}

    @property
    def table_formats(self) -> dict[str, Format]:
        """The formats of several tables by name, if known."""
        formats = {name: format_of_input(each) for name, each in (self.tables or {}).items()}
        return {name: each for name, each in formats.items() if each is not None}

    def _plan(self, changes: Mapping[str, Any]) -> Plan:
        fields: dict[str, Any] = {name: getattr(self, name) for name in PLAN_FIELDS} | dict(changes)
        for field in ("quasi_identifiers", "items", "models"):
            fields[field] = relocate(getattr(self, field), lambda path: str(self.locate(path)))
        if self.pseudonym_key is not None and not self.pseudonym_key.startswith(VARIABLE):
            fields["pseudonym_key"] = str(self.locate(self.pseudonym_key))
        with self.own_words():
            try:
                return Plan(**fields)
            except VeilError as error:
                raise error.after(f"{self._file}: " if self._file else "") from None

    @property
    def reading(self) -> Engine | Settings:
        """The engine that reads files, with the folder for temporary ones seen from here."""
        if isinstance(self.engine, Settings) and self.engine.temporary is not None:
            return dataclasses.replace(self.engine, temporary=self.locate(str(self.engine.temporary)))
        return self.engine

    def save(self, path: str | Path) -> None:
        """Write the recipe as YAML: whole, or not at all. Relative paths become relative to the new file."""
        write_document(Path(path), self.spell(Path(path).parent))

    def spell(self, folder: str | Path | None = None) -> dict[str, Any]:
        """Return the recipe as plain data for a file in a folder, without defaults."""
        start = self._folder if folder is None else Path(folder)
        result: dict[str, Any] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name not in ("quasi_identifiers", "models") and value == _DEFAULTS.get(name):
                continue
            if name == "input":
                value = self._spell_source(value, start)
            elif name == "tables":
                value = {table: self._spell_source(each, start) for table, each in value.items()}
            elif isinstance(value, Database):
                value = self._spell_source(value, start)
            elif name in ("output", "report", "certificate", "sign", "key") or (
                name == "pseudonym_key" and not value.startswith(VARIABLE)
            ):
                value = self.move_path(value, start)
            elif isinstance(value, Settings):
                value = self._spell_settings(value, start)
            elif name in ("quasi_identifiers", "items"):
                value = {
                    column: each and self._spell_hierarchy(each, start) for column, each in value.items()
                }
            elif name == "models":
                value = [
                    spell_value(each) for each in relocate(value, lambda path: self.move_path(path, start))
                ]
            elif name == "person":
                value = value and spell_person(value)
            elif name in ("quality", "strategy", "local_recoding"):
                value = spell_value(value)
            elif name == "about":
                value = spell_about(value)
            elif name == "acknowledge" or (name == "identifying" and set(value.values()) == {"remove"}):
                value = list(value)
            result[name] = value
        return result

    def _spell_source(self, value: AnySource, start: Path) -> Any:
        if isinstance(value, Database):
            return spell_database(with_file(value, lambda path: self.move_path(path, start)))
        return _spell_input(value, self.move_path(value.path, start))

    def _spell_settings(self, settings: Settings, start: Path) -> dict[str, Any]:
        spec: dict[str, Any] = spell_value(settings)
        del spec["kind"]
        if settings.temporary is not None:
            spec["temporary"] = self.move_path(str(settings.temporary), start)
        return spec

    def _spell_hierarchy(self, builder: Any, start: Path) -> Any:
        spec = spell_value(builder)
        if isinstance(builder, File):
            spec["path"] = self.move_path(builder.path, start)
            if set(spec) == {"kind", "path"} and "." in spec["path"]:
                return spec["path"]
        return shorten(spec)


def _spell_input(value: Input | FilesInput, path: str) -> Any:
    spec = spell_value(value)
    spec["path"] = path
    kind = kind_of_name(path) or ("files" if isinstance(value, FilesInput) else None)
    if kind == value.kind:
        del spec["kind"]
    return path if set(spec) == {"path"} else {"path": spec.pop("path"), **spec}


_DEFAULTS = {
    name: field.get_default(call_default_factory=True) for name, field in Recipe.model_fields.items()
}


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of recipe files."""
    return schema_of(Recipe)
