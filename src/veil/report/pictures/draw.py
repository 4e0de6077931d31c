"""The pictures in matplotlib, drawn from plain data of `Findings`: they disclose no more than a report.

Before is grey and after is blue: distinct in print and for the colour-blind. No state of pyplot is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from veil.base.figures import new_figure
from veil.report.pictures import shapes
from veil.report.pictures.charts import bars as bars_of
from veil.report.pictures.charts import jitter
from veil.report.pictures.shapes import ACCENT, AFTER, BEFORE, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = 8
"""Font size in points."""


def short(text: str | None, most: int = 26) -> str:
    r"""Return a label that fits: printable, not too long, and not a formula.

    >>> short("x" * 40, 8), short(None), short("a$b")
    ('xxxxxxx…', '(missing)', 'a\\$b')
    """
    return shapes.short(text, most).replace("$", r"\$")


def _axes(ax: Axes | None, width: float, height: float) -> tuple[Figure, Any]:
    if ax is None:
        figure = new_figure(width, height)
        return figure, figure.add_subplot()
    figure = ax.get_figure(root=True)  # type: ignore[assignment]
    return figure, ax


def _percent(value: float, _: int) -> str:
    return f"{100 * value:.3g} %"


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SIZE)
    axes.xaxis.label.set_size(SIZE + 1)
    axes.yaxis.label.set_size(SIZE + 1)


def _draw_bars(
    axes: Any, names: Sequence[str], before: Sequence[float] | None, after: Sequence[float]
) -> None:
    """Draw two adjacent bars for each name."""
    width = 0.4 if before is not None else 0.7
    places = range(len(names))
    if before is not None:
        axes.bar([at - width / 2 for at in places], before, width, color=BEFORE, label="before")
    axes.bar(
        [at + (width / 2 if before is not None else 0) for at in places],
        after,
        width,
        color=AFTER,
        label="after",
    )
    axes.set_xticks(list(places), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.7, max(7, len(names) - 1) + 0.7)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(_percent)
    axes.legend(
        frameon=False, fontsize=SIZE, ncols=2, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0
    )
    _plain(axes)


def risks(analyses: dict[str, Any], ax: Axes | None = None) -> Figure:
    """Draw the share of records by re-identification risk, before and after."""
    figure, axes = _axes(ax, 7.5, 3.2)
    tables = [analyses["before"], analyses["after"]]
    bins = [list(table["distribution"]) if table else None for table in tables]
    uppers = [each["upper"] for each in bins[1] or []]
    low = [at for at, upper in enumerate(uppers) if upper <= 0.01]
    names = ["≤ 1 %"] + [f"≤ {100 * upper:.3g} %" for upper in uppers if upper > 0.01]

    def shares(table: list[dict[str, float]] | None) -> list[float] | None:
        if table is None:
            return None
        return [sum(table[at]["share"] for at in low)] + [
            each["share"] for each in table if each["upper"] > 0.01
        ]

    _draw_bars(axes, names, shares(bins[0]), shares(bins[1]) or [])
    axes.set_xlabel("risk of a record (1 / size of its class)")
    axes.set_ylabel("share of the records")
    return figure


def class_sizes(analyses: dict[str, Any], ax: Axes | None = None) -> Figure:
    """Draw the share of records by class size, before and after."""
    figure, axes = _axes(ax, 7.5, 3.2)
    tables = [analyses[which]["class_sizes"] if analyses[which] else None for which in ("before", "after")]
    spans = sorted({(each["from"], each["to"]) for table in tables if table for each in table["groups"]})
    names = [f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in spans]

    def shares(table: dict[str, Any] | None) -> list[float] | None:
        if table is None:
            return None
        records = {(each["from"], each["to"]): each["records"] for each in table["groups"]}
        return [records.get(span, 0) / max(1, table["records"]) for span in spans]

    _draw_bars(axes, names, shares(tables[0]), shares(tables[1]) or [])
    axes.set_xlabel("records in the class")
    axes.set_ylabel("share of the records")
    if not spans:
        _write_in_middle(axes, "no classes: every record is suppressed")
    return figure


def distribution(column: dict[str, Any], ax: Axes | None = None, *, room: int = 0) -> Figure:
    """Draw the frequencies of the released values of a column, before and after; `room` is for bars."""
    bars = bars_of(column, short)
    figure, axes = _axes(ax, 5, 0.8 + 0.3 * len(bars))
    places = list(range(len(bars)))[::-1]
    total_after = max(1, sum(bar[2] for bar in bars))
    has_before = column["before"] is not None
    height = 0.38 if has_before else 0.7
    if has_before:
        total = max(1, sum(bar[1] or 0 for bar in bars))
        axes.barh(
            [at + height / 2 for at in places], [(bar[1] or 0) / total for bar in bars], height, color=BEFORE,
            label="before",
        )  # fmt: skip
    axes.barh(
        [at - (height / 2 if has_before else 0) for at in places], [bar[2] / total_after for bar in bars], height,
        color=AFTER, label="after",
    )  # fmt: skip
    axes.set_yticks(places, [bar[0] for bar in bars])
    axes.set_ylim(len(bars) - max(room, len(bars), 1) - 0.7, max(1, len(bars)) - 0.3)
    axes.xaxis.set_major_formatter(_percent)
    axes.locator_params(axis="x", nbins=5)
    _plain(axes)
    axes.set_title(short(column["column"], 40), fontsize=SIZE + 1, loc="left")
    return figure


def distributions(columns: Sequence[dict[str, Any]]) -> Figure:
    """Draw the distributions of several columns, two in a row."""
    rows = [columns[at : at + 2] for at in range(0, len(columns), 2)]
    heights = [0.75 + 0.24 * max(len(bars_of(each, short)) for each in row) for row in rows]
    figure = new_figure(8.5, max(1.5, sum(heights) + 0.3))
    if rows:
        figure.get_layout_engine().set(h_pad=0.09)  # type: ignore[call-arg, union-attr]
        grid = figure.add_gridspec(len(rows), 2, height_ratios=heights)
        for i, row in enumerate(rows):
            room = max(len(bars_of(each, short)) for each in row)
            for j, each in enumerate(row):
                distribution(each, figure.add_subplot(grid[i, j]), room=room)
        handles = _legend(any(each["before"] is not None for each in columns))
        figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=SIZE)
    return figure


def _legend(has_before: bool) -> list[Any]:
    from matplotlib.patches import Patch

    after = [Patch(color=AFTER, label="after")]
    return [Patch(color=BEFORE, label="before"), *after] if has_before else after


def correlations(associations: dict[str, Any]) -> Figure:
    """Draw the associations of columns, before and after, side by side."""
    tables = [which for which in ("before", "after") if associations[which] is not None]
    side = 1.6 + 0.33 * max(2, len(associations["columns"]))
    figure = new_figure(min(11.0, side * len(tables) + 0.9), min(7.0, side))
    axes: list[Any] = []
    for at, which in enumerate(tables):
        axes.append(figure.add_subplot(1, len(tables), at + 1))
        image = _heat(associations, which, axes[-1], names=at == 0)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=25)
    bar.ax.tick_params(labelsize=SIZE)
    bar.set_label("Cramér's V", size=SIZE)
    return figure


def correlation(associations: dict[str, Any], which: str, ax: Axes) -> Figure:
    """Draw the associations of columns in one of the tables."""
    _heat(associations, which, ax, names=True)
    figure: Figure = ax.get_figure(root=True)  # type: ignore[assignment]
    return figure


def _heat(associations: dict[str, Any], which: str, axes: Any, *, names: bool) -> Any:
    import numpy as np

    values = np.array(
        [[np.nan if value is None else value for value in row] for row in associations[which]], np.float64
    ).reshape(len(associations["columns"]), -1)
    image = axes.imshow(values, cmap="Blues", vmin=0, vmax=1)
    axes.set_facecolor("#f1f1f1")
    labels = [short(name, 16) for name in associations["columns"]]
    places = range(len(labels))
    axes.set_xticks(places, labels, rotation=90, fontsize=SIZE)
    axes.set_yticks(places, labels if names else [""] * len(labels), fontsize=SIZE)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if len(labels) <= 12:
        for i, row in enumerate(associations[which]):
            for j, value in enumerate(row):
                text, dark = ("–", False) if value is None else (f"{value:.2f}", value > 0.55)
                axes.text(
                    j, i, "1" if value == 1 else text, ha="center", va="center", fontsize=SIZE - 2,
                    color="white" if dark else "black",
                )  # fmt: skip
    axes.set_title(which, fontsize=SIZE + 1, loc="left")
    return image


def space(
    lattice: dict[str, Any] | None, by: Literal["score", "suppressed"] = "score", ax: Axes | None = None
) -> Figure:
    """Draw the evaluated transformations by the sum of their levels, and by score or suppressed records."""
    figure, axes = _axes(ax, 5, 3.2)
    nodes = [] if lattice is None else [each for each in lattice["nodes"] if each[by] is not None]
    chosen_levels = None if lattice is None else lattice["chosen"]
    if by == "score":
        nodes = [each for each in nodes if each["anonymous"]]
    for anonymous, colour, name in ((False, BEFORE, "not anonymous"), (True, AFTER, "anonymous")):
        some = [each for each in nodes if each["anonymous"] == anonymous]
        if some:
            places = [
                sum(each["levels"]) + (jitter(at) if each["levels"] != chosen_levels else 0.0)
                for at, each in enumerate(some)
            ]
            axes.scatter(
                places, [each[by] for each in some], s=9, color=colour, label=name, linewidths=0, alpha=0.8
            )
    chosen_nodes = [each for each in nodes if each["levels"] == chosen_levels]
    if chosen_nodes:
        axes.scatter(
            [sum(each["levels"]) for each in chosen_nodes], [each[by] for each in chosen_nodes], s=90, marker="o",
            facecolors="none", edgecolors=ACCENT, linewidths=1.8, label="chosen", zorder=3,
        )  # fmt: skip
    if nodes:
        axes.legend(
            frameon=False, fontsize=SIZE, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0,
            handletextpad=0.2, columnspacing=1.0,
        )  # fmt: skip
    else:
        _write_in_middle(axes, "no transformation to show")
    if by == "suppressed":
        axes.yaxis.set_major_formatter(_percent)
        axes.set_ylim(-0.02, max([0.05, *(1.05 * each[by] for each in nodes)]))
    sums = [sum(each["levels"]) for each in nodes] or [0]
    axes.set_xlim(min(sums) - 0.6, max(sums) + 0.6)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("sum of levels: specific to general")
    axes.set_ylabel("score (lower is better)" if by == "score" else "suppressed records")
    _plain(axes)
    return figure


def spaces(lattice: dict[str, Any]) -> Figure:
    """Draw the solution space twice, by score and by suppressed records."""
    figure = new_figure(8.5, 3.2)
    space(lattice, "score", figure.add_subplot(1, 2, 1))
    space(lattice, "suppressed", figure.add_subplot(1, 2, 2))
    return figure


def quality(curve: Sequence[dict[str, Any]], ax: Axes | None = None) -> Figure:
    """Draw the best score over the time of the search."""
    figure, axes = _axes(ax, 5, 2.8)
    if curve:
        seconds, scores = [each["seconds"] for each in curve], [each["score"] for each in curve]
        axes.step(seconds, scores, where="post", color=AFTER, linewidth=1.5)
        axes.scatter(seconds, scores, s=14, color=AFTER, zorder=3)
        axes.set_xlim(0, 1.05 * max(seconds) or 1)
        axes.locator_params(axis="x", nbins=5)
    else:
        _write_in_middle(axes, "the search kept no record of its progress")
    axes.set_xlabel("seconds of search")
    axes.set_ylabel("best score so far")
    _plain(axes)
    return figure


def _write_in_middle(axes: Any, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, fontsize=SIZE, color=SOFT)
