"""What a look at a large published table costs: `veil.assess`, model by model, and the verifier's groupings.

    python bench/assess.py                  # 1.2 million rows, 8 quasi-identifiers, 60 sensitive values
    python bench/assess.py --rows 200000
    python bench/assess.py --repeat 5

All models that are registered take part. The yardstick is Arrow's own `group_by` over the quasi-identifiers and
the sensitive column: what one grouping costs with a good general tool.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import generate
import veil
from veil.models import MODELS
from veil.published.table import Published
from veil.tables.rows import Rows


def best(work: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """Run some work several times; return its result and its shortest time."""
    times, result = [], None
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, min(times)


def with_items(made: generate.Workload) -> pa.Table:
    """The table with one more column that holds sets: the diagnosis, and sometimes how the person lives and works."""
    diagnosis, work, marital = (made.table[name].to_pylist() for name in ("diagnosis", "work", "marital"))
    sets = [
        ",".join([d, w, m][: 1 + i % 3])
        for i, (d, w, m) in enumerate(zip(diagnosis, work, marital, strict=True))
    ]
    return made.table.append_column("items", pa.array(sets))


def main() -> None:
    """Print what each step costs, and what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_200_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    made = generate.large(options.rows)
    names, sensitive = list(made.hierarchies), made.sensitive
    table = with_items(made)
    print(f"{table.num_rows:,} rows, {len(names)} quasi-identifiers, sensitive: {sensitive}, items")

    _, yardstick = best(
        lambda: table.group_by([*names, sensitive]).aggregate([([], "count_all")]), options.repeat
    )
    print(f"  {'group_by of Arrow':28} {yardstick:7.3f} s")

    def grouped() -> Published:
        published = Published(Rows.of(table), names)
        _ = published.sizes
        return published

    published, classes_time = best(grouped, options.repeat)
    print(f"  {'classes':28} {classes_time:7.3f} s   {published.sizes.size:,} classes")
    _, histogram_time = best(lambda: grouped().histograms(sensitive), options.repeat)
    entries = published.histograms(sensitive)[0].size
    print(f"  {'classes and histograms':28} {histogram_time:7.3f} s   {entries:,} entries")
    published.histograms("items")

    for model in MODELS:
        _, taken = best(lambda model=model: model.strongest(published, [sensitive, "items"]), options.repeat)  # type: ignore[misc]
        print(f"  {model.__name__:28} {taken:7.3f} s")
    found, whole = best(
        lambda: veil.assess(table, quasi_identifiers=names, sensitive=[sensitive, "items"]), options.repeat
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {'veil.assess, all in all':28} {whole:7.3f} s   peak memory {peak:,.0f} MB, of this process")
    print()
    print(found)


if __name__ == "__main__":
    main()
