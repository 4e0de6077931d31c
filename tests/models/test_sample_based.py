"""Which classes go first, and how many, where a model judges all classes together."""

from __future__ import annotations

import numpy as np
import pytest

from support import oracle
from support.samples import sample_of
from support.whole_sample import evaluated
from veil.classes.table import ClassTable
from veil.models.average_risk import AverageReidentificationRisk
from veil.models.sample_based import _histogram, _mark, _smallest


def test_who_goes_first():
    """By size, then loss, then key, its last word first: against sorting, on classes with many ties."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        number = int(random.integers(2, 60))
        sizes = random.integers(0, 4, number) * random.choice([1, 1, 1, 700], number)
        losses = None if random.random() < 0.3 else random.integers(0, 4, number) / 8
        words, base = [(1, 64), (2, 8), (3, 4)][seed % 3]
        numbers = random.permutation(64)[:number]
        # More than 53 bits: keys must not be compared as doubles.
        keys = tuple(
            (numbers // base**word % base).astype(np.uint64) + np.uint64(2**63) for word in range(words)
        )
        marks = (random.random(number) < 0.2).astype(np.uint8) | (sizes == 0)
        left = [i for i in range(number) if not marks[i]]
        sizes_left, counts = np.unique(sizes[left], return_counts=True)
        assert [each.tolist() for each in _histogram(sizes, marks)] == [
            sizes_left.tolist(),
            counts.tolist(),
        ], seed
        table = ClassTable((), keys, (sizes,), ())
        order = sorted(
            left,
            key=lambda i: (sizes[i], 0 if losses is None else losses[i], [word[i] for word in keys[::-1]]),
        )
        for prefix in range(1, len(order) + 1):
            marked = marks.copy()
            _mark(table, marked, losses, sizes_left, counts, prefix)
            assert set(np.flatnonzero(marked != marks).tolist()) == set(order[:prefix]), seed


@pytest.mark.parametrize("number", [1, 2, 7, 500])
def test_the_value_at_a_place(number):
    """In any order of the values, those among them on which simple quickselect is slow."""
    numbers = np.arange(number, dtype=np.uint64) + np.uint64(2**63)
    halves = np.concatenate([numbers[::2], numbers[1::2][::-1]])
    for values in (numbers, numbers[::-1], halves, numbers // np.uint64(100), np.sqrt(halves % np.uint64(7))):
        ordered = np.sort(values)
        for place in {0, number // 3, number // 2, number - 1}:
            assert _smallest(values.copy(), place) == ordered[place]


@pytest.mark.parametrize("seed", range(5))
def test_who_goes_first_among_more_columns_than_fit_in_a_word(seed):
    """Twelve columns of seven bits each, in which most rows differ late or early."""
    random = np.random.default_rng(seed)
    tables = [[[f"v{value}"] for value in random.permutation(70)] for _ in range(12)]
    cells = np.zeros((40, 12), np.int64)
    cells[np.arange(40), random.integers(0, 12, 40)] = random.integers(0, 70, 40)
    cells[np.arange(40), random.choice([0, 8, 9, 11], 40)] = random.integers(0, 3, 40)
    problem = oracle.Problem([tuple(f"v{value}" for value in row) for row in cells.tolist()], tables)
    for share in (0.2, 0.5, 0.8):
        truth = oracle.evaluate(problem, [oracle.AverageReidentificationRisk(share)], (0,) * 12, 1)
        assert evaluated(problem, [AverageReidentificationRisk(share)], (0,) * 12) == truth


def test_how_many_go():
    """The fewest for which the oracle is content, on larger tables than it likes to group itself."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        sizes = np.sort(random.geometric(random.choice([0.2, 0.5, 0.8]), 300)).tolist()
        average, highest, at_risk = (float(random.integers(0, 1001)) / 1000 for _ in range(3))
        theirs = oracle.AverageReidentificationRisk(average, highest, at_risk)
        ours = AverageReidentificationRisk(average, highest, at_risk)
        fewest = next(n for n in range(301) if oracle.fulfils(theirs, sizes[n:]))
        rows = [(str(i),) for i, size in enumerate(sizes) for _ in range(size)]
        sample = sample_of(oracle.Problem(rows, [[[str(i)] for i in range(300)]]))
        assert ours.bind(sample).prefix(*np.unique(sizes, return_counts=True)) == fewest, seed
