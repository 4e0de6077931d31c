"""Local recoding: the suppressed records of a release are transformed again, on their own.

A release generalizes all records alike, and suppresses those that are not protected that way. These may
protect each other on other levels, so each pass searches for the best transformation of the records that are
still suppressed, with the models, the quality model and the strategy of the plan, and publishes the records
that it protects. Distributions of sensitive values are always compared with those of the whole table, and
k-map for an estimated population keeps the k' of the whole table; the score is that of the pass alone.

Why all promises still hold: a class that a pass accepts is published as it is, unless a class of an earlier
pass has the same labels, which can happen where a label occurs on two levels. The two classes are then
published as one. That does no harm to models that survive a union (`PrivacyModel.survives_union`). For others
that judge class by class (δ-disclosure privacy, entropy diversity after Grassberger) the whole table is
checked after each pass. If it breaks a promise, the records that joined an earlier class stay suppressed, and
if that does not help, all of the pass do. If owners may have several rows, only models that need nothing but
enough owners survive a union; the others are checked in the same way. Models that judge all classes together,
and those with a research subset, are refused. At the end the verifier checks the whole output.

Records whose every cell would become `*` stay suppressed, as in ARX.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from veil.base.exact import least_count
from veil.base.progress import Progress, ProgressLike, following
from veil.base.wording import plural
from veil.classes.encoding import Levels
from veil.classes.owner_sample import by_owner
from veil.classes.owners import OwnersBySignature
from veil.errors import ParameterError, PlanError, Say
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Limits, Search
from veil.models.base import PrivacyModel, SampleCriterion
from veil.outcome.assemble import assemble
from veil.outcome.generalize import Choice
from veil.outcome.outcome import Outcome, prepared_part, without_rows
from veil.outcome.result import Pass, Passes, RecodedPart
from veil.plan.prepare import Prepared
from veil.plan.recoding import Cells, Mode, PassOptions, Subtree, with_factor
from veil.tables.source import Source
from veil.verification.recoded import verify_models_by_part


def recode(
    outcome: Outcome,
    mode: Mode,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: ProgressLike | Progress = None,
    cancel: Callable[[], bool] | None = None,
) -> Outcome:
    """Transform the suppressed records of an outcome again; see `Release.local_recoding`.

    If nothing can be recoded, there are no passes, and `ending` is the reason.

    >>> import pyarrow as pa
    >>> import veil
    >>> from veil import KAnonymity, hierarchies as h
    >>> release = veil.anonymize(
    ...     pa.table({"age": [23, 23, 34, 38]}),
    ...     quasi_identifiers={"age": h.intervals(10, 20)},
    ...     models=KAnonymity(2),
    ...     quality=veil.quality.Loss(factor=0),
    ...     suppression_limit=0.5,
    ...     order="input",
    ... )
    >>> release.table["age"].to_pylist()
    [23, 23, None, None]
    >>> from veil.recoding import FastIterative
    >>> recoded = release.local_recoding(FastIterative(0.5))
    >>> recoded.table["age"].to_pylist(), recoded.passes[0].transformation, recoded.ending
    (['23', '23', '[30, 40[', '[30, 40['], {'age': 1}, 'nothing is suppressed any more')
    """
    if not isinstance(mode, Mode):
        raise ParameterError(f"`mode` should be SinglePass(), Iterative() or FastIterative(), not {mode!r}")
    if outcome.statement is not None:
        raise PlanError(
            "the transformation of a SafePub release was chosen privately and cannot be changed afterwards. "
            "SafePub(..., 1e-4, generalization={...}) releases one that was chosen without looking at the data"
        )
    if outcome.plan is None or outcome.prepared is None:
        raise PlanError(
            "only a release of `veil.anonymize` without `parts` can be recoded locally: masking suppresses "
            "no records, and parts already have their own transformations"
        )
    if isinstance(outcome.plan.recoding, Cells | Subtree):
        raise PlanError(
            f"{outcome.plan.recoding} has tried every recoding for the records that are suppressed: allow fewer of "
            "them (",
            Say("suppression_limit"),
            "), or recode in passes from the start (",
            Say("recoding", "FromTheStart"),
            ")",
        )
    prepared = replace(outcome.prepared, plan=replace(outcome.prepared.plan, recoding=mode))
    recoder = Recoder(prepared, outcome.parts, outcome.suppressed_mask, outcome.passes)
    seconds = prepared.plan.time_limit if time_limit is None else time_limit
    with following(progress) as tracker:
        ending = recoder.run_passes(
            mode, math.inf if seconds is None else seconds, threads, tracker, cancel or (lambda: False)
        )
        tracker.phase("applying")
        recoded_outcome = assemble(
            outcome.source,
            prepared,
            recoder.parts,
            recoder.hidden,
            shuffle=outcome.plan.order == "random" and prepared.rows.weights.are_one,
        )
        last = recoded_outcome.last
        return recoded_outcome.changed(
            facts={"ending": ending},
            suppression=replace(last.suppression, over_limit=outcome.last.suppression.over_limit),
            traces=(*last.traces, Passes(tuple(recoder.passes))),
        )


def recodable(prepared: Prepared) -> list[PrivacyModel]:
    """Return the models as they apply to some of the records, or refuse."""
    models: list[PrivacyModel] = []
    for model in prepared.plan.searched_models:
        sample = by_owner(prepared.sample, model.views[0])
        if not model.survives_union and isinstance(model.bind(sample), SampleCriterion):
            raise PlanError(
                f"records cannot be recoded locally under {model}: what holds for two sets of records "
                "separately need not hold for both together. Use a model that judges classes, such as "
                "KAnonymity"
            )
        models.append(model.for_part(sample))
    return models


class Recoder:
    """The records that are published so far, by their levels, and those still suppressed."""

    def __init__(
        self,
        prepared: Prepared,
        parts: Sequence[RecodedPart],
        suppressed_mask: NDArray[np.bool_],
        passes: Sequence[Pass] = (),
    ) -> None:
        self.prepared = prepared
        self.models = models = recodable(prepared)
        owner_samples = [by_owner(prepared.sample, model.views[0]) for model in models]
        self.smallest = max(
            model.minimal_class_size(each) for model, each in zip(models, owner_samples, strict=True)
        )
        self.survives = all(model.survives_union for model in models)
        if not prepared.sample.persons.are_records:
            self.survives = all(
                model.bind(each) is None for model, each in zip(models, owner_samples, strict=True)
            )
        self.parts = list(parts)
        self.hidden: NDArray[np.bool_] = suppressed_mask.copy()
        self.passes = list(passes)
        self.failure = ""
        self.hopeless = False  # whether no other factor can help after a pass that recoded nothing

    @staticmethod
    def of_choice(prepared: Prepared, choice: Choice) -> Recoder:
        """Start with the records that a node of the lattice protects."""
        node = choice.evaluator.judge(choice.levels, prepared.sample.table).node
        groups = prepared.sample.classes_of_rows(choice.levels)[1]
        hidden = node.rejected.astype(np.bool_)[groups]
        return Recoder(prepared, [RecodedPart(choice.levels, np.flatnonzero(~hidden))], hidden)

    def run_passes(
        self,
        mode: Mode,
        seconds: float,
        threads: int | None,
        tracker: Progress,
        is_cancelled: Callable[[], bool],
    ) -> str:
        """Make the passes of a mode within some seconds, and return why they ended."""
        until, before = time.perf_counter() + seconds, self.left
        passes = mode.passes()
        options = next(passes)
        while (ending := self.obstacle()) is None:
            if is_cancelled() or time.perf_counter() >= until:
                return "it was cancelled" if is_cancelled() else "the time was over"
            tracker.phase(f"recoding, pass {len(self.passes) + 1}")
            recoded = self.run(options, threads, until - time.perf_counter(), is_cancelled)
            left = self.left
            tracker.advance(
                before - left, before, f"{plural(left, 'record is', 'records are')} still suppressed"
            )
            try:
                options = passes.send(recoded)
            except StopIteration:
                return self.obstacle() or ("all passes were made" if recoded else self.failure)
            if not recoded and self.hopeless:
                return self.failure
        return ending

    @property
    def left(self) -> int:
        """Number of records that are still suppressed."""
        return self.prepared.records(self.hidden)

    @property
    def people_left(self) -> int:
        """Number of owners with a suppressed record."""
        return self.prepared.rows.people_in(self.hidden)

    def obstacle(self) -> str | None:
        """Describe why no further pass is possible; None if one is."""
        left = self.people_left
        if left == 0:
            return "nothing is suppressed" + (" any more" if self.passes else "")
        if left < self.smallest:
            what = "records are suppressed" if self.prepared.rows.owners.are_records else "people lose a row"
            return f"only {left} {what}, and a class needs {self.smallest}"
        return None

    def run(
        self, options: PassOptions, threads: int | None, seconds: float, cancelled: Callable[[], bool]
    ) -> int:
        """Make one pass and return how many records it recoded."""
        plan, rows = self.prepared.plan, np.flatnonzero(self.hidden)
        some = prepared_part(self.prepared, rows)
        quality = with_factor(plan.quality, options.factor)
        evaluator = Evaluator(some.sample, self.models, quality, plan.suppression_limit)
        if options.share is not None:
            left = self.people_left
            least = least_count(options.share, by_owner(self.prepared.sample).records)
            evaluator.allow(left - min(left, least))
        limits = Limits(min(plan.seconds, seconds), plan.check_limit or math.inf, cancelled)
        result = Search(evaluator, some.minimum, some.maximum, limits=limits, threads=threads).run(
            plan.strategy
        )
        if result.best is None:
            records_only = some.sample.persons.are_records
            allowed = evaluator.allowed if records_only else evaluator.allowed_people
            whose = "" if records_only else f" of {self.people_left} people"
            self.failure = (
                f"no transformation was found for the {self.left} suppressed records{whose} that leaves at most "
                f"{allowed} of them suppressed"
            )
            self.hopeless = result.proven
            return 0
        self.hopeless = not hasattr(quality, "factor")
        levels, score = result.best.levels, result.best.score
        recoded = self._harmless(levels, rows[_worth_it(evaluator, some, levels)])
        if not recoded.size:
            return 0
        count = self.prepared.records(recoded)
        self.parts.append(RecodedPart(levels, recoded))
        self.hidden[recoded] = False
        assert score is not None
        self.passes.append(
            Pass(
                dict(zip(some.encoding.names, levels, strict=True)),
                count,
                score[0] if len(score) == 1 else score,
                getattr(quality, "factor", None),
                result.proven,
            )
        )
        return count

    def _harmless(self, levels: Levels, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the rows that can be published on these levels without breaking a promise."""
        self.failure = "the last pass recoded nothing"
        if self.survives or not rows.size:
            return rows
        together = self._with(RecodedPart(levels, rows))
        if _promises_hold(together):
            return rows
        self.failure = "classes of the last pass would have become one with others, and broken a promise"
        if self.prepared.plan.knows == "all rows":
            return rows[:0]  # an owner is published with all rows, or with none
        rows = np.setdiff1d(rows, _rows_in_earlier_classes(together, rows))
        return rows if rows.size and _promises_hold(self._with(RecodedPart(levels, rows))) else rows[:0]

    def _with(self, new: RecodedPart) -> Outcome:
        hidden = self.hidden.copy()
        hidden[new.rows] = False
        # Which cells of suppressed records may be shown is decided at the end.
        source = Source(self.prepared.table, "pyarrow")
        return without_rows(assemble(source, self.prepared, [*self.parts, new], hidden))


