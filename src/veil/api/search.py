"""The result of a search: its quality, and other nodes of the lattice."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from veil.api.items import with_items
from veil.base.html import TableList
from veil.base.progress import ProgressLike, following
from veil.classes.encoding import Levels
from veil.dp.publish import PrivateChoice
from veil.dp.safepub import SafePub
from veil.dp.walk import Walk
from veil.errors import PlanError, did_you_mean
from veil.lattice.level_costs import Everything
from veil.lattice.level_costs import level_costs as lattice_costs
from veil.lattice.search import Limits, Search
from veil.lattice.space import NodeRecord, Space, State
from veil.outcome.generalize import Choice, generalize
from veil.outcome.outcome import Outcome
from veil.plan.prepare import Prepared
from veil.tables.columns import count_codes
from veil.verification.outcome import verified

if TYPE_CHECKING:
    from veil.api.release import Release


@dataclass(frozen=True)
class LevelCost:
    """The cost of having a column at a level.

    Attributes
    ----------
    column, level : str and int
        The column and the level.
    score : float, tuple or None
        The least loss of any release with this level that keeps all promises; None if none was found.
    transformation : dict or None
        The levels of that release.
    proven : bool
        Whether no release is better, or that there is none. False if the time was over before.
    """

    column: str
    level: int
    score: float | tuple[float, ...] | None
    transformation: dict[str, int] | None
    proven: bool


class SearchResult:
    """The chosen transformation, what is known of it, and its neighbours.

    Attributes
    ----------
    transformation : dict
        Generalization level of each quasi-identifier.
    score : float or tuple
        Information loss under the plan's quality model; lower is better. A tuple if it aggregates by rank.
    classes : int
        Number of classes that are released.
    is_optimum : bool
        Whether this is the best transformation of the search, not another one of the lattice.
    proven_optimal : bool
        Whether no other transformation of the search space has a better score.
    lower_bound : tuple, optional
        A score that no transformation beats; None if the search has none.
    ending : str
        Why the search ended: "finished", "time limit", "check limit" or "cancelled".
    explored : Space
        Every node of the search space with its state.
    model, walk : SafePub and Walk, optional
        In a private search: the model with the `delta` that was used, and the path of the search.
    """

    def __init__(
        self, outcome: Outcome, prepared: Prepared, choice: Choice, release: Callable[[Outcome], Release]
    ) -> None:
        self._outcome, self._prepared, self._choice, self._release = outcome, prepared, choice, release
        best_node = choice.found
        self.transformation: dict[str, int] = outcome.levels
        self.score = choice.score
        self.classes = choice.classes
        self.is_optimum, self.proven_optimal = choice.is_optimum, choice.proven_optimal
        self.lower_bound = best_node.bound
        self.ending = best_node.ending
        self.explored: Space = best_node.space
        self.model: SafePub | None = choice.model if isinstance(choice, PrivateChoice) else None
        self.walk: Walk | None = choice.walk if isinstance(choice, PrivateChoice) else None

    def copy(self) -> SearchResult:
        """Return the same search with a space of its own: exploring it leaves this one as it is."""
        space = self.explored
        own = dataclasses.replace(space, evaluated=dict(space.evaluated), ruled_out=list(space.ruled_out))
        found = dataclasses.replace(self._choice.found, space=own)
        choice = dataclasses.replace(self._choice, found=found)
        return SearchResult(self._outcome, self._prepared, choice, self._release)

    @property
    def level_names(self) -> dict[str, str]:
        """Name of the level of each quasi-identifier."""
        hierarchies = self._outcome.hierarchies
        return {name: hierarchies[name].level_names[level] for name, level in self.transformation.items()}

    @property
    def gap(self) -> float | None:
        """Largest relative distance of the score to the optimum; None if unknown.

        0.05 means that no transformation has a score more than 5 % below this one.
        """
        return self._choice.gap

    @property
    def curve(self) -> list[tuple[float, int, tuple[float, ...]]]:
        """Seconds since the start of the search, checked nodes, and the best score from then on."""
        return list(self._choice.found.curve)

    def apply(self, node: Mapping[str, int] | Sequence[int]) -> Release:
        """Return the release of another node of the lattice, verified like this one.

        Classes that violate a privacy model are suppressed even if that takes more records than the plan's
        suppression limit allows; see `within_limit`.
        """
        self._refuse_private()
        choice = dataclasses.replace(self._choice, levels=self._levels_of(node))
        return self._release(verified(with_items(generalize(self._outcome.source, self._prepared, choice))))

    def _refuse_private(self) -> None:
        if self._outcome.statement is not None:
            raise PlanError(
                "the transformation of a SafePub release was chosen privately and cannot be changed afterwards. "
                "SafePub(..., 1e-4, generalization={...}) releases one that was chosen without looking at the data"
            )

    def level_costs(
        self,
        fixed: Mapping[str, int] | None = None,
        *,
        time_limit: float = 30.0,
        threads: int | None = None,
        progress: ProgressLike = None,
        cancel: Callable[[], bool] | None = None,
    ) -> TableList[LevelCost]:
        """Return the cost of each level of each column: the least loss of a release with it and all promises.

        Parameters
        ----------
        fixed
            Levels that are fixed, such as `{"age": 0}`: the costs are those around them.
        time_limit
            Seconds for all costs together. Those that are not proven by then are the best found.
        threads, progress, cancel
            As for `veil.anonymize`.

        >>> import pyarrow as pa, veil
        >>> people = pa.table({"age": [30, 30, 31, 31], "sex": ["f", "m", "f", "f"]})
        >>> release = veil.anonymize(
        ...     people, quasi_identifiers={"age": "suppression", "sex": "suppression"}, models=veil.KAnonymity(2)
        ... )
        >>> for each in release.search.level_costs():
        ...     print(each.column, each.level, each.score and round(each.score, 2))
        age 0 0.41
        age 1 1.0
        sex 0 None
        sex 1 0.41
        """
        costs = self.each_level_cost(
            fixed, time_limit=time_limit, threads=threads, progress=progress, cancel=cancel
        )
        names = self._prepared.encoding.names
        return TableList(
            sorted(costs, key=lambda each: (names.index(each.column), each.level)),
            ("column", "level", "score", *names, "proven"),
            lambda each: (
                each.column,
                each.level,
                "no release" if each.score is None else each.score,
                *((each.transformation or {}).get(name) for name in names),
                "yes" if each.proven else "no",
            ),
        )

    def each_level_cost(
        self,
        fixed: Mapping[str, int] | None = None,
        *,
        time_limit: float = 30.0,
        threads: int | None = None,
        progress: ProgressLike = None,
        cancel: Callable[[], bool] | None = None,
    ) -> Iterator[LevelCost]:
        """Yield level costs as they are found, those next to the chosen transformation first; else as `level_costs`."""
        self._refuse_private()
        names = self._prepared.encoding.names
        levels_fixed = self._levels_of(fixed or {})
        numbers = {names.index(name): levels_fixed[names.index(name)] for name in fixed or {}}
        total = sum(
            1 if j in numbers else high - low + 1
            for j, (low, high) in enumerate(zip(self.explored.minimum, self.explored.maximum, strict=True))
        )
        with following(progress) as tracker:
            tracker.phase("pricing each choice")
            choices = lattice_costs(
                self._choice.evaluator,
                self._choice.found,
                fixed=numbers,
                seconds=time_limit,
                threads=threads,
                cancelled=cancel or (lambda: False),
            )
            for number, each in enumerate(choices, 1):
                best = each.best
                levels = None if best is None else dict(zip(names, best.levels, strict=True))
                score = None if best is None or best.score is None else _one(best.score)
                tracker.advance(number, total)
                yield LevelCost(names[each.attribute], each.level, score, levels, each.proven)

    def characterize(
        self,
        *,
        threads: int | None = None,
        progress: ProgressLike = None,
        cancel: Callable[[], bool] | None = None,
    ) -> Space:
        """Evaluate every node of a space that can be listed, so that `explored` has all of them.

        As soon as `cancel` returns True, the nodes so far are kept and the rest stays as it was.
        """
        self._refuse_private()
        space = self.explored
        if not space.is_listable:
            raise PlanError(
                f"{space.size:,} transformations are too many to evaluate: use `explore` for those around "
                "one, or `level_costs` for the best with a column at a given level"
            )
        with following(progress) as tracker:
            tracker.phase("evaluating all transformations")
            search = Search(
                self._choice.evaluator,
                space.minimum,
                space.maximum,
                limits=Limits(cancelled=cancel or (lambda: False)),
                threads=threads,
                progress=lambda search: tracker.advance(len(search.space.evaluated), space.size),
                explored=space,
            )
            search.run(Everything())
        return space

    def _levels_of(self, node: Mapping[str, int] | Sequence[int]) -> Levels:
        names = self._prepared.encoding.names
        if isinstance(node, Mapping):
            for name in node:
                if name not in names:
                    raise PlanError(f"{name!r} is not a quasi-identifier.{did_you_mean(name, names)}")
            node = [node.get(name, level) for name, level in self.transformation.items()]
        try:
            levels = tuple(operator.index(level) for level in node)
        except TypeError:
            raise PlanError(
                f"name a node by its levels, such as {dict(self.transformation)} or {list(self.transformation.values())}, "
                f"not by a {type(node).__name__}"
            ) from None
        if levels not in self.explored:
            raise PlanError(
                f"{levels} is not a node of this search: levels run from {self.explored.minimum} to "
                f"{self.explored.maximum}, in the order {', '.join(names)}"
            )
        return levels

    def neighbours(self, node: Mapping[str, int] | Sequence[int]) -> list[NodeRecord]:
        """Evaluate a node and its direct neighbours, and add them to `explored`.

        The list begins with the node itself; more specific neighbours follow, then more general ones.
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
        levels: Mapping[str, int] | None = None,
        sort: Literal["score", "levels", "suppressed"] = "score",
        limit: int | None = None,
    ) -> list[NodeRecord]:
        """List nodes of the search space, filtered by state and by the levels of columns, best first.

        Nodes without a score are sorted by their bound. If the space is too large to list, only evaluated
        nodes are listed.
        """
        states = None if state is None else {state} if isinstance(state, str) else set(state)
        keys = {
            "score": lambda n: (n.score if n.score is not None else n.bound, sum(n.levels), n.levels),
            "levels": lambda n: (sum(n.levels), n.levels),
            "suppressed": lambda n: (n.suppressed, n.levels),
        }
        space = self.explored
        every = space if space.is_listable else (space[levels] for levels in list(space.evaluated))
        names, at = self._prepared.encoding.names, self._levels_of(levels or {})
        filters = [(j, at[j]) for j, name in enumerate(names) if name in (levels or {})]
        matching = [
            node
            for node in every
            if (states is None or node.state in states)
            and all(node.levels[j] == level for j, level in filters)
        ]
        return TableList(
            sorted(matching, key=keys[sort])[:limit],
            (*names, "state", "score", "suppressed"),
            lambda node: (*node.levels, node.state, _shown(node), node.suppressed),
        )

    def mapping(self) -> pa.Table:
        """Return the label of each original value: column, original value, released value, number of records.

        Suppressed records do not count. The table contains original values: keep it to yourself.
        """
        prepared, rows = self._prepared, self._outcome.parts[0].rows
        tables = []
        for name, hierarchy, codes in zip(
            prepared.encoding.names, prepared.encoding.hierarchies, prepared.codes, strict=True
        ):
            if name in prepared.plan.microaggregated:
                continue  # its cells depend on the class, not on the value
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
        return pa.concat_tables(tables) if tables else pa.schema(_MAPPING).empty_table()

    def __repr__(self) -> str:
        optimum = "proven optimal" if self.proven_optimal else "not proven optimal"
        return f"SearchResult({self.transformation}, score {self.score}, {optimum})"


def _shown(node: NodeRecord) -> str:
    """Return the score of a node, or its bound, as text."""
    score = node.bound if node.score is None else node.score
    text = ", ".join(f"{each:.6g}" for each in score)
    return text if node.score is not None else f"≥ {text}"


def _one(score: tuple[float, ...]) -> float | tuple[float, ...]:
    return score[0] if len(score) == 1 else score


_MAPPING = {"column": pa.string(), "original": pa.string(), "released": pa.string(), "records": pa.int64()}
