"""Advice: what a release lost most by, and what would keep more. Everything is tried out and measured, nothing guessed.

Each alternative is a release of its own that keeps its promises and was verified. Those that promise less say so.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from veil.base.html import html_table
from veil.base.progress import ProgressLike, following
from veil.base.spell import spell_value
from veil.errors import NoSolutionError, PlanError, VeilError
from veil.models.k_anonymity import KAnonymity
from veil.outcome.measures import kept_by_column
from veil.plan.linked_tables import Stacked
from veil.recipe.parts import shorten

if TYPE_CHECKING:
    from veil.api.release import Release

POOR = 0.25
"""A column that keeps less than this is worth advice."""

MOST_NEXT, MOST_COLUMNS = 3, 3
"""How many of the next best transformations, and how many columns, are tried."""

_RANKS = ("", "second-", "third-", "fourth-")


@dataclass(frozen=True)
class Alternative:
    """Another release of the same table, as it was measured.

    Attributes
    ----------
    what : str
        What is different.
    how : str
        How to get it.
    promises_less : bool
        Whether it promises less than the release.
    kept : dict
        How much each quasi-identifier keeps, from 0 (nothing) to 1 (all); suppressed records keep nothing.
    suppressed : int
        Number of suppressed records.
    transformation : dict
        Level of each quasi-identifier; empty where records have different ones.
    recipe : dict
        The fields by which a recipe asks for it.
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
        """How much all columns keep."""
        return sum(self.kept.values()) / len(self.kept) if self.kept else 0.0

    def is_like(self, other: Alternative) -> bool:
        """Whether both suppress as many records, and differ in no column by as much as is shown."""
        return self.suppressed == other.suppressed and all(
            abs(self.kept[name] - other.kept[name]) < 0.0005 for name in self.kept
        )


