"""Tables that are private as a whole: what each method keeps and hides over k and epsilon, and how long large tables take.

    python bench/dp_microdata.py                  # the comparison on Census, as table and as picture, and the times
    python bench/dp_microdata.py --runs 2 --no-times
    python bench/dp_microdata.py --adult          # the marginal tree on adult alone

Census (shared/data/census) has 1,080 records; FICA, FEDTAX, INTVAL and POTHVAL are numbers from 0 to bounds that are taken
as public. All figures are means over some runs:

- SSE: squared error of records, in raw units, where rows are records; and by rank, of each column sorted, for all.
- linkage: how many percent of the released records are nearest to the record that they were made from.
- two-way: mean total variation distance of the six tables of two columns, each cut at five public breaks.
- accuracy: of a forest that learns from the release whether FEDTAX is above 6,000 and is asked about the original.

Adult (shared/data/adult) has 30,162 records; its nine columns are made by a marginal tree for rho = 1/64 (epsilon = 1.0225 at
delta = 1e-9), in 2 seconds at most, with a mean total variation distance of all 36 two-way tables of .065 at most.

"Published" is what Soria-Comas (2013) releases, which is NOT private for its epsilon; what is sound keeps it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.dp.declared import Declared
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import MemorySource
from veil.dp.unit import Unit
from veil.private_table import Corners, IndividualRanking, MarginalTree, private_table
from veil.private_table.mechanisms.cells import cut
from veil.private_table.mechanisms.clusters import clusters
from veil.private_table.mechanisms.columns import Numbers, read_columns
from veil.private_table.mechanisms.published import published_numbers
from veil.private_table.mechanisms.ranking import blocks_of
from veil.private_table.mechanisms.table_mechanism import Neighbourhood, block_sizes
from veil.tables import read

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
RESULTS = Path(__file__).parent / "results"
BOUNDS = {"FICA": (0, 11898), "FEDTAX": (0, 31890), "INTVAL": (0, 74137.5), "POTHVAL": (0, 158911.5)}
BREAKS = {
    "FICA": [500, 1000, 2000, 3000, 5000],
    "FEDTAX": [500, 1000, 2000, 4000, 8000],
    "INTVAL": [50, 200, 1000, 5000, 20000],
    "POTHVAL": [100, 1000, 5000, 15000, 40000],
}
TARGET, THRESHOLD = "FEDTAX", 6000
SIZES, PRICES = (5, 15, 30, 100, 270), (0.01, 0.1, 1.0, 10.0)
ROWS = 1_200_000

Values = NDArray[np.float64]
Figures = dict[str, float]


def main() -> None:
    """Compare, draw, and time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs for each figure")
    parser.add_argument("--no-times", action="store_true", help="leave out the table of 1.2 million rows")
    parser.add_argument("--adult", action="store_true", help="the marginal tree on adult, and nothing else")
    given = parser.parse_args()
    if given.adult:
        print("\n".join(_adult(given.runs)))
        return
    table = read(SHARED / "data" / "census" / "census.csv").table.select(list(BOUNDS))
    found = list(_compare(table, given.runs))
    lines = [_HEAD, *(_line(*each) for each in found)]
    picture = RESULTS / "dp_microdata.png"
    _draw(found, picture)
    if not given.no_times:
        lines += ["", f"{ROWS:,} rows x 8 columns{'seconds':>38} {'processor':>10}", *_times()]
        lines += ["", *_adult(given.runs)]
    (RESULTS / "dp_microdata.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    print(f"\n{picture}")


# --- what is compared -----------------------------------------------------------------------------


def _methods() -> Iterator[tuple[str, int | None, Callable[..., tuple[Values, bool]]]]:
    """Yield methods: what they are called, their k, and a function that returns values and whether rows are records."""
    yield "plain Laplace, published", None, lambda *each: _plain(*each, share=1)
    yield "plain Laplace", None, lambda *each: _plain(*each, share=len(BOUNDS))
    for k in SIZES:
        yield "corners, published", k, lambda *each, k=k: _published(*each, k=k, by="corners")
        yield "ranking, published", k, lambda *each, k=k: _published(*each, k=k, by="ranking")
        yield "corners", k, lambda *each, k=k: _corners(*each, k=k)
        yield "ranking", k, lambda *each, k=k: _made(*each, IndividualRanking(k))
    yield "marginal tree", None, lambda *each: _made(*each, MarginalTree(BREAKS))


def _columns(table: pa.Table, bounds: Any, domains: Any) -> Any:
    missing = {name: each[0] for name, each in domains.items()}
    declared = Declared("one changed", Unit(None), bounds, {}, missing)
    return read_columns(MemorySource(table).select(table.column_names), declared, domains)


def _compare(table: pa.Table, runs: int) -> Iterator[tuple[str, int | None, float, Figures]]:
    columns: Any = _columns(table, BOUNDS, {})
    original = np.array([np.array(table[name], float) for name in BOUNDS]).T
    for epsilon in PRICES:
        for name, k, release in _methods():
            each = []
            for run in range(runs):
                values, are_records = release(table, columns, epsilon, Randomness.for_testing(run))
                each.append(_measure(original, values, are_records))
            yield (
                name,
                k,
                epsilon,
                {figure: float(np.mean([one[figure] for one in each])) for figure in each[0]},
            )


def _plain(
    table: pa.Table, columns: list[Numbers], epsilon: float, source: Randomness, share: int
) -> tuple[Values, bool]:
    alone = [np.array([row]) for row in range(table.num_rows)]
    return _stacked(columns, lambda each: published_numbers(each, alone, 1, epsilon / share, source)), True


def _published(
    table: pa.Table, columns: list[Numbers], epsilon: float, source: Randomness, k: int, by: str
) -> tuple[Values, bool]:
    together = clusters(columns, k)
    sizes = block_sizes(table.num_rows, k)

    def release(column: Numbers) -> Values:
        blocks = together if by == "corners" else blocks_of(column.steps, sizes)
        return published_numbers(column, blocks, k, epsilon, source)

    return _stacked(columns, release), True


def _corners(
    table: pa.Table, columns: list[Numbers], epsilon: float, source: Randomness, k: int
) -> tuple[Values, bool]:
    # Before rows are put in a random order, so that what was made of each record is known.
    return Corners(k)._noisy(columns, clusters(columns, k), PrivacyLoss.read(epsilon), source), True


def _made(
    table: pa.Table, columns: list[Numbers], epsilon: float, source: Randomness, method: Any
) -> tuple[Values, bool]:
    delta = "1e-6" if isinstance(method, MarginalTree) else 0
    made = method.make(
        columns, PrivacyLoss.read(epsilon, delta=delta), Neighbourhood("one changed"), source
    ).table
    return np.array([np.array(made[name], float) for name in BOUNDS]).T, False


def _stacked(columns: list[Numbers], release: Callable[[Numbers], Values]) -> Values:
    return np.column_stack([release(each) for each in columns])


# --- what is measured -----------------------------------------------------------------------------


def _measure(original: Values, released: Values, are_records: bool) -> Figures:
    return {
        "sse": float(((original - released) ** 2).sum()) if are_records else np.nan,
        "by rank": float(((np.sort(original, axis=0) - np.sort(released, axis=0)) ** 2).sum()),
        "linkage": _linkage(original, released) if are_records else np.nan,
        "two-way": _two_way(original, released),
        "accuracy": _accuracy(original, released),
    }


def _linkage(original: Values, released: Values) -> float:
    width, total = np.array([high for _, high in BOUNDS.values()]), 0.0
    for row, record in enumerate(released):
        far = (((original - record) / width) ** 2).sum(axis=1)
        nearest = far <= far.min() * (1 + 1e-12)
        total += nearest[row] / nearest.sum()
    return 100 * total / len(released)


def _two_way(original: Values, released: Values) -> float:
    edges = [[-np.inf, *BREAKS[name], np.inf] for name in BOUNDS]

    def tables(values: Values) -> list[Values]:
        pairs = [(i, j) for i in range(len(edges)) for j in range(i)]
        made = [np.histogram2d(values[:, i], values[:, j], [edges[i], edges[j]])[0] for i, j in pairs]
        return [each / len(values) for each in made]

    return float(
        np.mean(
            [
                np.abs(one - other).sum() / 2
                for one, other in zip(tables(original), tables(released), strict=True)
            ]
        )
    )


def _accuracy(original: Values, released: Values) -> float:
    from sklearn.ensemble import RandomForestClassifier

    at = list(BOUNDS).index(TARGET)
    (learned, answers), (asked, truth) = (
        (np.delete(each, at, axis=1), each[:, at] > THRESHOLD) for each in (released, original)
    )
    if len(np.unique(answers)) == 1:
        return float(max(truth.mean(), 1 - truth.mean()))
    forest = RandomForestClassifier(30, max_depth=6, random_state=0)
    return float((forest.fit(learned, answers).predict(asked) == truth).mean())


# --- how it is shown ------------------------------------------------------------------------------

_HEAD = f"{'method':26} {'k':>4} {'epsilon':>8} {'SSE':>10} {'by rank':>10} {'linkage %':>10} {'two-way':>8} {'accuracy':>9}"


def _line(name: str, k: int | None, epsilon: float, figures: Figures) -> str:
    def shown(figure: str, form: str) -> str:
        return "-" if np.isnan(figures[figure]) else format(figures[figure], form)

    return (
        f"{name:26} {k or '-':>4} {epsilon:>8g} {shown('sse', '.3e'):>10} {shown('by rank', '.3e'):>10} "
        f"{shown('linkage', '.3f'):>10} {shown('two-way', '.4f'):>8} {shown('accuracy', '.4f'):>9}"
    )


def _draw(found: list[tuple[str, int | None, float, Figures]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = {
        "by rank": "squared error by rank",
        "linkage": "record linkage, %",
        "two-way": "error of two-way tables",
        "accuracy": "accuracy of a classifier",
    }
    figure, axes = pyplot.subplots(
        len(panels), len(PRICES), figsize=(15, 12), sharex=True, sharey="row", layout="constrained"
    )
    names = list(dict.fromkeys(name for name, *_ in found))
    for row, (measure, title) in enumerate(panels.items()):
        for column, epsilon in enumerate(PRICES):
            axis = axes[row, column]
            for place, name in enumerate(names):
                here = [
                    (k, each[measure]) for one, k, price, each in found if (one, price) == (name, epsilon)
                ]
                style: dict[str, Any] = {
                    "color": f"C{place}",
                    "linestyle": "--" if "published" in name else "-",
                    "label": f"{name} (NOT private)" if "published" in name else name,
                }
                if np.isnan(here[0][1]):
                    continue
                if here[0][0] is None:
                    axis.axhline(here[0][1], linewidth=1, **style)
                else:
                    axis.plot(*zip(*here, strict=True), marker="o", markersize=4, **style)
            axis.set_xscale("log")
            if measure == "by rank":
                axis.set_yscale("log")
            if measure == "linkage":
                axis.set_yscale("symlog", linthresh=0.1)
            if row == 0:
                axis.set_title(f"epsilon = {epsilon:g}")
            if row == len(panels) - 1:
                axis.set_xlabel("k")
            if column == 0:
                axis.set_ylabel(title)
            axis.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


# --- large tables ---------------------------------------------------------------------------------


def _times() -> Iterator[str]:
    source = np.random.default_rng(1)
    names = [f"x{place}" for place in range(8)]
    table = pa.table({name: source.normal(40_000, 9_000, ROWS) for name in names})
    bounds = dict.fromkeys(names, (0, 100_000))
    methods: dict[str, tuple[Any, dict[str, Any]]] = {
        "individual ranking": (IndividualRanking("auto"), {"epsilon": 1}),
        "individual ranking, as published": (IndividualRanking(1000, as_published=True), {"epsilon": 1}),
        "corners": (Corners("auto"), {"epsilon": 1}),
        "corners, as published": (Corners(2000, as_published=True), {"epsilon": 1}),
        "marginal tree": (MarginalTree(), {"rho": "1/64"}),
    }
    for name, (method, price) in methods.items():
        start, processor = time.perf_counter(), time.process_time()
        private_table(table, method, neighbours="one changed", person=None, bounds=bounds, **price)
        yield f"{name:56} {time.perf_counter() - start:>8.2f} {time.process_time() - processor:>10.2f}"


# --- adult ----------------------------------------------------------------------------------------


def _adult(runs: int) -> Iterator[str]:
    table = read(SHARED / "data" / "adult" / "adult.csv").table
    bounds, breaks = {"age": (17, 91)}, {"age": list(range(18, 91))}
    domains = {name: sorted(set(table[name].to_pylist())) for name in table.column_names if name != "age"}

    def two_way(which: pa.Table) -> list[Values]:
        cells = cut(_columns(which, bounds, domains), breaks)
        return [
            np.bincount(a.codes * b.size + b.codes, minlength=a.size * b.size).reshape(a.size, b.size)
            / len(a.codes)
            for a, b in itertools.combinations(cells, 2)
        ]

    def far(one: Values, other: Values) -> float:
        return float(np.abs(one - other).sum() / 2)

    def error(made: pa.Table) -> float:
        return float(np.mean([far(*each) for each in zip(original, two_way(made), strict=True)]))

    original, source = two_way(table), np.random.default_rng(1)
    independent = np.mean([far(each, np.outer(each.sum(1), each.sum(0))) for each in original])
    title = f"adult, {table.num_rows:,} rows x {table.num_columns} columns"
    yield f"{title:56} {'seconds':>8} {'processor':>10} {'two-way':>8}"
    # Without error of sampling, and as a table of as many records: what the tree makes is such a table.
    yield f"{'columns as if independent':56} {'-':>8} {'-':>10} {independent:>8.4f}"
    shuffled = np.mean([error(_shuffled(table, source)) for _ in range(20)])
    yield f"{'columns shuffled, each by itself, mean of 20':56} {'-':>8} {'-':>10} {shuffled:>8.4f}"
    for run in range(runs):
        start, processor = time.perf_counter(), time.process_time()
        made = private_table(
            table,
            MarginalTree(breaks),
            rho="1/64",
            neighbours="one more or less",
            person=None,
            bounds=bounds,
            domains=domains,
            missing={name: each[0] for name, each in domains.items()},
        ).table
        taken = f"{time.perf_counter() - start:>8.2f} {time.process_time() - processor:>10.2f}"
        yield f"{f'marginal tree, run {run + 1}':56} {taken} {error(made):>8.4f}"


def _shuffled(table: pa.Table, source: np.random.Generator) -> pa.Table:
    orders = [source.permutation(table.num_rows) for _ in table.column_names]
    columns = [column.take(pa.array(order)) for column, order in zip(table.columns, orders, strict=True)]
    return pa.table(columns, table.column_names)


if __name__ == "__main__":
    main()
