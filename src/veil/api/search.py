"""What only a search has: how good its result is, and other nodes of the lattice to look at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from veil.classes.encoding import Levels
from veil.dp.publish import PrivateChoice
from veil.dp.safepub import SafePub
from veil.dp.walk import Walk
from veil.errors import PlanError, did_you_mean
from veil.lattice.space import NodeRecord, Space, State
from veil.outcome.generalize import Choice, generalize
from veil.outcome.outcome import Outcome
from veil.plan.prepare import Prepared
from veil.tables.columns import count_codes
from veil.verification.outcome import verified

if TYPE_CHECKING:
    from veil.api.release import Release


class SearchResult:
    """The transformation that was chosen, what is known of it, and its neighbourhood.

    Attributes
    ----------
    transformation : dict
        Generalization level of each quasi-identifier.
    score : float or tuple
        Information loss under the plan's quality model; lower is better. A tuple if it aggregates by rank.
    classes : int
        Number of classes that are released.
    is_optimum : bool
        Whether this is the best transformation that was found, not another one that was looked at.
    proven_optimal : bool
        Whether no other transformation of the search space has a better score.
    lower_bound : tuple, optional
        A score that no transformation beats; None where the search knows of none.
    ending : str
        Why the search ended: "finished", "time limit", "check limit" or "cancelled".
    explored : Space
        Every node of the search space with what is known about it.
    model, walk : SafePub and Walk, optional
        Of a private search: the model with the `delta` that was used, and where the search went.
    """

    def __init__(
        self, outcome: Outcome, prepared: Prepared, choice: Choice, release: Callable[[Outcome], Release]
    ) -> None:
        self._outcome, self._prepared, self._choice, self._release = outcome, prepared, choice, release
        found = choice.found
        self.transformation: dict[str, int] = outcome.levels
        self.score = choice.score
        self.classes = choice.classes
        self.is_optimum, self.proven_optimal = choice.is_optimum, choice.proven_optimal
        self.lower_bound = found.bound
        self.ending = found.ending
        self.explored: Space = found.space
        self.model: SafePub | None = choice.model if isinstance(choice, PrivateChoice) else None
        self.walk: Walk | None = choice.walk if isinstance(choice, PrivateChoice) else None

    @property
    def level_names(self) -> dict[str, str]:
        """Name of the level of each quasi-identifier."""
        hierarchies = self._outcome.hierarchies
        return {name: hierarchies[name].level_names[level] for name, level in self.transformation.items()}

    @property
    def gap(self) -> float | None:
        """The share of the score by which the best one may lie below it; None where nothing is known.

        0.05 means that no transformation has a score more than 5 % below this one.
        """
        return self._choice.gap

    @property
    def curve(self) -> list[tuple[float, int, tuple[float, ...]]]:
        """Seconds after the start of the search, checked nodes, and the best score known from then on."""
        return list(self._choice.found.curve)

    def apply(self, node: Mapping[str, int] | Sequence[int]) -> Release:
        """Return the release of another node of the lattice, verified like this one.

        Classes that violate a privacy model are suppressed even if that takes more records than the plan's
        suppression limit allows; `within_limit` tells.
        """
        if self._outcome.statement is not None:
            raise PlanError(
                "the transformation of a SafePub release was chosen privately and cannot be changed afterwards. "
                "SafePub(..., 1e-4, generalization={...}) releases one that was chosen without looking at the data"
            )
        choice = dataclasses.replace(self._choice, levels=self._levels_of(node))
        return self._release(verified(generalize(self._outcome.source, self._prepared, choice)))

    def _levels_of(self, node: Mapping[str, int] | Sequence[int]) -> Levels:
        names = self._prepared.encoding.names
        if isinstance(node, Mapping):
            for name in node:
                if name not in names:
                    raise PlanError(f"{name!r} is no quasi-identifier.{did_you_mean(name, names)}")
            levels = tuple(int(node.get(name, level)) for name, level in self.transformation.items())
        else:
            levels = tuple(int(level) for level in node)
        if levels not in self.explored:
            raise PlanError(
                f"{levels} is not a node of this search: levels run from {self.explored.minimum} to "
                f"{self.explored.maximum}, in the order {', '.join(names)}"
            )
        return levels

    def explore(self, node: Mapping[str, int] | Sequence[int]) -> list[NodeRecord]:
        """Evaluate a node and its direct neighbours, and add them to `explored`.

        What is returned begins with the node itself; more specific neighbours follow, then more general ones.
        """
        levels, space = self._levels_of(node), self.explored
        around = [
            levels,
            *(n for _, n in space.predecessors(levels)),
            *(n for _, n in space.successors(levels)),
        ]
        for each in around:
            if each not in space.evaluated:
                space.evaluated[each], _ = self._choice.evaluator.evaluate(
                    each, self._prepared.sample.table, score=True
                )
        return [space[each] for each in around]

    def nodes(
        self,
        *,
        state: State | Iterable[State] | None = None,
        sort: Literal["score", "levels", "suppressed"] = "score",
        limit: int | None = None,
    ) -> list[NodeRecord]:
        """List nodes of the search space, filtered by state, best first.

        Nodes without a score are sorted by their bound. Of a space that is too large to list, only evaluated
        nodes are listed.
        """
        wanted = None if state is None else {state} if isinstance(state, str) else set(state)
        keys = {
            "score": lambda n: (n.score if n.score is not None else n.bound, sum(n.levels), n.levels),
            "levels": lambda n: (sum(n.levels), n.levels),
            "suppressed": lambda n: (n.suppressed, n.levels),
        }
        space = self.explored
        every = space if space.is_listable else (space[levels] for levels in list(space.evaluated))
        listed = [node for node in every if wanted is None or node.state in wanted]
        return sorted(listed, key=keys[sort])[:limit]

    def mapping(self) -> pa.Table:
        """What each original value became: column, original value, released value, number of records.

        Records that are suppressed do not count. The table contains original values: keep it to yourself.
        """
        prepared, rows = self._prepared, self._outcome.parts[0].rows
        tables = []
        for name, hierarchy, codes in zip(
            prepared.encoding.names, prepared.encoding.hierarchies, prepared.codes, strict=True
        ):
            if name in prepared.plan.microaggregated:
                continue  # its cells depend on their class, not on their value
            level = self.transformation[name]
            counts = count_codes(codes[rows], hierarchy.size, prepared.weights_of(rows))
            used = np.flatnonzero(np.bincount(codes, minlength=hierarchy.size))
            labels = hierarchy.labels
            tables.append(
                pa.table(
                    {
                        "column": pa.array([name] * used.size, pa.string()),
                        "original": pa.array([labels[0][code] for code in used], pa.string()),
                        "released": pa.array(
                            [labels[level][code] for code in hierarchy.label_map(level)[used]], pa.string()
                        ),
                        "records": pa.array(counts[used], pa.int64()),
                    }
                )
            )
        return pa.concat_tables(tables) if tables else _NO_MAPPING

    def __repr__(self) -> str:
        optimum = "proven optimal" if self.proven_optimal else "not proven optimal"
        return f"SearchResult({self.transformation}, score {self.score}, {optimum})"


_NO_MAPPING = pa.schema(
    {"column": pa.string(), "original": pa.string(), "released": pa.string(), "records": pa.int64()}
).empty_table()
