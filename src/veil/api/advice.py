"""Advice: what costs a release most, and releases that would keep more. All are tried out and measured.

Each alternative is a verified release that keeps its promises. Those that promise less are marked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from veil.api.trial import Deadline, release_with, with_model
from veil.base.html import html_table
from veil.base.progress import ProgressLike, following
from veil.base.spell import spell_value
from veil.base.wording import Phrase, Verbatim
from veil.errors import PlanError, Say, VeilError
from veil.models.k_anonymity import KAnonymity
from veil.outcome.lower_bound import FAR
from veil.outcome.measures import kept_by_column
from veil.plan.recoding import Cells
from veil.recipe.parts import shorten
from veil.report.content.disclosure import hides_search

if TYPE_CHECKING:
    from veil.api.release import Release

POOR = 0.25
"""A column that keeps less than this is worth advice."""

MOST_NEXT, MOST_COLUMNS = 3, 3
"""Numbers of next best transformations and of columns that are tried."""

SECONDS_IN_A_REPORT = 3.0
"""Time that a report spends on advice."""

_RANKS = ("", "second-", "third-", "fourth-")


@dataclass(frozen=True)
class Alternative:
    """Another release of the same table, with its measures.

    Attributes
    ----------
    what : str
        The difference to the release.
    how : str
        How to get it.
    promises_less : bool
        Whether it promises less than the release.
    kept : dict
        How much each quasi-identifier keeps, from 0 (nothing) to 1 (all); suppressed records keep nothing.
    suppressed : int
        Number of suppressed records.
    transformation : dict
        Level of each quasi-identifier; empty if records have different ones.
    recipe : dict
        The fields of the step Generalize for it, or the steps of a recipe.
    """

    what: str
    how: str
    promises_less: bool
    kept: dict[str, float]
    suppressed: int
    transformation: dict[str, int]
    recipe: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def kept_on_average(self) -> float:
        """Average share that the columns keep."""
        return sum(self.kept.values()) / len(self.kept) if self.kept else 0.0

    def is_like(self, other: Alternative) -> bool:
        """Whether both suppress as many records, and differ visibly in no column."""
        return self.suppressed == other.suppressed and all(
            abs(self.kept[name] - other.kept[name]) < 0.0005 for name in self.kept
        )


@dataclass(frozen=True)
class Advice:
    """The costs of a release, and alternatives that would keep more.

    Attributes
    ----------
    released : Alternative
        The release itself.
    alternatives : tuple
        Other releases, those that keep most first: with the same promises, then with fewer.
    costs : dict
        For each quasi-identifier, how much more the others would keep on average if it were given up; the
        costliest first.
    poor : tuple
        Quasi-identifiers that keep little.
    complete : bool
        Whether there was time for everything.
    bound : str, optional
        How near the release is to the best one, in words, as `Release.lower_bound` says it: a figure of the input.
    """

    released: Alternative
    alternatives: tuple[Alternative, ...]
    costs: dict[str, float]
    poor: tuple[str, ...]
    complete: bool
    bound: str | None = None

    @property
    def helps_most(self) -> str | None:
        """The alternative that keeps most with the same promises, in words; None if none keeps more."""
        same = [each for each in self.alternatives if not each.promises_less]
        if not same or same[0].kept_on_average <= self.released.kept_on_average:
            return None
        best, now = same[0].kept_on_average, self.released.kept_on_average
        return f"Most would help: {same[0].what}. Columns would then keep {best:.1%} on average, instead of {now:.1%}."

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain data."""
        return dataclasses.asdict(self)

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row for the release and each alternative, under `headings`."""
        return [
            (
                each.what + (" (promises less)" if each.promises_less else ""),
                f"{each.kept_on_average:.1%}",
                *(f"{each.kept.get(name, 0.0):.0%}" for name in self.released.kept),
                f"{each.suppressed:,}",
                each.how,
            )
            for each in (self.released, *self.alternatives)
        ]

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of `rows`."""
        return ("", "kept", *self.released.kept, "suppressed", "how")

    def said(self) -> list[str]:
        """Return the most important advice, in sentences."""
        lines = []
        if self.poor:
            lines.append(f"Little is left of {', '.join(self.poor)}.")
        if self.costs:
            name, gain = next(iter(self.costs.items()))
            lines.append(
                f"{name} costs most: if it were given up, the other columns would keep {gain:.1%} more on average."
            )
        if self.bound:
            lines.append(f"As the mean over cells: {self.bound}.")
        return [*lines, self.helps_most] if self.helps_most else lines

    def __str__(self) -> str:
        return "\n".join([*self.said(), *("  ".join(row) for row in self.rows())])

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{escape(each)}</p>" for each in self.said())
        return paragraphs + html_table(self.headings, self.rows(), "What else there is")


