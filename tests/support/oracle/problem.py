"""The table, its hierarchies, and the equivalence classes of a transformation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from .arithmetic import Number, exact

Value = str | None
Node = tuple[int, ...]
Class = list[int]


@dataclass(frozen=True)
class Problem:
    """A table to anonymize.

    rows: the generalized quasi-identifiers of each record, as text; None is the missing value.
    hierarchies: one table for each quasi-identifier; column 0 is the value, column i its label on level i.
    sensitive: all further columns by name, whatever their role (sensitive, response, microaggregated).
    subset: row numbers of the research subset; None makes every record relevant.
    microaggregated: the further columns that are microaggregated quasi-identifiers.
    shares, domain_sizes: explicit shares (shares[j][level][label]) and domain sizes; None, for the whole or
    for one attribute, means the materialized rule.
    """

    rows: Sequence[tuple[Value, ...]]
    hierarchies: Sequence[Sequence[Sequence[Value]]]
    sensitive: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    subset: set[int] | frozenset[int] | None = None
    microaggregated: tuple[str, ...] = ()
    shares: Sequence[Sequence[Mapping[Value, Number]] | None] | None = None
    domain_sizes: Sequence[Number | None] | None = None

    @property
    def width(self) -> int:
        """Return the number of generalized quasi-identifiers, m."""
        return len(self.hierarchies)

    @cached_property
    def heights(self) -> Node:
        """Return the top level of every attribute."""
        return tuple(len(table[0]) - 1 for table in self.hierarchies)

    @cached_property
    def domains(self) -> list[dict[Value, tuple[Value, ...]]]:
        """Return for each attribute its domain rows by value.

        A missing value that occurs in the data but not in the hierarchy is one more domain row: missing on
        every level, save that on a top level with a single label it joins that root.
        """
        domains = []
        for j, table in enumerate(self.hierarchies):
            domain = {row[0]: tuple(row) for row in table}
            assert len(domain) == len(table), f"attribute {j}: a value is listed twice"
            assert len({len(row) for row in table}) == 1, f"attribute {j}: ragged rows"
            height = len(table[0]) - 1
            if None not in domain and any(row[j] is None for row in self.rows):
                top = {row[-1] for row in table}
                root = top.pop() if height > 0 and len(top) == 1 else None
                domain[None] = (None,) * height + (root,)
            for level in range(height):
                parents: dict[Value, Value] = {}
                for row in domain.values():
                    same = parents.setdefault(row[level], row[level + 1]) == row[level + 1]
                    assert same, f"attribute {j}: {row[level]!r} on level {level} has two parents"
            domains.append(domain)
        return domains

    @cached_property
    def covered(self) -> list[list[Counter[Value]]]:
        """Return, by attribute and level, how many domain rows carry each label."""
        return [
            [Counter(row[level] for row in domain.values()) for level in range(height + 1)]
            for domain, height in zip(self.domains, self.heights, strict=True)
        ]

    @cached_property
    def label_order(self) -> list[list[list[Value]]]:
        """Return, by attribute and level, the labels in the order in which the domain rows list them."""
        return [[list(labels) for labels in levels] for levels in self.covered]

    @cached_property
    def relevant(self) -> frozenset[int]:
        """Return the rows of the research subset, or all rows."""
        return frozenset(range(len(self.rows)) if self.subset is None else self.subset)

    @property
    def size(self) -> int:
        """Return the number of relevant records, N."""
        return len(self.relevant)

    @cached_property
    def baselines(self) -> dict[str, Counter[Value]]:
        """Return for each further column the counts of its values over the relevant records."""
        return {name: Counter(self.count(name, self.relevant)) for name in self.sensitive}

    def count(self, name: str, rows: Sequence[int] | frozenset[int]) -> Counter[Value]:
        """Count a further column's values over the relevant ones among some rows."""
        column = self.sensitive[name]
        return Counter(column[row] for row in rows if row in self.relevant)

    def share(self, j: int, level: int, label: Value) -> Fraction:
        """Return sigma_j: the share of attribute j's domain that a label on a level covers."""
        explicit = self.shares[j] if self.shares is not None else None
        return self.materialized_share(j, level, label) if explicit is None else exact(explicit[level][label])

    def materialized_share(self, j: int, level: int, label: Value) -> Fraction:
        """Return the share of hierarchy rows that carry a label on a level."""
        return Fraction(self.covered[j][level][label], len(self.domains[j]))

    def domain_size(self, j: int) -> Fraction:
        """Return D_j: the number of hierarchy rows unless given."""
        explicit = self.domain_sizes[j] if self.domain_sizes is not None else None
        return Fraction(len(self.domains[j])) if explicit is None else exact(explicit)

    def distinct_share(self, name: str, cls: Class) -> Fraction:
        """Return delta of a microaggregated attribute: distinct values in the class / in the data set.

        The class is counted over its relevant records, the data set over all records.
        """
        return Fraction(len(self.count(name, cls)), len(set(self.sensitive[name])))


def generalize(problem: Problem, levels: Node) -> list[tuple[Value, ...]]:
    """Return every record's quasi-identifiers on the given levels."""
    domains = problem.domains
    return [
        tuple(domains[j][value][level] for j, (value, level) in enumerate(zip(row, levels, strict=True)))
        for row in problem.rows
    ]


def classes(problem: Problem, levels: Node) -> list[Class]:
    """Return the row numbers of each equivalence class, classes in order of first appearance.

    All records take part, relevant or not; a class may hold no relevant record at all.
    """
    found: dict[tuple[Value, ...], Class] = {}
    for row, record in enumerate(generalize(problem, levels)):
        found.setdefault(record, []).append(row)
    return list(found.values())


def members(problem: Problem, cls: Class) -> Class:
    """Return the relevant records of a class."""
    return [row for row in cls if row in problem.relevant]


def class_labels(problem: Problem, levels: Node, cls: Class) -> tuple[Value, ...]:
    """Return the generalized quasi-identifiers that the records of a class share."""
    row = problem.rows[cls[0]]
    return tuple(problem.domains[j][value][levels[j]] for j, value in enumerate(row))


def nodes(min_levels: Node, max_levels: Node) -> list[Node]:
    """Return all level vectors between two, in lexicographic order."""
    found: list[Node] = [()]
    for low, high in zip(min_levels, max_levels, strict=True):
        found = [(*node, level) for node in found for level in range(low, high + 1)]
    return found
