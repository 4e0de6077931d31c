"""The pictures of a report, drawn from plain data of `Findings`: they disclose no more than a report."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from veil.base.wording import Phrase, Verbatim
from veil.report.pictures.shapes import (
    ACCENT,
    AFTER,
    BEFORE,
    INK,
    LINE,
    SIZE,
    SOFT,
    WIDTH,
    Bar,
    Dot,
    Scene,
    Stroke,
    TextShape,
    short,
    width_of,
)
from veil.report.texts import text, texts

MOST_BARS = 12
"""Values that a picture of a distribution shows one by one."""

_SMALL = SIZE - 1.5
_TOP = 34.0
"""Room for the title and the legend."""

Row = tuple[str, float | None, float | None]
"""A label with its share before and after; None if it is withheld."""


def risks(analyses: dict[str, Any]) -> Scene:
    """Draw the share of records by re-identification risk, before and after."""
    tables = [analyses["before"], analyses["after"]]
    shares = [None if table is None else _by_risk(table["distribution"]) for table in tables]
    after = shares[1] or {}
    rows = [
        (name, None if shares[0] is None else shares[0].get(name, 0.0), share)
        for name, share in after.items()
    ]
    return _draw_bars(text("pictures.risks"), _filled(rows))


_RISKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0)
"""Upper limits of the bars: a class of 100, 50, 20, 10, 5, 4, 3, 2 and 1."""


def _by_risk(bins: Sequence[dict[str, float]]) -> dict[str, float]:
    """Add up the shares of each bar."""
    shares, low = {}, 0.0
    for high in _RISKS:
        # The limits of the bins are rounded up: that of a third is 33.4 %.
        inside = [each["share"] for each in bins if low < 0.995 * each["upper"] <= high]
        shares[f"≤ {100 * high:.3g} %"], low = sum(inside), high
    return shares


def class_sizes(analyses: dict[str, Any]) -> Scene:
    """Draw the share of records by class size, before and after."""
    tables = [analyses[which]["class_sizes"] if analyses[which] else None for which in ("before", "after")]
    spans = sorted({(each["from"], each["to"]) for table in tables if table for each in table["groups"]})

    def share(table: dict[str, Any] | None, span: tuple[int, int]) -> float | None:
        if table is None:
            return None
        records = {(each["from"], each["to"]): each["records"] for each in table["groups"]}
        return float(records.get(span, 0) / max(1, table["records"]))

    rows = [
        (
            f"{low:,}" if low == high else f"{low:,}–{high:,}",
            share(tables[0], (low, high)),
            share(tables[1], (low, high)),
        )
        for low, high in spans
    ]
    return _draw_bars(text("pictures.class_sizes"), _filled(rows), "pictures.no_class")


def _filled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with records."""
    return [row for row in rows if row[1] or row[2]]


def distribution(column: dict[str, Any]) -> Scene:
    """Draw the frequencies of the released values of a column, before and after."""
    entries = bars(column, _value if column["limits"] is None else _interval)
    before = sum(bar[1] or 0 for bar in entries)
    after = max(1, sum(bar[2] for bar in entries))
    rows = [
        (name, None if column["before"] is None else (old or 0) / max(1, before), new / after)
        for name, old, new in entries
    ]
    return _draw_bars(_value(column["column"], 40), rows)


def bars(column: dict[str, Any], label: Callable[[str | None], str]) -> list[tuple[str, int | None, int]]:
    """Return the name and both counts of each bar: the most frequent values, the others, the hidden ones."""
    before = column["before"] or [None] * len(column["values"])
    rows = list(zip(column["values"], before, column["after"], strict=True))
    most = rows
    if len(rows) > MOST_BARS:
        often = sorted(range(len(rows)), key=lambda at: -rows[at][2])[: MOST_BARS - 1]
        most = [rows[at] for at in sorted(often)]
    entries: list[tuple[str, int | None, int]] = [(label(text), old, new) for text, old, new in most]
    rest = len(rows) - len(most) + column["others"]
    if rest:
        old = None
        if column["before"] is not None:
            old = sum(column["before"]) + column["others_before"] - sum(bar[1] or 0 for bar in most)
        new = sum(column["after"]) + column["others_after"] - sum(bar[2] for bar in most)
        entries.append((text("pictures.other_values", count=rest), old, new))
    if column["hidden_after"] or column["hidden_before"]:
        entries.append((text("pictures.not_shown"), column["hidden_before"], column["hidden_after"]))
    return entries


def _value(value: str | None, most: int = 24) -> str:
    """Return a value or a name of a column as a label."""
    return text("pictures.missing") if value is None else Verbatim(short(value, most))


def _interval(interval: str | None) -> str:
    """Return an interval of numbers as a label: `-5 to <0`."""
    if not isinstance(interval, Phrase):
        return text("pictures.missing")
    ends = {name: str(end).replace("-", "−") for name, end in interval.values.items()}
    return text("pictures.interval", **ends)


