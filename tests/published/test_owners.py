"""People of a published table, counted from outside, against sets of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from support.oracle.people import worst_view
from veil.published.owners import owners_shown, worst_counts
from veil.published.table import Published
from veil.tables.rows import Owners, Rows

ROWS = st.lists(
    st.tuples(st.sampled_from("pqrst"), st.sampled_from("ab"), st.sampled_from(["x", "y", "z", None])),
    min_size=1,
    max_size=20,
)


def table_of(rows: list[tuple[str, str, str | None]], *, all_rows: bool = False) -> Published:
    table = pa.table(
        {"who": [w for w, _, _ in rows], "known": [k for _, k, _ in rows], "told": [t for _, _, t in rows]}
    )
    return Published(
        Rows.of(table, None, Owners.of(table, "who", "all rows" if all_rows else "one row")),
        ["known"],
        suppressed="none",
    )


@settings(max_examples=150, deadline=None)
@given(ROWS, st.sampled_from(["worst", "most"]))
def test_sizes_and_histograms_count_people(rows: list[tuple[str, str, str | None]], view: str) -> None:
    published = table_of(rows).with_view(view)
    groups = list(dict.fromkeys(known for _, known, _ in rows))
    assert published.sizes.tolist() == [len({w for w, k, _ in rows if k == group}) for group in groups]
    number, value, count = published.histograms("told")
    for at, group in enumerate(groups):
        shows = Counter(told for _, told in {(w, t) for w, k, t in rows if k == group})
        here = number == at
        found = dict(zip(value.filter(pa.array(here)).to_pylist(), count[here].tolist(), strict=True))
        if view == "most":
            assert found == shows
        else:
            assert sorted(found.values(), reverse=True) == worst_view(
                list(shows.values()), int(published.sizes[at])
            )
    several = [
        g for g in groups if any(len({t for w, k, t in rows if (w, k) == (p, g)}) > 1 for p in "pqrst")
    ]
    assert published.undecided("told") == len(several)


@settings(max_examples=150, deadline=None)
@given(ROWS, st.data())
def test_all_rows_are_a_bag(rows: list[tuple[str, str, str | None]], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)) | st.none())
    table = pa.table({"who": [w for w, _, _ in rows], "known": [k for _, k, _ in rows]})
    published = Published(
        Rows.of(table, None if weights is None else np.array(weights), Owners.of(table, "who", "all rows")),
        ["known"],
        suppressed="none",
    )
    bags: dict[str, Counter[str]] = {}
    for (who, known, _), weight in zip(rows, weights or [1] * len(rows), strict=True):
        bags.setdefault(who, Counter())[known] += weight
    alike = Counter(frozenset(bag.items()) for bag in bags.values())
    expected = [alike[frozenset(bags[who].items())] for who, _, _ in rows]
    assert published.sizes[published.classes].tolist() == expected
    by_one = published.by_one_row()
    assert by_one.sizes.sum() == len({(who, known) for who, known, _ in rows})


def test_the_worst_counts_of_several_classes() -> None:
    made = worst_counts(np.array([0, 0, 1, 1]), np.array([2, 2, 1, 3]), np.array([3, 4]))
    assert sorted(made[:2].tolist()) == [1, 2]
    assert made[2:].tolist() == [1, 3]


def test_whose_rows_are_is_read_of_pseudonyms_only() -> None:
    table = pa.table({"who": ["a", "b"]})
    assert not owners_shown(table, "who", "pseudonym", "all rows").are_records
    for column, treatment in (("who", "mask"), ("who", "remove"), ("whose", "pseudonym"), (None, None)):
        assert owners_shown(table, column, treatment, "all rows").are_records
