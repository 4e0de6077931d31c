"""Masking recipes: masking methods and their files, in YAML.

    input: patients.csv
    output: masked.csv
    apart: secret                 # a folder for tables that do not go with the release
    steps:
      - {kind: RandomPseudonyms, columns: name}
      - {kind: RankSwapping, columns: [age, income], p: 10}

Relative paths start at the folder of the recipe, also those of keys and hierarchies.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from veil.base.references import relocate
from veil.hierarchies import BUILDERS
from veil.masking import METHODS, Masking, Method
from veil.plan.plan import ASK
from veil.recipe.about import AboutSpec
from veil.recipe.base import Located, schema_of
from veil.recipe.document import read_document
from veil.recipe.parts import with_kind
from veil.recipe.places import INPUTS, FilePath, InputSpec
from veil.recipe.policy import PolicyRecipe
from veil.recipe.recipe import Recipe
from veil.tables.spelling import PERSON


def _step(value: Any) -> Any:
    if isinstance(value, dict) and value.get("key") is not None:
        raise ValueError("a key does not belong in a recipe: name a `key_file` or a `key_variable` instead")
    return with_kind(value, METHODS, "a masking method, such as {kind: RankSwapping, columns: [age], p: 10},")


StepSpec = Annotated[Masking, BeforeValidator(_step)]


class MaskingRecipe(Located):
    """Masking methods together with the files they read and write.

    >>> MaskingRecipe(steps=[{"kind": "RankSwapping", "columns": "age", "p": 10}]).steps
    [RankSwapping(columns=('age',), p=10.0, by=None, keep_extremes=False)]
    >>> MaskingRecipe(steps=[{"kind": "RankSwapping", "columns": "age", "p": 130}])
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `steps[0].p` should be from 0 to 100, not 130
    """

    model_config = ConfigDict(title="Veil masking recipe")

    input: Annotated[InputSpec | None, Field(description="the table to mask")] = None
    output: Annotated[FilePath | None, Field(description="where the masked table is written to")] = None
    apart: Annotated[
        FilePath | None,
        Field(
            description="folder for tables that must not be published with the release, such as pseudonyms",
        ),
    ] = None
    about: AboutSpec = None
    overwrite: Annotated[bool, Field(description="whether existing files may be replaced")] = False
    order: Annotated[
        Literal["random", "input"], Field(description="order of the rows: random, or as in the input")
    ] = "random"
    person: Annotated[
        str | None,
        Field(
            min_length=1,
            description="the column that tells people apart, if they may have several rows: promises then count people. It is removed. null: every row is a different person",
        ),
        *PERSON,
    ] = ASK
    steps: Annotated[list[StepSpec], Field(min_length=1, description="masking methods, in this order")]

    kinds: ClassVar[tuple[Mapping[str, type[Any]], ...]] = (METHODS, BUILDERS, INPUTS)

    def methods(self) -> list[Method]:
        """Return the steps, with files relative to the folder of the recipe."""
        return [relocate(each, lambda path: str(self.locate(path))) for each in self.steps]

    @property
    def apart_path(self) -> Path | None:
        """The folder for tables that do not go with the release."""
        return None if self.apart is None else self.locate(self.apart)


def read_recipe(path: str | PathLike[str]) -> Recipe | MaskingRecipe | PolicyRecipe:
    """Read a recipe of any kind: a plan, masking methods (`steps`), or policies (`policy`)."""
    file = Path(path)
    data = read_document(file).data
    kind: type[Recipe] | type[MaskingRecipe] | type[PolicyRecipe] = (
        MaskingRecipe if "steps" in data else PolicyRecipe if "policy" in data else Recipe
    )
    return kind.read(file)


def masking_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of masking recipes."""
    return schema_of(MaskingRecipe, secret="key")  # noqa: S106  (the name of a field)
