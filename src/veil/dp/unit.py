"""The privacy unit: the owners of rows, to whom promises about neighbours are made.

Neighbouring tables differ by one person. Either every row is a different person, or a column identifies
people and each has at most so many rows, a bound declared from public knowledge: no patient is seen more than
20 times. No cell is read to question the bound, as a refusal would reveal that a person has more rows.

The bound is enforced: at most so many rows of each person take part, drawn independently for each person. So
the participating rows of two tables that differ by a person differ by at most so many, with equal draws of
all others, which depend neither on that person's rows nor on the order of rows. Answers are as private for
people as for groups of so many rows. People are identified by the texts of single cells, up to blanks, case
and Unicode form unless such texts are declared to be different people ("patient=as written"); a row whose
cell is missing or blank has no owner, and takes no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.errors import NOTHING, ParameterError, Say
from veil.plan.plan import ASK
from veil.tables.cells import Cells
from veil.tables.rows import Weights
from veil.tables.spelling import fold_texts, read_person


@dataclass(frozen=True)
class Unit:
    """The owners of rows: one for each row, or for up to `rows` rows with the same text in column `person`.

    >>> Unit.declared(None), Unit.declared("patient=as written", 5)
    (Unit(person=None, rows=1), Unit(person='patient=as written', rows=5))
    >>> Unit.declared()
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: ...person=None if every row is a different person; or name the column ...
    """

    person: str | None
    rows: int = 1

    @classmethod
    def declared(cls, person: Any = ASK, rows_per_person: Any = None) -> Unit:
        """Return the declared unit, or refuse a missing declaration."""
        person = read_person(person)
        if person == ASK:
            raise ParameterError(
                "say whose rows these are, which nothing is looked at to find out: ",
                Say("person", NOTHING),
                " if every row is a different person; or name the column that tells people apart in ",
                Say("person"),
                ", and how many rows one of them has at most in ",
                Say("rows_per_person"),
                ", based on public knowledge",
            )
        if person is None:
            if rows_per_person not in (None, 1):
                raise ParameterError(
                    f"every row is a different person, so that none has {rows_per_person!r}: name the column that tells "
                    "people apart in ",
                    Say("person"),
                    ", or leave ",
                    Say("rows_per_person"),
                    " out",
                )
            return cls(None)
        if not isinstance(person, str):
            raise ParameterError(f"`person` should be the name of a column, or None, not {person!r}")
        if isinstance(rows_per_person, bool) or not isinstance(rows_per_person, int) or rows_per_person < 1:
            raise ParameterError(
                f"say how many rows somebody of {person!r} has at most, based on public knowledge: ",
                Say("rows_per_person"),
                f" should be a whole number from 1 on, not {rows_per_person!r}. Of whoever has more, so many take part",
            )
        return cls(person, rows_per_person)

    def identify(self, texts: pa.Array) -> pa.Array:
        """Return the identities of people: one text for all spellings, or each text; empty or null for none.

        >>> Unit("patient").identify(pa.array(["A17", "a17 ", " "])).to_pylist()
        ['a17', 'a17', '']
        >>> Unit.declared("patient=as written", 1).identify(pa.array(["A17", "a17 ", " "])).to_pylist()
        ['A17', 'a17 ', '']
        """
        folded = fold_texts(texts)
        if getattr(self.person, "spelling", "folded") == "folded":
            return folded
        return pc.if_else(pc.equal(folded, ""), folded, texts)

    def draw(
        self, people: Cells, weights: Weights, randomness: Randomness
    ) -> tuple[NDArray[np.int64], Weights]:
        """Draw the rows that take part, with the number of records of each that do.

        >>> people = Cells.of(pa.chunked_array([["A17", "a17 ", "b", None]]))
        >>> rows, _ = Unit("patient").draw(people, Weights(4), Randomness())
        >>> rows.size, 2 in rows, 3 in rows
        (2, True, False)
        """
        identities = self.identify(pa.array(people.texts, pa.string())).to_pylist()
        numbers = {text: number for number, text in enumerate(dict.fromkeys(filter(None, identities)))}
        owner_codes = np.array([numbers.get(text, -1) for text in identities], np.int32)[people.codes]
        rows = np.flatnonzero(owner_codes >= 0)
        records = np.repeat(rows, weights.array[rows])
        sample = records[draw_rows_of_people(owner_codes[records], self.rows, randomness)]
        counts = np.bincount(sample, minlength=weights.rows)
        rows = np.flatnonzero(counts)
        return rows, Weights(rows.size, counts[rows])


def draw_rows_of_people(people: NDArray[np.int32], most: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draw at most `most` rows of each person, uniformly; return their numbers.

    >>> draw_rows_of_people(np.array([0, 0, 0, 1], np.int32), 2, Randomness()).size
    3
    """
    order = randomness.permutation(people.size)
    by_person = order[np.argsort(people[order], kind="stable")]
    sizes = np.bincount(people)
    place = np.arange(people.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(by_person[place < most])
