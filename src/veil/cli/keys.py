"""`veil keys`: make or show the key that signs certificates."""

from __future__ import annotations

import os

import typer

from veil.base.paths import usable
from veil.cli import show
from veil.cli.commands.keys import KeyAction, Keys
from veil.report.certificate.keys import PASSPHRASE, PrivateKey, PublicKey, beside_key


def keys(options: Keys) -> None:
    """Make a key, or show its public half."""
    console, file = show.output(), options.file
    beside = beside_key(file)
    if options.action is KeyAction.new:
        locked = None
        if options.passphrase:
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
