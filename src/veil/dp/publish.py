"""Carry out SafePub: a table and a plan become a private outcome. The proof is in `veil.dp.safepub`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, NoReturn, Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.classes.encoding import Encoding, Levels
from veil.classes.sample import Sample
from veil.dp.accountant import Accountant
from veil.dp.domain import in_domain
from veil.dp.safepub import SafePub, draw_sample
from veil.dp.scores import RetentionScore, score_function
from veil.dp.unit import Unit
from veil.dp.walk import FINAL_SHARE, Scorer, Scores, Walk, private_search, published_search
from veil.errors import NoSolutionError, PlanError, Say, did_you_mean
from veil.hierarchies import Categories, File, Hierarchy, Table
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import BestNode
from veil.lattice.space import Space
from veil.models import KAnonymity
from veil.outcome.generalize import Choice, generalize
from veil.outcome.outcome import Outcome
from veil.outcome.result import Privacy
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, encode, prepare
from veil.quality import QualityModel
from veil.tables import Source
from veil.tables.cells import Cells
from veil.tables.rows import Rows, Weights


class Drawable(Protocol):
    """A source in an engine, which draws the sample itself."""

    def draw(self, probability: Fraction, randomness: Randomness) -> Source:
        """Return a random sample of the rows, condensed to the same columns."""
        ...


def safepub_of(plan: Plan) -> SafePub | None:
    """Return the plan's SafePub model, if it has one, after checking that plan and model fit together."""
    safepubs = [model for model in plan.models if isinstance(model, SafePub)]
    if not safepubs:
        return None
    if len(safepubs) > 1:
        raise PlanError(
            "a plan can have only one SafePub model: two releases need two plans, and spend two budgets"
        )
    for model in plan.models:
        if model.subset is not None:
            raise PlanError(
                f"SafePub draws its own random sample and cannot be combined with {model}, which itself "
                "selects the rows to release: leave one of them out"
            )
        if not isinstance(model, SafePub | KAnonymity):
            raise PlanError(
                f"SafePub cannot be combined with {model}: what that model suppresses would reveal records "
                "that are not published. Only KAnonymity can be combined with it"
            )
    if plan.choose_by != "all columns":
        raise PlanError(
            "SafePub chooses its transformation at random, which already protects the choice: leave it at "
            "the default (",
            Say("choose_by", "all columns"),
            ")",
        )
    for name in (*plan.sensitive, *plan.insensitive):
        _refuse_column(name)
    for name in plan.microaggregated:
        raise PlanError(
            f"column {name!r} is microaggregated: SafePub proves nothing about means of exact values. Give it a "
            "hierarchy instead"
        )
    if safepubs[0].generalization is None:
        _refuse_limits(plan, safepubs[0].steps)
    if safepubs[0].rows_per_person is not None and plan.person_column is None:
        raise PlanError(
            "`rows_per_person` of SafePub is for people with several rows: name the column that tells people "
            "apart in ",
            Say("person"),
        )
    return safepubs[0]


def _refuse_limits(plan: Plan, steps: int) -> None:
    """Refuse limits that end a search early: the proof needs a fixed number of steps, each with its budget.

    How far a search gets within a time depends on the data, so its result would leak information about them.
    """
    reasons = {
        "time_limit": "how far it gets in a given time depends on the data, and would tell of them",
        "check_limit": "each of its steps has a share of the budget beforehand",
    }
    for name, why in reasons.items():
        if getattr(plan, name) is not None:
            raise PlanError(
                f"`{name}` cannot end a private search: {why}. Leave it out; fewer `steps` of SafePub than "
                f"the {steps} it takes here are faster, for example SafePub(..., 1e-4, "
                f"steps={max(1, steps // 3)})"
            )


