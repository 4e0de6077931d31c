"""Attacks carried out on a release: on people in its input, and on people who were held out.

In the spirit of Giomi et al., *A unified framework for quantifying privacy risk in synthetic data* (PoPETs
2023), for tables whose cells may be labels. Success with outsiders comes from knowledge about people in
general; only the excess is due to the release. The attacker knows the `known` columns of a target exactly.

* **Singling out.** The attacker uses the rarest combinations of known cells in the release as predicates
  ("age in [30, 35[ and zip 81***"), and claims that exactly one person fits. The claim is right if exactly
  one member does or, in the comparison, exactly one of as many outsiders. A label fits the values that it
  covers. Sensitive cells are in no predicate, as they are assumed to be unknown (Cohen and Nissim 2020 show
  what such predicates can do against k-anonymity). Naive: labels combined column by column.
* **Linkage.** The attacker has two files about the same people, with half of the known columns each. For
  either half they look up the nearest released row (by the distance of `veil.risk.linkage_experiment`; ties
  are broken at random) and link entries that lead to the same row. The probability of that is |A ∩ B| / (|A|
  |B|) for sets A and B of nearest rows. Naive: any two rows, 1 / rows.
* **Inference.** The attacker looks up the released rows that are nearest by all known columns and guesses
  their most frequent sensitive value (1/t for t such values), or their median for a number. The guess is
  right if the value is the same or, for a number, within 5 %, as in the paper. A label of several values is
  wrong. Naive: the most frequent value, or the median, of all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.base.progress import ProgressLike, following
from veil.errors import InputError
from veil.hierarchies import Hierarchy
from veil.plan.plan import ASK
from veil.risk.attack_rates import SuccessRate, TriedAttack, TriedAttacks
from veil.risk.distances import SLACK, DistanceTable, Floats, Integers, cells_of, distance_of
from veil.risk.grouping import check_columns, column_names, table_of
from veil.risk.identify.repeats import check_people
from veil.risk.nearest import FEWEST, PAIRS
from veil.tables.columns import as_numbers, is_measured, texts
from veil.tables.rows import Owners
from veil.tables.spelling import read_person

ATTEMPTS = 2000
"""Attempts of each attack, if there are so many people: the interval is then at most 4.4 points wide."""

TOLERANCE = 0.05
"""Largest relative error of a guessed number that counts as right."""


def try_attacks(
    members: Any,
    outsiders: Any,
    released: Any,
    known: str | Iterable[str],
    secrets: str | Iterable[str] = (),
    *,
    origins: NDArray[np.int64] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    marker: str | None = "*",
    person: str | None = ASK,
    files: tuple[Sequence[str], Sequence[str]] | None = None,
    attempts: int = ATTEMPTS,
    seed: int = 0,
    progress: ProgressLike = None,
) -> TriedAttacks:
    """Attack members of a release and people who were held out by singling out, linkage and inference.

    Parameters
    ----------
    members, outsiders
        The input of the release, and as many other records of the same kind that were held out.
    released
        The release, without suppressed rows.
    known
        Columns that the attacker knows exactly.
    secrets
        Columns that the attacker wants to learn.
    origins
        For each released row the row of `members` that it comes from; by default the same row.
    hierarchies, marker
        The values that labels cover; see `veil.risk.linkage_experiment`.
    person
        The column that identifies people, if they may have several rows: one person fits, not one row.
    files
        Columns of the two files to be linked; by default every second known column.
    attempts
        Maximum attempts of each attack; fewer if all pairs would be too many to compare.

    >>> rng = np.random.default_rng(1)
    >>> table = pa.table({"age": rng.integers(0, 1000, 400), "zip": rng.integers(0, 1000, 400)})
    >>> attacks = try_attacks(table[:200], table[200:], table[:200], ["age", "zip"])  # nothing was done to it
    >>> attacks["singling out"].members.share, attacks["linkage"].is_seen
    (1.0, True)
    """
    inside, outside, release = table_of(members), table_of(outsiders), table_of(released)
    check_people(inside, person)
    person = None if person == ASK else read_person(person)
    names = column_names(known)
    secret_names = (secrets,) if isinstance(secrets, str) else tuple(secrets)
    for table in (inside, outside):
        check_columns(table, (*names, *secret_names, *(() if person is None else (person,))))
    check_columns(release, (*names, *secret_names))
    if origins is None:
        _check_labels(
            pa.concat_tables([inside, outside.cast(inside.schema)]), release, names, hierarchies or {}, marker
        )
    owners = np.arange(release.num_rows) if origins is None else np.asarray(origins, np.int64)
    if owners.size != release.num_rows or (owners < 0).any() or (owners >= inside.num_rows).any():
        raise InputError(
            f"`origins` should give a row of the members for each of the {release.num_rows} released rows"
        )
    if not inside.num_rows or not outside.num_rows:
        raise InputError("there should be at least one member and one outsider")
    if not release.num_rows:
        nothing = SuccessRate(0, min(attempts, inside.num_rows))
        empty = [TriedAttack("singling out", None, nothing, nothing, nothing)]
        return TriedAttacks(names, (), inside.num_rows, outside.num_rows, tuple(empty))
    order = np.argsort(owners, kind="stable")  # samples do not depend on the order of the release
    release, owners = release.take(pa.array(order)), owners[order]
    trial = _Trial(inside, outside, release, owners, hierarchies or {}, marker, attempts, seed)
    halves = (names[::2], names[1::2]) if files is None else (tuple(files[0]), tuple(files[1]))
    with following(progress) as tracker:
        tracker.phase("singling out")
        attacks = [trial.single_out(names, Owners.of(trial.people, person).array.astype(np.int64))]
        if all(halves):
            tracker.phase("linking two files")
            attacks.append(trial.link(*halves))
        for name in secret_names:
            tracker.phase("inferring values")
            attacks.append(trial.infer(names, name))
    used = halves if all(halves) else ()
    return TriedAttacks(names, used, inside.num_rows, outside.num_rows, tuple(attacks))


def _check_labels(
    people: pa.Table,
    release: pa.Table,
    names: Iterable[str],
    hierarchies: Mapping[str, Hierarchy],
    marker: str | None,
) -> None:
    """Refuse labels that cover unknown values: attacks that cannot read them fail, which proves nothing."""
    for name in names:
        if is_measured(people[name].type) and is_measured(release[name].type) and name not in hierarchies:
            continue
        readable = (
            {text for level in hierarchies[name].labels for text in level} if name in hierarchies else set()
        )
        readable |= {None, marker, *texts(people[name], name).to_pylist()}
        for label in texts(release[name], name).to_pylist():
            if label not in readable:
                raise InputError(
                    f"column {name!r} of the release shows {label!r}, and nothing tells which values that covers: attacks "
                    "that cannot read labels find nobody, which is no sign of safety. Give the column's hierarchy in "
                    "`hierarchies` and the rows in `origins`, or use `release.attacks()`, which knows both"
                )


class _Trial:
    """A release and the people that are attacked: first the members, then the outsiders."""

    def __init__(
        self,
        inside: pa.Table,
        outside: pa.Table,
        release: pa.Table,
        owners: Integers,
        hierarchies: Mapping[str, Hierarchy],
        marker: str | None,
        attempts: int,
        seed: int,
    ) -> None:
        self.people = pa.concat_tables([inside, outside.cast(inside.schema)])
        self.inside, self.release, self.owners = inside.num_rows, release, owners
        self.hierarchies, self.marker = hierarchies, marker
        self.attempts, self.seed = attempts, seed

    def _draw_targets(self, candidates: int) -> tuple[Integers, Integers]:
        """Draw as many members as outsiders. They are not a secret, and the same for every release."""
        rng = np.random.default_rng(self.seed)
        outside = self.people.num_rows - self.inside
        number = min(self.attempts, self.inside, outside, max(FEWEST, PAIRS // max(1, candidates)))
        samples = [rng.choice(size, number, replace=False) for size in (self.inside, outside)]
        return samples[0].astype(np.int64), (samples[1] + self.inside).astype(np.int64)

    def _compared(
        self, names: tuple[str, ...], more: pa.Table | None = None
    ) -> tuple[DistanceTable, DistanceTable, tuple[Any, ...]]:
        """Return people and released rows, and optionally further rows, as cells that can be compared."""
        old = DistanceTable.of(self.people.select(names), names)
        rows = self.release.select(names)
        new = DistanceTable.of(rows if more is None else pa.concat_tables([rows, more]), names)
        own = old.group[self.owners], new.group[: rows.num_rows]
        return old, new, cells_of(old, new, own, names, self.hierarchies, self.marker)

    # --- singling out

    def single_out(self, names: tuple[str, ...], persons: Integers) -> TriedAttack:
        rng = np.random.default_rng(self.seed)
        rows = self.release.num_rows
        mixed = pa.table(
            {
                name: self.release[name].take(pa.array(rng.integers(0, rows, min(self.attempts, rows))))
                for name in names
            },
            schema=self.release.select(names).schema,
        )
        old, new, cells = self._compared(names, mixed)
        row_counts = np.bincount(new.group[:rows], minlength=new.counts.size)
        occurring = np.flatnonzero(row_counts)
        rarest = occurring[np.lexsort((rng.random(occurring.size), row_counts[occurring]))]
        number = min(self.attempts, max(FEWEST, PAIRS // max(1, old.counts.size)))
        predicates, naive = rarest[:number], new.group[rows:][:number]
        sides = [
            _rows_by_group(old, np.arange(self.inside)),
            _rows_by_group(old, np.arange(self.inside, self.people.num_rows)),
        ]
        inside, outside = (_people_who_fit(predicates, *side, persons, cells) for side in sides)
        guessed = _people_who_fit(naive, *sides[0], persons, cells)
        one, other, naive_one = (
            SuccessRate(int((fit == 1).sum()), fit.size) for fit in (inside, outside, guessed)
        )
        return TriedAttack("singling out", None, one, other, naive_one)

    # --- linkage

    def link(self, first: tuple[str, ...], second: tuple[str, ...]) -> TriedAttack:
        sides = [self._compared(each) for each in (first, second)]
        targets = self._draw_targets(max(new.counts.size for _, new, _ in sides))
        (_, one, _), (_, other, _) = sides
        together = _counted(one.group, other.group)
        successes = [float(sum(self._linked(row, sides, together) for row in rows)) for rows in targets]
        attempts = targets[0].size
        inside, outside = (SuccessRate(each, attempts) for each in successes)
        naive = SuccessRate(attempts / self.release.num_rows, attempts)
        return TriedAttack("linkage", None, inside, outside, naive)

    def _linked(
        self,
        row: int,
        sides: list[tuple[DistanceTable, DistanceTable, tuple[Any, ...]]],
        together: tuple[Integers, Integers, Integers],
    ) -> float:
        near = [_nearest(old.group[row], new.counts, cells) for old, new, cells in sides]
        sizes = [new.counts[each].sum() for (_, new, _), each in zip(sides, near, strict=True)]
        firsts, seconds, times = together
        both = times[near[0][firsts] & near[1][seconds]].sum()
        return float(both / (sizes[0] * sizes[1]))

    # --- inference

    def infer(self, names: tuple[str, ...], secret: str) -> TriedAttack:
        old, new, cells = self._compared(names)
        truth = _Truth(self.people[secret], self.release[secret], secret)
        secret_counts = _counted(new.group, truth.published)
        guesses: dict[bytes, Floats] = {}  # many people are nearest to the same rows

        def right(row: int) -> float:
            near = _nearest(old.group[row], new.counts, cells)
            key = np.packbits(near).tobytes()
            if key not in guesses:
                inside = near[secret_counts[0]]
                guesses[key] = truth.guess(secret_counts[1][inside], secret_counts[2][inside])
            return truth.right(row, guesses[key])

        targets = [each[truth.is_there[each]] for each in self._draw_targets(new.counts.size)]
        inside, outside = (SuccessRate(float(sum(map(right, rows))), rows.size) for rows in targets)
        usual = truth.guess(secret_counts[1], secret_counts[2])
        naive = float(sum(truth.right(row, usual) for row in targets[0]))
        return TriedAttack("inference", secret, inside, outside, SuccessRate(naive, targets[0].size))


def _counted(one: Integers, other: Integers) -> tuple[Integers, Integers, Integers]:
    """Return the pairs of numbers that occur in the same row, and the count of each."""
    width = int(other.max(initial=0)) + 1
    keys, times = np.unique(one * width + other, return_counts=True)
    return keys // width, keys % width, times.astype(np.int64)


class _Truth:
    """The true values of a column and those of the release, with guesses from the latter."""

    def __init__(self, real: pa.ChunkedArray, published: pa.ChunkedArray, name: str) -> None:
        self.is_number = is_measured(real.type) and is_measured(published.type)
        if self.is_number:
            both = np.concatenate([as_numbers(real), as_numbers(published)])
        else:
            columns = [texts(each, name).combine_chunks() for each in (real, published)]
            coded = pa.chunked_array(columns).combine_chunks().dictionary_encode()
            both = coded.indices.cast(pa.float64()).to_numpy(zero_copy_only=False)
        self.values, codes = np.unique(both, return_inverse=True)
        self.real, self.published = codes[: len(real)].astype(np.int64), codes[len(real) :].astype(np.int64)
        self.is_there = np.isfinite(self.values[self.real])

    def guess(self, codes: Integers, times: Integers) -> Floats:
        """Return the best guesses from value codes and their counts; one guess for numbers."""
        codes, times = codes[np.isfinite(self.values[codes])], times[np.isfinite(self.values[codes])]
        if not codes.size:
            return np.empty(0)
        counts = np.bincount(codes, weights=times)
        if not self.is_number:
            return self.values[np.flatnonzero(counts == counts.max())]
        # Codes are in the order of their values: the median is where the cumulative count reaches one half.
        reached = np.cumsum(counts)
        half = reached[-1] / 2
        low, high = (int(np.searchsorted(reached, half, side)) for side in ("left", "right"))
        return np.array([(self.values[low] + self.values[min(high, counts.size - 1)]) / 2])

    def right(self, row: int, guesses: Floats) -> float:
        """Return the probability that a guess is right."""
        real = self.values[self.real[row]]
        if not guesses.size:
            return 0.0
        if self.is_number:
            return float(abs(guesses[0] - real) <= TOLERANCE * abs(real))
        return float(np.isin(real, guesses) / guesses.size)


# --- kernels


def _rows_by_group(side: DistanceTable, rows: Integers) -> tuple[Integers, Integers]:
    """Return the start of each group, and the rows in the order of their groups."""
    of_row = side.group[rows]
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=side.counts.size))])
    return starts.astype(np.int64), rows[np.argsort(of_row, kind="stable")].astype(np.int64)


@kernel
def _people_who_fit(
    predicates: Integers, starts: Integers, rows: Integers, persons: Integers, cells: Any
) -> Integers:
    """Return the number of people that each predicate fits: 0, 1, or 2 for several."""
    counts = np.zeros(predicates.size, np.int64)
    for at in range(predicates.size):
        who = -1
        for group in range(starts.size - 1):
            if starts[group] == starts[group + 1] or not _fits(group, predicates[at], cells):
                continue
            for place in range(starts[group], starts[group + 1]):
                if counts[at] == 0:
                    who, counts[at] = persons[rows[place]], 1
                elif persons[rows[place]] != who:
                    counts[at] = 2
                    break
            if counts[at] == 2:
                break
    return counts


@kernel
def _fits(i: int, j: int, cells: Any) -> bool:
    """Whether every label of row j covers the value of row i, and every number is the same."""
    old_numbers, new_numbers, _, old_codes, new_codes, places, labels, _ = cells
    for c in range(places.shape[0]):
        start = places[c, 0] + old_codes[i, c] * places[c, 1]
        covered = False
        for at in range(start, start + places[c, 1]):
            if labels[at] == new_codes[j, c]:
                covered = True
                break
        if not covered:
            return False
    for c in range(old_numbers.shape[1]):
        old, new = old_numbers[i, c], new_numbers[j, c]
        if old != new and (old == old or new == new):
            return False
    return True


@kernel
def _nearest(i: int, counts: Integers, cells: Any) -> NDArray[np.bool_]:
    """Return which groups of released rows are nearest to a row."""
    distances = np.empty(counts.size)
    least = np.inf
    for j in range(counts.size):
        distances[j] = distance_of(i, j, cells, least * (1 + SLACK))
        least = min(least, distances[j])
    return distances <= least * (1 + SLACK)
