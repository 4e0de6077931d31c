"""The command line: it parses options, calls the Python API, and prints. See `veil --help`.

Heavy modules are imported only when a command needs them, so that help and usage errors come at once.
"""

import signal
import sys

from veil.base.signals import ENDING


def main() -> None:
    """Run the command line; Ctrl-C ends it with a message at any time, even during startup."""
    try:
        from veil.cli import standard, supervisor

        supervisor.supervise()
        standard.secure()
        from veil.cli import app, failures

        try:
            app.main()
        except SystemExit as ended:
            if ended.code == failures.stopped and not failures.stop_reported:
                failures.report_stop()
            raise
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was written\n")
        sys.exit(130)
    finally:  # only cleanup is left
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
