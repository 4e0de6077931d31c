"""Which rows of some columns of codes are alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**62
"""Keys stay below it."""


def keys_of(columns: Iterable[NDArray[Any]], rows: int) -> NDArray[np.int64]:
    """Return a key for each row, given its codes in each column: keys are equal, or in order, as the rows are.

    >>> keys_of([np.array([1, 0, 1]), np.array([5, 7, 5])], 3).tolist()
    [13, 7, 13]
    """
    keys, width = np.zeros(rows, np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if width * size > LARGEST:
            values, keys = np.unique(keys, return_inverse=True)
            width = len(values)
        keys = keys * size + column
        width *= size
    return keys


def distinct_rows(columns: Iterable[NDArray[Any]], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one row of each distinct row, in order, and the number of each row among them.

    >>> one, number = distinct_rows([np.array([1, 0, 1]), np.array([5, 7, 5])], 3)
    >>> one[0], number.tolist()
    (np.int64(1), [1, 0, 1])
    """
    values, number = np.unique(keys_of(columns, rows), return_inverse=True)
    one_of = np.empty(len(values), np.int64)
    one_of[number] = np.arange(rows)
    return one_of, number
