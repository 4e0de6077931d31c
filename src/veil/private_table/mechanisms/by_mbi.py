"""Consistent tables from noisy ones by Private-PGM (McKenna, Sheldon and Miklau 2019), if `mbi` is installed.

This is post-processing of noisy tables; records are drawn from its tables as from our own fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veil.errors import MissingDependencyError
from veil.private_table.mechanisms.consistent import Table


def fit_by_mbi(
    singles: Sequence[Table],
    deviation: float,
    pairs: Mapping[tuple[int, int], Table],
    wider: float,
    total: float,
) -> tuple[list[Table], dict[tuple[int, int], Table]]:
    """Return the tables of each column and pair by the graphical model that is nearest to noisy ones."""
    mbi, in_doubles = _import()
    names = [str(place) for place in range(len(singles))]
    with in_doubles(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measurements = [
            mbi.LinearMeasurement(single, (names[place],), deviation) for place, single in enumerate(singles)
        ]
        measurements += [
            mbi.LinearMeasurement(table.ravel(), (names[one], names[other]), wider)
            for (one, other), table in pairs.items()
        ]
        domain = mbi.Domain(names, [single.size for single in singles])
        model = mbi.estimation.MirrorDescent().estimate(domain, measurements, known_total=total)

        def table(*places: int) -> Table:
            projection = model.project(tuple(names[place] for place in places)).datavector(flatten=False)
            return np.maximum(np.asarray(projection, np.float64), 0)

        return [table(place) for place in range(len(singles))], {pair: table(*pair) for pair in pairs}


def require_mbi() -> None:
    """Refuse to start without the library, before any budget is spent."""
    _import()


def _import() -> tuple[Any, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about single precision, which is not used here
            import jax
            import mbi
    except ImportError:
        raise MissingDependencyError(
            'MarginalTree(library="mbi") needs Private-PGM. Install it with: '
            "pip install 'veil-anonymizer[pgm]'; or leave `library` out"
        ) from None
    return mbi, lambda: jax.enable_x64(True)
