"""Random numbers from the operating system, as privacy depends on them; a seed for tests only."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


class Randomness:
    """The operating system's random generator. `is_private` is False where a seed makes draws repeatable.

    >>> Randomness().is_private
    True
    >>> Randomness.for_testing(7).permutation(4)
    array([3, 0, 2, 1])
    """

    is_private = True

    @staticmethod
    def for_testing(seed: int) -> Randomness:
        """Return a generator with a seed: for tests and reproductions, not for releases."""
        return _Repeatable(seed)

    def bits(self, size: int) -> NDArray[np.uint64]:
        """Draw 64 bits, `size` times."""
        return np.frombuffer(os.urandom(8 * size), np.uint64)

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Draw from [0, 1), in steps of 2^-53."""
        return np.asarray((self.bits(size) >> np.uint64(11)) * 2.0**-53, np.float64)

    def integers(self, below: int, size: int) -> NDArray[np.int64]:
        """Draw integers from 0 to `below` - 1, all exactly equally likely."""
        if not 0 < below < 2**63:
            raise ValueError(f"`below` should be from 1 to 2^63 - 1, not {below}")
        numbers = self.bits(size)
        # Rejection: numbers from the largest multiple of the bound upwards are drawn again.
        limit = 2**64 - 2**64 % below
        if limit < 2**64:
            numbers = numbers.copy()
            while (bad := np.flatnonzero(numbers >= np.uint64(limit))).size:
                numbers[bad] = self.bits(bad.size)
        return (numbers % np.uint64(below)).astype(np.int64)

    def permutation(self, size: int) -> NDArray[np.int64]:
        """Draw a permutation of the numbers from 0 to `size` - 1, all equally likely."""
        while True:
            keys = self.bits(size)
            order = np.argsort(keys)
            # Equal keys would favour the original order; then all are drawn again.
            if not (keys[order[1:]] == keys[order[:-1]]).any():
                return order

    def tokens(self, size: int, digits: int) -> list[str]:
        """Draw different texts of hexadecimal digits, uniformly and in random order.

        >>> Randomness.for_testing(7).tokens(2, 4)
        ['e5af', 'a006']
        """
        codes = np.unique(self.bits(size) >> np.uint64(64 - 4 * digits))
        while codes.size < size:
            more = self.bits(size - codes.size) >> np.uint64(64 - 4 * digits)
            codes = np.unique(np.concatenate([codes, more]))
        # np.unique sorts them.
        return [f"{code:0{digits}x}" for code in codes[self.permutation(size)].tolist()]

    def normal(self, size: int) -> NDArray[np.float64]:
        """Draw from the standard normal distribution (Box and Muller)."""
        radius = np.sqrt(-2 * np.log1p(-self.uniform(size)))
        return np.asarray(radius * np.cos(2 * np.pi * self.uniform(size)), np.float64)


class _Repeatable(Randomness):
    is_private = False

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def bits(self, size: int) -> NDArray[np.uint64]:
        return np.asarray(self._bits.random_raw(size), np.uint64)
