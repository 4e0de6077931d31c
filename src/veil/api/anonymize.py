"""The verbs: anonymize, assess, verify."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from veil.api.open import Engine, _engine, _opened
from veil.api.release import Release
from veil.base.progress import Progress, following
from veil.base.randomness import Randomness
from veil.dp.accountant import Accountant
from veil.dp.safepub import SafePub
from veil.errors import NoSolutionError, PlanError
from veil.lattice import Strategy
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Found, Limits, Search
from veil.models import PrivacyModel
from veil.plan.plan import Aggregation, Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import QualityModel
from veil.tables import Format

ProgressLike = bool | Callable[[str, int, int, str], None] | None


def anonymize(
    source: Any,
    *,
    quasi_identifiers: Mapping[str, Any],
    models: PrivacyModel | Iterable[PrivacyModel],
    sensitive: str | Iterable[str] = (),
    insensitive: str | Iterable[str] = (),
    identifying: str | Iterable[str] | Mapping[str, Literal["remove", "mask"]] = (),
    microaggregated: Mapping[str, Aggregation] | None = None,
    others: Literal["keep", "drop"] | None = None,
    quality: str | QualityModel = "loss",
    suppression_limit: float = 0.0,
    minimum_levels: Mapping[str, int] | None = None,
    maximum_levels: Mapping[str, int] | None = None,
    strategy: str | Strategy = "auto",
    time_limit: float | None = None,
    check_limit: int | None = None,
    suppressed_rows: Literal["keep", "drop"] = "keep",
    marker: str | None = "*",
    format: Format | None = None,
    engine: Engine = "auto",
    threads: int | None = None,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
    accountant: Accountant | None = None,
    for_testing_seed: int | None = None,
) -> Release:
    """Find the best transformation of a table that keeps every promise, apply it and verify the result.

    Parameters
    ----------
    source
        A pandas, polars or pyarrow table, or the path of a CSV, Parquet, Feather or Excel file. Or a table that an
        engine holds (see `veil.engines`): an Ibis table, a Spark DataFrame, a table of a database such as
        "postgres://user@host/database#table", a folder or pattern of Parquet or CSV files.
    quasi_identifiers
        Columns an attacker may know, each with a hierarchy (see `veil.hierarchies`).
    models
        Privacy models; the release fulfils all of them.
    sensitive, insensitive, identifying
        The roles of the other columns. Identifying columns are removed, or masked with
        `identifying={"name": "mask"}`.
    microaggregated
        Quasi-identifiers of which one value is published for each class, such as `{"age": "mean"}`: the mean,
        geometric mean, median, mode, interval or set of the class. A column that also has a hierarchy in
        `quasi_identifiers` forms classes along with the others; one that has none does not.
    others
        What to do with columns that have no role: "keep" or "drop". By default they are refused.
    quality
        What to minimize, by name ("loss", "average_class_size", …) or as a quality model.
    suppression_limit
        Largest share of records that may be suppressed, from 0 to 1.
    minimum_levels, maximum_levels
        Bounds on the generalization of single columns.
    strategy
        How to search, by name or as a strategy (see `veil.lattice`). The default, "auto", proves its result
        optimal where the space allows that in time, and otherwise returns the best that can be found.
    time_limit, check_limit
        Seconds, and number of checked transformations, after which the search returns the best so far.
        Without either, optimal search goes on to its end and every other strategy for at most 30 seconds.
    suppressed_rows
        Keep suppressed rows in place with their quasi-identifiers blanked, or drop them.
    marker
        Text of a suppressed cell in text columns; typed columns get a missing value.
    format
        How to read the file, where that cannot be told from its name and content.
    engine
        "memory" or "duckdb" to say who reads files; by default DuckDB reads those that are too large for the memory.
        `veil.engines.Settings(memory="2GB")` is DuckDB with limits.
    threads
        How many threads to use; the result does not depend on it.
    progress
        True or False to show a progress bar or not, or a function to call; by default a bar is shown on a
        terminal once a second has passed.
    cancel
        Asked again and again during the search; as soon as it says True, the best transformation so far is
        taken. `threading.Event().is_set` is such a function.
    accountant
        With `veil.dp.SafePub`: the account that the budget is taken from, before anything is drawn.
    for_testing_seed
        With `veil.dp.SafePub`: draws that can be repeated. The release is marked as not private.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from veil import KAnonymity, hierarchies as h
    >>> patients = pa.table({"age": [23, 27, 34, 38], "disease": ["flu", "cold", "flu", "gout"]})
    >>> release = anonymize(
    ...     patients,
    ...     quasi_identifiers={"age": h.intervals(10, 20)},
    ...     sensitive=["disease"],
    ...     models=[KAnonymity(2)],
    ... )
    >>> release.transformation, release.table["age"].to_pylist()
    ({'age': 1}, ['[20, 30[', '[20, 30[', '[30, 40[', '[30, 40['])
    """
    given: dict[str, Any] = {  # in the short forms that the plan turns into its own types
        "quasi_identifiers": quasi_identifiers,
        "models": models,
        "sensitive": sensitive,
        "insensitive": insensitive,
        "identifying": identifying,
        "microaggregated": {} if microaggregated is None else microaggregated,
        "others": others,
        "quality": quality,
        "suppression_limit": suppression_limit,
        "minimum_levels": dict(minimum_levels or {}),
        "maximum_levels": dict(maximum_levels or {}),
        "strategy": strategy,
        "time_limit": time_limit,
        "check_limit": check_limit,
        "suppressed_rows": suppressed_rows,
        "marker": marker,
    }
    plan = Plan(**given)
    return carry_out(
        plan,
        source,
        format=format,
        engine=engine,
        threads=threads,
        progress=progress,
        cancel=cancel,
        accountant=accountant,
        for_testing_seed=for_testing_seed,
    )


def carry_out(
    plan: Plan,
    source: Any,
    *,
    format: Format | None = None,
    engine: Engine = "auto",
    threads: int | None = None,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
    accountant: Accountant | None = None,
    for_testing_seed: int | None = None,
) -> Release:
    """Anonymize a table as a plan says."""
    with following(progress) as told:
        told.phase("reading the table")
        found_source = _opened(
            source, format, engine, lambda relation: _engine().for_plan(relation, plan, told)
        )
        if any(isinstance(model, SafePub) for model in plan.models):
            from veil.dp.publish import publish

            told.phase("searching, drawing and verifying")
            seed = for_testing_seed
            chance = Randomness() if seed is None else Randomness.for_testing(seed)
            return publish(found_source, plan, accountant=accountant, randomness=chance, cancel=cancel)
        if accountant is not None or for_testing_seed is not None:
            raise PlanError("`accountant` and `for_testing_seed` go with SafePub: the plan has no such model")
        told.phase("encoding and collapsing")
        prepared = prepare(found_source.table, plan, found_source.weights, found_source.columns)
        told.phase("searching")
        evaluator = Evaluator(prepared.sample, plan.models, plan.quality, plan.suppression_limit)
        found = _search(evaluator, prepared, threads, told, cancel)
        told.phase("applying and verifying")
        assert found.best is not None
        return Release(found_source, prepared, evaluator, found, found.best.levels)


def _search(
    evaluator: Evaluator,
    prepared: Prepared,
    threads: int | None,
    told: Progress,
    cancel: Callable[[], bool] | None,
) -> Found:
    plan = prepared.plan
    seconds = plan.seconds
    limits = Limits(seconds, plan.check_limit or math.inf, cancel or (lambda: False))

    def tell(search: Search) -> None:
        shown = "no solution yet" if search.best is None else f"best {search.best_score[0]:.6g}"
        note = f"{search.checks:,} transformations checked, {shown}"
        # Whichever end is nearer: all transformations decided, or the time is over.
        decided, over = search.decided / search.space.size, search.elapsed / seconds
        told.advance(round(1000 * min(1, max(decided, over))), 1000, note)

    search = Search(
        evaluator, prepared.minimum, prepared.maximum, limits=limits, threads=threads, progress=tell
    )
    found = search.run(plan.strategy)
    if found.best is None:
        raise NoSolutionError(_why_not(found, prepared))
    return found


def _why_not(found: Found, prepared: Prepared) -> str:
    """Explain why nothing is anonymous, with the way out."""
    plan = prepared.plan
    models = " and ".join(str(model) for model in plan.models)
    wanted = f"{models} with at most {plan.suppression_limit:.1%} of the records suppressed"
    if not found.space.evaluated:
        return (
            f"the search ended ({found.ending}) before it could look at a transformation. Give it more time"
        )
    closest = min(found.space.evaluated.values(), key=lambda each: (each.tally.suppressed, each.levels))
    share = closest.tally.suppressed / prepared.sample.records
    levels = ", ".join(
        f"{name} {level}" for name, level in zip(prepared.encoding.names, closest.levels, strict=True)
    )
    seen = (
        f"The closest one that was looked at ({levels}) would suppress {closest.tally.suppressed} of "
        f"{prepared.sample.records} records ({share:.1%})"
    )
    ways = (
        "Raise `suppression_limit`, add levels to the hierarchies (a top level `*` always helps), raise "
        "`maximum_levels`, or ask for less"
    )
    if found.proven:
        return f"no transformation fulfils {wanted}. {seen}. {ways}"
    return (
        f"no transformation was found that fulfils {wanted}; {found.checks:,} of {found.space.size:,} were checked "
        f"({found.ending}). {seen}. Give the search more time or another `strategy`, or: {ways[0].lower()}{ways[1:]}"
    )
