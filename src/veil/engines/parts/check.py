"""Verification of rows that an engine has written part by part, by counting them.

Nothing of how the output was made is used again. The classes must be there as planned, every model is
verified on the written cells, and all other columns are compared by aggregates. If memory cannot hold all
combinations, classes are checked in turns, by the labels of one column.
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
from veil.tables.rows import Weights
from veil.verification.release import verify_models

if TYPE_CHECKING:
    import ibis

    from veil.engines.parts.blocks import Blocks

_COLUMNS = "the table has the columns it should have and no others"


def check_staged(blocks: Blocks, outcome: Outcome, rows: ibis.Table) -> Verification:
    """Check the written rows against the planned classes, and against the models."""
    numbered = blocks.numbered
    source, names = numbered.relation, numbered.names
    expected, weights = blocks.only.rows() if blocks.only else (outcome.table, outcome.after.weights.array)
    blank_in = names if outcome.suppressed else None
    due = ExpectedOutput(
        _COLUMNS,
        set(source.table.columns) - blocks.dropped,
        expected,
        Weights(weights.size, weights),
        [name for name in rows.columns if name not in names],
        blank_in,
        outcome.marker,
    )

    def judge(relation: Relation, output: Condensed) -> list[Finding]:
        whole = [(output.table, output.weights)]
        further = [name for name in output.table.column_names if name not in expected.column_names]
        turns, blank = [], 0
        for table, each in _turns(blocks, outcome, relation, further) if blocks.only is None else whole:
            published = blocks.published(table, each)
            turns.append(verify_models(published, numbered.method.models))
            blank += published.suppressed_records
        findings = [merge_findings(each) for each in zip(*turns, strict=True)]
        return findings if blank_in is None else [*findings, compare_blank(blank, outcome.suppressed)]

    def before() -> Iterator[ibis.Table]:
        """Return the original rows, part by part with suppressed ones blank if there are any."""
        if not outcome.suppressed:
            yield source.table
        else:
            yield from (blocks.expression(part, source.table) for part in blocks.parts)

    return verify_written(source, rows, due, judge, before)


def merge_findings(findings: Sequence[Finding]) -> Finding:
    """Merge the findings about one promise in several parts."""
    measures = list(dict.fromkeys(each.measured for each in findings))
    several = f"by part: {', '.join(measures[:3])}{' ...' if len(measures) > 3 else ''}"
    measured = measures[0] if len(measures) == 1 else several
    return Finding(findings[0].promise, all(each.holds for each in findings), measured)


def _turns(
    blocks: Blocks, outcome: Outcome, relation: Relation, further: Sequence[str]
) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
    """Read the cells that models look at by the labels of one column, so that classes stay whole."""
    numbered = blocks.numbered
    columns = [*numbered.names, *numbered.attributes, *further]
    lookup = _turn_of_label(blocks, outcome)
    table = lookup.join_to(relation.table.select(columns))
    turn = lookup.cell(table, "n").fill_null(0)  # so that an unknown label is not overlooked
    for number in range(int(np.array(lookup.payload["n"]).max()) + 1):
        turn_rows = dataclasses.replace(relation, table=table.filter(turn == number).select(columns))
        condensed = condense(turn_rows, columns)
        yield _with_types_of_whole(blocks, condensed), condensed.weights


def _turn_of_label(blocks: Blocks, outcome: Outcome) -> Lookup:
    """Divide the labels of the column without very frequent ones into turns of `blocks.most` records."""
    best: tuple[int, str, pa.Array, NDArray[np.int64]] | None = None
    for name in blocks.numbered.names:
        values, codes = encode_values(outcome.table[name])
        records = count_codes(codes, len(values), outcome.after.weights.counts)
        if best is None or records.max() < best[0]:
            best = int(records.max()), name, values, records
    assert best is not None
    _, name, values, records = best
    _, turns = np.unique((np.cumsum(records) - 1) // blocks.most, return_inverse=True)
    missing = np.array(values.is_null(), dtype=np.bool_)
    return Lookup(f"{blocks.numbered.tag}_t", name, values, missing, {"n": pa.array(turns)})


def _with_types_of_whole(blocks: Blocks, condensed: Condensed) -> pa.Table:
    """Give values of attributes the types of the whole column, from which those of a part may differ."""
    table = condensed.table
    for name in blocks.numbered.attributes:
        whole = blocks.numbered.counts[name]
        if table[name].type == whole.table[name].type:
            continue
        raw = condensed.engine_values[name].cast(whole.engine_values[name].type)
        values = whole.values(name).take(pc.index_in(raw, whole.engine_values[name]))
        column = pa.DictionaryArray.from_arrays(pa.array(condensed.codes(name)), values)
        table = table.set_column(table.column_names.index(name), name, column)
    return table
