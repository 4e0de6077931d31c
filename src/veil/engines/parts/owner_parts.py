"""The people of a table that an engine holds, dealt out among parts: all rows of a person are in one.

Who is in which part follows from a hash of what tells people apart. One part at a time is in memory as a search needs it,
and is made again when it is to be written.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from veil.engines.source import EngineSource
from veil.engines.transform import Transform
from veil.errors import ImpossibleError, InputError, NoSolutionError
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import BestNode
from veil.outcome.generalize import Choice, generalize, search_best
from veil.outcome.outcome import Outcome
from veil.plan.owners import number_people
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, encode, prepare
from veil.tables.text import canonical_text

if TYPE_CHECKING:
    import ibis


@dataclass
class OwnersPart:
    """Some of the people, what a search has found for them, and what turns their pseudonyms back."""

    number: int
    found: BestNode | None = None
    apart: Mapping[str, pa.Table] = field(default_factory=dict)

    @property
    def levels(self) -> Levels:
        """The levels that the search has found."""
        assert self.found is not None
        assert self.found.best is not None
        return self.found.best.levels


class OwnerParts:
    """The people of a table, dealt out among parts. One part at a time is in memory as a search needs it."""

    def __init__(
        self, relation: Relation, plan: Plan, read: Sequence[str], most: int, threads: int | None
    ) -> None:
        assert plan.person_column is not None
        self.relation, self.plan, self.read, self.threads = relation, plan, list(read), threads
        self.person = plan.person_column
        with relation.explain_errors():
            self.seen = {name: condense(relation, [name]) for name in self.read}
        if not self.seen[self.person].weights.size:
            raise no_rows(relation)
        self.people = number_people(
            self.seen[self.person].table[self.person], self.person, self.seen[self.person].weights
        )
        self.hierarchies = {
            name: encode(
                self.seen[name].table[name], plan.quasi_identifiers[name], name, self.seen[name].weights
            )[0]
            for name in self.read
            if name in plan.quasi_identifiers
        }
        self.parts = [OwnersPart(number) for number in range(self._number_of_parts(most))]

    # --- who is in which part -------------------------------------------------------------------------

    def _number_of_parts(self, most: int) -> int:
        """As many as there have to be for parts of about `most` different rows."""
        table = self.relation.table
        different = table.select(**keys(table, self.read)).distinct()
        with self.relation.explain_errors():
            found = collect(self.relation.backend, different.aggregate(rows=different.count()))
        everybody = int(self.people.max()) + 1
        return max(1, min(everybody, math.ceil(int(found["rows"][0].as_py()) / most)))

    @functools.cached_property
    def _dealt(self) -> Lookup:
        """The part of each person, for the engine to look up. Different spellings of a person are in one part."""
        seen, tag = self.seen[self.person], free_prefix(self.relation.table.columns)
        values = values_of(seen, self.person)
        texts = canonical_text(values, column=self.person)
        _, first = np.unique(self.people, return_index=True)
        of_person = np.array([_hash(str(texts[i])) % len(self.parts) for i in first], np.int64)
        missing = np.array(values.is_null(), dtype=np.bool_)
        numbers = pa.array(of_person[self.people])
        return Lookup(f"{tag}_part", self.person, seen.engine_values[self.person], missing, {"n": numbers})

    def rows(self, part: OwnersPart) -> ibis.Table:
        """The rows of a part."""
        table = self.relation.table
        if len(self.parts) == 1:
            return table
        names, joined = table.columns, self._dealt.join_to(table)
        return joined.filter(self._dealt.cell(joined, "n") == part.number).select(names)

    # --- one part -------------------------------------------------------------------------------------

    def make(self, part: OwnersPart, progress: Progress | None = None) -> tuple[Outcome, EngineSource]:
        """Carry out the plan on a part: by a search, or if there was one before, as it has found."""
        source, plan = self._source(part), self.plan
        prepared = self._prepare(part, source, progress or Progress())
        assert part.found is not None
        evaluator = Evaluator(prepared.sample, plan.searched_models, plan.quality, plan.suppression_limit)
        made = generalize(source, prepared, Choice(part.levels, part.found, evaluator))
        part.apart = part.apart or made.apart
        return replace(made, apart=part.apart), source

    def _prepare(self, part: OwnersPart, source: EngineSource, progress: Progress) -> Prepared:
        """Let the plan meet the part, and search for its best transformation if that is not known."""
        try:
            prepared = prepare(
                source.table, self.plan, source.weights, source.columns, hierarchies_of_all=self.hierarchies
            )
            if part.found is None:
                part.found = search_best(prepared, threads=self.threads, progress=progress).found
        except (NoSolutionError, ImpossibleError) as error:
            raise type(error)(
                f"of {plural(len(self.parts), 'part')}, number {part.number + 1} has no solution: ", *error.words,
                ". Or allow more combinations in `parts`, so that there are fewer, larger parts",
            ) from None  # fmt: skip
        return prepared

    def _source(self, part: OwnersPart) -> EngineSource:
        """The different rows of a part, with values of the types that they have in the whole table."""
        relation = replace(self.relation, table=self.rows(part))
        with relation.explain_errors():
            found = condense(relation, self.read)
        columns, values = {}, {}
        for name in self.read:
            known, cells = self.seen[name], found.table[name].chunk(0)
            places = pc.index_in(found.engine_values[name], known.engine_values[name])
            if places.null_count:
                raise InputError(
                    f"{self.relation.name}: was changed while it was being read. Run it again when nobody "
                    "is changing the table"
                )
            typed = values_of(known, name).take(places)
            columns[name] = pa.DictionaryArray.from_arrays(cells.indices, typed)
            values[name] = found.engine_values[name]
        condensed = Condensed(pa.table(columns), found.weights, values)
        return EngineSource(
            condensed.table,
            "engine",
            weights=condensed.weights,
            columns=tuple(self.relation.original.table.columns),
            relation=relation,
            condensed=condensed,
        )

    # --- all parts ------------------------------------------------------------------------------------

    @property
    def labelled(self) -> list[str]:
        """Columns that show labels in some part, and so texts in all of them."""
        levels = [part.levels for part in self.parts]
        return [name for name, *found in zip(self.hierarchies, *levels, strict=True) if any(found)]

    def transform(self, part: OwnersPart, *, keep: str | None = None) -> tuple[ibis.Table, str]:
        """The released rows of a part, and the name of the column that is kept, if there is one."""
        made, source = self.make(part)
        chosen = Transform(replace(made, flag=None), source, keep=keep, labelled=self.labelled)
        return chosen(source.relation.table), chosen.kept_as

    def union(self, *, keep: str | None = None) -> tuple[ibis.Table, str]:
        """The released rows of all parts, and the name of the column that is kept, if there is one."""
        (first, kept_as), *others = [self.transform(part, keep=keep) for part in self.parts]
        return first.union(*(rows for rows, _ in others)) if others else first, kept_as


def values_of(found: Condensed, name: str) -> pa.Array:
    """The different values of a column that was counted alone: as many as it has rows, in their order."""
    return found.table[name].chunk(0).dictionary


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
