"""Local recoding: suppressed records of a release are transformed again. See `veil.local_recoding.recode`."""

from veil.local_recoding.modes import FastIterative, FromTheStart, Iterative, LocalRecoding, SinglePass
from veil.local_recoding.modes import Mode as Mode

__all__ = ["FastIterative", "FromTheStart", "Iterative", "LocalRecoding", "SinglePass"]
