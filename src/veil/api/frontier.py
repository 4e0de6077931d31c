"""The risk-utility frontier: one plan with many parameters, the risk and utility of each, and the best.

    found = frontier(patients, plan, over={"k": [2, 5, 10], "suppression_limit": [0.0, 0.05]})
    found.pareto()
    found.plot()

The figures are exact. Choosing the parameters of a differentially private release by them, or publishing
them, exceeds the promise of that release: they are for experiments on data that may be looked at.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from veil.api.anonymize import anonymize
from veil.api.open import check_people
from veil.api.release import Release
from veil.api.trial import plan_from
from veil.base.figures import new_figure
from veil.base.html import html_table
from veil.base.progress import ProgressLike, following
from veil.dp.publish import safepub_of
from veil.dp.symbolic import Symbolic
from veil.errors import NoSolutionError, ParameterError, PlanError, did_you_mean
from veil.hierarchies import Hierarchy
from veil.plan.plan import Plan
from veil.plan.prepare import distinct_values
from veil.tables import Format, Source, read
from veil.utility.comparison import Comparison
from veil.utility.quality import quality_measures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


RISKS = ("highest", "average", "at_risk", "uniques", "epsilon")


@dataclass(frozen=True)
class Point:
    """One release, or why there is none.

    Attributes
    ----------
    parameters
        The values of the parameters.
    problem
        Why there is no release; None if there is one.
    risks, utilities
        Figures by name: risks are better if lower, utilities if higher. Empty if there is no release.
    transformation
        Level of each quasi-identifier.
    seconds
        Time for the release and its figures.
    """

    parameters: dict[str, Any]
    problem: str | None
    risks: dict[str, float]
    utilities: dict[str, float]
    transformation: dict[str, int] | None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; parameters other than numbers and texts become text."""
        parameters = {name: _plain(value) for name, value in self.parameters.items()}
        return {**dataclasses.asdict(self), "parameters": parameters}

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.parameters.items())


@dataclass(frozen=True)
class Frontier:
    """All points, in the order of the parameters; `risk` and `utility` name the figures that are compared."""

    points: tuple[Point, ...]
    risk: str
    utility: str

    def pareto(self, risk: str | None = None, utility: str | None = None) -> tuple[Point, ...]:
        """Return the points that no other point dominates, by less risk with no less utility or vice versa.

        They are sorted by risk. Points with equal figures are all included, in the order of the parameters.
        """
        frontier = self._by(risk, utility)
        best: list[Point] = []
        last = (math.nan, math.nan)
        solved = [point for point in self.points if point.problem is None]
        for point in sorted(solved, key=lambda each: (frontier._at(each)[0], -frontier._at(each)[1])):
            at = frontier._at(point)
            if not best or at[1] > last[1] or at == last:
                best.append(point)
                last = at
        return tuple(best)

    def _repr_html_(self) -> str:
        front, names = self.pareto(), list(self.points[0].parameters)
        rows = [
            (
                "best" if point in front else "",
                *point.parameters.values(),
                *(f"{each:.2%}" if point.problem is None else "" for each in self._at(point)),
                point.problem or "",
            )
            for point in self.points
        ]
        return html_table(("", *names, f"risk ({self.risk})", f"utility ({self.utility})", ""), rows)

    def _at(self, point: Point) -> tuple[float, float]:
        """Return the place of a point; not a number if there is no release."""
        return point.risks.get(self.risk, math.nan), point.utilities.get(self.utility, math.nan)

    def plot(self, risk: str | None = None, utility: str | None = None) -> Figure:
        """Draw all points, and the Pareto front as a line with numbers that are explained next to it."""
        frontier = self._by(risk, utility)
        front = frontier.pareto()
        figure = new_figure(9, 4.5)
        axes: Any = figure.add_subplot()
        others = [point for point in self.points if point.problem is None and point not in front]
        for points, style in ((others, {"color": "0.7"}), (front, {"color": "tab:blue", "zorder": 3})):
            places = [frontier._at(point) for point in points]
            axes.scatter([at[0] for at in places], [at[1] for at in places], **style)
        if front:
            # Several points may share a corner, and its number.
            corners: dict[tuple[float, float], list[Point]] = {}
            for point in front:
                corners.setdefault(frontier._at(point), []).append(point)
            axes.step(*zip(*corners, strict=True), where="post", color="tab:blue", linewidth=1)
            # Numbers are placed alternately above and below the steps, and explained in the legend.
            for number, corner in enumerate(corners, 1):
                offset, side = ((-3, 3), "right") if number % 2 else ((4, -10), "left")
                axes.annotate(
                    str(number), corner, xytext=offset, textcoords="offset points", ha=side, fontsize=8
                )
            meanings = [
                f"{number}  {' or '.join(_spoken(str(point)) for point in points)}"
                for number, points in enumerate(corners.values(), 1)
            ]
            handles = [axes.plot([], [], linestyle="")[0] for _ in meanings]
            figure.legend(
                handles, meanings, loc="outside right upper", fontsize=8, frameon=False, handlelength=0
            )
        axes.set_xlabel(f"risk: {_spoken(frontier.risk)}")
        axes.set_ylabel(f"utility: {_spoken(frontier.utility)}")
        axes.margins(0.15)
        return figure

    def to_dict(self, risk: str | None = None, utility: str | None = None) -> dict[str, Any]:
        """Return plain values: all points, and which of them are on the Pareto front."""
        frontier = self._by(risk, utility)
        front = frontier.pareto()
        return {
            "risk": frontier.risk,
            "utility": frontier.utility,
            "points": [{**point.to_dict(), "pareto": point in front} for point in self.points],
        }

    def __str__(self) -> str:
        front = self.pareto()
        lines = [f"{'':2}{'risk':>10} {'utility':>10}   ({_spoken(self.risk)}, {_spoken(self.utility)})"]
        for point in self.points:
            if point.problem is not None:
                lines.append(f"{'':2}{'no release':>21}   {point}: {point.problem.split('. ')[0]}")
                continue
            mark = "*" if point in front else ""
            risk, utility = self._at(point)
            lines.append(f"{mark:2}{risk:10.4f} {utility:10.4f}   {point}")
        return "\n".join(lines)

    def _by(self, risk: str | None, utility: str | None) -> Frontier:
        """Return the same points, compared by other figures; refuse those that were not measured."""
        frontier = replace(self, risk=risk or self.risk, utility=utility or self.utility)
        for point in self.points:
            if point.problem is None:
                _check_figure("risk", frontier.risk, point.risks)
                _check_figure("utility", frontier.utility, point.utilities)
        return frontier


