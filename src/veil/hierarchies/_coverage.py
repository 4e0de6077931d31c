"""What to tell a person whose hierarchy does not cover the data: which values, how many, and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import NoReturn

import pyarrow as pa

from veil.errors import HierarchyError
from veil.tables.text import canonical_text

SHOWN = 5


def complain_uncovered(
    column: str, uncovered: Sequence[str | None], total: int, domain: Sequence[str | None]
) -> NoReturn:
    """Raise the error that names the uncovered values of a column and the likely reason."""
    named = ", ".join("the missing value" if text is None else repr(text) for text in uncovered[:SHOWN])
    rest = f" and {len(uncovered) - SHOWN} more" if len(uncovered) > SHOWN else ""
    hint = near_miss(uncovered, domain)
    way_out = hint or (
        "Add a row for each of them to the hierarchy, replace them in the data, "
        "or let a builder such as `hierarchies.auto()` make the hierarchy from the data"
    )
    raise HierarchyError(
        f"the hierarchy of column {column!r} does not cover {len(uncovered)} of its {total} distinct values: "
        f"{named}{rest}. {way_out}"
    )


def uncovered(builder: object, values: pa.Array) -> tuple[str, ...]:
    """Return the values of a column that a hierarchy which is written down value by value does not have.

    Those that are made from the data cover all of it. Nor does the missing value have to be written down.

    >>> from veil import hierarchies as h
    >>> uncovered(h.categories({"Europe": ["AT", "DE"]}), pa.array(["AT", "JP", None]))
    ('JP',)
    """
    written = getattr(builder, "written_down", lambda: None)()
    if written is None:
        return ()
    texts = canonical_text(values.drop_null())
    return tuple(text for text in texts if text is not None and text not in written)


def near_miss(uncovered: Sequence[str | None], domain: Sequence[str | None]) -> str | None:
    """Point at a key that differs from an uncovered value only in spaces, letter case or number format.

    >>> near_miss(["42"], ["41.0", "42.0"])
    "The hierarchy lists '42.0', the data has '42': write numbers the same way in both"
    """
    by_text = {key.strip().casefold(): key for key in domain if key is not None}
    by_number = {number: key for key in domain if key is not None and (number := _number(key)) is not None}
    for text in uncovered:
        if text is None:
            continue
        if text.strip().casefold() == "null" and None in domain:
            return f"NULL in a hierarchy stands for the missing value, not for the text {text!r}"
        key = by_text.get(text.strip().casefold())
        if key is not None:
            what = "spaces" if key.strip() == text.strip() else "letter case"
            return f"The hierarchy lists {key!r}, the data has {text!r}: they differ only in {what}"
        number = _number(text)
        key = None if number is None else by_number.get(number)
        if key is not None:
            return f"The hierarchy lists {key!r}, the data has {text!r}: write numbers the same way in both"
    return None


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
