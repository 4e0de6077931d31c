"""The recipe: places, what is common to all steps, and the steps or the questions."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from veil.base.declare import with_careful_numbers
from veil.base.references import relocate, trusted, untrusted
from veil.base.spell import spell_value
from veil.engines.database import Database, is_url
from veil.engines.relation import Engine
from veil.engines.settings import Settings
from veil.errors import ParameterError, PlanError, VeilError
from veil.hierarchies import BUILDERS
from veil.lattice import STRATEGIES
from veil.outcome.method import Method
from veil.plan.linked_tables import for_several
from veil.plan.plan import ASK, Plan
from veil.plan.recoding import RECODINGS
from veil.quality import QUALITIES
from veil.recipe.about import NOTHING, AboutSpec, spell_about
from veil.recipe.document import Document, read_document, spell_field, write_document
from veil.recipe.generalize import COMMON, FIELDS, GeneralizeSpec
from veil.recipe.parts import MODELS, one_or_more
from veil.recipe.places import (
    SOURCES,
    AnySource,
    CertificatePath,
    EngineSpec,
    FilePath,
    ReportPath,
    SourceSpec,
    TargetSpec,
    format_of_input,
    is_folder,
    source_of,
    spell_source,
    with_file,
    without_password,
)
from veil.recipe.steps import STEPS, Annex, QuestionsSpec, StepSpec, spell_step
from veil.tables import Format
from veil.tables.rows import Knows
from veil.tables.spelling import PERSON, spell_person


def _about(field: str) -> str:
    return str(Plan.__pydantic_fields__[field].description)  # type: ignore[attr-defined]


class Recipe(BaseModel):
    """Steps, or questions, together with the files that they read and write.

    >>> step = {"kind": "Generalize", "quasi_identifiers": {"sex": "suppression"}}
    >>> recipe = Recipe(steps=[step | {"models": [{"kind": "KAnonymity", "k": 2}]}])
    >>> recipe.plan().models
    (KAnonymity(k=2),)
    >>> Recipe(steps=[step | {"models": [{"kind": "KAnonymity", "k": 0}]}])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `steps[0].models[0].k` should be greater than or equal to 1, not 0
    """

    model_config = ConfigDict(title="Veil recipe", extra="forbid", frozen=True)

    input: Annotated[
        SourceSpec | None,
        Field(description="the table: file, folder, pattern of files, or table of a database"),
    ] = None
    tables: Annotated[
        dict[str, SourceSpec] | None,
        Field(
            min_length=1,
            description="several tables about the same people instead, by name. `person` tells people apart in all of them, "
            "and `output` is a folder or a database",
        ),
    ] = None
    person: Annotated[
        str | None,
        Field(min_length=1, description=_about("person")),
        *PERSON,
    ] = ASK
    knows: Annotated[
        Knows,
        Field(description=_about("knows")),
    ] = "one row"
    order: Annotated[
        Literal["random", "input"],
        Field(description=_about("order")),
    ] = "random"
    engine: Annotated[
        EngineSpec,
        Field(description="what reads files; by default DuckDB if they are too large for memory"),
    ] = "auto"
    output: Annotated[
        TargetSpec | None,
        Field(description="where the release is written to: file, folder, or table of a database"),
    ] = None
    overwrite: Annotated[bool, Field(description="whether existing files may be replaced")] = False
    report: Annotated[
        ReportPath | None, Field(description="where a report is written to (.html, .pdf or .json)")
    ] = None
    certificate: Annotated[
        CertificatePath | None, Field(description="where a certificate for recipients is written to (.json)")
    ] = None
    sign: Annotated[
        FilePath | None, Field(description="file of the private key that signs the certificate")
    ] = None
    apart: Annotated[
        FilePath | None,
        Field(
            description="folder for tables that must not be published with the release, such as pseudonyms"
        ),
    ] = None
    origins: Annotated[
        FilePath | None,
        Field(
            description="where the data holder keeps the input row of each released row (.csv), away from the release"
        ),
    ] = None
    about: AboutSpec = None
    acknowledge: Annotated[
        tuple[str, ...],
        BeforeValidator(one_or_more, json_schema_input_type=str | list[str]),
        Field(
            description="concerns about the release that are known and accepted, such as 'no model: income'"
        ),
    ] = ()
    budget: Annotated[
        FilePath | None,
        Field(description="file of the privacy budget that differential privacy is charged to"),
    ] = None
    steps: Annotated[
        list[StepSpec], Field(min_length=1, description="what makes the release, in this order")
    ] = []
    questions: Annotated[
        QuestionsSpec, Field(description="questions to the table under its budget, instead of steps")
    ] = None

    _folder: Path = PrivateAttr(default_factory=Path)
    _file: Path | None = PrivateAttr(default=None)

    # Reading

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: pydantic.GetCoreSchemaHandler) -> Any:
        return with_careful_numbers(handler(source))

    @model_validator(mode="wrap")
    @classmethod
    def _explain_errors(cls, data: Any, handler: Any, info: pydantic.ValidationInfo) -> Any:
        """Turn errors of pydantic into one of Veil that names the file, the line and the field."""
        document = info.context if isinstance(info.context, Document) else Document("", data)
        if isinstance(data, Mapping):
            _require_steps(data, document)
        try:
            recipe = handler(data)
        except pydantic.ValidationError as error:
            raise ParameterError(document.explain(error, _fields_by_kind(data))) from None
        if recipe.annex is not None:
            try:
                recipe.annex.check(recipe)
            except VeilError as error:
                raise error.spell_ways(spell_field) if document.name else error from None
        return recipe

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a recipe file, YAML or JSON; paths in it are relative to it."""
        file = Path(path)
        document = read_document(file)
        recipe = cls.model_validate(document.data, context=document)
        recipe._folder, recipe._file = file.parent, file
        return recipe

    @classmethod
    def from_elsewhere(cls, data: Mapping[str, Any], keys: Collection[str] = ()) -> Self:
        """Read a document of the workbench, a project or a certificate: it has no place for a path.

        Only files of these keys may be named, which the reader replaces.
        """
        with untrusted(keys):
            return cls.model_validate(dict(data))

    @classmethod
    def of(
        cls,
        *steps: Any,
        input: str | Path | Database | None = None,
        tables: Mapping[str, str | Path | Database] | None = None,
        format: Format | None = None,
        output: str | Path | Database | None = None,
        **fields: Any,
    ) -> Self:
        """Return the recipe of steps made in Python. Hierarchies given as tables are written out in full.

        A password of a database is left out.

        >>> from veil import KAnonymity, Plan
        >>> recipe = Recipe.of(Plan({"sex": "suppression"}, KAnonymity(2)), input="patients.csv")
        >>> recipe.plan() == Plan({"sex": "suppression"}, KAnonymity(2))
        True
        """
        for plan in steps:
            if isinstance(plan, Plan):
                fields = {name: getattr(plan, name) for name in COMMON} | fields
        fields["input"] = None if input is None else source_of(input, format)
        fields["tables"] = tables and {name: source_of(each, None) for name, each in tables.items()}
        if isinstance(output, str) and is_url(output):
            output = Database(output)
        fields["output"] = without_password(output) if isinstance(output, Database) else output
        if fields.get("about") == NOTHING:
            del fields["about"]
        fields = {name: str(each) if isinstance(each, Path) else each for name, each in fields.items()}
        with trusted():  # places come from the caller, who has the steps
            return cls(steps=[each for each in steps if each is not None], **fields)

    # What it says

    @property
    def name(self) -> str:
        """The name of the recipe in messages: its file, if it has one."""
        return "the recipe" if self._file is None else str(self._file)

    @property
    def file(self) -> Path | None:
        """The file that the recipe was read from."""
        return self._file

    @property
    def annex(self) -> Annex | None:
        """The questions, or the first step that carries itself out."""
        return self.questions or next((step for step in self.steps if isinstance(step, Annex)), None)

    @property
    def generalize(self) -> GeneralizeSpec:
        """The step Generalize, after masking methods; refuse another order."""
        masks = list(takewhile(lambda step: isinstance(step, Method), self.steps))
        step, *others = self.steps[len(masks) :] or [None]
        if not any(isinstance(each, GeneralizeSpec) for each in self.steps):
            raise PlanError(f"{self.name} has no step Generalize, which this needs: it has {self.kinds}")
        if not isinstance(step, GeneralizeSpec) or others:
            raise PlanError(
                f"{self.name}: these steps cannot be combined: {self.kinds}. A recipe has masking methods, then one "
                "Generalize, each of them if you like; or one other step. Write a recipe for each part, and give the output of the one as `input` to the next"
            )
        return step

    @property
    def command(self) -> str:
        """The command that carries it out."""
        if self.annex is not None and len(self.steps) <= 1:
            return self.annex.command
        return "mask" if all(isinstance(step, Method) for step in self.steps) else "anonymize"

    def refuse_fields(self, names: Collection[str]) -> None:
        """Refuse fields without an effect on the steps, unless they have their defaults."""
        for name in names:
            if getattr(self, name) != type(self).model_fields[name].get_default():
                raise PlanError(f"{self.name}: `{name}` has no effect on {self.kinds}; leave it out")

    @property
    def kinds(self) -> str:
        """The kinds of the steps, for messages."""
        return ", ".join(step.kind for step in self.steps) or "questions"

    def plan(self) -> Plan:
        """Return the plan, checked as a whole, with files relative to the folder of the recipe."""
        step = relocate(self.generalize, lambda path: str(self.locate(path)))
        fields = {name: getattr(self, name) for name in COMMON} | {
            name: getattr(step, name) for name in FIELDS
        }
        if self.tables is not None and self.person not in (None, ASK):
            fields |= for_several(self.person, step.identifying)
        with self.own_words():
            try:
                return Plan(**fields)
            except VeilError as error:
                raise error.after(f"{self._file}: " if self._file else "") from None

    def plan_of_input(self) -> Plan:
        """Return the plan, if it searches the input itself; refuse masking methods before it."""
        if isinstance(self.steps[0], Method):
            raise PlanError(
                f"{self.name} masks the table before it searches, and this tries the search on the table as it is: "
                f"leave the masking methods out ({self.kinds})"
            )
        return self.plan()

    def located_steps(self) -> list[Any]:
        """Return the steps, with files relative to the folder of the recipe; Generalize as its plan."""
        return [
            self.plan()
            if isinstance(step, GeneralizeSpec)
            else relocate(step, lambda path: str(self.locate(path)))
            for step in self.steps
        ]

    @contextmanager
    def own_words(self) -> Iterator[None]:
        """Spell the ways out of errors as the file does, if the recipe was read from one."""
        own = {*COMMON, *(name for step in self.steps for name in _names(type(step)))}
        try:
            yield
        except VeilError as error:
            if self._file is None:
                raise
            raise error.spell_ways(lambda way: spell_field(way) if way.field in own else None) from None

    # Places

    def locate(self, path: str) -> Path:
        """Return a path of the recipe, seen from here."""
        return self._folder / os.path.expanduser(path)

    def path(self, field: str) -> Path | None:
        """Return the path in a field, such as `report`, seen from here."""
        value = getattr(self, field)
        return None if value is None else self.locate(value)

    def place_of(self, source: AnySource) -> Path | Database:
        """Return the place of a table that the recipe names, seen from here."""
        if isinstance(source, Database):
            return with_file(source, lambda path: str(self.locate(path)))
        return self.locate(source.path)

    @property
    def source(self) -> Path | Database | None:
        """The place of the table, seen from here."""
        return None if self.input is None else self.place_of(self.input)

    @property
    def input_format(self) -> Format | None:
        """The format of the table, if it is known."""
        return None if self.input is None else format_of_input(self.input)

    @property
    def table_places(self) -> dict[str, Path | Database]:
        """The places of several tables by name, seen from here."""
        return {name: self.place_of(each) for name, each in (self.tables or {}).items()}

    @property
    def table_formats(self) -> dict[str, Format]:
        """The formats of several tables by name, if known."""
        formats = {name: format_of_input(each) for name, each in (self.tables or {}).items()}
        return {name: each for name, each in formats.items() if each is not None}

    @property
    def target(self) -> str | Database | None:
        """The place of the result, seen from here; a folder keeps the / at its end."""
        if isinstance(self.output, Database):
            return with_file(self.output, lambda path: str(self.locate(path)))
        if self.output is None:
            return None
        return f"{self.locate(self.output)}{os.sep if is_folder(self.output) else ''}"

    @property
    def reading(self) -> Engine | Settings:
        """The engine, with its folder of temporary files seen from here."""
        if isinstance(self.engine, Settings) and self.engine.temporary is not None:
            return dataclasses.replace(self.engine, temporary=self.locate(str(self.engine.temporary)))
        return self.engine

    # Writing

    def save(self, path: str | Path) -> None:
        """Write the recipe as YAML: whole, or not at all. Relative paths become relative to the new file."""
        write_document(Path(path), self.spell(Path(path).parent))

    def spell(self, folder: str | Path | None = None) -> dict[str, Any]:
        """Return the recipe as plain data for a file in a folder, without defaults."""
        start = self._folder if folder is None else Path(folder)

        def move(path: str) -> str:
            return self._move_path(path, start)

        result: dict[str, Any] = {}
        for name, declaration in type(self).model_fields.items():
            value = getattr(self, name)
            if value == declaration.get_default():
                continue
            if name == "input" or isinstance(value, Database):
                value = spell_source(value, move)
            elif name == "tables":
                value = {table: spell_source(each, move) for table, each in value.items()}
            elif name in _PATHS:
                value = move(value)
            elif isinstance(value, Settings):
                moved = {} if value.temporary is None else {"temporary": move(str(value.temporary))}
                value = {field: each for field, each in spell_value(value).items() if field != "kind"} | moved
            elif name == "person":
                value = value and spell_person(value)
            elif name == "about":
                value = spell_about(value)
            elif name == "acknowledge":
                value = list(value)
            elif name == "steps":
                value = [spell_step(relocate(each, move)) for each in value]
            elif name == "questions":
                value = spell_value(value)
                del value["kind"]
            result[name] = value
        return result

    def _move_path(self, path: str, start: Path) -> str:
        """Return a path of the recipe relative to another folder."""
        if os.path.isabs(os.path.expanduser(path)) or start.resolve() == self._folder.resolve():
            return path
        end = "/" if is_folder(path) else ""
        try:
            return Path(os.path.relpath(self.locate(path).resolve(), start.resolve())).as_posix() + end
        except ValueError:  # another drive
            return str(self.locate(path).resolve()) + end


