"""The verb release: masks and a search in one release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa

from veil.api.anonymize import anonymize, anonymize_source
from veil.api.mask import apply_masks, check_masks, mask
from veil.api.open import Engine, check_people, fetch_all, open_source
from veil.api.owners import rows_to_mask
from veil.api.release import Release
from veil.base.keywords import own_keywords
from veil.base.progress import ProgressLike, following
from veil.base.randomness import Randomness
from veil.dp.accountant import Accountant
from veil.errors import PlanError, Say
from veil.outcome.masked import Masked
from veil.outcome.method import Method
from veil.plan.plan import ASK, Plan
from veil.tables import Format
from veil.tables.rows import Rows

Step = Method | Plan


@own_keywords
def release(
    source: Any,
    steps: Step | Iterable[Step],
    *,
    person: str | None = ASK,
    order: Literal["random", "input"] = "random",
    format: Format | Mapping[str, Format] | None = None,
    engine: Engine = "auto",
    accountant: Accountant | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
    for_testing_seed: int | None = None,
) -> Release:
    """Carry out steps on a table, one after the other.

    Parameters
    ----------
    source
        As for `veil.anonymize`. Masks before a search need the rows in memory.
    steps
        Masking methods, a `Plan`, or masking methods and then a `Plan`. The promises of a plan hold for the release, those of a masking method for what it makes of its input. Risks
        before and utility are compared with what the methods made; `steps` of the release says what they changed.
    person, order
        As for `veil.anonymize`. Those of a plan count, if they are not given here.
    format, engine, accountant, threads, progress, cancel, for_testing_seed
        As for `veil.anonymize` and `veil.mask`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from veil import KAnonymity, Plan
    >>> from veil.masking import Rounding
    >>> patients = pa.table({"age": [23, 27, 34, 38], "income": [1510, 1890, 2230, 2410]})
    >>> plan = Plan({"age": "suppression"}, KAnonymity(2), others="keep")
    >>> made = release(patients, [Rounding("income", 500), plan])
    >>> [type(each.step).__name__ for each in made.outcome.steps], sorted(made.table["income"].to_pylist())
    (['Rounding', 'Plan'], [1500, 2000, 2000, 2500])
    """
    methods, plan = in_order([steps] if isinstance(steps, Step) else list(steps))
    options: dict[str, Any] = {"format": format, "engine": engine, "progress": progress}
    drawing: dict[str, Any] = {"accountant": accountant, "for_testing_seed": for_testing_seed}
    if plan is None:
        return mask(source, methods, person=person, order=order, **options, **drawing)
    plan = replace(
        plan,
        person=plan.person if person == ASK else person,
        order=plan.order if order == "random" else order,
    )
    if not methods:
        return anonymize(source, plan, threads=threads, cancel=cancel, **options, **drawing)
    if accountant is not None or isinstance(source, Mapping) or isinstance(format, Mapping):
        raise PlanError("masks before a search are for one table, and have no account: leave the masks out")
    check_together(methods, plan)
    randomness = Randomness() if for_testing_seed is None else Randomness.for_testing(for_testing_seed)
    with following(progress) as tracker:
        tracker.phase("reading the table")
        table = open_source(source, format, engine, fetch_all)
        rows = rows_before_search(table.table, methods, plan)
        masks = apply_masks(
            table, rows, methods, plan.person_column, "input", randomness, tracker, is_last=False
        )
        for name in masks.apart.keys() - masks.secret:
            raise PlanError(
                f"table {name!r} goes with the release, and a search cannot judge both: leave masks out"
            )
        return anonymize_source(Masked.of(masks), plan, threads=threads, cancel=cancel, progress=tracker)


def rows_before_search(table: pa.Table, methods: Sequence[Method], plan: Plan) -> Rows:
    """Return the rows that masks before a search change; refuse people who are undecided, or whom masks would show."""
    check_people(table, plan)
    return rows_to_mask(table, plan.person_column, methods, plan.order)


def in_order(steps: Sequence[Step]) -> tuple[list[Method], Plan | None]:
    """Return masks and plan; refuse another order, and more than one plan."""
    for each in steps:
        if not isinstance(each, Step):
            raise PlanError(f"a step should be a masking method or a Plan, not {each!r}")
    plans = [at for at, each in enumerate(steps) if isinstance(each, Plan)]
    if plans not in ([], [len(steps) - 1]):
        raise PlanError(
            "steps should be masking methods, then one plan: a search does not know what a later step would do to "
            "its promises. Move the masking methods to the front"
        )
    return (
        [each for each in steps if isinstance(each, Method)],
        next((each for each in steps if isinstance(each, Plan)), None),
    )


def check_together(methods: Sequence[Method], plan: Plan) -> None:
    """Refuse masks whose output would make the promises of a plan mean something else.

    A model of sensitive values would hold for masked values: where everybody has the same disease, noise makes
    several of it. People are told apart by what the input says, and a research subset names its rows.
    """
    check_masks(methods, plan.order)
    judged = {name: model for model in plan.models for name in model.attribute_names}
    for method in methods:
        for name in method.column_names:
            if name in judged:
                raise PlanError(
                    f"{type(method).__name__} changes {name!r}, and {judged[name]} would hold for the changed values, "
                    "not for those of people. Leave that step or that model out"
                )
            if name == plan.person_column:
                raise PlanError(
                    f"{type(method).__name__} changes {name!r}, by which people are told apart. Leave that step out; ",
                    Say("identifying"),
                    f" of the plan makes pseudonyms: {{{name!r}: 'pseudonym'}}",
                )
    for model in plan.models:
        if model.over_neighbours or model.subset is not None:
            raise PlanError(
                f"{model} is about the rows of the input, and masks come before it: leave the masks out"
            )
    if plan.items:
        raise PlanError(
            "sets of items are generalized without masks before: leave ", Say("items"), " or masks out"
        )