def advise(
    release: Release,
    *,
    time_limit: float = 30.0,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
) -> Advice:
    """Try out alternatives that would keep more, within a time limit."""
    if release.lattice is None:
        raise PlanError(
            "there is no advice for this release, because it does not come from a single searched "
            "transformation for all records. Ask one with (",
            Say("recoding", "full-domain"),
            ")",
        )
    if release.statement is not None:
        raise PlanError(
            "there is no advice for a SafePub release: its transformation was chosen privately, and trying others on the data "
            "would reveal something about the data"
        )
    return _Advisor(release, time_limit, cancel).advise(progress)


def advice_for_report(release: Release, *, exact: bool = False) -> dict[str, Any] | None:
    """Return the advice in a report as plain data; None if no column keeps so little that it is worthwhile.

    If results of the search would disclose suppressed records, only what the release itself shows: the names
    of these columns. With `exact`, for the data holder, all of it.
    """
    poor = [] if release.lattice is None or release.statement is not None else poor_columns(release)
    if not poor:
        return None
    if not exact and hides_search(release.outcome):
        return {"poor": poor, "withheld": True}
    # What no recoding loses less than is said elsewhere, and to the data holder alone.
    advice = _Advisor(release, SECONDS_IN_A_REPORT, None, bounded=False).advise(False).to_dict()
    return {name: value for name, value in advice.items() if name != "bound"}


def poor_columns(release: Release) -> list[str]:
    """Return the columns that keep so little that advice is worthwhile, the poorest first."""
    shares = kept_by_column(release.outcome)
    return sorted((name for name in shares if shares[name] < POOR), key=shares.__getitem__)