def frontier(
    source: Any,
    plan: Plan | None = None,
    *,
    over: Mapping[str, Iterable[Any]],
    risk: str | None = None,
    utility: str = "granularity",
    risks: Mapping[str, Callable[[Release], float]] | None = None,
    utilities: Mapping[str, Callable[[Comparison], float]] | None = None,
    threads: int = 1,
    progress: ProgressLike = None,
    format: Format | None = None,
    **options: Any,
) -> Frontier:
    """Run a plan with all combinations of some parameters, and measure each release.

    Parameters
    ----------
    source, format, progress
        As for `veil.anonymize`.
    plan
        The plan; or give the keywords of `veil.anonymize` instead.
    over
        Values to try by parameter: a field of the plan (`suppression_limit`, `quality`, …), a parameter of
        its privacy models (`k`, `t`, `epsilon`, …) or of its quality model (`factor`). A name that several
        kinds of models have is written with the kind: `KAnonymity.k`.
    risk, utility
        The figures that are compared: one of "highest", "average", "at_risk", "uniques", and for differential
        privacy "epsilon"; by default "average", or "epsilon" if all plans are differentially private, as
        class sizes do not measure that promise. And one of "granularity", "intensity", "entropy",
        "squared_error", "discernibility", "class_size", "ambiguity", "record_error", "sse_sst", "released".
    risks, utilities
        Further figures by name: functions of a release, and of a `Comparison`.
    threads
        How many releases are made at the same time; the result does not depend on it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from veil import KAnonymity, hierarchies as h
    >>> people = pa.table({"age": [21, 23, 27, 34, 38, 52]})
    >>> found = frontier(
    ...     people, over={"k": [1, 2, 6, 7]}, quasi_identifiers={"age": h.intervals(10, 20)},
    ...     models=KAnonymity(2), suppression_limit=0.2,
    ... )
    >>> [str(point) for point in found.pareto()]
    ['k = 6', 'k = 2', 'k = 1']
    >>> found.points[-1].problem
    'KAnonymity(k=7) needs classes of 7 records, but the table has only 6: no release with any information can satisfy it'
    """
    base = plan_from("frontier", plan, options)
    if threads < 1:
        raise ParameterError(f"`threads` should be 1 or more, not {threads}")
    combinations = _combinations(over)
    plans = [functools.reduce(_replace_parameter, each.items(), base) for each in combinations]
    source = source if isinstance(source, Source) else read(source, format=format)
    for each in plans:
        each.check_columns(source.table.column_names)
    if plans and source.weights is None:
        check_people(source.table, plans[0])
    plans = _build_hierarchies(plans, source)
    stop = threading.Event()
    measure = _Measure(source, risks or {}, utilities or {}, None if threads == 1 else 1, stop)
    with following(progress) as tracker, ThreadPoolExecutor(threads) as pool:
        tracker.phase("trying parameters")
        points = []
        try:
            for point in pool.map(measure, plans, combinations):
                points.append(point)
                tracker.advance(len(points), len(plans), str(point))
        finally:
            stop.set()  # so that Ctrl-C does not wait for searches under way
    private = all(safepub_of(each) is not None for each in plans)
    return Frontier(tuple(points), "epsilon" if private else "average", utility)._by(risk, utility)


