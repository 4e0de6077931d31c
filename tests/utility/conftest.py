from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Who earns much depends on age and job, with some noise."""
    draws = np.random.default_rng(1)
    age, job = draws.integers(20, 60, 600), draws.integers(0, 4, 600)
    pay = 10 * (age > 40) + 5 * job + draws.normal(0, 3, 600)
    return pa.table(
        {
            "age": age,
            "job": [f"job {j}" for j in job],
            "pay": pay,
            "rich": ["yes" if p > 12 else "no" for p in pay],
        }
    )
