"""Local recoding: suppressed records of a release are transformed again. See `veil.recoding.passes`."""

from veil.recoding.modes import FastIterative, FromTheStart, Iterative, LocalRecoding, SinglePass
from veil.recoding.modes import Mode as Mode

__all__ = ["FastIterative", "FromTheStart", "Iterative", "LocalRecoding", "SinglePass"]
