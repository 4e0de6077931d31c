"""The result of recoding cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CellRecoding:
    """The level of every cell of the quasi-identifiers, and which rows are suppressed."""

    levels: NDArray[np.uint8]
    suppressed: NDArray[np.bool_]
