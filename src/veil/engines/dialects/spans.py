"""Adjacent rows of a table, and pieces made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Chunk(NamedTuple):
    """A piece of a relation: the same columns, some of the rows."""

    label: str
    rows: int | None
    table: ir.Table


class Span(NamedTuple):
    """Adjacent rows, from a file, a row id or a block on."""

    start: Any
    rows: int


def ranges(
    table: ir.Table, spans: Iterable[Span], rows: int, what: str, piece: Callable[[Any, Any], ir.Table]
) -> list[Chunk]:
    """Make pieces of spans: `piece` returns the rows between two starts, or from the last start on."""
    groups = list(gather_spans(spans, rows))
    if len(groups) == 1:
        return [Chunk("everything", sum(span.rows for span in groups[0]), table)]
    starts = [group[0].start for group in groups]
    return [
        Chunk(f"{what} from {start} on", sum(span.rows for span in group), piece(start, stop))
        for group, start, stop in zip(groups, starts, [*starts[1:], None], strict=True)
    ]


def gather_spans(spans: Iterable[Span], rows: int) -> Iterator[list[Span]]:
    """Join neighbours into groups of at most `rows` rows."""
    group: list[Span] = []
    count = 0
    for span in spans:
        if group and count + span.rows > rows:
            yield group
            group, count = [], 0
        group.append(span)
        count += span.rows
    if group:
        yield group


def between(table: ir.Table, row_id: Any, start: int, stop: int | None) -> ir.Table:
    """Return the rows whose number is at least `start`, and less than `stop` if there is one."""
    inside = row_id >= start
    return table.filter(inside if stop is None else inside & (row_id < stop))
