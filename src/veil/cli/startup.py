"""A quick start.

Pyarrow and Numba look for pandas and SciPy when they are first used, and where these are installed, importing
them takes more than half a second. No command needs what they are looked up for, so they are hidden for that
moment. Only in a process that is the command line's own: in any other, somebody else may need it.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

own_process = False


def quick() -> None:
    """Let the libraries have their look, and find nothing."""
    if not own_process:
        return
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        from veil.base.compiled import load_numba

        load_numba()  # looks for SciPy's linear algebra
        pa.array([0])  # looks for pandas, and remembers what it has found
    finally:
        sys.meta_path.remove(hidden)


class _Hidden(MetaPathFinder):
    """Says that modules are not installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname.partition(".")[0] in ("pandas", "scipy"):
            raise ModuleNotFoundError(f"{fullname} is not needed now", name=fullname)
