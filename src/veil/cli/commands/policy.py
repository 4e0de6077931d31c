"""`veil policy check | explain | due | compare`."""

from __future__ import annotations

from pathlib import Path

import typer

from veil.cli.base import RELEASE, Json, Options, app, argument, declared, option

policy = typer.Typer(
    name="policy",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Privacy policies: check, explain and compare them. A recipe applies them: [cyan]veil run[/cyan].",
)
app.add_typer(policy, rich_help_panel=RELEASE)


class Policies(Options):
    """Policies, and the day on which they are looked at."""

    policies: Path = argument(
        "A policy (.xml, .json, .jsonld or .ttl), a folder of them, or a .jsonl file.", "POLICIES"
    )
    on: str | None = option("The day, such as 2026-12-31. Default: today.", "DATE")


@declared(RELEASE, "policy.check_policies", group=policy)
class CheckCommand(Policies, Json):
    """Find problems in policies and what was refused, each with the path of the element.

    Exit code 1 if a policy cannot be applied as it stands; refusals and gaps in the information owed to people do not count.

    [cyan]veil policy check policies/[/cyan]

    [cyan]veil policy check recipient.xml --under clinic.xml[/cyan]
    """

    under: Path | None = option(
        "The policy under which the data were received: the new one must not allow more.", "POLICY"
    )
    allow_secrets: bool = option("Accept keys in a policy.", default=False)


@declared(RELEASE, "policy.explain_policies", group=policy)
class Explain(Policies):
    """Say in plain words what policies mean, what was refused, and how Veil applies them.

    [cyan]veil policy explain alice.xml[/cyan]
    """


@declared(RELEASE, "policy.due_data", group=policy)
class Due(Policies, Json):
    """List the data that must be deleted by a day: retention period over, or consent withdrawn.

    [cyan]veil policy due policies/ --on 2026-12-31 --ended research=2024-12-31[/cyan]
    """

    ended: list[str] = option("When a purpose ended. Repeat for more.", "PURPOSE=DATE")
    withdrawn: list[str] = option("A policy whose consent was withdrawn. Repeat for more.", "POLICY=DATE")


@declared(RELEASE, "policy.compare", group=policy)
class Compare(Options):
    """Say whether one policy is at least as strict as another or, for SPECIAL, complies with it.

    Exit code 1 if it is not.

    [cyan]veil policy compare controller.owl consent.owl[/cyan]
    """

    one: Path = argument("A policy: LPL, or a usage policy of SPECIAL.", "POLICY")
    other: Path = argument("The policy that it should be as strict as.", "POLICY")
