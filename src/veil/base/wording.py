"""Words for numbers of things."""

from __future__ import annotations


def plural(count: int, one: str, many: str | None = None) -> str:
    """Count things.

    >>> plural(1, "class", "classes"), plural(0, "row"), plural(30162, "record")
    ('1 class', '0 rows', '30,162 records')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