@dataclass(frozen=True)
class _Measure:
    """Makes a release by a plan and measures it."""

    source: Source
    risks: Mapping[str, Callable[[Release], float]]
    utilities: Mapping[str, Callable[[Comparison], float]]
    threads: int | None
    stop: threading.Event

    def __call__(self, plan: Plan, parameters: dict[str, Any]) -> Point:
        start = time.perf_counter()
        try:
            release = anonymize(
                self.source, plan, threads=self.threads, progress=False, cancel=self.stop.is_set
            )
        except (NoSolutionError, PlanError) as error:
            return Point(parameters, str(error), {}, {}, None, time.perf_counter() - start)
        comparison = Comparison.of(release.outcome)
        after = release.risk()[1]
        risks = {name: float(getattr(after, name)) for name in RISKS if name != "epsilon"}
        private = safepub_of(plan)
        if private is not None:
            risks["epsilon"] = float(Symbolic.read(private.epsilon))
        risks |= {name: float(each(release)) for name, each in self.risks.items()}
        utilities = dict(quality_measures(comparison).overall)
        utilities["released"] = 1.0 - float(comparison.suppressed.mean())
        utilities |= {name: float(each(comparison)) for name, each in self.utilities.items()}
        levels = None if release.search is None else dict(release.transformation)
        return Point(parameters, None, risks, utilities, levels, time.perf_counter() - start)


# --- parameters -------------------------------------------------------------------------------------------


def _combinations(over: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    values: dict[str, list[Any]] = {}
    for name, each in over.items():
        if isinstance(each, str) or not isinstance(each, Iterable):
            raise PlanError(f"`over` should list the values of {name!r} to try, not {each!r}")
        values[name] = list(each)
        if not values[name]:
            raise PlanError(f"`over` lists no value of {name!r} to try")
    if not values:
        raise PlanError('`over` should name at least one parameter, such as {"k": [2, 5, 10]}')
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def _replace_parameter(plan: Plan, parameter: tuple[str, Any]) -> Plan:
    """Return the plan with another value of a parameter."""
    name, value = parameter
    owner, _, field = name.rpartition(".")
    if not owner and field in _fields(plan):
        return replace(plan, **{field: value})
    parts: Sequence[Any] = (*plan.models, plan.quality)
    targets = [part for part in parts if field in _fields(part) and owner in ("", type(part).__name__)]
    kinds = sorted({type(part).__name__ for part in targets})
    if not targets:
        names = [*_fields(plan), *(each for part in parts for each in _fields(part))]
        qualified = [f"{type(part).__name__}.{each}" for part in parts for each in _fields(part)]
        hint = did_you_mean(name, dict.fromkeys(qualified if owner else names))
        raise PlanError(
            f"`over` names {name!r}, which is not a parameter of the plan, its privacy models or its "
            f"quality model.{hint}"
        )
    if len(kinds) > 1:
        spellings = " or ".join(f"{kind}.{field}" for kind in kinds)
        raise PlanError(f"`over` names {name!r}, which several models have: write {spellings}")

    def change_part(part: Any) -> Any:
        return replace(part, **{field: value}) if part in targets else part

    return replace(plan, models=tuple(map(change_part, plan.models)), quality=change_part(plan.quality))


def _fields(value: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(value) if field.name != "kind"]


def _build_hierarchies(plans: Sequence[Plan], source: Source) -> list[Plan]:
    """Build each hierarchy once.

    Not for differential privacy, which must check itself that hierarchies are not derived from the data.
    """
    built: dict[tuple[str, int], Hierarchy] = {}
    result = []
    for plan in plans:
        if safepub_of(plan) is not None:
            result.append(plan)
            continue
        for name, builder in plan.quasi_identifiers.items():
            if (name, id(builder)) not in built:
                values, counts = distinct_values(source.table[name])
                built[name, id(builder)] = builder.build(values, counts, name)
        hierarchies = {name: built[name, id(each)] for name, each in plan.quasi_identifiers.items()}
        result.append(replace(plan, quasi_identifiers=hierarchies))
    return result


def _check_figure(what: str, name: str, figures: Mapping[str, float]) -> None:
    if name not in figures:
        raise ParameterError(
            f"`{what}` should be one of the figures, not {name!r}.{did_you_mean(name, figures)}"
        )


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
