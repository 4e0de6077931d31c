"""Local recoding: what a release had to suppress is transformed again. See `veil.local_recoding.recode`."""

from veil.api.recoded import RecodedRelease
from veil.local_recoding.modes import FastIterative, Iterative, LocalRecoding, Mode, SinglePass
from veil.local_recoding.recode import recode
from veil.outcome.outcome import Pass

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
