"""The verbs: anonymize, assess, verify."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pyarrow as pa

from veil.dp.accountant import Accountant
from veil.dp.safepub import SafePub
from veil.engines.relation import Engine as EngineName
from veil.engines.relation import Relation, relation_of
from veil.engines.settings import Settings
from veil.errors import NoSolutionError, PlanError, did_you_mean
from veil.flags import flags_among
from veil.hierarchies import Hierarchy
from veil.lattice import Strategy
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Found, Limits, Search
from veil.models import MODELS, PrivacyModel, Strength
from veil.models.subset import subset_of
from veil.plan import Aggregation, Plan, hierarchy_builder
from veil.population import population_of
from veil.preparation import Prepared, distinct_values, prepare
from veil.progress import Progress, following
from veil.published import Published
from veil.quality import QualityModel
from veil.randomness import Randomness
from veil.release import Release
from veil.risk import Risk, sample_risk
from veil.tables import Format, Source, read
from veil.verification import Verification, verify_models, verify_roles

Engine = EngineName | Settings
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
        Without a time limit, optimal search goes on to its end and every other strategy for at most 30 seconds.
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
            from veil.dp.publishing import publish

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


def _opened(
    source: Any, format: Format | None, engine: Engine, condensed: Callable[[Relation], Source]
) -> Source:
    """Read a table into memory, or let the engine that holds it condense it."""
    if isinstance(source, Source):
        return source
    settings = engine if isinstance(engine, Settings) else None
    name: EngineName = "duckdb" if isinstance(engine, Settings) else engine
    relation = relation_of(source, format=format, engine=name, settings=settings)
    return read(source, format=format) if relation is None else condensed(relation)


def _engine() -> Any:
    """What condenses relations, which needs Ibis."""
    from veil.engines import source

    return source


def _search(
    evaluator: Evaluator,
    prepared: Prepared,
    threads: int | None,
    told: Progress,
    cancel: Callable[[], bool] | None,
) -> Found:
    plan = prepared.plan
    seconds = plan.strategy.time_limit if plan.time_limit is None else plan.time_limit
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


def verify(source: Any, plan: Plan, *, format: Format | None = None, engine: Engine = "auto") -> Verification:
    """Check on a published table that it keeps the promises of a plan, without the original table.

    >>> import pyarrow as pa
    >>> from veil import KAnonymity
    >>> plan = Plan({"age": "suppression"}, KAnonymity(2))
    >>> print(verify(pa.table({"age": ["20-29", "20-29", "30-39"]}), plan))
    BROKEN: 2-anonymity (found: k = 1)
    """
    found = _opened(source, format, engine, lambda relation: _engine().for_verifying(relation, plan))
    table = found.table
    for name in plan.roles["quasi-identifying"]:
        if name not in table.column_names:
            plan.check_columns(table.column_names if found.columns is None else found.columns)
    taken = {name for names in plan.roles.values() for name in names}
    flags = flags_among(table.column_names, taken)
    published = Published(
        table,
        list(plan.roles["quasi-identifying"]),
        marker=plan.marker,
        flag=flags[0] if flags else None,
        weights=found.weights,
    )
    return Verification(tuple(verify_models(published, plan.models) + verify_roles(table, plan)))


def assess(
    source: Any,
    *,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    subset: Any = None,
    population: Any = None,
    marker: str | None = "*",
    format: Format | None = None,
    engine: Engine = "auto",
) -> Assessment:
    """Find the strongest parameter of every privacy model that a table already satisfies.

    Parameters
    ----------
    source, format, engine
        The table, as for `anonymize`.
    quasi_identifiers, sensitive
        Columns that an attacker may know, and columns that they want to learn.
    hierarchies
        Hierarchies of sensitive columns, for t-closeness with the hierarchical distance.
    subset
        The rows that would be released, if not all: row numbers, a query, or another table (see
        `veil.models.subset`). The whole table is then the population for δ-presence and k-map.
    population
        The people the table was drawn from, as a number, the name of a region or a `Population`, for estimates
        of population uniqueness.
    marker
        Text of suppressed cells.

    >>> import pyarrow as pa
    >>> found = assess(pa.table({"age": ["20-29", "20-29", "30-39", "30-39"]}), quasi_identifiers="age")
    >>> next(iter(found))
    Strength(model='KAnonymity', parameter='k', value=2, attribute=None)
    """
    columns = _names(quasi_identifiers, "quasi_identifiers")
    attributes = _names(sensitive, "sensitive")
    if not columns:
        raise PlanError("assess needs at least one quasi-identifier: a column that an attacker may know")
    named, chosen = (
        [*columns, *attributes, *(hierarchies or {})],
        None if subset is None else subset_of(subset),
    )
    found = _opened(source, format, engine, lambda relation: _engine().for_columns(relation, named, chosen))
    table, weights = found.table, found.weights
    for name in named:
        if name not in table.column_names:
            raise PlanError(f"the table has no column {name!r}.{did_you_mean(name, table.column_names)}")
    mask = None if chosen is None else chosen.mask(table)
    if mask is not None and not mask.any():
        raise PlanError(
            f"the research subset {chosen} is empty: it should take one row of the table at least"
        )
    published = Published(
        table if mask is None else table.filter(pa.array(mask)),
        columns,
        marker=marker,
        weights=weights if weights is None or mask is None else weights[mask],
        population=None if mask is None else table.select([*columns, *attributes]),
        population_weights=weights,
        members=mask,
        hierarchies={
            name: _built(table[name], each, name, weights) for name, each in (hierarchies or {}).items()
        },
        people=None if population is None else population_of(population),
    )
    strengths = [each for model in MODELS for each in model.strongest(published, attributes)]
    return Assessment(tuple(strengths), sample_risk(published.sizes), published.suppressed_records)


def _names(given: Any, parameter: str) -> list[str]:
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if strange := [name for name in names if not isinstance(name, str)]:
        raise PlanError(f"`{parameter}` of assess should be names of columns, not {strange[0]!r}")
    return names


def _built(column: pa.ChunkedArray, builder: Any, name: str, weights: Any) -> Hierarchy:
    values, counts = distinct_values(column, weights)
    built: Hierarchy = hierarchy_builder(builder).build(values, counts, name)
    return built


@dataclass(frozen=True)
class Assessment:
    """What a table already fulfils, and what risks remain. Iterating yields the strengths.

    Printed numbers are rounded such that they hold: promise what you read, and it is kept.
    """

    strengths: tuple[Strength, ...]
    risk: Risk
    suppressed: int

    def __iter__(self) -> Iterator[Strength]:
        return iter(self.strengths)

    def __str__(self) -> str:
        return "\n".join(
            f"{each.model}{f'({each.attribute})' if each.attribute else ''}: {each}"
            for each in self.strengths
        )

    def _repr_html_(self) -> str:
        from veil.report.notebook import html_assessment

        return html_assessment(self)

    def to_arrow(self) -> pa.Table:
        """The strengths as a table."""
        return pa.Table.from_pylist(self.to_dict()["strengths"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, with all digits, ready to be written as JSON."""
        names = ("model", "attribute", "parameter", "value")
        return {
            "strengths": [{name: getattr(each, name) for name in names} for each in self.strengths],
            "risk": asdict(self.risk),
            "suppressed": self.suppressed,
        }
