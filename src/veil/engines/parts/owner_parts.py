"""The owners of the rows on an engine, divided among parts: all rows of an owner are in one part.

The part of an owner follows from a hash of the column `person`. One part at a time is in memory for a search,
and is made again when it is written.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.progress import Progress
from veil.base.wording import plural
from veil.classes.encoding import Levels
from veil.engines.condense import Condensed, condense
from veil.engines.dialects import collect
from veil.engines.lookups import Lookup, free_prefix, keys
from veil.engines.relation import Relation, no_rows
from veil.engines.source import CondensedSource, source_of
from veil.engines.transform import Transform
from veil.errors import ImpossibleError, InputError, NoSolutionError
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import BestNode
from veil.outcome.cell_trace import CellTrace
from veil.outcome.generalize import Choice, generalize, search_best
from veil.outcome.outcome import Outcome
from veil.outcome.result import Apart, CellLevels
from veil.plan.owners import number_people
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, encode, prepare
from veil.recoding.passes import recodable
from veil.recoding.recode import SOLVERS, apply_solution, trace_solution
from veil.recoding.solution import RowRecoding
from veil.tables.rows import Weights
from veil.tables.text import canonical_text

if TYPE_CHECKING:
    import ibis


@dataclass
class OwnersPart:
    """Some of the owners, the result of the search for them, and the key of their pseudonyms.

    A search finds a node or, if the plan recodes each value or each row by itself, the levels of all rows.
    """

    number: int
    search: BestNode | None = None
    solution: RowRecoding | None = None
    trace: CellTrace | None = None
    apart: tuple[Apart, ...] = ()

    @property
    def levels(self) -> Levels:
        """The levels that the search found: of each column the highest one of any row."""
        if self.solution is not None:
            rows = CellLevels.by_row(self.solution.levels, self.solution.suppressed)
            return tuple(rows.vectors.max(axis=0).tolist())
        assert self.search is not None
        assert self.search.best is not None
        return self.search.best.levels

    @property
    def identity(self) -> object:
        """What tells the result from others."""
        if self.solution is None:
            return self.levels
        return hashlib.sha256(self.solution.levels.tobytes() + self.solution.suppressed.tobytes()).hexdigest()


class OwnerParts:
    """The owners of a table, divided among parts, one of which at a time is in memory for a search."""

    def __init__(
        self, relation: Relation, plan: Plan, columns: Sequence[str], most: int, threads: int | None
    ) -> None:
        assert plan.person_column is not None
        self.relation, self.plan, self.columns, self.threads = relation, plan, list(columns), threads
        self.person = plan.person_column
        with relation.explain_errors():
            self.counts = {name: condense(relation, [name]) for name in self.columns}
        by_person = self.counts[self.person]
        if not by_person.weights.size:
            raise no_rows(relation)
        self.people = number_people(
            by_person.table[self.person], self.person, Weights(by_person.table.num_rows, by_person.weights)
        )
        self.hierarchies = {
            name: encode(
                counts.table[name],
                plan.quasi_identifiers[name],
                name,
                Weights(counts.weights.size, counts.weights),
            )[0]
            for name, counts in self.counts.items()
            if name in plan.quasi_identifiers
        }
        self.parts = [OwnersPart(number) for number in range(self._number_of_parts(most))]

    # --- owners and parts -----------------------------------------------------------------------------

    def _number_of_parts(self, most: int) -> int:
        """Return how many parts of about `most` different rows there have to be."""
        table = self.relation.table
        different = table.select(**keys(table, self.columns)).distinct()
        with self.relation.explain_errors():
            counts = collect(self.relation.backend, different.aggregate(rows=different.count()))
        owner_count = int(self.people.max()) + 1
        return max(1, min(owner_count, math.ceil(int(counts["rows"][0].as_py()) / most)))

    @functools.cached_property
    def _part_lookup(self) -> Lookup:
        """The part of each owner, for the engine to look up. All spellings of an owner are in one part."""
        counts, tag = self.counts[self.person], free_prefix(self.relation.table.columns)
        texts = canonical_text(counts.values(self.person), column=self.person)
        _, first = np.unique(self.people, return_index=True)
        part_of_owner = np.array([_hash(str(texts[i])) % len(self.parts) for i in first], np.int64)
        return counts.lookup(f"{tag}_part", self.person, {"n": pa.array(part_of_owner[self.people])})

    def rows(self, part: OwnersPart) -> ibis.Table:
        """Return the rows of a part."""
        table = self.relation.table
        if len(self.parts) == 1:
            return table
        names, joined = table.columns, self._part_lookup.join_to(table)
        return joined.filter(self._part_lookup.cell(joined, "n") == part.number).select(names)

    # --- one part -------------------------------------------------------------------------------------

    def make(self, part: OwnersPart, progress: Progress | None = None) -> tuple[Outcome, CondensedSource]:
        """Carry out the plan on a part, by a search or with the result of an earlier one."""
        source, plan = self._source(part), self.plan
        prepared = self._prepare(part, source, progress or Progress())
        if part.solution is not None:
            outcome = apply_solution(source, prepared, part.solution, "")
            part.apart = part.apart or outcome.last.apart
            return outcome.changed(apart=part.apart), source
        assert part.search is not None
        evaluator = Evaluator(prepared.sample, plan.searched_models, plan.quality, plan.suppression_limit)
        outcome = generalize(source, prepared, Choice(part.levels, part.search, evaluator))
        part.apart = part.apart or outcome.last.apart
        return outcome.changed(apart=part.apart), source

    def _prepare(self, part: OwnersPart, source: CondensedSource, progress: Progress) -> Prepared:
        """Prepare the part for the plan, and search for its best transformation if that is unknown."""
        try:
            prepared = prepare(
                source.table, self.plan, source.weights, source.columns, hierarchies_of_all=self.hierarchies
            )
            self._search(part, prepared, progress)
        except (NoSolutionError, ImpossibleError) as error:
            raise type(error)(
                f"of {plural(len(self.parts), 'part')}, number {part.number + 1} has no solution: ", *error.words,
                ". Or allow more combinations in `parts`, so that there are fewer, larger parts",
            ) from None  # fmt: skip
        return prepared

    def _search(self, part: OwnersPart, prepared: Prepared, progress: Progress) -> None:
        """Search for the best transformation of a part, or the best levels of its rows, if they are unknown."""
        solver = SOLVERS.get(type(self.plan.recoding))
        if solver is None and part.search is None:
            part.search = search_best(prepared, threads=self.threads, progress=progress).found
        elif solver is not None and part.solution is None:
            part.solution = solver(
                prepared, recodable(prepared), seconds=self.plan.seconds / len(self.parts), threads=self.threads,
                cancel=lambda: False, progress=progress,
            )  # fmt: skip
            part.trace = CellTrace.of_parts([trace_solution(prepared, part.solution)])

    def _source(self, part: OwnersPart) -> CondensedSource:
        """Return the different rows of a part, with the types that values have in the whole table."""
        relation = replace(self.relation, table=self.rows(part))
        with relation.explain_errors():
            raw = condense(relation, self.columns)
        columns, values = {}, {}
        for name in self.columns:
            whole = self.counts[name]
            places = pc.index_in(raw.engine_values[name], whole.engine_values[name])
            if places.null_count:
                raise InputError(
                    f"{self.relation.name}: was changed while it was being read. Run it again when nobody "
                    "is changing the table"
                )
            typed = whole.values(name).take(places)
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(raw.codes(name)), typed)
            values[name] = raw.engine_values[name]
        return source_of(relation, Condensed(pa.table(columns), raw.weights, values))

    # --- all parts ------------------------------------------------------------------------------------

    @property
    def labelled(self) -> list[str]:
        """Columns that show labels in some part, and so texts in all of them."""
        parts = [part.levels for part in self.parts]
        return [name for name, *levels in zip(self.hierarchies, *parts, strict=True) if any(levels)]

    def transform(self, part: OwnersPart, *, keep: str | None = None) -> tuple[ibis.Table, str]:
        """Return the released rows of a part, and the name of the column `keep` in them."""
        outcome, source = self.make(part)
        release_rows = Transform(outcome.without_flag(), source, keep=keep, labelled=self.labelled)
        return release_rows(source.relation.table), release_rows.kept_as

    def union(self, *, keep: str | None = None) -> tuple[ibis.Table, str]:
        """Return the released rows of all parts, and the name of the column `keep` in them."""
        (first, kept_as), *others = [self.transform(part, keep=keep) for part in self.parts]
        return first.union(*(rows for rows, _ in others)) if others else first, kept_as


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
