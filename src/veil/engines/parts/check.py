"""What Mondrian has an engine write: part by part, and checked by counting it.

Nothing of how the output was made is used again. The classes must be there as planned, every model is verified on the
written cells, and all other columns are compared by aggregates. Where there are too many combinations for memory,
classes are looked at in turns, by the labels of one column.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.engines.condense import Condensed, condense
from veil.engines.lookups import Lookup
from veil.engines.relation import Relation
from veil.engines.verify import ExpectedOutput, compare_blank, verify_written
from veil.outcome.outcome import Outcome
from veil.published.finding import Finding, Verification
from veil.tables.columns import count_codes, encode_values
from veil.verification.release import verify_models

if TYPE_CHECKING:
    import ibis

    from veil.engines.parts.blocks import Blocks

_COLUMNS = "the table has the columns it should have and no others"


def check_staged(blocks: Blocks, outcome: Outcome, staged: ibis.Table) -> Verification:
    """Check the written rows against the classes that were decided, and against the models."""
    numbered = blocks.numbered
    source, names = numbered.relation, numbered.names
    expected, weights = blocks.only.rows() if blocks.only else (outcome.table, outcome.weights)
    known = names if outcome.plan is not None and outcome.suppressed else None  # masks suppress nothing
    due = ExpectedOutput(
        _COLUMNS, set(source.table.columns) - blocks.dropped, expected, known, outcome.marker
    )

    def judge(relation: Relation, written: Condensed) -> list[Finding]:
        whole = [(written.table, written.weights)]
        further = [name for name in written.table.column_names if name not in expected.column_names]
        turns, blank = [], 0
        for table, each in _turns(blocks, outcome, relation, further) if blocks.only is None else whole:
            published = blocks.published(table, each)
            turns.append(verify_models(published, numbered.work.models))
            blank += published.suppressed_records
        found = [together(each) for each in zip(*turns, strict=True)]
        return found if known is None else [*found, compare_blank(blank, outcome.suppressed)]

    passed = [name for name in staged.columns if name not in names]

    def before() -> Iterator[ibis.Table]:
        """The rows as they are, or with suppressed ones blank, part by part."""
        if not outcome.plan or not outcome.suppressed:
            yield source.table
        else:
            yield from (blocks.expression(part, source.table) for part in blocks.parts)

    return verify_written(source, staged, due, weights, judge, before, passed)


def together(findings: Sequence[Finding]) -> Finding:
    """Put what was found of one promise in several parts into one finding."""
    told = list(dict.fromkeys(each.measured for each in findings))
    several = f"by part: {', '.join(told[:3])}{' ...' if len(told) > 3 else ''}"
    return Finding(
        findings[0].promise, all(each.holds for each in findings), told[0] if len(told) == 1 else several
    )


def _turns(
    blocks: Blocks, outcome: Outcome, relation: Relation, further: Sequence[str]
) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
    """Read what models look at by the labels of one column, so that classes stay whole."""
    numbered = blocks.numbered
    columns = [*numbered.names, *numbered.attributes, *further]
    lookup = _turn_of_label(blocks, outcome)
    table = lookup.join_to(relation.table.select(columns))
    turn = lookup.cell(table, "n").fill_null(0)  # a label that nobody knows is not overlooked
    for number in range(int(np.array(lookup.payload["n"]).max()) + 1):
        some = dataclasses.replace(relation, table=table.filter(turn == number).select(columns))
        found = condense(some, columns)
        yield _as_in_the_whole(blocks, found), found.weights


def _turn_of_label(blocks: Blocks, outcome: Outcome) -> Lookup:
    """Deal out the labels of the column whose commonest one is rarest, about `blocks.most` records a turn."""
    best: tuple[int, str, pa.Array, NDArray[np.int64]] | None = None
    for name in blocks.numbered.names:
        values, codes = encode_values(outcome.table[name])
        records = count_codes(codes, len(values), outcome.weights)
        if best is None or records.max() < best[0]:
            best = int(records.max()), name, values, records
    assert best is not None
    _, name, values, records = best
    _, turns = np.unique((np.cumsum(records) - 1) // blocks.most, return_inverse=True)
    missing = np.array(values.is_null(), dtype=np.bool_)
    return Lookup(f"{blocks.numbered.tag}_t", name, values, missing, {"n": pa.array(turns)})


def _as_in_the_whole(blocks: Blocks, found: Condensed) -> pa.Table:
    """Type the values of attributes as they are in the whole column, of which a part may look different."""
    table = found.table
    for name in blocks.numbered.attributes:
        known = blocks.numbered.seen[name]
        if table[name].type == known.table[name].type:
            continue
        raw = found.engine_values[name].cast(known.engine_values[name].type)
        values = known.table[name].chunk(0).dictionary.take(pc.index_in(raw, known.engine_values[name]))
        column = pa.DictionaryArray.from_arrays(table[name].chunk(0).indices, values)
        table = table.set_column(table.column_names.index(name), name, column)
    return table