_PATHS = ("output", "report", "certificate", "sign", "apart", "origins", "budget")
PLACES = frozenset({"input", "tables", "engine", "overwrite", "acknowledge", *_PATHS})
"""Fields that say where a recipe is carried out, and belong to that place."""


def _require_steps(data: Mapping[str, Any], document: Document) -> None:
    """Refuse a document without steps and questions, and say which step to write."""
    present = [name for name in ("steps", "questions") if name in data]
    if len(present) == 1:
        return
    if present:
        raise ParameterError(f"{document.at(())}a recipe has either `steps` or `questions`, not both")
    names = [str(name) for name in data if name not in Recipe.model_fields]
    kinds = [kind for kind in STEPS if names and names[0] in _names(STEPS[kind])]
    fields = ", ".join(f"`{name}`" for name in names[:3]) or "what is to be done"
    kind = "Generalize" if "Generalize" in kinds or not kinds else kinds[-1]
    raise ParameterError(
        f"{document.at(())}a recipe needs `steps` or `questions`: put {fields} under "
        f"`steps: [{{kind: {kind}, …}}]`"
    )


def _names(cls: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]


def _fields_by_kind(data: Any) -> dict[str, list[str]]:
    """Return the fields of all declared values that a recipe may contain, for hints about misspelled ones."""
    kinds = (BUILDERS, MODELS, QUALITIES, STRATEGIES, RECODINGS, SOURCES, {"Settings": Settings}, STEPS)
    fields = {kind: _names(each) for classes in kinds for kind, each in classes.items()}
    return {"": list(Recipe.model_fields), **fields}
