"""The command line: it parses, calls `veil.api.anonymize`, and shows. `veil --help` tells the rest.

Nothing heavy is imported before a command needs it, so that help and usage errors come at once.
"""

import signal
import sys

from veil.base.signals import ENDING


def main() -> None:
    """Run the command line; Ctrl-C ends it in a sentence at any moment, while it is still starting as well."""
    try:
        from veil.cli import standard, supervisor

        supervisor.supervise()
        standard.secure()
        from veil.cli import app, failures

        try:
            app.main()
        except SystemExit as ended:
            if ended.code == failures.stopped and not failures.has_said_so:
                failures.say_stopped()
            raise
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was written\n")
        sys.exit(130)
    finally:  # all is done, and what is left is to tidy up
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
