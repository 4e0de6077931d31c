"""What the tests of tables share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
from hypothesis import strategies as st

Constructor = Callable[[dict[str, list[Any]]], Any]


def awkward_texts(min_size: int = 0, max_size: int = 6) -> st.SearchStrategy[str]:
    """Texts of which every second character means something in a CSV file."""
    ordinary = st.characters(codec="utf-8", exclude_characters="\0")
    # As lists, because `st.text` draws from the union of all characters, where the special ones are rare.
    special = st.sampled_from("\",;|\t\n\r'\\ 0NA\ufeff")
    return st.lists(special | ordinary, min_size=min_size, max_size=max_size).map("".join)


def values(frame: Any) -> dict[str, list[Any]]:
    """The content of any frame as plain lists, None where a value is missing."""
    if isinstance(frame, pd.DataFrame):
        plain = frame.astype(object).where(frame.notna(), None)
        return {name: list(plain[name]) for name in frame.columns}
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()
