"""`veil policy check | explain | apply | due | compare`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from veil.cli.base import (
    RELEASE,
    About,
    Acknowledge,
    Certificate,
    Command,
    Json,
    Output,
    Overwrite,
    Quiet,
    Report,
    app,
    flowing,
    guarded,
)

policy = typer.Typer(
    name="policy",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Privacy policies: check, explain and apply them.",
)
app.add_typer(policy, rich_help_panel=RELEASE)

_Policies = Annotated[
    Path,
    typer.Argument(
        metavar="POLICIES",
        help="A policy (.xml, .json, .jsonld or .ttl), a folder of them, or a .jsonl file.",
    ),
]
_Day = Annotated[
    str | None, typer.Option("--on", metavar="DATE", help="The day, such as 2026-12-31. Default: today.")
]
_Withdrawn = Annotated[
    list[str] | None,
    typer.Option(metavar="POLICY=DATE", help="A policy whose consent was withdrawn. Repeat for more."),
]


def _command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a command below `policy`, with error messages."""
    run = guarded(function, inspect.signature(function, eval_str=True))
    policy.command(function.__name__, cls=Command, help=flowing(function.__doc__ or ""))(run)
    return run


@_command
def check(
    policies: _Policies,
    under: Annotated[
        Path | None,
        typer.Option(
            metavar="POLICY",
            help="The policy under which the data were received: the new one must not allow more.",
        ),
    ] = None,
    on: _Day = None,
    allow_secrets: Annotated[bool, typer.Option("--allow-secrets", help="Accept keys in a policy.")] = False,
    json: Json = False,
) -> None:
    """Find problems in policies and what was refused, each with the path of the element.

    Exit code 1 if a policy cannot be applied as it stands; refusals and gaps in the information owed to people do not count.

    [cyan]veil policy check policies/[/cyan]

    [cyan]veil policy check recipient.xml --under clinic.xml[/cyan]
    """
    from veil.cli.policy import check_and_show

    check_and_show(policies, under, on, allow_secrets, json)


@_command
def explain(policies: _Policies, on: _Day = None) -> None:
    """Say in plain words what policies mean, what was refused, and how Veil applies them.

    [cyan]veil policy explain alice.xml[/cyan]
    """
    from veil.cli.policy import explain_and_show

    explain_and_show(policies, on)


@_command
def apply(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE|TABLE",
            help="A recipe of policies (.yaml), or the table, with the id of each record's policy.",
        ),
    ],
    policies: Annotated[
        Path | None,
        typer.Argument(
            metavar="POLICIES",
            help="With a table: a policy (.xml, .json, .jsonld or .ttl), a folder of them, or a .jsonl file.",
        ),
    ] = None,
    purpose: Annotated[str | None, typer.Option(metavar="NAME", help="What the table is for.")] = None,
    recipient: Annotated[str | None, typer.Option(metavar="NAME", help="Who gets it.")] = None,
    output: Output = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The column with the id of each record's policy. Default: policy_id."
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that tells people apart. Default: the policy, if one has several records. null: every record is a different person.",
        ),
    ] = None,
    population: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The population that the table was selected from, for k-map, δ-presence and inclusion.",
        ),
    ] = None,
    on: _Day = None,
    ended: Annotated[
        str | None, typer.Option(metavar="DATE", help="When the purpose ended. Default: it has not ended.")
    ] = None,
    withdrawn: _Withdrawn = None,
    key_of: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="NAME=PLACE",
            help="Where a key named by policies is: a file, or env:VARIABLE. Repeat for more.",
        ),
    ] = None,
    credential_variable: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="The environment variable with the recipient's credential."),
    ] = None,
    if_impossible: Annotated[
        str | None,
        typer.Option(
            metavar="stop|leave-out",
            help="If not all policies can be met: stop, or leave out the strictest. Default: stop.",
        ),
    ] = None,
    suppression_limit: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Largest share of records that may be suppressed. Default: none."),
    ] = None,
    apart: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where to keep the table that reverses pseudonyms, away from the release."
        ),
    ] = None,
    report: Report = None,
    certificate: Certificate = None,
    processing_record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write a DPV statement for the record of processing activities (.jsonld or .ttl).",
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    about: About = None,
    acknowledge: Acknowledge = None,
) -> None:
    """Release a table in accordance with the policies of the people in it.

    Records whose policy does not allow it are left out and counted. Every requirement of every policy is checked on the output.

    [cyan]veil policy apply patients.csv policies/ --purpose research --recipient lab -o release.csv[/cyan]

    [cyan]veil policy apply recipe.yaml[/cyan]
    """
    from veil.cli.policy import apply_and_show

    apply_and_show(
        source,
        policies,
        output=output,
        link=link,
        person=person,
        population=None if population is None else str(population),
        on=on,
        ended=ended,
        withdrawn=withdrawn or [],
        key=key_of or [],
        credential_variable=credential_variable,
        if_impossible=if_impossible,
        suppression_limit=suppression_limit,
        purpose=purpose,
        recipient=recipient,
        apart=apart,
        report=report,
        certificate=certificate,
        processing_record=processing_record,
        overwrite=overwrite,
        quiet=quiet,
        about=about or (),
        acknowledge=acknowledge or (),
    )


@_command
def due(
    policies: _Policies,
    on: _Day = None,
    ended: Annotated[
        list[str] | None, typer.Option(metavar="PURPOSE=DATE", help="When a purpose ended. Repeat for more.")
    ] = None,
    withdrawn: _Withdrawn = None,
    json: Json = False,
) -> None:
    """List the data that must be deleted by a day: retention period over, or consent withdrawn.

    [cyan]veil policy due policies/ --on 2026-12-31 --ended research=2024-12-31[/cyan]
    """
    from veil.cli.policy import due_and_show

    due_and_show(policies, on, ended or [], withdrawn or [], json)


@_command
def compare(
    one: Annotated[
        Path, typer.Argument(metavar="POLICY", help="A policy: LPL, or a usage policy of SPECIAL.")
    ],
    other: Annotated[
        Path, typer.Argument(metavar="POLICY", help="The policy that it should be as strict as.")
    ],
) -> None:
    """Say whether one policy is at least as strict as another or, for SPECIAL, complies with it.

    Exit code 1 if it is not.

    [cyan]veil policy compare controller.owl consent.owl[/cyan]
    """
    from veil.cli.policy import compare_and_show

    compare_and_show(one, other)
