"""Genetic search: two populations of transformations that breed, mutate and exchange their fittest."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.lattice.search import Search, Strategy

_CHUNK = 1000
"""Number of members between two checks of the limits."""

Fraction = Annotated[float, Field(ge=0, le=1)]


@declared(kind_of=Strategy)
class Genetic(Strategy):
    """Genetic search in two populations.

    Each generation keeps its elite, replaces its last members by children of its fittest (every level from
    either parent) and the others by mutants. Every `immigration_interval` generations the populations
    exchange their fittest.
    """

    seed: Annotated[int, Field(description="the same seed and number of checks give the same result")] = 0
    generations: Annotated[int | None, Field(ge=1, description="None: until a limit is reached")] = None
    population: Annotated[int, Field(ge=2, description="size of each of the two populations")] = 100
    immigration_interval: Annotated[int, Field(ge=1)] = 10
    immigration: Annotated[Fraction, Field(description="share that is exchanged")] = 0.2
    elite: Annotated[Fraction, Field(description="share that stays as it is")] = 0.2
    crossover: Annotated[Fraction, Field(description="share that children replace")] = 0.2
    production: Annotated[Fraction, Field(description="share that may become parents")] = 0.2
    mutation: Annotated[Fraction, Field(description="largest share of levels that a mutation changes")] = 0.2
    kind: Literal["Genetic"] = Field(default="Genetic", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        _Breeding(self, search).run()


class _Breeding:
    def __init__(self, settings: Genetic, search: Search) -> None:
        self.settings = settings
        self.search = search
        self.low, self.high = search.space.minimum, search.space.maximum
        self.random = random.Random(settings.seed)

    def run(self) -> None:
        search, settings = self.search, self.settings
        # A population larger than the lattice has nothing new.
        size = min(settings.population, max(search.space.size, _CHUNK)) + len(self.low)
        first = self._fill([(*self.high[: i + 1], *self.low[i + 1 :]) for i in range(len(self.low))], size)
        second = self._fill([], size)
        generation = 0
        while settings.generations is None or generation < settings.generations:
            first, second = self._rank(first), self._rank(second)
            if len(search.space.evaluated) == search.space.size:
                search.proven, search.bound = True, search.best_score
                return
            generation += 1
            if generation % settings.immigration_interval == 0:
                count = math.ceil(settings.immigration * size)
                first[-count:], second[-count:] = second[:count], first[:count]
                first, second = self._rank(first), self._rank(second)
            first, second = self._breed(first), self._breed(second)
            search.expect(1)

    def _fill(self, population: list[Levels], size: int) -> list[Levels]:
        """Fill a population with random members, and check them in chunks: it may exceed the limits."""
        while (start := len(population)) < size:
            self.search.expect(1)
            population += [self._random_node() for _ in range(min(_CHUNK, size - start))]
            self.search.check(population if start < _CHUNK else population[start:])
        return population

    def _repeat(self, make: Callable[[], Levels], count: int) -> Iterator[Levels]:
        for at in range(count):
            if at % _CHUNK == 0:
                self.search.expect(1)
            yield make()

    def _rank(self, population: list[Levels]) -> list[Levels]:
        evaluations = self.search.check(population)
        return [e.levels for e in sorted(evaluations, key=lambda e: (e.score, sum(e.levels), e.levels))]

    def _breed(self, old: list[Levels]) -> list[Levels]:
        """Return the next generation of a population sorted by loss."""
        settings, size = self.settings, len(old)
        children = math.ceil(settings.crossover * size)
        elite = min(math.ceil(settings.elite * size), size - children)
        parents = old[: max(1, math.ceil(settings.production * size))]
        losses = [each.score[0] for each in self.search.check(parents) if each.score is not None]
        fitness = _fitness(losses)
        mothers = self.random.choices(parents, fitness, k=children)
        fathers = self.random.choices(parents, fitness, k=children)
        pairs = zip(mothers, fathers, strict=True)
        return [
            *old[:elite],
            *self._repeat(lambda: self._mutant(self.random.choice(old)), size - children - elite),
            *self._repeat(lambda: self._child(*next(pairs)), children),
        ]

    def _child(self, mother: Levels, father: Levels) -> Levels:
        return tuple(self.random.choice(pair) for pair in zip(mother, father, strict=True))

    def _mutant(self, levels: Levels) -> Levels:
        most = math.ceil(self.settings.mutation * len(levels))
        mutated = list(levels)
        for j in self.random.sample(range(len(levels)), self.random.randint(0, most)):
            mutated[j] = self.random.randint(self.low[j], self.high[j])
        return tuple(mutated)

    def _random_node(self) -> Levels:
        return tuple(self.random.randint(low, high) for low, high in zip(self.low, self.high, strict=True))


def _fitness(losses: list[float]) -> list[float]:
    """Return fitness from 1 for the least loss to 0 for the largest finite and for infinite ones.

    >>> _fitness([2.0, 4.0, 3.0, math.inf])
    [1.0, 0.0, 0.5, 0.0]
    >>> _fitness([math.inf, math.inf])
    [1.0, 1.0]
    """
    least = min(losses)
    spread = max((loss for loss in losses if loss < math.inf), default=least) - least
    return [
        1 - (loss - least) / spread if least < loss < math.inf else float(loss == least) for loss in losses
    ]
