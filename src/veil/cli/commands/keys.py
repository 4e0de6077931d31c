"""`veil keys`: the keys of a data holder for signing certificates."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from veil.cli.base import RELEASE, Options, argument, declared, option


class KeyAction(StrEnum):
    """What is done with a key."""

    new = "new"
    show = "show"


@declared(RELEASE, "keys.keys", tables=False)
class Keys(Options):
    """Make the key that signs certificates, or show its public half.

    The private key stays with you. Give recipients the .pub file once, over a channel they trust.

    [cyan]veil keys new clinic.pem[/cyan]

    [cyan]veil anonymize recipe.yaml --certificate certificate.json --sign clinic.pem[/cyan]

    [cyan]veil verify release.csv --certificate certificate.json --signed-by clinic.pem.pub[/cyan]
    """

    action: KeyAction = argument("Make a key, or show one.", "new|show")
    file: Path = argument("The private key, such as clinic.pem.", "FILE")
    passphrase: bool = option(
        "Protect a new key with a passphrase, from VEIL_KEY_PASSPHRASE or a prompt.", default=False
    )
