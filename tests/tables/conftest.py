"""Every behaviour of frames is tested with every library: tests ask for `constructor`."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.tables import Constructor


def pandas_constructor(data: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(data)


def pandas_pyarrow_constructor(data: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.arrays.ArrowExtensionArray(pa.chunked_array([values])) for name, values in data.items()}
    )


def polars_constructor(data: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(data)


def pyarrow_constructor(data: dict[str, list[Any]]) -> pa.Table:
    return pa.table(data)


@pytest.fixture(
    params=[pandas_constructor, pandas_pyarrow_constructor, polars_constructor, pyarrow_constructor]
)
def constructor(request: pytest.FixtureRequest) -> Constructor:
    return request.param


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A directory, used as somebody who has no special rights even if the tests run as root."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        if root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            for each in (folder, *folder.rglob("*")):
                each.chmod(stat.S_IRWXU)