def publish(
    source: Source,
    plan: Plan,
    *,
    accountant: Accountant | None = None,
    randomness: Randomness | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Outcome:
    """Return the outcome of a plan with a SafePub model.

    The plan's suppression limit does not apply, and suppressed rows are always dropped: see
    `veil.dp.safepub`. Limits cannot end the search early, as the result would not be private.

    Parameters
    ----------
    accountant
        The account that epsilon and delta are charged to, before anything is drawn.
    randomness
        By default the operating system's. `Randomness.for_testing(seed)` marks the release as not private.
    cancel
        Called before each transformation is scored; True ends the run, and nothing is released. Spent budget
        stays spent. Do not cancel by the clock: repeating until a run is quick enough lets its time, which
        depends on the data, influence the choice.

    >>> import pyarrow as pa
    >>> from veil import hierarchies as h
    >>> from veil.tables import read
    >>> people = pa.table({"sex": ["f", "m"] * 500})
    >>> plan = Plan({"sex": h.table([["f", "*"], ["m", "*"]])}, SafePub(1, 1e-4), person=None)
    >>> outcome = publish(read(people), plan, randomness=Randomness.for_testing(1))
    >>> outcome.levels, outcome.is_private
    ({'sex': 0}, False)
    """
    model = safepub_of(plan)
    if model is None:
        raise PlanError("the plan has no SafePub model")
    if plan.order == "input":
        raise PlanError(
            "SafePub releases rows in random order, because their positions would reveal who was sampled: "
            "leave ",
            Say("order"),
            " out",
        )
    source = source.cells().only_records()
    there = source.columns or source.table.column_names
    plan.check_columns(there)
    for name in there:
        if plan.role_of(name) == "insensitive":
            _refuse_column(name)
    if accountant is not None:
        accountant.check_data(source)
    chance = randomness or Randomness()
    protects = ""
    if plan.person_column is not None:
        model = replace(model, rows_per_person=model.rows_per_person or 1)
        protects = f" of people by {plan.person_column!r}, each with all rows"
        people = Cells.of(source.table[plan.person_column], source.format)
        rows, _ = Unit(plan.person_column, model.rows_per_person or 1).draw(
            people, Weights(source.table.num_rows), chance
        )
        # The frame and the file have all rows: from here on, this is a separate table.
        source = replace(source, table=source.table.take(pa.array(rows)), is_cells=True)
        plan = replace(plan, person=None)
    builders = plan.quasi_identifiers
    plan = replace(
        plan,
        quasi_identifiers={name: _public(each, name) for name, each in plan.quasi_identifiers.items()},
        models=tuple(model if isinstance(each, SafePub) else each for each in plan.models),
        suppression_limit=1.0,
        suppressed_rows="drop",
    )
    hierarchies = plan.quasi_identifiers
    source = in_domain(source, hierarchies)
    # Whether there are k records, or any, must not be revealed: with fewer, the release is empty.
    whole = prepare(
        source.table,
        replace(plan, models=(KAnonymity(1),)),
        source.weights,
        source.columns,
        may_be_empty=True,
    )
    # The plan keeps the builders of its hierarchies, so that a recipe can name their files.
    whole = replace(whole, plan=replace(plan, quasi_identifiers=builders))
    mechanism = Mechanism(
        model, whole.encoding, whole.codes, whole.minimum, whole.maximum, plan.quality, records=source.records,
        smallest=max(each.minimal_class_size(whole.sample) for each in plan.models), whole=whole.sample,
        cancel=cancel,
    )  # fmt: skip
    if accountant is not None:
        if not model.is_proven:
            raise PlanError(
                "the privacy cost of the search as published is unknown, so no budget can account for it"
            )
        accountant.spend(
            f"release by {model}{protects}",
            model.epsilon,
            model.budgets().delta,
            neighbours="one more or less",
            alone=model.acquisition_sampling is not None,
        )
    if source.kind == "engine":
        levels, walk = mechanism.choose(chance)
        sample = in_domain(cast("Drawable", source).draw(mechanism.beta, chance), hierarchies)
        return _outcome(sample, _prepare_sample(whole, sample), levels, model, walk, chance.is_private)
    rows, levels, walk = mechanism.run(chance)
    return _outcome(source, _take_rows(whole, rows), levels, model, walk, chance.is_private)


def _take_rows(whole: Prepared, rows: NDArray[np.int64]) -> Prepared:
    """Return some rows as a separate table."""
    codes = tuple(column[rows] for column in whole.codes)
    attributes = tuple(replace(each, codes=each.codes[rows]) for each in whole.sample.attributes)
    squares = whole.plan.quality.needs_squares
    sample = Sample(whole.encoding, list(codes), attributes, squares=squares)
    return replace(whole, rows=whole.rows.take(rows), sample=sample, codes=codes)


def _prepare_sample(whole: Prepared, source: Source) -> Prepared:
    """Return the condensed rows that an engine has drawn as a separate table."""
    pairs = zip(whole.encoding.names, whole.encoding.hierarchies, strict=True)
    rows = Rows.of(source.table, source.weights)
    codes = [encode(rows.table[name], hierarchy, name, rows.weights)[1] for name, hierarchy in pairs]
    squares = whole.plan.quality.needs_squares
    sample = Sample(whole.encoding, codes, weights=rows.weights, squares=squares)
    return replace(whole, rows=rows, sample=sample, codes=tuple(codes))


class Mechanism:
    """SafePub on coded rows: all random steps, without frames and files.

    `records` is their number, if rows are weighted. Classes below `smallest` are suppressed: k, unless
    another model requires more. `whole` is the sample of all rows, if it exists already. `final_share` is the
    part of the search's budget for its last choice.
    """

    def __init__(
        self,
        model: SafePub,
        encoding: Encoding,
        codes: Sequence[NDArray[np.int32]],
        minimum: Levels,
        maximum: Levels,
        quality: QualityModel,
        *,
        records: int | None = None,
        smallest: int | None = None,
        whole: Sample | None = None,
        final_share: Fraction = FINAL_SHARE,
        cancel: Callable[[], bool] | None = None,
    ) -> None:
        self.cancel = cancel or (lambda: False)
        self.model, self.encoding, self.codes = model, encoding, tuple(codes)
        self.minimum, self.maximum, self.final_share = minimum, maximum, final_share
        self.records = records or int(self.codes[0].size)
        self.budgets = model.row_budgets()
        self.beta = model.parameters().drawn
        self.smallest = smallest or model.parameters().k
        self.whole = whole or Sample(encoding, list(codes))
        self.fixed = None if model.generalization is None else self._check_levels(model.generalization)
        if self.fixed is None:
            retention = RetentionScore.below(self.smallest)
            if model.final == "private":
                # Around the class size of which, on average, `smallest` records are drawn.
                size = -(-self.smallest // self.beta)
                retention = RetentionScore(int(size) // 2, int(size) // 2 + int(size))
            self.function = score_function(quality, encoding, retention)

    def run(self, randomness: Randomness) -> tuple[NDArray[np.int64], Levels, Walk | None]:
        """Return the drawn rows in random order, the scheme, and the walk that led to it."""
        if self.fixed is None and self.model.final == "as_published":
            rows = draw_sample(self.records, self.beta, randomness)
            walk = published_search(
                self._scores(self.sample(rows)),
                self.function.published(self.smallest, len(self.codes)), self.minimum, self.maximum,
                epsilon=self.budgets.search, steps=self.model.steps, randomness=randomness,
            )  # fmt: skip
            return rows, walk.chosen, walk
        levels, trace = self.choose(randomness)
        return draw_sample(self.records, self.beta, randomness), levels, trace

    def choose(self, randomness: Randomness) -> tuple[Levels, Walk | None]:
        """Return the scheme and the walk that led to it, independently of the sample."""
        if self.fixed is not None:
            return self.fixed, None
        if self.model.final == "as_published":
            raise PlanError(
                "the search as published reads the sampled rows, which an engine does not return. Leave "
                "`final` at its default"
            )
        walk = private_search(
            self._scores(self.whole), self.function.spread, self.minimum, self.maximum,
            epsilon=self.budgets.search, steps=self.model.steps, randomness=randomness,
            final_share=self.final_share,
        )  # fmt: skip
        return walk.chosen, walk

    def _scores(self, sample: Sample) -> Scores:
        """Return a function that scores the schemes of a sample, and calls `cancel` before each.

        A cancelled run returns nothing, not even the best scheme so far, so that the choice stays private.
        """
        scorer = Scorer(sample, self.function, self.minimum)

        def scores(levels: Levels) -> Fraction:
            if self.cancel():
                raise NoSolutionError(
                    "the private search was cancelled, and nothing is released: the best so far would not be private. "
                    "Fewer `steps` of SafePub take less time"
                )
            return scorer(levels)

        return scores

    def sample(self, rows: NDArray[np.int64]) -> Sample:
        """Return some rows, collapsed."""
        return Sample(self.encoding, [column[rows] for column in self.codes])

    def _check_levels(self, generalization: dict[str, int]) -> Levels:
        names = self.encoding.names
        for name in generalization:
            if name not in names:
                raise PlanError(
                    f"`generalization` of SafePub names {name!r}, which is not a "
                    f"quasi-identifier.{did_you_mean(name, names)}"
                )
        for name, least, most in zip(names, self.minimum, self.maximum, strict=True):
            if name not in generalization:
                raise PlanError(f"`generalization` of SafePub should also give a level for column {name!r}")
            if not least <= generalization[name] <= most:
                raise PlanError(
                    f"`generalization` of SafePub should give column {name!r} a level from {least} to {most}, "
                    f"not {generalization[name]}"
                )
        return tuple(generalization[name] for name in names)


@dataclass(frozen=True)
class PrivateChoice(Choice):
    """A scheme that was chosen privately, with its model and the walk of the search."""

    model: SafePub | None = None
    walk: Walk | None = None


def _outcome(
    source: Source, prepared: Prepared, levels: Levels, model: SafePub, walk: Walk | None, private: bool
) -> Outcome:
    """Apply the scheme to the sample."""
    evaluator = Evaluator(prepared.sample, prepared.plan.models, prepared.plan.quality, 1.0)
    evaluation, _ = evaluator.evaluate(levels, prepared.sample.table, score=True)
    space = Space(prepared.minimum, prepared.maximum, evaluator.allowed, {levels: evaluation})
    scheme = Choice(levels, BestNode(evaluation, space, proven=False), evaluator)
    outcome = generalize(source, prepared, scheme, shuffle=False)  # the rows were drawn in a random order
    statement = model.statement()
    if not private:
        statement = f"NOT PRIVATE: drawn from a seed, for testing. Otherwise: {statement}"
    chosen = outcome.trace(Choice)
    assert chosen is not None
    table = outcome.table if outcome.is_condensed else _rebuild(outcome.table)
    choice = {each.name: getattr(chosen, each.name) for each in fields(Choice)}
    return outcome.changed(
        table=table,
        traces=(prepared, PrivateChoice(**choice, model=model, walk=walk)),
        privacy=Privacy(statement, private and model.is_proven),
    )


def _rebuild(table: pa.Table) -> pa.Table:
    """Return a table of text whose memory layout depends on its cells only, not on rows left out."""
    columns = {}
    for name in table.column_names:
        coded = table[name].cast(pa.string()).combine_chunks().dictionary_encode()
        columns[name] = coded.dictionary.take(coded.indices)
    return pa.table(columns)


def _public(builder: Any, name: str) -> Hierarchy:
    """Return a hierarchy that does not depend on the data, or refuse."""
    is_public = isinstance(builder, Hierarchy | File | Table) or (
        isinstance(builder, Categories) and builder.other is None
    )
    if not is_public:
        raise PlanError(
            f"the hierarchy of column {name!r} is made from the data ({builder}), and would reveal which "
            "values occur. With SafePub, list all possible values yourself, or build the hierarchy over "
            "all of them: for example "
            f"h.intervals(5, 10).build(pa.array(range(120)), [1] * 120, {name!r})"
        )
    hierarchy: Hierarchy = builder.build(pa.array([], pa.string()), np.empty(0, np.int64), name)
    # Whether missing or unlisted values occur must not be visible.
    return hierarchy.with_missing()


def _refuse_column(name: str) -> NoReturn:
    raise PlanError(
        f"column {name!r} would be published unchanged, without protection. With SafePub, every published "
        "column is a quasi-identifier with a hierarchy; ",
        Say("maximum_levels"),
        " 0 keeps its values. Or drop it (",
        Say("others", "drop"),
        ")",
    )