def _promises_hold(outcome: Outcome) -> bool:
    return all(finding.holds for finding in verify_models_by_part(outcome))


def _rows_in_earlier_classes(outcome: Outcome, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    published = outcome.by_records
    origins = outcome.origins[~published.suppressed]
    new = np.isin(origins, rows)
    earlier = np.zeros(published.sizes.size, np.bool_)
    earlier[published.classes[~new]] = True
    return origins[new & earlier[published.classes]]


def _worth_it(evaluator: Evaluator, some: Prepared, levels: Levels) -> NDArray[np.bool_]:
    """Return which rows are in an accepted class with a label other than `*`."""
    node = evaluator.judge(levels, some.sample.table).node
    kept_mask = node.rejected == 0
    star = some.encoding.class_without_information(levels, node.table.keys)
    # Aggregates are information too, and groups that span classes may depend on these records.
    if star >= 0 and not some.plan.microaggregated and not evaluator.settling:
        people = node.table.people
        if isinstance(people, OwnersBySignature):
            star_mask = np.logical_and.reduce([word == word[star] for word in node.table.keys])
            informative_mask = np.zeros(people.people.size, np.bool_)
            informative_mask[people.signatures[~star_mask]] = True
            kept_mask &= informative_mask[people.signatures]  # all rows of an owner are published, or none
        else:
            kept_mask[star] = False
    groups = some.sample.classes_of_rows(levels)[1]
    worth_it: NDArray[np.bool_] = kept_mask[groups]
    return worth_it
