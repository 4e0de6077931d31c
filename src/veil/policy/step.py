"""The step ByPolicies: the release follows the policies of the people in the table.

    steps:
      - {kind: ByPolicies, policies: policies/, purpose: research, recipient: lab}

`person` of the recipe is the column that tells people apart; by default, several records under one policy are
one person's.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from veil.api.release import Release
from veil.api.resolve import Run
from veil.base.declare import declared
from veil.base.keys import KeyFile, KeyVariable
from veil.errors import PlanError
from veil.recipe.places import FILE, VARIABLE, FilePath
from veil.recipe.steps import Annex
from veil.tables import read


@declared
class KeyPlace:
    """Where a key is."""

    key_file: KeyFile = None
    key_variable: KeyVariable = None

    def __post_init__(self) -> None:
        if (self.key_file is None) == (self.key_variable is None):
            raise ValueError("a key needs either a `key_file` or a `key_variable`")


@declared(kind_of=Annex)
class ByPolicies(Annex):
    """A release under the policies of the people in the table.

    >>> ByPolicies("policies/", purpose="research", recipient="lab").link
    'policy_id'
    """

    policies: Annotated[
        FilePath,
        Field(
            description="folder of policies, or a file with one, or a .jsonl file with one in each line",
        ),
    ]
    purpose: Annotated[str, Field(min_length=1, description="what the table is for")]
    recipient: Annotated[str, Field(min_length=1, description="who gets it")]
    link: Annotated[str, Field(description="column with the id of each record's policy")] = "policy_id"
    population: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        FILE,
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
    suppression_limit: Annotated[
        float, Field(ge=0, le=1, description="largest share of records that may be suppressed")
    ] = 0.0
    processing_record: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        FILE,
        Field(
            description="where a DPV statement for the record of processing activities is written to (.jsonld, .ttl)",
        ),
    ] = None
    kind: Literal["ByPolicies"] = Field(default="ByPolicies", repr=False, kw_only=True)

    command: ClassVar[str] = "run"
    unused: ClassVar[tuple[str, ...]] = ("tables", "knows", "order", "engine", "budget")

    def carry_out(
        self, run: Run, *, threads: int | None = None, progress: Any = None, **options: Any
    ) -> Release:
        from veil.policy.release.carry_out import apply  # imported late, for a faster start

        step, variable = run.recipe.located_steps()[0], self.credential_variable
        if variable is not None and not os.environ.get(variable):
            raise PlanError(
                f"the environment variable {variable} is not set or empty: it should hold the credential"
            )
        keys = {
            name: f"env:{each.key_variable}" if each.key_file is None else each.key_file
            for name, each in step.keys.items()
        }
        return apply(
            read(run.input, format=run.format) if isinstance(run.input, Path) else run.input,
            step.policies,
            person=run.recipe.person,
            credential=None if variable is None else os.environ.get(variable),
            keys=keys,
            threads=threads,
            progress=progress,
            **{name: getattr(step, name) for name in _AS_THEY_ARE},
        )

    def write_record(self, release: Release, path: Path) -> None:
        from veil.policy.release.processing import processing_record

        processing_record(release, path)


_AS_THEY_ARE = (
    *("purpose", "recipient", "link", "on", "ended", "withdrawn", "population", "if_impossible"),
    "suppression_limit",
)
"""Fields that `veil.policy.apply` takes as they are."""
