"""Types of arrays, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
Marks = NDArray[np.uint8]
"""1 for the classes that are rejected, or otherwise set apart."""
