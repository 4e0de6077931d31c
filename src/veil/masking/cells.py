"""What methods read from a table and put back: columns by name, numbers without gaps, codes of values, chances."""

from __future__ import annotations
