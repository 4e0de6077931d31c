"""Refinement attacks: what labels that are as fine as possible say about who is not in a class.

The attacker sees the published table and knows the hierarchies, how records were recoded, and nothing else. Three
principles are tried, of which the first two exclude values from a class:

* **order** (local recoding in passes). A pass publishes all remaining records under a label, or none. So no record
  of a later class is under a label of an earlier pass, and fewer than k of all later records are under any other
  label of the levels of that pass. This is how Chhillar et al. attack the local recoding of ARX (*Combinatorial
  Refinement Attacks on k-Anonymity Without Auxiliary Information*, arXiv 2509.03350, 2025). The order of the
  passes is assumed to be known: reports list it.
* **price** (recoding cell by cell at the least cost). No record of a class of more than k fits a cheaper published
  label, and no class fits a finer label as a whole: its records, or all of them, would have been moved there
  (Cohen 2022 shows that every minimal hierarchical release can be attacked in this way).
* **cut** (subtree: one label for each value). Labels of a column do not overlap, so no class excludes a value from
  another. But a label that only one class has could be split into finer ones if all of its records had one of these.

With one level for a column, a finer level would break a promise somewhere, and nothing says in which class. The masks
Mondrian (without `relaxed`) and top-down specialization make classes that do not overlap, and are not attacked: what
remains is that a label with the lowest node above all values of its class has values under two of its children.

What is left of a class is its box without the boxes of earlier or cheaper classes, as far as they meet it. A value is
excluded if these cover all combinations with it. Counting adds upper bounds for the finer labels of a column, and so
lower bounds for each of them: records that can be published more finely, though not whose they are ("downcoding").

Rows of a class look alike to this attacker, so nobody can be linked to fewer records than the class has, as long
as the principle holds. What a target with known quasi-identifiers loses are the other classes that the record might
have been in: with them, a sensitive value may become certain.

All figures are conditional on the principle. `wrong` compares it with the truth, which only the data holder knows: an
attacker whose principle does not hold believes falsehoods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.models import KAnonymity
from veil.outcome.outcome import Outcome, require_outcome
from veil.recoding import Mode, Subtree
from veil.recoding.problem import CellProblem
from veil.risk.boxes import Boxes, LabelTree
from veil.risk.refinement_kernels import candidates, refine_classes
from veil.tables.columns import encode_values, number_rows

Principle = Literal["order", "price", "cut"]

PAIRS = 1_000_000_000
"""Pairs of classes, or of rows and classes, that are compared if nothing else is asked for."""


@dataclass(frozen=True)
class Certainty:
    """Number of records whose sensitive value is certain to somebody who knows their quasi-identifiers.

    `mistaken` are those whose own class is excluded: here the value that seems certain is one of other records.
    """

    column: str
    before: int
    after: int
    mistaken: int


@dataclass(frozen=True)
class Refinement:
    """What an attacker gains from how labels were chosen.

    Attributes
    ----------
    principle
        What the attacker relies on: "order", "price" or "cut".
    is_guaranteed
        Whether the recoding works by this principle, so that nothing that follows from it can be wrong.
    records, affected
        Number of published records that were attacked, and of those of them with a generalized cell.
    generalized
        Number of their cells with a label of several values.
    narrowed_by_one, narrowed
        Number of these cells that lose values because of one class alone, and because of all together.
    remaining_values
        Mean share of values that is left in generalized cells.
    remaining_volume
        Mean share of combinations of values that is left in records with generalized cells.
    finer
        Number of cells whose values that are left have a finer label.
    downcoded
        Number of records that can be published with a finer label by counting, though not which.
    wrong
        Number of records whose true values are excluded.
    wrong_counts
        Number of records in classes where a conclusion by counting is wrong.
    located
        Number of records whose own class is the earliest, or the cheapest, of those that fit their quasi-identifiers.
    smallest
        The least number of people in a class.
    candidates_before, candidates_after
        Median number of people who may be a target with known quasi-identifiers.
    below
        Number of records whose candidates become fewer than `smallest`.
    certainty
        For each sensitive column, the records whose value is certain.
    """

    principle: Principle
    is_guaranteed: bool
    records: int
    affected: int
    generalized: int
    narrowed_by_one: int
    narrowed: int
    remaining_values: float
    remaining_volume: float
    finer: int
    downcoded: int
    wrong: int
    wrong_counts: int
    located: int
    smallest: int
    candidates_before: float
    candidates_after: float
    below: int
    certainty: tuple[Certainty, ...]

    @property
    def narrowed_share(self) -> float:
        """Share of generalized cells that lose values."""
        return self.narrowed / self.generalized if self.generalized else 0.0

    @property
    def wrong_share(self) -> float:
        """Share of records whose true values are excluded."""
        return self.wrong / self.records if self.records else 0.0

    @property
    def error_ratio(self) -> float:
        """How often excluding is wrong, compared with excluding as much at random: 0 is never, 1 tells nothing.

        At random, true values would be evenly spread over those of a label.
        """
        random = self.affected * (1 - self.remaining_volume)
        return self.wrong / random if random else 0.0

    @property
    def newly_certain(self) -> int:
        """Number of records with a sensitive value that becomes certain, in the column with the most.

        None in a column in which the attacker is wrong more than once in ten times.
        """
        gains = [(each.after - each.before, each.mistaken) for each in self.certainty]
        return max((gain for gain, mistaken in gains if 10 * mistaken <= gain + mistaken), default=0)

    @property
    def is_credible(self) -> bool:
        """Whether the principle is right: guaranteed, or wrong a tenth as often as excluding at random, at most."""
        return self.is_guaranteed or self.error_ratio <= 0.1

    @property
    def credibly_downcoded(self) -> int:
        """Records that can be published more finely; none where conclusions by counting are often wrong."""
        return self.downcoded if 10 * self.wrong_counts <= self.downcoded else 0

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        names = ("narrowed_share", "wrong_share", "error_ratio", "newly_certain", "is_credible")
        certainty = {"certainty": [dataclasses.asdict(each) for each in self.certainty]}
        return dataclasses.asdict(self) | certainty | {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return (
            f"refinement by {self.principle}: {self.narrowed_share:.1%} of generalized cells narrowed, "
            f"{self.remaining_volume:.1%} of the volume of labels left, {self.downcoded:,} records downcoded, "
            f"{self.wrong_share:.1%} of the records wrongly excluded"
        )


def refine(release: object, *, pairs: int = PAIRS) -> tuple[Refinement, ...]:
    """Carry out refinement attacks on a release of a table in memory; none on masks and private releases.

    At most as many pairs of classes, and of rows and classes, are compared; with more, a sample of classes or rows is
    attacked.

    >>> import pyarrow as pa
    >>> import veil
    >>> from veil import hierarchies as h
    >>> table = pa.table({"age": [31, 31, 31, 33, 35, 37], "sex": ["f", "f", "f", "f", "m", "m"]})
    >>> levels = {"age": h.intervals(10, 20), "sex": h.table([["f", "*"], ["m", "*"]])}
    >>> release = veil.anonymize(table, quasi_identifiers=levels, models=veil.KAnonymity(3), others="drop")
    >>> release.transformation
    {'age': 1, 'sex': 1}
    >>> [each.narrowed for each in refine(release)]
    [0]
    """
    return tuple(refinements(require_outcome(release), pairs))


def refinements(outcome: Outcome, pairs: int) -> Iterator[Refinement]:
    """Carry out one attack after the other, the principle of the recoding first; see `refine`."""
    if outcome.prepared is None or outcome.statement is not None:
        return
    boxes = Boxes.of(outcome)
    if not boxes.low.size:  # no class, or no generalized column
        return
    several = len(outcome.parts) > 1
    if isinstance(outcome.recoding, Subtree):
        yield _attack(outcome, boxes, "cut", pairs)
        return
    if isinstance(outcome.recoding, Mode) or not several:
        yield _attack(outcome, boxes, "order", pairs)
    if several:
        yield _attack(outcome, boxes, "price", pairs)


class _Rule(NamedTuple):
    """A principle as two numbers of each class: one with a lower `bar` than a class's `own` excludes values from it."""

    own: Floats
    bar: Floats
    counting: int  # 0: none, 1: labels are tight, 2: fewer than k under each unpublished label of a pass
    tight: Mask  # which labels, by class and column
    is_guaranteed: bool


