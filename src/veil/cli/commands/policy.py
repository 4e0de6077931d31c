"""`veil policy check | explain | apply | due | compare`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from veil.cli import failures
from veil.cli.base import RELEASE, Certificate, Json, Output, Overwrite, Quiet, Report, app, flowing

policy = typer.Typer(
    name="policy",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Privacy policies: check them, explain them, carry them out.",
)
app.add_typer(policy, rich_help_panel=RELEASE)

_Policies = Annotated[
    Path,
    typer.Argument(metavar="POLICIES", help="A policy (.xml or .json), a folder of them, or a .jsonl file."),
]
_Day = Annotated[
    str | None, typer.Option("--on", metavar="DATE", help="The day, such as 2026-12-31. Default: today.")
]
_Withdrawn = Annotated[
    list[str] | None,
    typer.Option(metavar="POLICY=DATE", help="A policy whose consent was withdrawn. Repeat for more."),
]


def _command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a command below `policy`, whose failures are explained."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with failures.explain_errors():
            return function(*args, **kwargs)

    guarded.__signature__ = inspect.signature(function, eval_str=True)  # type: ignore[attr-defined]
    policy.command(function.__name__, help=flowing(function.__doc__ or ""))(guarded)
    return guarded


@_command
def check(
    policies: _Policies,
    under: Annotated[
        Path | None,
        typer.Option(metavar="POLICY", help="The policy that the data came under: it must not be widened."),
    ] = None,
    allow_secrets: Annotated[
        bool, typer.Option("--allow-secrets", help="Do not mind keys in a policy.")
    ] = False,
    json: Json = False,
) -> None:
    """Find what is wrong with policies, each with the path of the element.

    Ends with code 1 if a policy cannot be carried out as it stands; gaps in what has to be told to people do no such harm.

    [cyan]veil policy check policies/[/cyan]

    [cyan]veil policy check recipient.xml --under clinic.xml[/cyan]
    """
    from veil.cli.policy import check_and_show

    check_and_show(policies, under, allow_secrets, json)


@_command
def explain(policies: _Policies) -> None:
    """Say in plain words what policies mean, and what Veil makes of them.

    [cyan]veil policy explain alice.xml[/cyan]
    """
    from veil.cli.policy import explain_and_show

    explain_and_show(policies)


@_command
def apply(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="The table, with the id of each record's policy.")
    ],
    policies: _Policies,
    purpose: Annotated[str, typer.Option(metavar="NAME", help="What the table is for.")],
    recipient: Annotated[str, typer.Option(metavar="NAME", help="Who gets it.")],
    output: Output = None,
    link: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with the id of each record's policy.")
    ] = "policy_id",
    person: Annotated[
        str | None,
        typer.Option(metavar="null", help="null: every record is a person of its own, whatever its policy."),
    ] = None,
    on: _Day = None,
    ended: Annotated[
        str | None, typer.Option(metavar="DATE", help="When the purpose ended. Default: it goes on.")
    ] = None,
    withdrawn: _Withdrawn = None,
    key_of: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="NAME=PLACE",
            help="Where the key is that policies name: a file, or env:VARIABLE. Repeat for more.",
        ),
    ] = None,
    credential_variable: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE", help="The environment variable with the credential of the recipient."
        ),
    ] = None,
    if_impossible: Annotated[
        str,
        typer.Option(
            metavar="stop|leave-out", help="If not all can be met: stop, or leave out who asks for most."
        ),
    ] = "stop",
    suppression_limit: Annotated[
        float, typer.Option(metavar="SHARE", help="Largest share of records that may be suppressed.")
    ] = 0.0,
    apart: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where to keep what turns pseudonyms back, away from the release."
        ),
    ] = None,
    report: Report = None,
    certificate: Certificate = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Release a table as the policies of the people in it ask.

    Records whose policy says no are left out and counted. Everything that any policy asks is checked on the output.

    [cyan]veil policy apply patients.csv policies/ --purpose research --recipient lab -o release.csv[/cyan]
    """
    from veil.cli.policy import apply_and_show

    apply_and_show(
        table,
        policies,
        output=output,
        link=link,
        person=person,
        on=on,
        ended=ended,
        withdrawn=withdrawn or [],
        keys=key_of or [],
        credential_variable=credential_variable,
        if_impossible=if_impossible,
        suppression_limit=suppression_limit,
        purpose=purpose,
        recipient=recipient,
        apart=apart,
        report=report,
        certificate=certificate,
        overwrite=overwrite,
        quiet=quiet,
    )


@_command
def due(
    policies: _Policies,
    on: _Day = None,
    ended: Annotated[
        list[str] | None,
        typer.Option(metavar="PURPOSE=DATE", help="When a purpose ended. Repeat for more."),
    ] = None,
    withdrawn: _Withdrawn = None,
    json: Json = False,
) -> None:
    """List the data that must be gone on a day: retention over, or consent withdrawn.

    [cyan]veil policy due policies/ --on 2026-12-31 --ended research=2024-12-31[/cyan]
    """
    from veil.cli.policy import due_and_show

    due_and_show(policies, on, ended or [], withdrawn or [], json)


@_command
def compare(
    one: Annotated[
        Path, typer.Argument(metavar="POLICY", help="A policy: LPL, or a usage policy of SPECIAL.")
    ],
    other: Annotated[Path, typer.Argument(metavar="POLICY", help="The one that it should be as strict as.")],
) -> None:
    """Tell whether one policy is at least as strict as another: of SPECIAL, whether it complies with it.

    Ends with code 1 if it is not.

    [cyan]veil policy compare controller.owl consent.owl[/cyan]
    """
    from veil.cli.policy import compare_and_show

    compare_and_show(one, other)
