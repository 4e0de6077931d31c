"""Ways of recoding beyond one transformation for all records. See `veil.recoding.recode` and `veil.recoding.passes`."""

from veil.plan.recoding import Cells, FastIterative, FromTheStart, FullDomain, Iterative, SinglePass, Subtree
from veil.plan.recoding import Mode as Mode

__all__ = ["Cells", "FastIterative", "FromTheStart", "FullDomain", "Iterative", "SinglePass", "Subtree"]
