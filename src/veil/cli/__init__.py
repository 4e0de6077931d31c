"""The command line: it parses, calls `veil.api.anonymize`, and shows. `veil --help` tells the rest.

Nothing heavy is imported before a command needs it, so that help and usage errors come at once.
"""

from veil.cli.app import main

__all__ = ["main"]
