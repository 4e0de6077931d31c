"""People who have several rows: what a delivered table tells of them, from the definitions.

A delivered row is a tuple of cells. Whose it is only the data holder knows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from .models import KAnonymity, KMap, Model
from .privacy import estimated_k, is_value, rejects
from .problem import Problem, Value
from .suppression import AverageReidentificationRisk, SampleUniqueness, fulfils

Person = Hashable
Row = Mapping[str, Value]
Group = dict[Person, list[Row]]
"""People who cannot be told apart, each with the rows by which."""


@dataclass(frozen=True)
class Longitudinal:
    """A delivered table: rows that show something, whose each is, and the columns that an attacker may know."""

    rows: Sequence[Row]
    whose: Sequence[Person]
    known: Sequence[str]

    def groups(self, *, all_rows: bool) -> list[Group]:
        """Return the people that somebody finds who knows one row of a person, or all of them."""
        found: dict[Hashable, Group] = {}
        for row, person in zip(self.rows, self.whose, strict=True):
            key: Hashable = self._shown(row)
            if all_rows:
                key = tuple(
                    sorted(
                        (
                            self._shown(each)
                            for each, other in zip(self.rows, self.whose, strict=True)
                            if other == person
                        ),
                        key=repr,
                    )
                )
            found.setdefault(key, {}).setdefault(person, []).append(row)
        return list(found.values())

    def _shown(self, row: Row) -> tuple[Value, ...]:
        return tuple(row[name] for name in self.known)


def breaches(
    model: Model | AverageReidentificationRisk | SampleUniqueness,
    table: Longitudinal,
    everybody: Sequence[tuple[Person, Row]],
    *,
    all_rows: bool,
) -> list[str]:
    """Say where a delivered table breaks a model, given the rows of everybody in the input."""
    groups = table.groups(all_rows=all_rows)
    if isinstance(model, AverageReidentificationRisk | SampleUniqueness):
        told = [group for group in groups if not _says_nothing(group, table.known)]
        sizes = [len(group) for group in told]
        return [] if fulfils(model, sizes) else [f"{model}: {sorted(sizes)}"]
    if isinstance(model, KAnonymity | KMap):
        people = len({person for person, _ in everybody})
        k = model.k if isinstance(model, KAnonymity) else estimated_k(model, people)
        return [f"{model}: {len(group)} people" for group in groups if len(group) < k]
    pairs = sorted({(person, row[model.attribute]) for person, row in everybody}, key=repr)
    problem = Problem([()] * len(pairs), [], {model.attribute: [value for _, value in pairs]})
    place = {pair: i for i, pair in enumerate(pairs)}
    return [
        f"{model}: {view}"
        for group in groups
        for view in views(group, model.attribute, blanks=model.missing == "a value")
        if rejects(model, problem, (), [place[pair] for pair in view.items()])
    ]


def views(
    group: Group, attribute: str, most: int = 2000, *, blanks: bool = True
) -> Iterator[dict[Person, Value]]:
    """Return all ways to take one value of each person, or some of them if there are too many.

    Without `blanks`, a cell that shows no value is chosen of those only who show none.
    """
    people = list(group)
    shown = [{row[attribute] for row in group[person]} for person in people]
    if not blanks:
        shown = [{cell for cell in each if is_value(cell)} or each for each in shown]
    choices = [sorted(each, key=repr) for each in shown]
    if math.prod(map(len, choices)) <= most:
        for chosen in product(*choices):
            yield dict(zip(people, chosen, strict=True))
        return
    chance = random.Random(0)
    for value in sorted({value for choice in choices for value in choice}, key=repr):
        # As many as can be of one value, and the others at random.
        for _ in range(20):
            taken = [value if value in choice else chance.choice(choice) for choice in choices]
            yield dict(zip(people, taken, strict=True))


def _says_nothing(group: Group, known: Sequence[str]) -> bool:
    return all(row[name] == "*" for rows in group.values() for row in rows for name in known)


def worst_view(counts: Sequence[int], people: int) -> list[int]:
    """Fill people up with the values that most of them show."""
    made = []
    for count in sorted(counts, reverse=True):
        made.append(min(count, people))
        people -= made[-1]
    return [count for count in made if count]