def _draw_bars(title: str, rows: Sequence[Row], nothing: str = "pictures.nothing") -> Scene:
    """Draw a row for each label: its share after and, unless withheld, before."""
    scene = Scene(title)
    has_before = any(row[1] is not None for row in rows)
    colours = zip(texts("pictures.before after"), (BEFORE, AFTER), strict=True)
    _head(scene, title, tuple(colours) if has_before else ())
    left = min(150.0, max((_room(row[0]) for row in rows), default=0.0) + 6)
    room = WIDTH - left - 46
    most = max((share or 0.0 for row in rows for share in row[1:]), default=0.0) or 1.0
    thick, apart = (10.0, 5.0) if has_before else (11.0, 6.0)
    y = _TOP if has_before else _TOP - 12
    for name, before, after in rows:
        shares = [each for each in ((before, BEFORE), (after, AFTER)) if each[0] is not None]
        middle = y + thick * (2 if has_before else 1) / 2
        scene.add(TextShape(left - 6, middle + 4, name, "end"))
        for share, colour in shares:
            length = room * (share or 0.0) / most
            scene.add(
                Bar(left, y, length, thick, colour),
                TextShape(left + length + 3, y + thick - 1.5, _share(share), size=_SMALL, colour=SOFT),
            )
            y += thick
        y += apart + (thick if has_before and len(shares) == 1 else 0.0)
    if not rows:
        scene.add(TextShape(0, _TOP + 12, text(nothing), colour=SOFT))
        y += 20
    scene.height = y
    return scene


def _room(label: str) -> float:
    """Return the width of a label with room for its translation."""
    return width_of(label) * (1.0 if isinstance(label, Verbatim) else 1.4)


def _share(value: float | None) -> str:
    """Format a share in a few characters; only zero is written as 0 %.

    >>> _share(0.1234), _share(0.00001), _share(0.0), _share(1.0)
    ('12.3 %', '< 0.1 %', '0 %', '100 %')
    """
    if value is None:
        return ""
    if 0 < value < 0.001:
        return "< 0.1 %"
    return f"{100 * value:.1f}".rstrip("0").rstrip(".") + " %"


def _head(scene: Scene, title: str, colours: Sequence[tuple[str, str]]) -> None:
    """Write the title and the legend."""
    scene.add(TextShape(0, 12, title, bold=True))
    x = 0.0
    for name, colour in colours:
        scene.add(Bar(x, 19, 9, 9, colour), TextShape(x + 13, 27, name, colour=SOFT, size=_SMALL))
        x += 22 + width_of(name, _SMALL)


def correlations(associations: dict[str, Any]) -> list[Scene]:
    """Draw the associations of columns, before and after."""
    return [_heat(associations, which) for which in ("before", "after") if associations[which] is not None]


def _heat(associations: dict[str, Any], which: Literal["before", "after"]) -> Scene:
    names = [_value(name, 14) for name in associations["columns"]]
    wide = max(map(width_of, names)) + 4
    side = min(34.0, (WIDTH - wide) / len(names))
    title = text(f"pictures.{which}")
    scene = Scene(title)
    scene.add(TextShape(0, 12, title, bold=True))
    top = 20.0
    for i, row in enumerate(associations[which]):
        y = top + i * side
        scene.add(TextShape(wide - 5, y + side / 2 + 4, names[i], "end", size=min(SIZE, side)))
        for j, value in enumerate(row):
            x = wide + j * side
            scene.add(Bar(x, y, side - 1, side - 1, "#f1f1f1" if value is None else _shade(value)))
            if side >= 24:
                figure = "–" if value is None else "1" if value == 1 else f"{value:.2f}"
                light = value is not None and value > 0.55
                scene.add(
                    TextShape(
                        x + side / 2,
                        y + side / 2 + 3,
                        figure,
                        "middle",
                        "#ffffff" if light else INK,
                        size=_SMALL,
                    )
                )
    bottom = top + len(names) * side
    for j, name in enumerate(names):
        scene.add(
            TextShape(wide + (j + 0.5) * side + 4, bottom + 5, name, "end", turned=True, size=min(SIZE, side))
        )
    scene.height = bottom + wide + 4
    return scene


def _shade(value: float) -> str:
    """Return a blue that is as dark as a value from 0 to 1 is high.

    >>> _shade(0), _shade(1)
    ('#f2f7fb', '#08306b')
    """
    ends = ((0xF2, 0x08), (0xF7, 0x30), (0xFB, 0x6B))
    return "#" + "".join(f"{round(low + (high - low) * value):02x}" for low, high in ends)


def spaces(space: dict[str, Any]) -> list[Scene]:
    """Draw the evaluated transformations by the sum of their levels: by score and by suppressed records."""
    return [_space(space, "score"), _space(space, "suppressed")]


