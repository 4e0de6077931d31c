"""Relaxations of a plan that nothing fulfils: each by itself, and the least that is enough."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from veil.api.open import Engine, open_for_plan
from veil.api.trial import Deadline, plan_from, with_model
from veil.base.progress import ProgressLike, following
from veil.dp.safepub import SafePub
from veil.errors import ImpossibleError, PlanError
from veil.lattice.auto import Auto
from veil.lattice.cache import TableCache
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Limits, Search, Strategy
from veil.models.base import PrivacyModel
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, level_range, prepare
from veil.tables import Format


@dataclass(frozen=True)
class Relaxation:
    """One change of a plan that leads to a release.

    Attributes
    ----------
    kind : str
        "levels": a column may become coarser than the plan allows; "suppression": more records may be
        suppressed; "promise": a model promises less; "without": a model is left out.
    name : str
        The column, the field of the plan or the model it is about.
    parameter : str or None
        The parameter of a model that changes.
    before, after : number or None
        Its value in the plan, and the value that is enough.
    plan : Plan
        The plan with this change, for which there is a release.
    share : float
        Size of the change, relative to the largest possible one, from 0 to 1.
    proven : bool
        Whether a smaller change is proven not to be enough; False if the time was over.
    """

    kind: Literal["levels", "suppression", "promise", "without"]
    name: str
    parameter: str | None
    before: float | int | None
    after: float | int | None
    plan: Plan
    share: float
    proven: bool

    @property
    def keeps_promises(self) -> bool:
        """Whether every privacy model is kept, so that detail is lost and no protection."""
        return self.kind in ("levels", "suppression")

    def __str__(self) -> str:
        if self.kind == "levels":
            return f"let {self.name!r} go up to level {self.after} instead of {self.before}"
        if self.kind == "suppression":
            what = "records" if self.plan.person_column is None else "people"
            return f"let up to {self.after:.1%} of the {what} be suppressed instead of {self.before:.1%}"
        if self.kind == "promise":
            return f"ask {self.name} for {self.parameter} = {self.after:g} instead of {self.before:g}"
        return f"leave {self.name} out"


def relax(
    source: Any,
    plan: Plan | None = None,
    *,
    time_limit: float = 10.0,
    format: Format | None = None,
    engine: Engine = "auto",
    threads: int | None = None,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
    **options: Any,
) -> tuple[Relaxation, ...]:
    """Find what would have to be relaxed for a release to exist, if nothing satisfies all promises.

    Each option is tried on its own: maximum levels of columns, the share of suppressed records, each promise.
    Options that keep every promise come first, since detail is cheaper than protection; then the smallest
    changes. Every option leads to a release. There are none if the plan has one, or if none is enough alone.

    Parameters
    ----------
    source, format, engine, threads, progress, cancel
        As for `veil.anonymize`.
    plan
        The plan; or give the keywords of `veil.anonymize` instead.
    time_limit
        Seconds for all options together.

    >>> import pyarrow as pa
    >>> from veil import KAnonymity
    >>> people = pa.table({"age": [30, 30, 30, 31, 31], "sex": ["f", "f", "f", "m", "m"]})
    >>> for each in relax(
    ...     people, quasi_identifiers={"age": "identity", "sex": "suppression"}, maximum_levels={"sex": 0}, models=KAnonymity(3)
    ... ):
    ...     print(each)
    let up to 40.0% of the records be suppressed instead of 0.0%
    ask KAnonymity for k = 2 instead of 3
    """
    plan = plan_from("relax", plan, options)
    _refuse(plan)
    with following(progress) as tracker:
        tracker.phase("reading the table")
        source = open_for_plan(source, plan, format, engine, tracker)
        prepared = prepare(source.table, plan, source.weights, source.columns)
        trial = _Trial(prepared, threads, Deadline(time_limit, cancel))
        tracker.phase("looking for what to relax")
        relaxations: list[Relaxation] = []
        ways = [] if trial.fits(plan, trial.share(1)) else list(_ways(prepared))
        for number, steps in enumerate(ways):
            tracker.advance(number, len(ways))
            best = trial.least(steps, trial.share(len(ways) - number))
            if best is not None:
                relaxations.append(best)
    return tuple(sorted(relaxations, key=lambda each: (not each.keeps_promises, each.share)))


def _refuse(plan: Plan) -> None:
    if any(isinstance(model, SafePub) for model in plan.models):
        raise PlanError("SafePub always has a release: there is nothing to relax")
    if plan.choose_by == "quasi-identifiers":
        raise PlanError(
            "the plan chooses by quasi-identifiers alone, but what would be enough also depends on "
            "sensitive values: require less, or larger classes, before you try again"
        )


class _TopFirst(Strategy):
    """Checks the coarsest transformation first, which decides the question for most models."""

    def run(self, search: Search) -> None:
        search.check([search.space.maximum])
        Auto().run(search)


class _Trial:
    """Decides whether plans that differ in promises, limits and levels have a release on one table."""

    def __init__(self, prepared: Prepared, threads: int | None, deadline: Deadline) -> None:
        self.prepared, self.threads, self.deadline = prepared, threads, deadline
        self.tables: TableCache | None = None
        self.gave_up = False

    def share(self, of: int) -> Deadline:
        """Return the deadline of one of so many questions."""
        return Deadline(self.deadline.seconds_for(of), self.deadline.cancel)

    def fits(self, plan: Plan, deadline: Deadline) -> bool:
        """Whether some transformation fulfils a plan. `gave_up` if that was not decided in time."""
        sample, self.gave_up = self.prepared.sample, False
        try:
            evaluator = Evaluator(sample, plan.searched_models, plan.quality, plan.suppression_limit)
        except ImpossibleError:
            return False
        names, hierarchies = list(sample.encoding.names), list(sample.encoding.hierarchies)
        minimum, maximum = level_range(plan, names, hierarchies)
        limits = Limits(
            deadline.seconds_for(), cancelled=lambda: search.best is not None or deadline.cancel()
        )
        search = Search(evaluator, minimum, maximum, limits=limits, threads=self.threads, tables=self.tables)
        if sample.persons.are_records:
            self.tables = search.tables  # the same for all plans, as minimum levels do not differ
        best_node = search.run(_TopFirst())
        self.gave_up = best_node.best is None and not best_node.proven
        return best_node.best is not None

    def least(self, steps: Sequence[Relaxation], deadline: Deadline) -> Relaxation | None:
        """Return the first of ever larger changes that is enough, by bisection; None if the last is not."""
        if not steps or not self.fits(steps[-1].plan, deadline):
            return None
        low, high, proven = -1, len(steps) - 1, True  # low is not enough, high is
        while high - low > 1:
            middle = (low + high) // 2
            if self.fits(steps[middle].plan, deadline):
                high = middle
            else:
                low, proven = middle, not self.gave_up
        return replace(steps[high], proven=proven)


def _ways(prepared: Prepared) -> Iterator[list[Relaxation]]:
    """Yield every kind of relaxation, as ever larger changes."""
    yield from _levels(prepared)
    yield list(_suppression(prepared.plan))
    for at, model in enumerate(prepared.plan.models):
        yield [*_weaker(prepared.plan, at, model), *_without(prepared.plan, at, model)]


def _levels(prepared: Prepared) -> Iterator[list[Relaxation]]:
    plan = prepared.plan
    for name, hierarchy in zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True):
        cap = plan.maximum_levels.get(name, hierarchy.height)
        yield [
            Relaxation(
                "levels", name, None, cap, level,
                replace(plan, maximum_levels={**plan.maximum_levels, name: level}),
                (level - cap) / (hierarchy.height - cap), proven=True,
            )
            for level in range(cap + 1, hierarchy.height + 1)
        ]  # fmt: skip


def _suppression(plan: Plan) -> Iterator[Relaxation]:
    """Yield limits in tenths of a percent above the present one, below 100 %."""
    now = plan.suppression_limit
    for thousandths in range(math.floor(1000 * now) + 1, 1000):
        limit = thousandths / 1000
        if limit > now:
            yield Relaxation(
                "suppression", "suppression_limit", None, now, limit, replace(plan, suppression_limit=limit),
                (limit - now) / (1 - now), proven=True,
            )  # fmt: skip


def _weaker(plan: Plan, at: int, model: PrivacyModel) -> Iterator[Relaxation]:
    if model.relaxed_by is None:
        return
    parameter, end = model.relaxed_by
    now = getattr(model, parameter)
    for value in _toward(now, end):
        share = abs(value - now) / abs(end - now) if math.isfinite(end) else 1 - now / value
        yield Relaxation(
            "promise", type(model).__name__, parameter, now, value,
            with_model(plan, at, dataclasses.replace(model, **{parameter: value})), share, proven=True,  # type: ignore[type-var]
        )  # fmt: skip


def _toward(now: float, end: float) -> Iterator[float]:
    """Yield values from the present one to the end: whole numbers, hundredths, or 10 % more each time."""
    if isinstance(now, int):
        yield from range(now - 1, int(end) - 1, -1)
    elif math.isfinite(end):
        way = 1 if end > now else -1
        hundredth = math.floor(100 * now) + 1 if way > 0 else math.ceil(100 * now) - 1
        yield from (each / 100 for each in range(hundredth, round(100 * end) + way, way))
    else:
        for power in range(1, 60):
            yield float(f"{max(now, 0.01) * 1.1**power:.3g}")


def _without(plan: Plan, at: int, model: PrivacyModel) -> Iterator[Relaxation]:
    if len(plan.models) > 1 and model.subset is None:
        left = with_model(plan, at, None)
        yield Relaxation("without", type(model).__name__, None, None, None, left, 1.0, proven=True)