def _rule(outcome: Outcome, boxes: Boxes, principle: Principle, smallest: int) -> _Rule:
    prepared = outcome.searched
    models, owners = prepared.plan.searched_models, prepared.rows.owners
    only_sizes = all(isinstance(model, KAnonymity) for model in models)
    tight = np.ones(boxes.low.shape, np.bool_)
    if principle == "cut":
        own, bar = np.zeros(boxes.sizes.size), np.zeros(boxes.sizes.size)  # excludes nothing
        for j, low in enumerate(boxes.low.T):
            tight[:, j] = np.bincount(low)[low] == 1
        tight[~boxes.clear] = False
        counting, is_guaranteed = 1, False
    elif principle == "order":
        # A part publishes whole classes, unless the rows of an owner stay together or classes are sent back because
        # they would have become one with others.
        survives = only_sizes or (owners.are_records and all(model.survives_union for model in models))
        rank = boxes.part.astype(np.float64)
        counting = 2 if only_sizes and owners.are_records else 0
        own, bar, is_guaranteed = rank, rank.copy(), survives and not owners.know_all_rows
    else:
        own, bar = _costs(outcome, boxes, smallest)
        own[boxes.sizes <= smallest] = -np.inf  # nobody can leave
        counting, is_guaranteed = 1, False
    own[~boxes.clear] = -np.inf
    bar[~boxes.clear] = np.inf
    return _Rule(own, bar, counting, tight, is_guaranteed)


