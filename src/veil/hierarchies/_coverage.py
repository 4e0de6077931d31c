"""Values of a column that its hierarchy does not cover, and an error with a way out."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import NoReturn

import pyarrow as pa

from veil.errors import HierarchyError
from veil.tables.text import canonical_text

EXAMPLES = 5


def raise_uncovered(
    column: str, uncovered: Sequence[str | None], total: int, domain: Sequence[str | None]
) -> NoReturn:
    """Raise the error that names the uncovered values of a column and the likely reason."""
    examples = ", ".join("the missing value" if text is None else repr(text) for text in uncovered[:EXAMPLES])
    rest = f" and {len(uncovered) - EXAMPLES} more" if len(uncovered) > EXAMPLES else ""
    hint = near_miss(uncovered, domain)
    way_out = hint or (
        "Add a row for each of them to the hierarchy, replace them in the data, "
        "or let a builder such as `hierarchies.auto()` make the hierarchy from the data"
    )
    raise HierarchyError(
        f"the hierarchy of column {column!r} does not cover {len(uncovered)} of its {total} distinct values: "
        f"{examples}{rest}. {way_out}"
    )


def uncovered(builder: object, values: pa.Array) -> tuple[str, ...]:
    """Return the values of a column that are not in a hierarchy that lists its values.

    Hierarchies that are made from the data cover all of it, and the missing value need not be listed.

    >>> from veil import hierarchies as h
    >>> uncovered(h.categories({"Europe": ["AT", "DE"]}), pa.array(["AT", "JP", None]))
    ('JP',)
    """
    domain = getattr(builder, "explicit_values", lambda: None)()
    if domain is None:
        return ()
    texts = canonical_text(values.drop_null())
    return tuple(text for text in texts if text is not None and text not in domain)


def near_miss(uncovered: Sequence[str | None], domain: Sequence[str | None]) -> str | None:
    """Return a hint at a key that differs from an uncovered value only in spaces, case or number format.

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
