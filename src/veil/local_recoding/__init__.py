"""Local recoding: what a release had to suppress is transformed again. See `veil.local_recoding.recoding`."""

from veil.local_recoding.modes import FastIterative, Iterative, LocalRecoding, Mode, SinglePass
from veil.local_recoding.recoding import recode
from veil.local_recoding.release import Pass, RecodedRelease

__all__ = [
    "FastIterative",
    "Iterative",
    "LocalRecoding",
    "Mode",
    "Pass",
    "RecodedRelease",
    "SinglePass",
    "recode",
]