def _costs(outcome: Outcome, boxes: Boxes, smallest: int) -> tuple[Floats, Floats]:
    """Return the least and the largest cost of the labels of each class, which are the same if they are clear."""
    problem = CellProblem.of(outcome.searched, smallest)
    least = np.full(boxes.sizes.size, np.inf)
    most = np.zeros(boxes.sizes.size)
    for part in outcome.parts:
        if part.rows.size:
            levels = np.broadcast_to(np.array(part.levels), (part.rows.size, len(part.levels)))
            costs = problem.cost_of(levels, part.rows).astype(np.float64)  # whole numbers below 2^53
            np.minimum.at(least, boxes.row_class[part.rows], costs)
            np.maximum.at(most, boxes.row_class[part.rows], costs)
    return least, most


def _attack(outcome: Outcome, boxes: Boxes, principle: Principle, pairs: int) -> Refinement:
    models = outcome.searched.plan.searched_models
    asked = [model.k for model in models if isinstance(model, KAnonymity)]
    smallest = max(asked, default=int(boxes.sizes.min()))
    rule = _rule(outcome, boxes, principle, smallest)
    targets = _some(boxes.sizes.size, pairs // boxes.sizes.size)
    published = np.flatnonzero(boxes.row_class >= 0)
    order = published[np.argsort(boxes.row_class[published], kind="stable")]
    starts = np.searchsorted(boxes.row_class[order], np.arange(boxes.sizes.size + 1))
    levels = np.array([part.levels for part in outcome.parts], np.int64).reshape(len(outcome.parts), -1)
    volume, weak, left, finer, implied, wrong_counts = refine_classes(
        targets,
        boxes.low,
        boxes.high,
        rule.own,
        rule.bar,
        np.argsort(rule.bar, kind="stable"),
        (starts, order, boxes.places, boxes.weights, boxes.records),
        _packed(boxes.trees),
        (rule.counting, rule.tight, smallest, boxes.part, levels, _countable(outcome)),
    )
    records = boxes.records[targets]
    width = (boxes.high - boxes.low)[targets]
    generalized_mask = width > 1
    cells = records[:, None] * generalized_mask
    some = generalized_mask.any(axis=1)
    people = _known_targets(outcome, boxes, rule, pairs)
    return Refinement(
        principle,
        rule.is_guaranteed,
        int(records.sum()),
        int(records[some].sum()),
        int(cells.sum()),
        int(cells[weak < width].sum()),
        int(cells[left < width].sum()),
        _mean(left / width, cells),
        _mean(volume, records * some),
        int((records[:, None] * (finer > 0)).sum()),
        int(implied.sum()),
        round(int(records.sum()) * people.share(people.wrong)),
        int(records[wrong_counts].sum()),
        round(int(records.sum()) * people.share(people.located)),
        smallest,
        _median(people.before, people.weights),
        _median(people.after, people.weights),
        int(people.weights[(people.after < smallest) & people.published].sum()),
        people.certainty,
    )


def _countable(outcome: Outcome) -> Mask:
    """Return the parts that publish every class of at least k: not where a class of `*` alone stays suppressed."""
    hierarchies = outcome.searched.encoding.hierarchies
    return np.array(
        [
            not all(
                "*" in hierarchy.labels[level]
                for hierarchy, level in zip(hierarchies, part.levels, strict=True)
            )
            for part in outcome.parts
        ],
        np.bool_,
    )


def _packed(trees: tuple[LabelTree, ...]) -> tuple[Codes, Integers, Integers, Codes, Integers]:
    """Return for each column and level the number of the label at each place, and the places where labels start."""
    heights = np.array([len(tree.starts) - 1 for tree in trees], np.int64)
    offsets = np.zeros((len(trees), int(heights.max(initial=0)) + 1), np.int64)
    start_offsets = np.zeros_like(offsets)
    nodes, starts, filled, begun = [], [], 0, 0
    for j, tree in enumerate(trees):
        for level, each in enumerate(tree.starts):
            offsets[j, level], start_offsets[j, level] = filled, begun
            nodes.append(np.repeat(np.arange(each.size - 1, dtype=np.int32), np.diff(each)))
            starts.append(each)
            filled, begun = filled + nodes[-1].size, begun + each.size
    return np.concatenate(nodes), offsets, heights, np.concatenate(starts), start_offsets


class _Targets(NamedTuple):
    """Different rows, the records of each, and what an attacker concludes who knows their quasi-identifiers."""

    weights: Integers
    published: Mask
    before: Integers
    after: Integers
    wrong: Mask
    located: Mask
    certainty: tuple[Certainty, ...]

    def share(self, mask: Mask) -> float:
        """Return the share of published records in a mask of rows."""
        return _mean(mask[self.published], self.weights[self.published], 0.0)


def _known_targets(outcome: Outcome, boxes: Boxes, rule: _Rule, pairs: int) -> _Targets:
    """Attack people whose quasi-identifiers are known: each different row once."""
    numbers = boxes.row_class + 1
    for j, tree in enumerate(boxes.trees):
        numbers = number_rows(numbers * tree.place.size + boxes.places[:, j]).astype(np.int64)
    weights = np.bincount(numbers, weights=boxes.weights).astype(np.int64)
    first = np.zeros(weights.size, np.int64)
    first[numbers[::-1]] = np.arange(numbers.size)[::-1]
    some = _some(first.size, pairs // boxes.sizes.size)
    first, weights = first[some], weights[some]
    secrets = [
        field.name
        for field in outcome.original.schema
        if field.name in outcome.roles.sensitive and not pa.types.is_nested(field.type)
    ]
    hidden = int(boxes.weights[boxes.row_class < 0].sum())
    columns = np.argsort((boxes.high - boxes.low).mean(axis=0) / [tree.place.size for tree in boxes.trees])
    low, high, places = (
        np.ascontiguousarray(array[:, columns]) for array in (boxes.low, boxes.high, boxes.places[first])
    )
    before, after, wrong, located, sure = candidates(
        places, boxes.row_class[first], low, high, rule.own, rule.bar, boxes.sizes,
        _common_values(outcome, boxes, secrets), hidden,
    )  # fmt: skip
    certainty = tuple(
        Certainty(
            name,
            int(weights[sure[:, s, 0] & ~wrong].sum()),
            int(weights[sure[:, s, 1] & ~wrong].sum()),
            int(weights[sure[:, s, 1] & wrong].sum()),
        )
        for s, name in enumerate(secrets)
    )
    return _Targets(weights, boxes.row_class[first] >= 0, before, after, wrong, located, certainty)


def _common_values(outcome: Outcome, boxes: Boxes, secrets: list[str]) -> Codes:
    """Return the sensitive value that all records of a class share, as a code; -1 if they differ."""
    result = np.full((boxes.sizes.size, len(secrets)), -1, np.int32)
    rows = np.flatnonzero(boxes.row_class >= 0)
    classes = boxes.row_class[rows]
    for s, name in enumerate(secrets):
        codes = encode_values(outcome.original[name])[1][rows]
        least = np.full(boxes.sizes.size, np.iinfo(np.int32).max, np.int32)
        most = np.full(boxes.sizes.size, -1, np.int32)
        np.minimum.at(least, classes, codes)
        np.maximum.at(most, classes, codes)
        result[:, s] = np.where(least == most, least, -1)
    return result


def _some(number: int, most: int) -> Integers:
    """Return all numbers below `number`, or a random sample of them, in ascending order."""
    if number <= most:
        return np.arange(number, dtype=np.int64)
    return np.sort(np.random.default_rng(0).choice(number, max(1, most), replace=False)).astype(np.int64)


def _mean(values: Floats | Mask, weights: Integers, nothing: float = 1.0) -> float:
    """Return the mean of values with weights; by default 1, as nothing is excluded, if there are none."""
    return float((values * weights).sum() / weights.sum()) if weights.any() else nothing


def _median(values: Integers, weights: Integers) -> float:
    """Return the (lower) median of values with weights."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)]) if values.size else 0.0
