"""The one door to Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function, once for each machine: the result is kept on disk."""
    return cast("Function", numba.njit(cache=True, nogil=True)(function))


def light_kernel(function: Function) -> Function:
    """Compile a function that keeps the interpreter lock: one that takes less time than to get the lock back."""
    return cast("Function", numba.njit(cache=True)(function))


def numeric(function: Function) -> Function:
    """Compile a function in which division by zero is infinite or undefined, as IEEE 754 says, not an error."""
    return cast("Function", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def load_numba() -> None:
    """Import what Numba imports when the first kernel is compiled."""
    import numba.np.arraymath  # noqa: F401