@dataclass(frozen=True)
class Advice:
    """What a release lost most by, and what would keep more.

    Attributes
    ----------
    released : Alternative
        The release itself.
    alternatives : tuple
        What else was tried, what keeps most first: with the same promises, then with fewer.
    costs : dict
        For each quasi-identifier, how much more the others would keep on average if it were given up; the
        costliest first.
    poor : tuple
        Quasi-identifiers of which little is left.
    complete : bool
        Whether there was time for everything.
    """

    released: Alternative
    alternatives: tuple[Alternative, ...]
    costs: dict[str, float]
    poor: tuple[str, ...]
    complete: bool

    @property
    def helps_most(self) -> str | None:
        """What would keep most with the same promises, in words; None if nothing would keep more."""
        same = [each for each in self.alternatives if not each.promises_less]
        if not same or same[0].kept_on_average <= self.released.kept_on_average:
            return None
        best, now = same[0].kept_on_average, self.released.kept_on_average
        return f"Most would help: {same[0].what}. Columns would then keep {best:.1%} on average, instead of {now:.1%}."

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return dataclasses.asdict(self)

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row for the release and for each alternative: what, kept on average and by column, suppressed."""
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
        """Return what matters most, in sentences."""
        lines = []
        if self.poor:
            lines.append(f"Little is left of {', '.join(self.poor)}.")
        if self.costs:
            name, gain = next(iter(self.costs.items()))
            lines.append(
                f"{name} costs most: if it were given up, the other columns would keep {gain:.1%} more on average."
            )
        return [*lines, self.helps_most] if self.helps_most else lines

    def __str__(self) -> str:
        return "\n".join([*self.said(), *("  ".join(row) for row in self.rows())])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(each)}</p>" for each in self.said())
        return said + html_table(self.headings, self.rows(), "What else there is")


def advise(
    release: Release,
    *,
    time_limit: float = 30.0,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
) -> Advice:
    """Try out what would keep more, for as long as there is time."""
    if release.search is None:
        raise PlanError(
            "there is no advice for this release, because it does not come from a single searched "
            "transformation. Ask the release you had before local recoding"
        )
    if release.statement is not None:
        raise PlanError(
            "there is no advice for a SafePub release: its transformation was chosen privately, and trying others on the data "
            "would reveal something about the data"
        )
    return _Advisor(release, time_limit, cancel or (lambda: False)).advise(progress)


def poor_columns(release: Release) -> list[str]:
    """Return the columns of which so little is left that advice is wanted, the poorest first."""
    kept = kept_by_column(release.outcome)
    return sorted((name for name in kept if kept[name] < POOR), key=kept.__getitem__)


class _Advisor:
    def __init__(self, release: Release, seconds: float, cancelled: Callable[[], bool]) -> None:
        assert release.search is not None
        assert release.plan is not None
        self.release, self.search, self.plan = release, release.search, release.plan
        self.end, self.cancelled = time.monotonic() + seconds, cancelled
        self.seconds, self.complete = seconds, True
        self.seen = {tuple(self.search.transformation.values())}
        self.kept = kept_by_column(release.outcome)
        self.poor = tuple(poor_columns(release))

    def advise(self, progress: ProgressLike) -> Advice:
        with following(progress) as shown:
            shown.phase("pricing each choice")
            share = max(0.1, 0.4 * self.seconds)
            self.prices = self.search.prices(time_limit=share, cancel=self.cancelled, progress=False)
            costs = self._costs()
            found: list[Alternative] = []
            for phase, tried in (
                ("trying without single columns", self._given_up(costs)),
                ("trying other levels", self._other_levels()),
                ("trying other parameters", self._parameters()),
                ("trying weights", self._weights()),
                ("trying local recoding", self._local()),
            ):
                shown.phase(phase)
                found += tried
        released = self._measured("as released", "", self.release)
        # What changes nothing is no alternative; that a promise costs nothing is worth knowing.
        found = [each for each in found if each.promises_less or not each.is_like(released)]
        found.sort(key=lambda each: (each.promises_less, -each.kept_on_average))
        return Advice(released, tuple(found), costs, self.poor, self.complete)

    def _time_is_left(self) -> bool:
        left = time.monotonic() < self.end and not self.cancelled()
        self.complete &= left
        return left

    def _measured(
        self, what: str, how: str, made: Release, *, less: bool = False, recipe: dict[str, Any] | None = None
    ) -> Alternative:
        levels = {} if made.search is None else made.transformation
        kept = kept_by_column(made.outcome)
        return Alternative(what, how, less, kept, made.suppressed, levels, recipe or {})

    # --- with the same promises ---------------------------------------------------------------------

    def _other_levels(self) -> Iterator[Alternative]:
        """The next best transformations, and the best in which something is left of a poor column."""
        names = list(self.search.transformation)
        nodes = self.search.nodes(state="anonymous", limit=MOST_NEXT + 1)
        further = [(at, each) for at, each in enumerate(nodes) if each.levels not in self.seen]
        for at, node in further[:MOST_NEXT]:
            yield from self._applied(
                f"the {_RANKS[at]}best transformation", dict(zip(names, node.levels, strict=True))
            )
        for name in self.poor[:MOST_COLUMNS]:
            finer = [
                each
                for each in self.prices
                if each.column == name
                and each.level < self.search.transformation[name]
                and each.transformation
            ]
            if finer:
                yield from self._applied(f"finer: {name}", finer[-1].transformation or {})

    def _costs(self) -> dict[str, float]:
        """Tell for each column how much more the others could keep without it, by the best transformation for that."""
        highest = dict(zip(self.search.transformation, self.search.explored.maximum, strict=True))
        self.without = {
            each.column: each.transformation
            for each in self.prices
            if each.transformation
            and each.level == highest[each.column] > self.search.transformation[each.column]
        }
        gains = {}
        for name, levels in self.without.items():
            if not self._time_is_left():
                break
            kept = kept_by_column(self.search.apply(levels).outcome)
            others = [other for other in kept if other != name]
            if others:
                gains[name] = sum(kept[other] - self.kept[other] for other in others) / len(others)
        return dict(sorted(((n, g) for n, g in gains.items() if g > 0), key=lambda item: -item[1]))

    def _given_up(self, costs: dict[str, float]) -> Iterator[Alternative]:
        for name in list(costs)[:MOST_COLUMNS]:
            yield from self._applied(f"{name} given up", self.without[name] or {})

    def _applied(self, what: str, levels: dict[str, int]) -> Iterator[Alternative]:
        key = tuple(levels.values())
        if key in self.seen or not self._time_is_left():
            return
        self.seen.add(key)
        made = self.search.apply(levels)
        if made.within_limit:
            recipe = {"minimum_levels": dict(levels), "maximum_levels": dict(levels)}
            yield self._measured(what, f"release.search.apply({levels})", made, recipe=recipe)

    # --- with other parameters ------------------------------------------------------------------------

    def _parameters(self) -> Iterator[Alternative]:
        limit = self.plan.suppression_limit
        more = 0.05 if limit == 0 else min(1.0, 2 * limit)
        if more > limit:
            yield from self._planned(
                f"suppression limit {more:g} instead of {limit:g}",
                f"suppression_limit={more:g}",
                suppression_limit=more,
            )
        for at, model in enumerate(self.plan.models):
            rest = self.plan.models[:at] + self.plan.models[at + 1 :]
            if rest:
                yield from self._planned(
                    f"without {model}", "leave it out of `models`", less=True, models=rest
                )
            elif isinstance(model, KAnonymity) and model.k > 2:
                smaller = KAnonymity(max(2, model.k // 2))
                yield from self._planned(
                    f"with {smaller} instead of {model}", f"models={smaller}", less=True, models=(smaller,)
                )

    def _weights(self) -> Iterator[Alternative]:
        """What heavier weights of poor columns would keep of them."""
        quality = self.plan.quality
        if not self.poor or not hasattr(quality, "weights") or quality.weights:
            return
        weights = dict.fromkeys(self.kept, 0.25) | dict.fromkeys(self.poor, 1.0)
        heavier = dataclasses.replace(quality, weights=weights)  # type: ignore[type-var]
        names = ", ".join(self.poor)
        yield from self._planned(
            f"{names} weighing four times as much", f"quality={heavier}", quality=heavier
        )

    def _planned(self, what: str, how: str, *, less: bool = False, **changes: Any) -> Iterator[Alternative]:
        if not self._time_is_left():
            return
        made = self._carried_out(changes)
        if made is not None:
            yield self._measured(what, how, made, less=less, recipe=_in_a_recipe(changes))

    def _carried_out(self, changes: dict[str, Any]) -> Release | None:
        from veil.api.anonymize import anonymize_source

        seconds = max(0.1, self.end - time.monotonic())
        limit = seconds if self.plan.time_limit is None else min(seconds, self.plan.time_limit)
        plan = dataclasses.replace(self.plan, **changes, time_limit=limit)
        source = self.release.outcome.source
        if isinstance(
            source, Stacked
        ):  # what is verified of several tables is what was asked for all of them
            source = dataclasses.replace(
                source, plan=plan, asked=dataclasses.replace(source.asked, **changes)
            )
        try:
            return anonymize_source(source, plan, cancel=self.cancelled)
        except NoSolutionError:
            return None

    def _local(self) -> Iterator[Alternative]:
        """Local recoding of what is suppressed or, where nothing may be, from the start."""
        from veil.local_recoding import FastIterative, FromTheStart

        mode = FastIterative() if self.release.suppressed else FromTheStart()
        first: Release | None = self.release
        if not self._time_is_left() or (self.plan.suppression_limit and not self.release.suppressed):
            return
        try:
            if not self.release.suppressed:
                plan = mode.first(self.plan)
                changes = {"quality": plan.quality, "suppression_limit": plan.suppression_limit}
                first = self._carried_out(changes)
            if first is None:
                return
            seconds = max(0.1, self.end - time.monotonic())
            made = first.local_recoding(mode, time_limit=seconds, progress=False, cancel=self.cancelled)
        except VeilError:
            return  # of a model that cannot be recoded locally
        if first is not self.release and not self._time_is_left():
            return  # records that it had no time for are suppressed still, and would not be
        how = "release.local_recoding()" if first is self.release else f"local={mode}"
        yield self._measured("local recoding", how, made, recipe={"local_recoding": mode.kind})


def _in_a_recipe(changes: dict[str, Any]) -> dict[str, Any]:
    """Spell what is different as the fields of a recipe."""

    def spelled(value: Any) -> Any:
        if isinstance(value, tuple):
            return [spelled(each) for each in value]
        return shorten(spell_value(value)) if dataclasses.is_dataclass(value) else value

    return {name: spelled(value) for name, value in changes.items()}