class _Advisor:
    def __init__(
        self, release: Release, seconds: float, cancel: Callable[[], bool] | None, *, bounded: bool = True
    ) -> None:
        assert release.lattice is not None
        assert release.plan is not None
        # The nodes tried here are no part of the search that made the release.
        self.release, self.search, self.plan = release, release.lattice.copy(), release.plan
        self.seconds, self.deadline, self.complete = seconds, Deadline(seconds, cancel), True
        self.tried_nodes = {tuple(self.search.transformation.values())}
        self.kept = kept_by_column(release.outcome)
        self.poor = tuple(poor_columns(release))
        self.bounded, self.bound = bounded, ""

    def advise(self, progress: ProgressLike) -> Advice:
        with following(progress) as tracker:
            tracker.phase("pricing each choice")
            share = max(0.1, 0.4 * self.seconds)
            self.level_costs = self.search.level_costs(
                time_limit=share, cancel=self.deadline.cancel, progress=False
            )
            costs = self._costs()
            alternatives: list[Alternative] = []
            for phase, attempts in (
                ("trying without single columns", self._try_without_columns(costs)),
                ("trying other levels", self._other_levels()),
                ("trying to recode cell by cell", self._cells()),
                ("trying other parameters", self._parameters()),
                ("trying weights", self._weights()),
                ("trying local recoding", self._local()),
            ):
                tracker.phase(phase)
                alternatives += attempts
        current = self._make_alternative("as released", "", self.release, {})
        # An unchanged release is no alternative, but that a promise costs nothing is worth knowing.
        alternatives = [each for each in alternatives if each.promises_less or not each.is_like(current)]
        alternatives.sort(key=lambda each: (each.promises_less, -each.kept_on_average))
        return Advice(current, tuple(alternatives), costs, self.poor, self.complete, self.bound or None)

    def _time_is_left(self) -> bool:
        self.complete &= not self.deadline.is_over
        return not self.deadline.is_over

    def _make_alternative(
        self, what: str, how: str, release: Release, recipe: dict[str, Any], *, less: bool = False
    ) -> Alternative:
        levels = {} if release.lattice is None else release.transformation
        shares = kept_by_column(release.outcome)
        return Alternative(what, how, less, shares, release.suppressed, levels, recipe)

    # --- with the same promises ---------------------------------------------------------------------

    def _other_levels(self) -> Iterator[Alternative]:
        """Yield the next best transformations, and the best ones with less general poor columns."""
        names = list(self.search.transformation)
        nodes = self.search.nodes(state="anonymous", limit=MOST_NEXT + 1)
        further = [(at, each) for at, each in enumerate(nodes) if each.levels not in self.tried_nodes]
        for at, node in further[:MOST_NEXT]:
            what = Phrase(f"the {_RANKS[at]}best transformation")
            yield from self._try_levels(what, dict(zip(names, node.levels, strict=True)))
        for name in self.poor[:MOST_COLUMNS]:
            finer = [
                each
                for each in self.level_costs
                if each.column == name
                and each.level < self.search.transformation[name]
                and each.transformation
            ]
            if finer:
                yield from self._try_levels(
                    Phrase("finer: {column}", column=Verbatim(name)), finer[-1].transformation or {}
                )

    def _costs(self) -> dict[str, float]:
        """Return how much more the others could keep without each column, by the best such transformation."""
        highest = dict(zip(self.search.transformation, self.search.explored.maximum, strict=True))
        self.without = {
            each.column: each.transformation
            for each in self.level_costs
            if each.transformation
            and each.level == highest[each.column] > self.search.transformation[each.column]
        }
        gains = {}
        for name, levels in self.without.items():
            if not self._time_is_left():
                break
            shares = kept_by_column(self.search.apply(levels).outcome)
            others = [other for other in shares if other != name]
            if others:
                gains[name] = sum(shares[other] - self.kept[other] for other in others) / len(others)
        return dict(sorted(((n, g) for n, g in gains.items() if g > 0), key=lambda item: -item[1]))

    def _try_without_columns(self, costs: dict[str, float]) -> Iterator[Alternative]:
        for name in list(costs)[:MOST_COLUMNS]:
            yield from self._try_levels(
                Phrase("{column} given up", column=Verbatim(name)), self.without[name] or {}
            )

    def _try_levels(self, what: str, levels: dict[str, int]) -> Iterator[Alternative]:
        node = tuple(levels.values())
        if node in self.tried_nodes or not self._time_is_left():
            return
        self.tried_nodes.add(node)
        release = self.search.apply(levels)
        if release.within_limit:
            recipe = {"minimum_levels": dict(levels), "maximum_levels": dict(levels)}
            yield self._make_alternative(what, f"release.search.apply({levels})", release, recipe)

    # --- with other parameters ------------------------------------------------------------------------

    def _parameters(self) -> Iterator[Alternative]:
        limit = self.plan.suppression_limit
        more = 0.05 if limit == 0 else min(1.0, 2 * limit)
        if more > limit:
            yield from self._try_plan(
                Phrase("suppression limit {more:g} instead of {limit:g}", more=more, limit=limit),
                f"suppression_limit={more:g}",
                suppression_limit=more,
            )
        for at, model in enumerate(self.plan.models):
            if len(self.plan.models) > 1:
                rest = with_model(self.plan, at, None).models
                what = Phrase("without {model}", model=model)
                yield from self._try_plan(what, "leave it out of `models`", less=True, models=rest)
            elif isinstance(model, KAnonymity) and model.k > 2:
                smaller = KAnonymity(max(2, model.k // 2))
                what = Phrase("with {weaker} instead of {model}", weaker=smaller, model=model)
                yield from self._try_plan(what, f"models={smaller}", less=True, models=(smaller,))

    def _weights(self) -> Iterator[Alternative]:
        """Yield the release with heavier weights of poor columns."""
        quality = self.plan.quality
        if not self.poor or not hasattr(quality, "weights") or quality.weights:
            return
        weights = dict.fromkeys(self.kept, 0.25) | dict.fromkeys(self.poor, 1.0)
        heavier = dataclasses.replace(quality, weights=weights)  # type: ignore[type-var]
        what = Phrase("{columns} weighing four times as much", columns=Verbatim(", ".join(self.poor)))
        yield from self._try_plan(what, f"quality={heavier}", quality=heavier)

    def _try_plan(self, what: str, how: str, *, less: bool = False, **changes: Any) -> Iterator[Alternative]:
        if not self._time_is_left():
            return
        release = self._carry_out(changes)
        if release is not None:
            yield self._make_alternative(what, how, release, _in_a_recipe(changes), less=less)

    def _carry_out(self, changes: dict[str, Any], deadline: Deadline | None = None) -> Release | None:
        return release_with(self.release.outcome.source, self.plan, changes, deadline or self.deadline)

    def _cells(self) -> Iterator[Alternative]:
        """Yield recoding cell by cell, if the release may be far from the best; it takes half of the time at most."""
        if not self.bounded or not self._time_is_left():
            return
        cancel, changes = self.deadline.cancel, {"recoding": Cells()}
        try:
            bound = self.release.lower_bound(
                time_limit=self.deadline.seconds_for(6), progress=False, cancel=cancel
            )
            self.bound, proof = bound.sentence, bound.trace.proof
            if proof is None or bound.trace.score < FAR * proof.score:
                return
            recoded = self._carry_out(changes, Deadline(self.deadline.seconds_for(2), cancel))
        except VeilError:
            return  # several tables, or a plan that cannot be recoded so
        if recoded is not None:
            how = "recoding='cells'"
            yield self._make_alternative("recoding cell by cell", how, recoded, _in_a_recipe(changes))

    def _local(self) -> Iterator[Alternative]:
        """Yield local recoding of the suppressed records or, if none may be suppressed, from the start."""
        from veil.recoding import FastIterative, FromTheStart

        mode = FastIterative() if self.release.suppressed else FromTheStart()
        first: Release | None = self.release
        if not self._time_is_left() or (self.plan.suppression_limit and not self.release.suppressed):
            return
        try:
            if not self.release.suppressed:
                plan = mode.first(self.plan)
                changes = {"quality": plan.quality, "suppression_limit": plan.suppression_limit}
                first = self._carry_out(changes)
            if first is None:
                return
            seconds, cancel = self.deadline.seconds_for(), self.deadline.cancel
            recoded = first.local_recoding(mode, time_limit=seconds, progress=False, cancel=cancel)
        except VeilError:
            return  # a model cannot be recoded locally
        if first is not self.release and not self._time_is_left():
            return  # the time was not enough: more records are suppressed than need be
        how = "release.local_recoding()" if first is self.release else f"recoding={mode}"
        yield self._make_alternative("local recoding", how, recoded, _in_a_recipe({"recoding": mode}))


def _in_a_recipe(changes: dict[str, Any]) -> dict[str, Any]:
    """Return changes as the fields of a recipe."""

    def spell(value: Any) -> Any:
        if isinstance(value, tuple):
            return [spell(each) for each in value]
        return shorten(spell_value(value)) if dataclasses.is_dataclass(value) else value

    return {name: spell(value) for name, value in changes.items()}
