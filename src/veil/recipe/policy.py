"""Recipes of policies: the release follows the policies of the people in the table.

    input: patients.csv
    output: release.csv
    policy: {policies: policies/, purpose: research, recipient: lab}

Relative paths start at the folder of the recipe, also those of keys.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from veil.base.keys import KeyFile, KeyVariable
from veil.plan.plan import ASK
from veil.recipe.about import AboutSpec
from veil.recipe.base import Located, schema_of
from veil.recipe.places import VARIABLE, FilePath, InputSpec
from veil.tables.spelling import PERSON


class KeyPlace(BaseModel):
    """Where a key is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key_file: KeyFile = None
    key_variable: KeyVariable = None

    @model_validator(mode="after")
    def _one_of_two(self) -> KeyPlace:
        if (self.key_file is None) == (self.key_variable is None):
            raise ValueError("a key needs either a `key_file` or a `key_variable`")
        return self


class PolicySpec(BaseModel):
    """Who asks for what, and where the policies are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policies: Annotated[
        FilePath,
        Field(
            description="folder of policies, or a file with one, or a .jsonl file with one in each line",
        ),
    ]
    purpose: Annotated[str, Field(min_length=1, description="what the table is for")]
    recipient: Annotated[str, Field(min_length=1, description="who gets it")]
    link: Annotated[str, Field(description="column with the id of each record's policy")] = "policy_id"
    person: Annotated[
        str | None,
        *PERSON,
        Field(
            description="column that tells people apart; by default, several records under one policy are one person's. null: "
            "every record is a person of its own"
        ),
    ] = ASK
    population: Annotated[
        FilePath | None,
        Field(
            description="file with everybody that the table was chosen from, for k-map, δ-presence and inclusion",
        ),
    ] = None
    on: Annotated[date | None, Field(description="the day; by default today")] = None
    ended: Annotated[
        date | None, Field(description="the day on which the purpose ended; by default it goes on")
    ] = None
    withdrawn: Annotated[
        dict[str, date], Field(description="policies whose consent was withdrawn, each with the day")
    ] = Field(default_factory=dict)
    keys: Annotated[
        dict[str, KeyPlace], Field(description="where the keys are that policies name (keyRef)")
    ] = Field(default_factory=dict)
    credential_variable: Annotated[
        str | None,
        VARIABLE,
        Field(description="environment variable with what shows that it is the recipient who asks"),
    ] = None
    if_impossible: Annotated[
        Literal["stop", "leave out"],
        Field(
            description="if not all policies can be met: stop, or leave out the records of those who ask for most"
        ),
    ] = "stop"


class PolicyRecipe(Located):
    """Policies together with the files they are for.

    >>> spec = {"policies": "policies/", "purpose": "research", "recipient": "lab"}
    >>> PolicyRecipe(policy=spec).policy.link
    'policy_id'
    """

    model_config = ConfigDict(title="Veil policy recipe")

    input: Annotated[InputSpec | None, Field(description="the table to release")] = None
    output: Annotated[FilePath | None, Field(description="where the release is written to")] = None
    apart: Annotated[
        FilePath | None,
        Field(
            description="folder for what must not be published with the release, such as pseudonyms",
        ),
    ] = None
    processing_record: Annotated[
        FilePath | None,
        Field(
            description="where a DPV statement for the record of processing activities is written to (.jsonld, .ttl)",
        ),
    ] = None
    about: AboutSpec = None
    overwrite: Annotated[bool, Field(description="whether existing files may be replaced")] = False
    policy: Annotated[PolicySpec, Field(description="the purpose and recipient, and where the policies are")]
    suppression_limit: Annotated[
        float, Field(ge=0, le=1, description="largest share of records that may be suppressed")
    ] = 0.0

    own: ClassVar[tuple[str, ...]] = ("suppression_limit",)

    @property
    def apart_path(self) -> Path | None:
        """The folder for tables that do not go with the release."""
        return None if self.apart is None else self.locate(self.apart)

    @property
    def processing_record_path(self) -> Path | None:
        """The path of the statement for the record of processing activities."""
        return None if self.processing_record is None else self.locate(self.processing_record)

    @property
    def population_path(self) -> Path | None:
        """The path of the population."""
        return None if self.policy.population is None else self.locate(self.policy.population)

    @property
    def keys(self) -> dict[str, str]:
        """The places of keys, as `veil.policy.apply` takes them."""
        return {
            name: f"env:{each.key_variable}" if each.key_file is None else str(self.locate(each.key_file))
            for name, each in self.policy.keys.items()
        }


def policy_recipe_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of policy recipes."""
    return schema_of(PolicyRecipe)
