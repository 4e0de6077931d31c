"""The compiled hierarchy of one attribute: labels, level maps and the share of the domain each label covers.

A hierarchy is a table. Column 0 lists the domain, one value a row, and column *i* the label of that value on
level *i*. It must be a tree: values that share a label on one level share their labels on all later ones.
The table is checked once and compiled into integer codes, on which the engine works.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.errors import HierarchyError
from veil.hierarchies._compile import (
    check_repeats,
    check_tree,
    empty,
    encode_labels,
    first_rows,
    number_labels,
    parents,
    texts,
    to_columns,
)
from veil.hierarchies._coverage import raise_uncovered
from veil.tables import read
from veil.tables.text import canonical_array, canonical_text

Label = str | None

Naming = Callable[[int, Mapping[int, list[str]]], Mapping[int, str]]
"""Returns new labels of a level, given its number and some values of each label, by code."""

MISSING_WORD = "NULL"  # the missing value in tables and files, in any letter case
Level = tuple[npt.NDArray[np.integer[Any]], Sequence[str]]
"""The code of the label of each value, or group of values, and the labels by code."""

_MANY = 10_000
"""Number of values from which on Arrow looks them up faster than a dictionary."""

ROOT = "*"
UNPUBLISHED = "(not published)"


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """The hierarchy of one attribute with levels 0 (original values) to `height`.

    Attributes
    ----------
    labels:
        `labels[level][code]`, the distinct labels of each level; level 0 is the domain. None is the missing
        value.
    maps:
        `maps[level][code]`, the code on level + 1.
    rows:
        `rows[level][code]`, the number of domain values below a label.
    shares:
        `shares[level][code]`, the share of the domain that a label covers.
    domain_size:
        The size of the domain that the shares refer to.
    level_names:
        One name a level, for display; two hierarchies that differ only here are equal.
    listed:
        The number of table rows of each domain value: 1, unless the table repeats itself.
    naming:
        Makes labels of fewer values, if labels are derived from the values of the data; see `named_by`.
    made_of:
        The values of the column for which it was built, and the code of each, to save a second lookup.

    By default a share is the number of table rows below a label divided by the number of table rows, so a
    table and the builder that made it agree. Builders may set other shares, which are kept in the object. A
    value that a table lists twice (with equal labels) is one domain value but two rows of the table, and
    shares count rows, as in ARX; `size` and `rows` count it once.

    >>> sex = Hierarchy.from_rows([["female", "*"], ["male", "*"]])
    >>> sex
    Hierarchy(2 values, levels 2 → 1)
    >>> sex.labels[1], sex.maps[0].tolist(), sex.shares[0].tolist()
    (('*',), [0, 0], [0.5, 0.5])
    """

    labels: tuple[tuple[Label, ...], ...]
    maps: tuple[Codes, ...]
    rows: tuple[Integers, ...]
    shares: tuple[Floats, ...]
    domain_size: float
    level_names: tuple[str, ...]
    listed: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    naming: Naming | None = None
    made_of: tuple[pa.Array, Codes] | None = None

    def __post_init__(self) -> None:
        if not len(self.listed):
            object.__setattr__(self, "listed", _frozen(np.ones(len(self.labels[0]), dtype=np.int64)))

    # ---------------------------------------------------------------- construction

    @staticmethod
    def from_rows(
        rows: Sequence[Sequence[Any]],
        *,
        shares: Sequence[npt.ArrayLike] | None = None,
        domain_size: float | None = None,
        level_names: Sequence[str] | None = None,
        missing: str | None = MISSING_WORD,
        source: str = "hierarchy",
        lines: Sequence[int] | None = None,
    ) -> Hierarchy:
        """Check a table and compile it. Column 0 is the value, column i its label on level i.

        Parameters
        ----------
        shares, domain_size:
            Floats to use instead of the number of rows: one array a level, one entry a label in the order of
            first appearance, together with the domain size they refer to.
        missing:
            The text of the missing value, in any letter case; None takes every text literally.
        source, lines:
            Names of the table and its rows in error messages (default: row numbers from 1).

        >>> age = Hierarchy.from_rows([[21, "20-29", "*"], [23, "20-29", "*"], [35, "30-39", "*"]])
        >>> age.label_map(1).tolist(), age.shares[1].round(3).tolist()
        ([0, 0, 1], [0.667, 0.333])
        """
        columns = to_columns(rows, source, lines)
        return Hierarchy.from_columns(
            columns,
            shares=shares,
            domain_size=domain_size,
            level_names=level_names,
            missing=missing,
            source=source,
            lines=lines,
        )

    @staticmethod
    def from_columns(
        columns: Sequence[Sequence[Any]],
        *,
        shares: Sequence[npt.ArrayLike] | None = None,
        domain_size: float | None = None,
        level_names: Sequence[str] | None = None,
        missing: str | None = MISSING_WORD,
        source: str = "hierarchy",
        lines: Sequence[int] | None = None,
    ) -> Hierarchy:
        """Check and compile a table given column by column; otherwise like `from_rows`."""
        if not columns or not len(columns[0]):
            raise empty(source)
        where = lines if lines is not None else range(1, len(columns[0]) + 1)
        encoded = [encode_labels(texts(column), missing) for column in columns]
        codes = [each[0] for each in encoded]
        labels = [each[1] for each in encoded]

        first = first_rows(codes[0], len(labels[0]))
        check_repeats(codes, labels, first, source, where)
        for level in range(1, len(codes) - 1):
            check_tree(level, codes, labels, source, where)

        table_rows = np.bincount(codes[0], minlength=len(labels[0])).astype(np.int64)
        leaf_codes = [code[first] for code in codes]
        maps = tuple(
            parents(below, above, len(names))
            for below, above, names in zip(leaf_codes, leaf_codes[1:], labels, strict=False)
        )
        return _assemble(tuple(labels), maps, table_rows, shares, domain_size, level_names)

    @staticmethod
    def from_groups(
        values: pa.Array,
        group: npt.NDArray[np.integer[Any]],
        levels: Sequence[Level],
        *,
        shares: Sequence[npt.ArrayLike] | None = None,
        domain_size: float | None = None,
        level_names: Sequence[str] | None = None,
    ) -> Hierarchy:
        """Compile the texts of many distinct values, given the group of each.

        Groups are numbered by first appearance. A level is a code for each group, and the labels by code. The
        levels have to be a tree, as those of a table.

        >>> ages = pa.array(["21", "23", "35"])
        >>> Hierarchy.from_groups(ages, np.array([0, 0, 1]), [(np.array([0, 1]), ["20-29", "30-39"])]).to_rows()
        [('21', '20-29'), ('23', '20-29'), ('35', '30-39')]
        """
        first = first_rows(group.astype(np.int32, copy=False), int(group.max()) + 1)
        numbered = [number_labels(codes, labels) for codes, labels in levels]
        codes = [np.arange(first.size, dtype=np.int32), *(each[0] for each in numbered)]
        labels = [tuple(values.take(pa.array(first)).to_pylist()), *(each[1] for each in numbered)]
        for level in range(1, len(codes) - 1):
            check_tree(level, codes, labels, "hierarchy", (first + 1).tolist())
        maps = [
            parents(below, above, len(names))
            for below, above, names in zip(codes, codes[1:], labels, strict=False)
        ]
        if maps:
            maps[0] = maps[0][group]
        labels[0] = tuple(values.to_pylist())
        table_rows = np.ones(len(values), np.int64)
        return _assemble(tuple(labels), tuple(maps), table_rows, shares, domain_size, level_names)

    @staticmethod
    def from_frame(frame: Any, *, source: str = "hierarchy") -> Hierarchy:
        """Compile a dataframe (pandas, polars, pyarrow …): values in the first column, labels in the others.

        >>> Hierarchy.from_frame(pa.table({"sex": ["f", "m"], "all": ["*", "*"]})).level_names
        ('sex', 'all')
        """
        table = read(frame).table
        columns = [canonical_text(column.combine_chunks()) for column in table.columns]
        return Hierarchy.from_columns(columns, level_names=table.column_names, source=source)

    @staticmethod
    def read(
        path: str | PathLike[str],
        *,
        separator: str | None = None,
        header: bool = False,
        encoding: str = "utf-8",
    ) -> Hierarchy:
        """Read a hierarchy file: one row a value, by default without header; the separator is detected."""
        from veil.hierarchies._files import read_rows

        content = read_rows(path, separator=separator, header=header, encoding=encoding)
        return Hierarchy.from_rows(
            content.rows, source=content.source, lines=content.lines, level_names=content.names
        )

    # ---------------------------------------------------------------- properties

    @property
    def height(self) -> int:
        """The number of levels above the original values."""
        return len(self.maps)

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self.labels[0])

    def label_map(self, level: int) -> Codes:
        """Return the code on `level` of each domain value."""
        return self._label_maps[level]

    @property
    def materialized_shares(self) -> tuple[Floats, ...]:
        """Shares by number of table rows, even if the builder set others."""
        total = float(self.listed.sum())
        return tuple(
            _frozen(np.bincount(map_, weights=self.listed, minlength=len(names)) / total)
            for map_, names in zip(self._label_maps, self.labels, strict=True)
        )

    @functools.cached_property
    def _label_maps(self) -> tuple[Codes, ...]:
        maps: list[Codes] = [_frozen(np.arange(self.size, dtype=np.int32))]
        for step in self.maps:
            maps.append(_frozen(step[maps[-1]]))
        return tuple(maps)

    @functools.cached_property
    def _code_of(self) -> dict[Label, int]:
        return {label: code for code, label in enumerate(self.labels[0])}

    def __repr__(self) -> str:
        levels = " → ".join(f"{len(level):,}" for level in self.labels)
        return f"Hierarchy({self.size:,} values, levels {levels})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return (
            self.labels == other.labels
            and self.domain_size == other.domain_size
            and np.array_equal(self.listed, other.listed)
            and all(map(np.array_equal, self.maps, other.maps))
            and all(map(np.array_equal, self.shares, other.shares))
        )

    def __hash__(self) -> int:
        return hash((self.labels, self.domain_size))

    # ---------------------------------------------------------------- use

    def encode(self, values: pa.Array, column: str) -> Codes:
        """Return the level-0 code of each distinct value; refuse values that are not in the domain.

        >>> Hierarchy.from_rows([["1", "*"], ["2", "*"]]).encode(pa.array([2, 1]), "ward").tolist()
        [1, 0]
        """
        if self.made_of is not None and values is self.made_of[0]:
            return self.made_of[1]
        codes = self.look_up(values)
        if (codes < 0).any():
            uncovered = canonical_text(values.filter(pa.array(codes < 0)))
            raise_uncovered(column, uncovered, len(values), self.labels[0])
        return codes

    def look_up(self, values: pa.Array) -> Codes:
        """Return the level-0 code of each distinct value by its text; -1 if it is not in the domain."""
        if len(values) < _MANY:
            code_of = self._code_of
            return np.array([code_of.get(text, -1) for text in canonical_text(values)], dtype=np.int32)
        places = pc.index_in(
            canonical_array(values).cast(pa.string()), value_set=pa.array(self.labels[0], pa.string())
        )
        codes: Codes = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        return codes

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Return itself after checking that it covers the values; a missing value is added if not listed.

        Its labels then count as given by the caller, not as derived from the data.
        """
        hierarchy = self.with_missing() if values.null_count else self
        hierarchy.encode(values, column)
        return hierarchy if hierarchy.naming is None else replace(hierarchy, naming=None)

    def named_by(self, published: Mapping[int, Mask]) -> Hierarchy:
        """Return the hierarchy with labels that are derived from published values only.

        `published[level]` is a mask of the domain values that are published on a level. A label derived from
        the data must not name a value of suppressed records only: it is derived anew from published ones.
        Different labels stay different, also on different levels; unpublished labels become a placeholder.

        >>> from veil.hierarchies import ordering
        >>> built = ordering(3, label="interval").build(pa.array([91, 97, 103]), np.ones(3), "age")
        >>> built.labels[1], built.named_by({1: np.array([True, True, False])}).labels[1]
        (('[91, 103]',), ('[91, 97]',))
        """
        if self.naming is None:
            return self
        new_labels = [list(labels) for labels in self.labels]
        members: dict[int, list[Any]]
        group_of: dict[str, bytes] = {ROOT: b""}
        for level in sorted(each for each in published if each > 0):
            map_, members = self.label_map(level), {}
            for value in np.flatnonzero(published[level]).tolist():
                label = self.labels[level][map_[value]]
                if self.labels[0][value] is not None and label not in (None, ROOT):
                    members.setdefault(int(map_[value]), []).append(self.labels[0][value])
            names = self.naming(level, members)
            for code, label in enumerate(self.labels[level]):
                if label not in (None, ROOT):
                    text = names.get(code, UNPUBLISHED)
                    new_labels[level][code] = _unique_label(
                        text, np.packbits(map_ == code).tobytes(), group_of
                    )
        return replace(self, labels=tuple(map(tuple, new_labels)))

    def with_missing(self) -> Hierarchy:
        """Return the hierarchy with the missing value as one more domain value, if it is not one already.

        It has its own label on every level, except at a root (a last level with a single label).

        >>> Hierarchy.from_rows([["f", "*"], ["m", "*"]]).with_missing().to_rows()
        [('f', '*'), ('m', '*'), (None, '*')]
        """
        if None in self.labels[0]:
            return self
        has_root = self.height > 0 and len(self.labels[-1]) == 1
        labels, maps, shares = [(*self.labels[0], None)], list(self.maps), list(self.shares)
        shares[0] = np.append(shares[0], 1.0 / self.domain_size)
        is_merged = False  # whether it shares a label with other values
        for level in range(1, self.height + 1):
            names = self.labels[level]
            if is_merged:
                labels.append(names)
                continue
            is_merged = None in names or (has_root and level == self.height)
            labels.append(names if is_merged else (*names, None))
            parent = names.index(None) if None in names else 0 if is_merged else len(names)
            maps[level - 1] = np.append(maps[level - 1], np.int32(parent))
            if not is_merged:
                shares[level] = np.append(shares[level], 1.0 / self.domain_size)
        table_rows = np.append(self.listed, np.int64(1))
        if self._has_materialized_shares:
            return _assemble(tuple(labels), tuple(maps), table_rows, None, None, self.level_names)
        return _assemble(tuple(labels), tuple(maps), table_rows, shares, self.domain_size, self.level_names)

    @property
    def _has_materialized_shares(self) -> bool:
        return all(map(np.array_equal, self.shares, self.materialized_shares))

    # ---------------------------------------------------------------- export

    def to_rows(self) -> list[tuple[Label, ...]]:
        """Return the table, one row a value; `Hierarchy.from_rows` makes an equal hierarchy of it."""
        columns = [
            [names[code] for code in map_.tolist()]
            for names, map_ in zip(self.labels, self._label_maps, strict=True)
        ]
        rows = zip(*columns, strict=True)
        return [row for row, times in zip(rows, self.listed.tolist(), strict=True) for _ in range(times)]

    def to_frame(self) -> pa.Table:
        """Return the table as an Arrow table with the level names as column names."""
        columns = [pa.array(column, pa.string()) for column in zip(*self.to_rows(), strict=True)]
        return pa.Table.from_arrays(columns, names=list(self.level_names))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table as a `;`-separated file without header, as `read` and ARX read it."""
        from veil.hierarchies._files import write_rows

        write_rows(path, self.to_rows())


def _assemble(
    labels: tuple[tuple[Label, ...], ...],
    maps: tuple[Codes, ...],
    table_rows: Integers,
    shares: Sequence[npt.ArrayLike] | None,
    domain_size: float | None,
    level_names: Sequence[str] | None,
) -> Hierarchy:
    """Count rows, fill in the default shares, and freeze everything."""
    rows: list[Integers] = [np.ones(len(labels[0]), np.int64)]
    lines: list[Floats] = [table_rows.astype(np.float64)]  # of the table: integers, and so exact
    for map_, names in zip(maps, labels[1:], strict=True):
        rows.append(np.bincount(map_, weights=rows[-1], minlength=len(names)).astype(np.int64))
        lines.append(np.bincount(map_, weights=lines[-1], minlength=len(names)).astype(np.float64))
    counted = [each / float(table_rows.sum()) for each in lines]
    label_shares = counted if shares is None else [np.asarray(each, dtype=np.float64) for each in shares]
    if [len(each) for each in label_shares] != [len(names) for names in labels]:
        raise HierarchyError("`shares` should have one entry for each label of each level")
    if level_names is None:
        level_names = [f"level {level}" for level in range(len(labels))]
    if len(level_names) != len(labels):
        raise HierarchyError(f"`level_names` should have {len(labels)} entries, not {len(level_names)}")
    return Hierarchy(
        labels=labels,
        maps=tuple(_frozen(map_) for map_ in maps),
        rows=tuple(map(_frozen, rows)),
        shares=tuple(_frozen(each) for each in label_shares),
        domain_size=float(table_rows.sum()) if domain_size is None else float(domain_size),
        level_names=tuple(level_names),
        listed=_frozen(table_rows),
    )


def _unique_label(text: str, group: bytes, group_of: dict[str, bytes]) -> str:
    """Return a text that is not the label of another group of values, and register it for this group."""
    number, label = 0, text
    while group_of.setdefault(label, group) != group:
        number += 1
        label = f"{text}-{number}"
    return label


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
