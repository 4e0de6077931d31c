"""Masking recipes: masking methods and their files, written down in YAML.

    input: patients.csv
    output: masked.csv
    apart: secret                 # a folder for tables that do not go with the release
    steps:
      - {kind: RandomPseudonyms, columns: name}
      - {kind: RankSwapping, columns: [age, income], p: 10}

Relative paths start at the folder of the recipe, also those of keys and hierarchies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from veil.errors import ParameterError
from veil.hierarchies import File
from veil.masking import Masking, Method
from veil.recipe._document import Document, read_document
from veil.recipe._parts import BUILDERS, INPUTS, InputSpec, _with_kind, format_of_input, members
from veil.tables import Format

MASKINGS = members(Masking)


def _step(value: Any) -> Any:
    if isinstance(value, dict) and value.get("key") is not None:
        raise ValueError("a key does not belong into a recipe: name a `key_file` or a `key_variable` instead")
    return _with_kind(
        value, MASKINGS, "a masking method, such as {kind: RankSwapping, columns: [age], p: 10},"
    )


StepSpec = Annotated[Masking, BeforeValidator(_step)]


class MaskingRecipe(BaseModel):
    """Masking methods together with the files they read and write.

    >>> MaskingRecipe(steps=[{"kind": "RankSwapping", "columns": "age", "p": 10}]).steps
    [RankSwapping(columns=('age',), p=10.0, by=None, keep_extremes=False)]
    >>> MaskingRecipe(steps=[{"kind": "RankSwapping", "columns": "age", "p": 130}])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `steps[0].p` should be less than or equal to 100, not 130
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="Veil masking recipe")

    input: Annotated[InputSpec | None, Field(description="the table to mask")] = None
    output: Annotated[str | None, Field(min_length=1, description="where the masked table is written to")] = (
        None
    )
    apart: Annotated[
        str | None,
        Field(
            min_length=1, description="folder for tables that do not go with the release, such as pseudonyms"
        ),
    ] = None
    overwrite: Annotated[bool, Field(description="whether existing files may be replaced")] = False
    steps: Annotated[list[StepSpec], Field(min_length=1, description="masking methods, in their order")]

    _folder: Path = PrivateAttr(default_factory=Path)

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
    def read(cls, path: str | Path) -> MaskingRecipe:
        """Read a recipe file, YAML or JSON; paths in it are relative to it."""
        file = Path(path)
        document = read_document(file)
        recipe = cls.model_validate(document.data, context=document)
        recipe._folder = file.parent
        return recipe

    def methods(self) -> list[Method]:
        """Return the steps; files that they name are found from the folder of the recipe."""
        return [_relocated(each, lambda path: str(self.located(path))) for each in self.steps]

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
        """Where the masked table is written to."""
        return None if self.output is None else self.located(self.output)

    @property
    def apart_path(self) -> Path | None:
        """The folder for tables that do not go with the release."""
        return None if self.apart is None else self.located(self.apart)


def _relocated(method: Any, move: Callable[[str], str]) -> Any:
    """Return a method whose files, keys and hierarchies, are found under another path."""

    def moved(value: Any) -> Any:
        if isinstance(value, File):
            return dataclasses.replace(value, path=move(value.path))
        if isinstance(value, Mapping):
            return {key: moved(each) for key, each in value.items()}
        return value

    changes = {}
    for field in dataclasses.fields(method):
        value = getattr(method, field.name)
        new = move(value) if field.name == "key_file" and value is not None else moved(value)
        if new != value:
            changes[field.name] = new
    return dataclasses.replace(method, **changes) if changes else method


_FIELDS: dict[str, list[str]] = {
    "": list(MaskingRecipe.model_fields),
    **{
        kind: [field.name for field in dataclasses.fields(each)]
        for known in (MASKINGS, BUILDERS, INPUTS)
        for kind, each in known.items()
    },
}


def masking_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of masking recipes."""
    made = MaskingRecipe.model_json_schema()
    made["description"] = made["description"].split("\n\n")[0]
    inputs = {each.__name__ for each in INPUTS.values()}
    for name, definition in made["$defs"].items():
        definition["description"] = " ".join(definition.get("description", name).split("\n\n")[0].split())
        definition.get("properties", {}).pop("key", None)  # which a recipe refuses
        # A default tells Python which class it is; a recipe has to say it. The name of a file says enough.
        if "const" in definition.get("properties", {}).get("kind", {}) and name not in inputs:
            definition["required"] = ["kind", *definition.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
