"""The outcome of a search: every row generalized to its levels, and the suppressed ones blank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.outcome.apply import apply_levels
from veil.outcome.outcome import Outcome, outcome_of_plan
from veil.outcome.pseudonyms import with_pseudonyms
from veil.outcome.result import CellLevels, RecodedPart
from veil.plan.prepare import Prepared
from veil.tables.source import Source


def assemble(
    source: Source,
    prepared: Prepared,
    parts: Sequence[RecodedPart],
    suppressed_mask: NDArray[np.bool_],
    *traces: object,
    shuffle: bool = False,
    over_limit: bool = False,
) -> Outcome:
    """Generalize each part to its levels, and blank the suppressed rows."""
    levels = parts if isinstance(parts, CellLevels) else CellLevels.of(parts, suppressed_mask.size)
    prepared = prepared.named_by(levels.of_rows, levels.part >= 0)
    table, origins, flag = apply_levels(prepared, levels, suppressed_mask, shuffle=shuffle)
    table, key = with_pseudonyms(table, prepared, origins, suppressed_mask)
    return outcome_of_plan(
        source,
        prepared,
        table,
        origins,
        suppressed_mask,
        levels,
        *traces,
        flag=flag,
        apart=key,
        over_limit=over_limit,
    )
