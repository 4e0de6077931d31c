"""A quick start.

Pyarrow and Numba import pandas and SciPy on first use if they are installed, which takes more than half a
second. No command needs that integration, so both are hidden meanwhile. Only in the command line's own
process: other programs may need it.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

own_process = False


def quick() -> None:
    """Load pyarrow and Numba while pandas and SciPy are hidden."""
    if not own_process:
        return
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        from veil.base.compiled import load_numba

        load_numba()  # looks for SciPy's linear algebra
        pa.array([0])  # looks for pandas, once
    finally:
        sys.meta_path.remove(hidden)


class _Hidden(MetaPathFinder):
    """Finder that reports pandas and SciPy as not installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname.partition(".")[0] in ("pandas", "scipy"):
            raise ModuleNotFoundError(f"{fullname} is not needed now", name=fullname)
