"""`veil policy check | explain | due | compare`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from veil.cli.base import (
    RELEASE,
    Command,
    Json,
    app,
    flowing,
    guarded,
)

policy = typer.Typer(
    name="policy",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Privacy policies: check, explain and compare them. A recipe applies them: [cyan]veil run[/cyan].",
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
