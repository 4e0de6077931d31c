"""Subtree recoding: one label for each value everywhere, from any level of its hierarchy.

See `veil.recoding.subtree.recode`.
"""

from veil.recoding.subtree.recode import SubtreeSolution, recode_subtree

__all__ = ["SubtreeSolution", "recode_subtree"]
