"""Fixtures that tests of several folders share. Every behaviour of frames is tested with every library: `constructor`."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.cli import PATIENTS, RECIPE
from support.tables import Constructor
from veil.hierarchies import Builds, Hierarchy

Build = Callable[..., Hierarchy]


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and a recipe, in which commands run."""
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def build() -> Build:
    """Build a hierarchy for plain Python values."""

    def run(
        builder: Builds,
        values: Sequence[Any],
        counts: Sequence[int] | None = None,
        column: str = "x",
        type: pa.DataType | None = None,
    ) -> Hierarchy:
        times = np.ones(len(values), dtype=np.int64) if counts is None else np.array(counts)
        return builder.build(pa.array(values, type), times, column)

    return run
