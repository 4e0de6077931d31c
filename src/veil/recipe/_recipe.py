"""The recipe itself: its fields, reading, writing, and the plan it stands for."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from veil import quality as qualities
from veil.errors import ParameterError, VeilError
from veil.hierarchies import File
from veil.lattice import Auto
from veil.models.subset import Matching
from veil.plan import Aggregation, Plan, Treatment
from veil.recipe._document import Document, read_document, write_document
from veil.recipe._parts import (
    BUILDERS,
    INPUTS,
    MODELS,
    QUALITIES,
    RECODINGS,
    STRATEGIES,
    HierarchySpec,
    Input,
    InputSpec,
    ModelSpec,
    QualitySpec,
    RecodingSpec,
    StrategySpec,
    builder_of,
    format_of_input,
    input_of,
    shortened,
    spelled,
)
from veil.tables import Format

_PLAN_FIELDS = tuple(field.name for field in dataclasses.fields(Plan))


def _about(field: str) -> str:
    """What the plan says about one of its fields."""
    return str(Plan.__pydantic_fields__[field].description)  # type: ignore[attr-defined]


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _loss() -> Any:
    return qualities.by_name("loss")


def _treatments(value: Any) -> Any:
    value = _one_or_more(value)
    return {str(name): "remove" for name in value} if isinstance(value, list | tuple) else value


Names = Annotated[list[str], BeforeValidator(_one_or_more, json_schema_input_type=str | list[str])]
Levels = dict[str, Annotated[int, Field(ge=0)]]
Treatments = Annotated[
    dict[str, Treatment],
    BeforeValidator(_treatments, json_schema_input_type=str | list[str] | dict[str, Treatment]),
]


class Recipe(BaseModel):
    """A plan together with the files it reads and writes.

    >>> recipe = Recipe(quasi_identifiers={"sex": "suppression"}, models=[{"kind": "KAnonymity", "k": 2}])
    >>> recipe.plan().models
    (KAnonymity(k=2),)
    >>> Recipe(quasi_identifiers={"sex": "suppression"}, models=[{"kind": "KAnonymity", "k": 0}])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `models[0].k` should be greater than or equal to 1, not 0
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="Veil recipe")

    input: Annotated[InputSpec | None, Field(description="the table to anonymize")] = None
    output: Annotated[str | None, Field(min_length=1, description="where the release is written to")] = None
    report: Annotated[str | None, Field(min_length=1, description="where a report (HTML) is written to")] = (
        None
    )
    overwrite: Annotated[bool, Field(description="whether output and report may replace existing files")] = (
        False
    )

    local_recoding: Annotated[
        RecodingSpec | None, Field(description="how to transform again what would stay suppressed")
    ] = None

    quasi_identifiers: Annotated[
        dict[str, HierarchySpec],
        Field(description=_about("quasi_identifiers"), json_schema_extra={"minProperties": 1}),
    ]
    models: Annotated[list[ModelSpec], Field(min_length=1, description=_about("models"))]
    microaggregated: Annotated[dict[str, Aggregation], Field(description=_about("microaggregated"))] = {}
    sensitive: Annotated[Names, Field(description=_about("sensitive"))] = []
    insensitive: Annotated[Names, Field(description=_about("insensitive"))] = []
    identifying: Annotated[Treatments, Field(description=_about("identifying"))] = {}
    others: Annotated[Literal["keep", "drop"] | None, Field(description=_about("others"))] = None
    quality: Annotated[QualitySpec, Field(description=_about("quality"))] = Field(default_factory=_loss)
    suppression_limit: Annotated[float, Field(ge=0, le=1, description=_about("suppression_limit"))] = 0.0
    minimum_levels: Annotated[Levels, Field(description=_about("minimum_levels"))] = {}
    maximum_levels: Annotated[Levels, Field(description=_about("maximum_levels"))] = {}
    strategy: Annotated[StrategySpec, Field(description=_about("strategy"))] = Field(default_factory=Auto)
    time_limit: Annotated[float | None, Field(gt=0, description=_about("time_limit"))] = None
    check_limit: Annotated[int | None, Field(gt=0, description=_about("check_limit"))] = None
    suppressed_rows: Annotated[Literal["keep", "drop"], Field(description=_about("suppressed_rows"))] = "keep"
    marker: Annotated[str | None, Field(description=_about("marker"))] = "*"

    _folder: Path = PrivateAttr(default_factory=Path)
    _file: Path | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: Any, info: pydantic.ValidationInfo) -> Any:
        """Turn pydantic's complaints into an error of Veil that names the file, the line and the field."""
        try:
            return handler(data)
        except pydantic.ValidationError as error:
            document = info.context if isinstance(info.context, Document) else Document("", data)
            raise ParameterError(document.explain(error, _FIELDS)) from None

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """Read a recipe file, YAML or JSON; paths in it are relative to it."""
        file = Path(path)
        document = read_document(file)
        recipe = cls.model_validate(document.data, context=document)
        recipe._folder, recipe._file = file.parent, file
        return recipe

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        input: str | Path | None = None,
        format: Format | None = None,
        output: str | Path | None = None,
        report: str | Path | None = None,
        overwrite: bool = False,
    ) -> Recipe:
        """Write down a plan that was made in Python. Hierarchies given as tables are written out in full.

        >>> from veil import KAnonymity, Plan
        >>> recipe = Recipe.of(Plan({"sex": "suppression"}, KAnonymity(2)), input="patients.csv")
        >>> recipe.plan() == Plan({"sex": "suppression"}, KAnonymity(2))
        True
        """
        fields: dict[str, Any] = {name: getattr(plan, name) for name in _PLAN_FIELDS}
        fields["quasi_identifiers"] = {
            name: builder_of(each, name) for name, each in plan.quasi_identifiers.items()
        }
        fields["input"] = None if input is None else input_of(str(input), format)
        fields["output"] = None if output is None else str(output)
        fields["report"] = None if report is None else str(report)
        return cls(overwrite=overwrite, **fields)

    def plan(self) -> Plan:
        """Return the plan, checked as a whole; hierarchy files are found from the folder of the recipe."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in _PLAN_FIELDS}
        fields["quasi_identifiers"] = {
            name: dataclasses.replace(each, path=str(self.located(each.path)))
            if isinstance(each, File)
            else each
            for name, each in self.quasi_identifiers.items()
        }
        fields["models"] = [_relocated(each, lambda path: str(self.located(path))) for each in self.models]
        try:
            return Plan(**fields)
        except VeilError as error:
            raise type(error)(f"{self._file}: {error}" if self._file else str(error)) from None

    def located(self, path: str) -> Path:
        """Return where a path of the recipe leads to, seen from here."""
        return self._folder / Path(path).expanduser()

    @property
    def input_path(self) -> Path | None:
        """Where the table is."""
        return None if self.input is None else self.located(self.input.path)

    @property
    def input_format(self) -> Format | None:
        """How to read the table."""
        return None if self.input is None else format_of_input(self.input)

    @property
    def output_path(self) -> Path | None:
        """Where the release is written to."""
        return None if self.output is None else self.located(self.output)

    @property
    def report_path(self) -> Path | None:
        """Where the report is written to."""
        return None if self.report is None else self.located(self.report)

    def save(self, path: str | Path) -> None:
        """Write the recipe as YAML: whole, or not at all. Relative paths become relative to the new file."""
        write_document(Path(path), self.spell(Path(path).parent))

    def spell(self, folder: str | Path | None = None) -> dict[str, Any]:
        """Return the recipe as plain data, for a file in the given folder; without what is as by default."""
        start = self._folder if folder is None else Path(folder)
        made: dict[str, Any] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name not in ("quasi_identifiers", "models") and value == _DEFAULTS.get(name):
                continue
            if name == "input":
                value = _spell_input(value, self._moved(value.path, start))
            elif name in ("output", "report"):
                value = self._moved(value, start)
            elif name == "quasi_identifiers":
                value = {column: self._spell_hierarchy(each, start) for column, each in value.items()}
            elif name == "models":
                value = [spelled(_relocated(each, lambda path: self._moved(path, start))) for each in value]
            elif name in ("quality", "strategy", "local_recoding"):
                value = spelled(value)
            elif name == "identifying" and set(value.values()) == {"remove"}:
                value = list(value)
            made[name] = value
        return made

    def _spell_hierarchy(self, builder: Any, start: Path) -> Any:
        spec = spelled(builder)
        if isinstance(builder, File):
            spec["path"] = self._moved(builder.path, start)
            if set(spec) == {"kind", "path"} and "." in spec["path"]:
                return spec["path"]
        return shortened(spec)

    def _moved(self, path: str, start: Path) -> str:
        """Return a path of the recipe as it reads from another folder."""
        if Path(path).expanduser().is_absolute() or start.resolve() == self._folder.resolve():
            return path
        try:
            return Path(os.path.relpath(self.located(path).resolve(), start.resolve())).as_posix()
        except ValueError:  # another drive
            return str(self.located(path).resolve())


def _relocated(model: Any, move: Callable[[str], str]) -> Any:
    """Return a model whose research subset is found in a file under another path."""
    subset = getattr(model, "subset", None)
    if isinstance(subset, Matching) and isinstance(subset.source, str):
        return dataclasses.replace(model, subset=dataclasses.replace(subset, source=move(subset.source)))
    return model


def _spell_input(value: Input, path: str) -> Any:
    spec = spelled(value)
    spec["path"] = path
    plain = input_of_name(path)
    if plain is not None and plain.kind == value.kind:
        del spec["kind"]
    return path if set(spec) == {"path"} else {"path": spec.pop("path"), **spec}


def input_of_name(path: str) -> Input | None:
    """Describe a file by its name alone, if it tells."""
    try:
        return input_of(path, None)
    except VeilError:
        return None


_DEFAULTS = {
    name: field.get_default(call_default_factory=True) for name, field in Recipe.model_fields.items()
}
_FIELDS: dict[str, list[str]] = {
    "": list(Recipe.model_fields),
    **{
        kind: [field.name for field in dataclasses.fields(each)]
        for known in (BUILDERS, MODELS, QUALITIES, STRATEGIES, RECODINGS, INPUTS)
        for kind, each in known.items()
    },
}


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of recipe files."""
    made = Recipe.model_json_schema()
    inputs = {each.__name__ for each in INPUTS.values()}
    for name, definition in made["$defs"].items():
        definition["description"] = " ".join(definition.get("description", name).split("\n\n")[0].split())
        # A default tells Python which class it is; a recipe has to say it. The name of a file says enough.
        if "const" in definition.get("properties", {}).get("kind", {}) and name not in inputs:
            definition["required"] = ["kind", *definition.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
