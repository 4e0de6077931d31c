"""Choice of cells to suppress if people have several rows and a missing cell matches everything.

A row is to match rows of k different people. Equal rows of one person are one row here.
"""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Floats, Mask
from veil.base.compiled import kernel
from veil.masking.suppression.cells import sets_of_columns, sizes_of
from veil.published.matching import Codes, Counts, keys
from veil.tables.rows import Owners


def few_cells_of_owners(codes: Codes, k: int, weights: Floats, owners: Owners) -> Mask:
    """Choose cells to suppress so that every row matches rows of k people, its own person among them.

    Sets of columns are tried from the cheapest on: a row with too few matches that would match k people
    without these columns loses its cells there. In the end, needlessly suppressed cells are restored.
    """
    rows, place = np.unique(np.column_stack([codes, owners.array]), axis=0, return_inverse=True)
    codes, people = np.ascontiguousarray(rows[:, :-1], np.int32), rows[:, -1].astype(np.int32)
    order = np.argsort(people, kind="stable")
    starts = np.searchsorted(people[order], np.arange(int(people.max()) + 2))
    hidden = np.zeros(codes.shape, np.bool_)
    needy = np.flatnonzero(_count_people(codes, people) < k)
    for mask in sets_of_columns(codes, weights):
        if not needy.size:
            break
        helped = sizes_of(keys(codes, ~mask), Owners.coded(people))[needy] >= k
        hidden[needy[helped]] = mask & (codes[needy[helped]] >= 0)
        needy = needy[~helped]
    visible = np.where(hidden, np.int32(-1), codes)
    by_cost = np.argsort(-(hidden @ weights), kind="stable")
    columns = np.argsort(-weights, kind="stable")
    _restore_cells(codes, visible, people, order, starts, by_cost, columns, _count_people(visible, people), k)
    suppressed: Mask = ((visible < 0) & (codes >= 0))[place.ravel()]
    return suppressed


@kernel
def _agree(one: Codes, a: int, other: Codes, b: int) -> bool:
    for c in range(one.shape[1]):
        if one[a, c] != other[b, c] and one[a, c] >= 0 and other[b, c] >= 0:
            return False
    return True


@kernel
def _count_people(codes: Codes, people: Codes) -> Counts:
    """Count for each row the people with a row that it matches."""
    met = np.full(people.max() + 1, -1, np.int64)
    match_counts = np.zeros(len(codes), np.int64)
    for a in range(len(codes)):
        for b in range(len(codes)):
            if met[people[b]] != a and _agree(codes, a, codes, b):
                met[people[b]] = a
                match_counts[a] += 1
    return match_counts


@kernel
def _restore_cells(
    codes: Codes,
    visible: Codes,
    people: Codes,
    by_person: Counts,
    starts: Counts,
    order: Counts,
    columns: Counts,
    match_counts: Counts,
    k: int,
) -> None:
    """Restore cells as long as every row keeps matches of k people; `match_counts` are those of each row now.

    The rows of person p are in `by_person` from `starts[p]` on.
    """
    met = np.full(starts.size - 1, -1, np.int64)
    losing_rows = np.empty(len(codes), np.int64)
    visit = 0
    for a in order:
        for c in columns:
            if visible[a, c] >= 0 or codes[a, c] < 0:
                continue
            # Show the cell, count the people of matching rows, and collect the rows that lose this person.
            visit += 1
            visible[a, c] = codes[a, c]
            left = loser_count = 0
            for b in range(len(codes)):
                if not _agree(visible, a, visible, b):
                    visible[a, c] = -1
                    matched = _agree(visible, a, visible, b)
                    visible[a, c] = codes[a, c]
                    if matched and not _has_match(visible, b, people[a], by_person, starts):
                        losing_rows[loser_count] = b
                        loser_count += 1
                elif met[people[b]] != visit:
                    met[people[b]] = visit
                    left += 1
            # Keep it if all rows still match k people.
            possible = left >= k
            for i in range(loser_count):
                possible = possible and match_counts[losing_rows[i]] > k
            if not possible:
                visible[a, c] = -1
                continue
            match_counts[a] = left
            for i in range(loser_count):
                match_counts[losing_rows[i]] -= 1


@kernel
def _has_match(visible: Codes, row: int, person: int, by_person: Counts, starts: Counts) -> bool:
    """Whether a row matches any row of a person."""
    at = starts[person]
    while at < starts[person + 1] and not _agree(visible, row, visible, by_person[at]):
        at += 1
    return bool(at < starts[person + 1])
