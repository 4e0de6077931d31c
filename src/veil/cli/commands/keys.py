"""`veil keys`: the keys of a data holder for signing certificates."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from veil.cli.base import RELEASE, command


class _Action(StrEnum):
    new = "new"
    show = "show"


@command(RELEASE)
def keys(
    action: Annotated[_Action, typer.Argument(metavar="new|show", help="Make a key, or show one.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The private key, such as clinic.pem.")],
    passphrase: Annotated[
        bool,
        typer.Option(
            "--passphrase", help="Protect a new key with a passphrase, from VEIL_KEY_PASSPHRASE or a prompt."
        ),
    ] = False,
) -> None:
    """Make the key that signs certificates, or show its public half.

    The private key stays with you. Give recipients the .pub file once, over a channel they trust.

    [cyan]veil keys new clinic.pem[/cyan]

    [cyan]veil anonymize recipe.yaml --certificate certificate.json --sign clinic.pem[/cyan]

    [cyan]veil verify release.csv --certificate certificate.json --signed-by clinic.pem.pub[/cyan]
    """
    from veil.base.paths import usable
    from veil.cli import show
    from veil.report.certificate.keys import PASSPHRASE, PrivateKey, PublicKey, beside_key

    console = show.output()
    beside = beside_key(file)
    if action is _Action.new:
        locked = None
        if passphrase:
            locked = os.environ.get(PASSPHRASE) or typer.prompt(
                "passphrase", hide_input=True, confirmation_prompt=True
            )
        key = PrivateKey.new()
        key.save(file, locked)
        show.files(console, [("private key", file), ("public key", beside)])
        public = key.public
    else:
        public = PublicKey.read(beside if usable(beside).exists() else file)
    console.print(f"fingerprint: {public.fingerprint}", markup=False, soft_wrap=True)
