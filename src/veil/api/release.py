"""The release: a transformation applied to the table, verified, with everything that explains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.face import Anonymized
from veil.classes.encoding import Levels
from veil.errors import PlanError, did_you_mean
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimality import gap_in_words, gap_to_optimum
from veil.lattice.search import Found
from veil.lattice.space import NodeRecord, Space, State
from veil.outcome.apply import applied
from veil.outcome.outcome import Part
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.published.finding import Verification
from veil.tables import Source
from veil.tables.columns import counted
from veil.verification.release import verify_release


class Release(Anonymized):
    """An anonymized table. `table` is the same kind of frame that came in.

    Attributes
    ----------
    transformation : dict
        Generalization level of each quasi-identifier.
    score : float or tuple
        Information loss under the plan's quality model; lower is better. A tuple if it aggregates by rank.
    suppressed : int
        Number of suppressed records.
    proven_optimal : bool
        Whether no other transformation of the search space has a better score.
    lower_bound : tuple, optional
        A score that no transformation beats; None where the search knows of none.
    ending : str
        Why the search ended: "finished", "time limit", "check limit" or "cancelled".
    explored : Space
        Every node of the search space with what is known about it.
    verification : Verification
        What the independent check of the output found.
    """

    def __init__(
        self,
        source: Source,
        prepared: Prepared,
        evaluator: Evaluator,
        found: Found,
        levels: Levels,
    ) -> None:
        self._source = source
        self._prepared = prepared
        self._evaluator = evaluator
        self._found = found
        self._levels = levels
        self.plan: Plan = prepared.plan
        self.explored: Space = found.space

        node, satisfied, *_ = evaluator.judge(levels, prepared.sample.table)
        if not satisfied:
            raise PlanError(
                f"{levels} violates the plan's privacy models, and suppression cannot repair that"
            )
        value = evaluator.measure.score(node)
        self.score: float | tuple[float, ...] = value[0] if len(value) == 1 else value
        self.suppressed: int = node.tally.suppressed
        self.classes: int = node.tally.kept
        self.within_limit = self.suppressed <= evaluator.allowed
        best = found.best
        self.is_optimum = best is not None and best.levels == levels
        self.proven_optimal = found.proven and self.is_optimum
        self.lower_bound: tuple[float, ...] | None = found.bound
        self.ending = found.ending

        rejected = node.rejected.astype(np.bool_)
        groups = prepared.sample.classes_of_rows(levels)[1]
        self.suppressed_rows: NDArray[np.bool_] = rejected[groups]
        if prepared.subset is not None:
            self.suppressed_rows &= prepared.subset
        self.arrow, self._rows, self._flag = applied(prepared, levels, groups, self.suppressed_rows)
        names = prepared.encoding.names
        self.verification: Verification = verify_release(
            prepared.table,
            self.arrow,
            self.plan,
            self.transformation,
            dict(zip(names, prepared.encoding.hierarchies, strict=True)),
            rows=self._rows,
            subset=prepared.subset,
            flag=self._flag,
            over_limit=not self.within_limit,
            weights=prepared.weights,
        )
        self.verification.require()

    @property
    def _parts(self) -> list[Part]:
        kept = ~self.suppressed_rows
        if self._prepared.subset is not None:
            kept &= self._prepared.subset
        return [Part(self._levels, np.flatnonzero(kept))]

    @property
    def transformation(self) -> dict[str, int]:
        """Generalization level of each quasi-identifier."""
        return dict(zip(self._prepared.encoding.names, self._levels, strict=True))

    @property
    def transformation_names(self) -> dict[str, str]:
        """Name of the level of each quasi-identifier."""
        hierarchies = self._prepared.encoding.hierarchies
        return {
            name: hierarchy.level_names[level]
            for name, hierarchy, level in zip(
                self._prepared.encoding.names, hierarchies, self._levels, strict=True
            )
        }

    @property
    def gap(self) -> float | None:
        """The share of the score by which the best one may lie below it; None where nothing is known.

        0.05 means that no transformation has a score more than 5 % below this one.
        """
        return 0.0 if self.proven_optimal else gap_to_optimum(self.score, self.lower_bound)

    @property
    def curve(self) -> list[tuple[float, int, tuple[float, ...]]]:
        """Seconds after the start of the search, checked nodes, and the best score known from then on."""
        return list(self._found.curve)

    def apply(self, node: Mapping[str, int] | Sequence[int]) -> Release:
        """Return the release of another node of the lattice, verified like this one.

        Classes that violate a privacy model are suppressed even if that takes more records than the plan's
        suppression limit allows; `within_limit` tells.
        """
        return Release(self._source, self._prepared, self._evaluator, self._found, self._levels_of(node))

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
        levels = self._levels_of(node)
        space = self.explored
        around = [
            levels,
            *(n for _, n in space.predecessors(levels)),
            *(n for _, n in space.successors(levels)),
        ]
        for each in around:
            if each not in space.evaluated:
                space.evaluated[each], _ = self._evaluator.evaluate(
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
        rows = self._parts[0].rows
        parts = []
        for name, hierarchy, codes, level in zip(
            self._prepared.encoding.names,
            self._prepared.encoding.hierarchies,
            self._prepared.codes,
            self._levels,
            strict=True,
        ):
            if name in self.plan.microaggregated:
                continue  # its cells depend on their class, not on their value
            counts = counted(codes[rows], hierarchy.size, self._prepared.weights_of(rows))
            used = np.flatnonzero(np.bincount(codes, minlength=hierarchy.size))
            labels = hierarchy.labels
            parts.append(
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
        return pa.concat_tables(parts) if parts else _NO_MAPPING

    def __repr__(self) -> str:
        optimum = "proven optimal" if self.proven_optimal else "not proven optimal"
        if self.is_optimum and not self.proven_optimal and self.gap is not None:
            optimum += f" ({gap_in_words(self.gap)})"
        return (
            f"Release({self.records} records, {self.suppressed} suppressed, {self.classes} classes, "
            f"score {self.score}, {optimum}, {self.transformation})"
        )


_NO_MAPPING = pa.schema(
    {"column": pa.string(), "original": pa.string(), "released": pa.string(), "records": pa.int64()}
).empty_table()
