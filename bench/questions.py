"""Questions under a budget: how long answers take on 1.2 million rows of 8 columns, once the table is loaded.

    python bench/questions.py

Each is asked three times; the best time of a clock and of the processor are shown. Answers are not held back to a step
(`constant_time=False`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from veil.dp import Accountant
from veil.questions import Answer, Session

ROWS = 1_200_000


def table() -> pa.Table:
    """Make 1.2 million rows of 8 columns."""
    source = np.random.default_rng(1)
    return pa.table(
        {
            "age": source.integers(0, 100, ROWS),
            "sex": pa.array(np.array(["f", "m"])[source.integers(0, 2, ROWS)]),
            "income": source.normal(40_000, 9_000, ROWS),
            **{f"x{i}": source.normal(size=ROWS) for i in range(5)},
        }
    )


def main() -> None:
    """Time every kind of question."""
    session = Session(
        table(),
        Accountant(100),
        neighbours="one more or less",
        bounds={"age": (0, 120), "income": (0, 200_000)},
        keys={"sex": ["f", "m"], "age": list(range(100))},
        missing={"age": "leave out", "income": 0},
        constant_time=False,
    )
    questions: dict[str, Callable[[], Answer]] = {
        "count": lambda: session.count(epsilon=0.1),
        "count where age >= 65": lambda: session.count("age >= 65", epsilon=0.1),
        "count where income >= 65000": lambda: session.count("income >= 65000", epsilon=0.1),
        "histogram of sex": lambda: session.histogram("sex", epsilon=0.1),
        "histogram of age": lambda: session.histogram("age", epsilon=0.1),
        "histogram of sex and age": lambda: session.histogram(["sex", "age"], epsilon=0.1),
        "sum of income": lambda: session.sum("income", epsilon=0.1),
        "mean of age": lambda: session.mean("age", epsilon=0.1),
        "three quantiles of age": lambda: session.quantiles("age", [0.25, 0.5, 0.75], epsilon=0.3),
        "three quantiles of income": lambda: session.quantiles("income", [0.25, 0.5, 0.75], epsilon=0.3),
        "income of one record": lambda: session.record(17, "income", epsilon=1),
    }
    print(f"{'question':30} {'seconds':>8} {'processor':>10}")
    for name, ask in questions.items():
        clock, processor = [], []
        for _ in range(3):
            start, used = time.perf_counter(), time.process_time()
            ask()
            clock.append(time.perf_counter() - start)
            processor.append(time.process_time() - used)
        print(f"{name:30} {min(clock):8.3f} {min(processor):10.3f}")


if __name__ == "__main__":
    main()
