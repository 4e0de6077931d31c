"""Generalization of items: how long 100,000 baskets over 1,000 items take, and what is lost.

    python bench/item_sets.py

Baskets have six items on average; how often an item is bought falls with its rank to the power of 0.5, 1 and 1.5. Items
have groups of ten, a hundred and all. Seconds are those of the whole run, from the frame that goes in to the checked one
that comes out, of the method alone (search and check), and of the check alone; processor time beside them, as others may
be at work. Kernels are compiled beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

import veil
from veil import hierarchies as h
from veil.base.randomness import Randomness
from veil.masking import ItemGeneralization
from veil.published.table import Published
from veil.tables.rows import Rows

BASKETS, ITEMS, K, M = 100_000, 1_000, 5, 2


def baskets(number: int, items: int, skew: float) -> pa.Table:
    """Draw baskets whose items are chosen by their rank, which has nothing to do with their group."""
    rng = np.random.default_rng(1)
    weights = rng.permutation(1 / np.arange(1, items + 1) ** skew)
    sizes = 1 + rng.poisson(5, number)
    drawn = rng.choice(items, size=int(sizes.sum()), p=weights / weights.sum())
    held = np.unique(np.repeat(np.arange(number), sizes) * items + drawn)
    starts = np.append(0, np.cumsum(np.bincount(held // items, minlength=number)))
    names = pa.array([f"item {item}" for item in range(items)])
    return pa.table(
        {"items": pa.ListArray.from_arrays(pa.array(starts, pa.int32()), names.take(pa.array(held % items)))}
    )


def groups(items: int) -> h.Hierarchy:
    """Tens, hundreds, all."""
    rows = [[f"item {i}", f"ten {i // 10}", f"hundred {i // 100}", "*"] for i in range(items)]
    return h.Hierarchy.from_rows(rows)


def timed(run: Callable[[], object]) -> tuple[object, float, float]:
    """Run something; return what it gives, and its time by the clock and by the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    made = run()
    return made, time.perf_counter() - clock, time.process_time() - processor


def main() -> None:
    """Print a line for each kind of baskets."""
    tree = groups(ITEMS)
    veil.mask(baskets(1000, ITEMS, 1.0), ItemGeneralization("items", K, M, tree))
    print(f"{BASKETS:,} baskets over {ITEMS:,} items, k = {K}, m = {M}; target: 10 s")
    print(
        f"{'baskets':<28}{'mask':>8}{'cpu':>8}{'method':>8}{'cpu':>8}{'check':>8}{'cpu':>8}{'loss':>9}  left out"
    )
    for skew in (0.5, 1.0, 1.5):
        table = baskets(BASKETS, ITEMS, skew)
        for recoding in ("global", "local") if skew == 1.5 else ("global",):
            step = ItemGeneralization("items", K, M, tree, recoding=recoding)
            release, whole, whole_cpu = timed(lambda: veil.mask(table, step).table)  # noqa: B023
            outcome, search, search_cpu = timed(lambda: step.mask(Rows.of(table), Randomness()))  # noqa: B023
            shown = Published(Rows.of(release), [], suppressed="none")
            finding, check, check_cpu = timed(lambda: step.privacy_models[0].verify(shown))  # noqa: B023
            assert finding.holds
            facts = outcome.facts
            print(
                f"skew {skew}, {recoding:<18}{whole:>8.2f}{whole_cpu:>8.2f}{search:>8.2f}{search_cpu:>8.2f}{check:>8.2f}"
                f"{check_cpu:>8.2f}{facts['loss']:>9.4f}  {facts['occurrences left out']:,}"
            )


if __name__ == "__main__":
    main()