def _space(space: dict[str, Any], by: Literal["score", "suppressed"]) -> Scene:
    nodes = [each for each in space["nodes"] if each[by] is not None]
    if by == "score":
        nodes = [each for each in nodes if each["anonymous"]]
    title = text(f"pictures.space_by_{by}")
    points = [
        (
            sum(each["levels"]) + (0.0 if each["levels"] == space["chosen"] else jitter(at)),
            each[by],
            AFTER if each["anonymous"] else BEFORE,
            each["levels"] == space["chosen"],
        )
        for at, each in enumerate(sorted(nodes, key=lambda each: each["anonymous"]))
    ]
    anonymous, other, chosen = texts("pictures.anonymous not_anonymous chosen")
    colours = [(anonymous, AFTER)] + ([(other, BEFORE)] if by == "suppressed" else [])
    scene = Scene(title)
    _head(scene, title, [*colours, (chosen, ACCENT)])
    if not points:
        scene.add(TextShape(0, _TOP + 12, text("pictures.no_transformation"), colour=SOFT))
        scene.height = _TOP + 20
        return scene
    plane = _Plane(
        scene, [round(x) for x, *_ in points], [y for _, y, *_ in points], percent=by == "suppressed"
    )
    for x, y, colour, is_chosen in points:
        place = plane.place(x, y)
        scene.add(Dot(*place, 2.2, colour))
        if is_chosen:
            scene.add(Dot(*place, 6.0, ACCENT, ring=True))
    plane.name(text("pictures.sum_of_levels"))
    return scene


def jitter(at: int) -> float:
    """Return a small deterministic offset, so that points do not hide each other."""
    return ((at * 0.618034) % 1.0 - 0.5) * 0.6


def quality(curve: Sequence[dict[str, Any]]) -> Scene:
    """Draw the best score over the time of the search."""
    title = text("pictures.best_score")
    scene = Scene(title)
    scene.add(TextShape(0, 12, title, bold=True))
    points = [(each["seconds"], each["score"]) for each in curve]
    plane = _Plane(scene, [0.0, *(x for x, _ in points)], [y for _, y in points])
    steps = [plane.place(*points[0])]
    for (_, before), (x, y) in itertools.pairwise(points):
        steps += [plane.place(x, before), plane.place(x, y)]
    scene.add(Stroke(tuple(steps), AFTER, 1.5), *(Dot(*plane.place(x, y), 2.5, AFTER) for x, y in points))
    plane.name(text("pictures.seconds"))
    return scene


class _Plane:
    """Two axes with round numbers, and the positions of points."""

    def __init__(
        self, scene: Scene, xs: Sequence[float], ys: Sequence[float], *, percent: bool = False
    ) -> None:
        self.scene = scene
        self.x_ticks, self.y_ticks = round_numbers(min(xs), max(xs)), round_numbers(min(ys), max(ys))
        labels = [_share(tick) if percent else f"{tick:,.6g}" for tick in self.y_ticks]
        self.left = max(width_of(label, _SMALL) for label in labels) + 6
        self.top, self.bottom = _TOP + 6, _TOP + 156
        scene.height = self.bottom + 34
        for tick, label in zip(self.y_ticks, labels, strict=True):
            _, y = self.place(self.x_ticks[0], tick)
            scene.add(Stroke(((self.left, y), (WIDTH, y)), LINE, 0.7))
            scene.add(TextShape(self.left - 5, y + 3, label, "end", SOFT, _SMALL))
        for tick in self.x_ticks:
            x, _ = self.place(tick, self.y_ticks[0])
            scene.add(TextShape(x, self.bottom + 13, f"{tick:,.6g}", "middle", SOFT, _SMALL))

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point."""
        across = (x - self.x_ticks[0]) / (self.x_ticks[-1] - self.x_ticks[0])
        up = (y - self.y_ticks[0]) / (self.y_ticks[-1] - self.y_ticks[0])
        return self.left + 8 + across * (WIDTH - self.left - 20), self.bottom - up * (self.bottom - self.top)

    def name(self, name: str) -> None:
        """Write the name of the lower axis."""
        self.scene.add(TextShape((self.left + WIDTH) / 2, self.bottom + 28, name, "middle", SOFT, _SMALL))


def round_numbers(low: float, high: float, about: int = 4) -> list[float]:
    """Return a few round numbers from below the lowest to above the highest.

    >>> round_numbers(0.0, 11.3), round_numbers(3, 3), round_numbers(0.301, 0.499)
    ([0.0, 5.0, 10.0, 15.0], [2.0, 2.5, 3.0, 3.5, 4.0], [0.3, 0.35, 0.4, 0.45, 0.5])
    """
    if not high > low:
        wide = 10.0 ** math.floor(math.log10(abs(low))) if low else 1.0
        low, high = low - wide, high + wide
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(at * step, 12) for at in range(first, last + 1)]
