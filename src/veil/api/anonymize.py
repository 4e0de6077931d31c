"""The verb anonymize: from a table and a plan to a verified release."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from veil.api.items import with_items
from veil.api.open import Engine, check_people, find_relation, open_for_plan, open_tables
from veil.api.release import Release
from veil.base.keywords import own_keywords
from veil.base.progress import Progress, ProgressLike, following
from veil.base.randomness import Randomness
from veil.dp.accountant import Accountant
from veil.dp.publish import publish
from veil.dp.safepub import SafePub
from veil.errors import InputError, ParameterError, PlanError, Say
from veil.lattice import Strategy
from veil.models import PrivacyModel
from veil.outcome.outcome import Outcome
from veil.plan.linked_tables import Stacked, for_several
from veil.plan.plan import ASK, Aggregation, Plan, Treatment
from veil.plan.prepare import prepare
from veil.plan.recoding import Mode, Recoding
from veil.quality import QualityModel
from veil.recoding.recode import carry_out_recoding
from veil.tables import Format, Source
from veil.verification.outcome import verified


@own_keywords
def anonymize(
    source: Any,
    plan: Plan | None = None,
    *,
    quasi_identifiers: Mapping[str, Any] | None = None,
    models: PrivacyModel | Iterable[PrivacyModel] | None = None,
    sensitive: str | Iterable[str] = (),
    insensitive: str | Iterable[str] = (),
    identifying: str | Iterable[str] | Mapping[str, Treatment] = (),
    microaggregated: Mapping[str, Aggregation] | None = None,
    items: Mapping[str, Any] | None = None,
    person: str | None = "ask",
    pseudonym_key: str | None = None,
    knows: Literal["one row", "all rows"] = "one row",
    others: Literal["keep", "drop"] | None = None,
    recoding: str | Recoding = "full-domain",
    quality: str | QualityModel = "loss",
    suppression_limit: float = 0.0,
    minimum_levels: Mapping[str, int] | None = None,
    maximum_levels: Mapping[str, int] | None = None,
    strategy: str | Strategy = "auto",
    time_limit: float | None = None,
    check_limit: int | None = None,
    suppressed_rows: Literal["blank", "keep cells", "drop"] = "blank",
    choose_by: Literal["all columns", "quasi-identifiers"] = "all columns",
    marker: str | None = "*",
    order: Literal["random", "input"] = "random",
    parts: int | bool | None = None,
    format: Format | Mapping[str, Format] | None = None,
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
        A pandas, polars or pyarrow table, or the path of a CSV, Parquet, Feather or Excel file. Or a table in
        an engine (see `veil.engines`): an Ibis table, a Spark DataFrame, a database table such as
        "postgres://user@host/database#table", a folder or pattern of Parquet or CSV files. Or several tables
        about the same people, by name, such as `{"patients": ..., "visits": ...}`, with `person` as the
        column that distinguishes people: `release.tables` has each of them.
    plan
        The plan, as a `Plan`; or give its fields instead, which are the keywords up to `order`.
    quasi_identifiers
        Columns an attacker may know, each with a hierarchy (see `veil.hierarchies`).
    models
        Privacy models; the release satisfies all of them.
    sensitive
        Columns whose values an attacker must not learn.
    insensitive
        Columns that are published unchanged.
    identifying
        Columns that name a person: removed, or masked with `identifying={"name": "mask"}`. That of `person`
        can become random pseudonyms, which keep rows of a person together and are reversed by
        `apart["pseudonyms"]`: `person="patient", knows="all rows", identifying={"patient": "pseudonym"}`.
    microaggregated
        Quasi-identifiers for which one value per class is published, such as `{"age": "mean"}`: the mean,
        geometric mean, median, mode, interval or set of the class. A column that also has a hierarchy in
        `quasi_identifiers` forms classes together with the others; one without a hierarchy does not.
    items
        Sensitive columns of sets (lists, or text with a separator), each with a hierarchy or None. Items are
        generalized or left out, one by one, until KMAnonymity of the column holds within each class.
    person
        The column that distinguishes people, if they may have several rows. All models, limits and the
        verifier then count people instead of rows. The column counts as identifying without being listed, and
        is removed. None: every row is a different person.
    pseudonym_key
        The secret key of pseudonyms: a file, or "env:NAME" for an environment variable. A person then has the
        same pseudonym in every release with that key. By default, pseudonyms are random each time.
    knows
        Whether an attacker may know the quasi-identifiers of "one row" or of "all rows" of a person.
    others
        What to do with columns that have no role: "keep" or "drop". By default they are refused.
    recoding
        How labels are chosen. "full-domain": one level for a column. "subtree": one label for each value, wherever it
        occurs. "cells": each record by itself, which loses far less, but the cells of a column then differ in level.
        The last two minimize quality models that can be said of cells, such as loss, which is then the arithmetic mean
        over cells: see `veil.recoding.Cells`. Or a mode of `veil.recoding` that recodes cells in passes:
        `FastIterative()` and others transform suppressed records again, on their own.
    quality
        What to minimize, by name ("loss", "average_class_size", …) or as a quality model.
    suppression_limit
        Largest share of records that may be suppressed, from 0 to 1.
    minimum_levels, maximum_levels
        Bounds on the generalization of single columns.
    strategy
        How to search, by name or as a strategy (see `veil.lattice`). The default, "auto", proves its result
        optimal if there is enough time for that, and otherwise returns the best transformation found.
    time_limit, check_limit
        Seconds, and number of checked transformations, after which the search returns the best so far.
        Without either, optimal search runs to the end; every other strategy, subtree and cells for at most 30 seconds.
    suppressed_rows
        What to do with suppressed rows. "blank": every cell is blanked. "keep cells": only the
        quasi-identifiers are blanked, if these rows satisfy every model as a class of their own; otherwise
        the run is refused. "drop": the rows are left out.
    choose_by
        What the transformation is chosen by. That a transformation is the best one that protects sensitive
        values may reveal some of these values (see `veil.risk.transparency`). With "quasi-identifiers", the
        choice uses no other column; if sensitive values are then not protected, there is no release.
    marker
        Text of a suppressed cell in text columns; typed columns get a missing value.
    order
        Rows are released in "random" order, different each time; `release.origins` has their input rows. With
        "input" they keep the order of the input, which reveals what neighbouring rows have in common, and
        links them to any list in the same order.
    parts
        Anonymize a table in an engine in parts with transformations of their own, so that not all distinct
        combinations of cells have to fit into memory: how many a part may have, or True for as many as fit.
    format
        How to read the file, if that is not clear from its name and content.
    engine
        "memory" or "duckdb", to choose what reads files; by default DuckDB reads files that are too large for
        memory. `veil.engines.Settings(memory="2GB")` is DuckDB with limits.
    threads
        How many threads to use; the result does not depend on it.
    progress
        True or False to show a progress bar or not, or a function to call; by default a bar is shown on a
        terminal once a second has passed.
    cancel
        A function that is polled during the search; once it returns True, the best transformation so far is
        used. `threading.Event().is_set` is such a function.
    accountant
        With `veil.dp.SafePub`: the account that is charged before anything is drawn.
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
    >>> release.transformation, sorted(release.table["age"].to_pylist())
    ({'age': 1}, ['[20, 30[', '[20, 30[', '[30, 40[', '[30, 40['])
    """
    options = locals()
    several = isinstance(source, Mapping)
    if several:
        _check_several(options)
    plan = _plan_of(plan, _for_several(options) if several and plan is None else options)
    with following(progress) as tracker:
        tracker.phase("reading the tables" if several else "reading the table")
        if parts is not None and parts is not False:
            outcome = _anonymize_in_parts(source, plan, parts, _one_format(format), engine, threads, tracker)
        else:
            plan = plan.recoding.first(plan)
            if isinstance(source, Mapping):
                table: Source = open_tables(source, plan, _format_of_each(format))
            else:
                table = open_for_plan(source, plan, _one_format(format), engine, tracker)
            if isinstance(table, Stacked):
                plan = table.plan
            if any(isinstance(model, SafePub) for model in plan.models):
                outcome = _privately(table, plan, accountant, for_testing_seed, cancel, tracker)
            elif accountant is not None or for_testing_seed is not None:
                raise PlanError(
                    "`accountant` and `for_testing_seed` are only for SafePub, and the plan has no such model"
                )
            else:
                outcome = _by_search(table, plan, threads, cancel, tracker)
            outcome = with_items(outcome)
        tracker.phase("verifying")
        return Release(verified(outcome))


def _check_several(options: Mapping[str, Any]) -> None:
    """Refuse options that are for one table only."""
    if options["parts"] not in (None, False) or options["engine"] not in ("auto", "memory"):
        raise PlanError("several tables are anonymized in memory: leave `parts` and `engine` out")


def _format_of_each(format: Format | Mapping[str, Format] | None) -> Mapping[str, Format]:
    if format is not None and not isinstance(format, Mapping):
        raise PlanError(
            f"with several tables, give `format` for each table by name: {{'visits': {format!r}}}"
        )
    return format or {}


def _one_format(format: Format | Mapping[str, Format] | None) -> Format | None:
    if isinstance(format, Mapping):
        raise PlanError(
            f"for one table, `format` should be a format such as Csv(separator=';'), not {format!r}"
        )
    return format


def _for_several(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords with the defaults for several tables."""
    person, identifying = options["person"], options["identifying"]
    if person in (None, ASK):
        return dict(options)
    treatments = (
        dict(identifying)
        if isinstance(identifying, Mapping)
        else dict.fromkeys([identifying] if isinstance(identifying, str) else identifying, "remove")
    )
    return {**options, **for_several(person, treatments)}


def _plan_of(plan: Plan | None, options: Mapping[str, Any]) -> Plan:
    """Return the given plan, or make one of the keywords, in which None means the default of the plan."""
    fields = {each.name: options[each.name] for each in dataclasses.fields(Plan)}
    if plan is None:
        if fields["quasi_identifiers"] is None or fields["models"] is None:
            raise PlanError(
                "a plan needs `quasi_identifiers` and `models`: say what an attacker may know, and what must hold"
            )
        return Plan(
            **{
                name: value
                for name, value in fields.items()
                if value is not None or name in ("marker", "person")
            }
        )
    if not isinstance(plan, Plan):
        raise ParameterError(
            f"`plan` should be a Plan, not {plan!r}; its fields are keywords: quasi_identifiers=..."
        )
    for name, value in fields.items():
        if value != _DEFAULTS[name]:
            raise PlanError(
                f"`{name}` belongs in the plan, which was also given: "
                f"dataclasses.replace(plan, {name}=...) changes it"
            )
    return plan


def anonymize_source(
    source: Source,
    plan: Plan,
    *,
    threads: int | None = None,
    cancel: Callable[[], bool] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Carry out a plan on one or several tables that are open already."""
    if isinstance(source, Stacked):
        source = source.asked_for(plan)
    plan, progress = plan.recoding.first(plan), progress or Progress()
    outcome = _by_search(source, plan, threads, cancel, progress)
    return Release(verified(with_items(outcome)))


def _by_search(
    source: Source, plan: Plan, threads: int | None, cancel: Callable[[], bool] | None, progress: Progress
) -> Outcome:
    """Return the outcome of a search for labels, as the plan chooses them."""
    progress.phase("encoding and collapsing")
    prepared = prepare(source.table, plan, source.weights, source.columns)
    return carry_out_recoding(source, prepared, threads=threads, progress=progress, cancel=cancel)


def _privately(
    source: Source,
    plan: Plan,
    accountant: Accountant | None,
    seed: int | None,
    cancel: Callable[[], bool] | None,
    progress: Progress,
) -> Outcome:
    """Return a random sample, generalized and suppressed so that it is differentially private."""
    if plan.items:
        raise PlanError(
            "how items are generalized depends on all of them, which differential privacy does not allow: "
            "leave ",
            Say("items"),
            " out",
        )
    progress.phase("searching and drawing")
    randomness = Randomness() if seed is None else Randomness.for_testing(seed)
    return publish(source, plan, accountant=accountant, randomness=randomness, cancel=cancel)


def _anonymize_in_parts(
    source: Any,
    plan: Plan,
    parts: int | bool,
    format: Format | None,
    engine: Engine,
    threads: int | None,
    progress: Progress,
) -> Outcome:
    """Anonymize a table in an engine part by part; `parts` is how many combinations one may have at most."""
    if isinstance(plan.recoding, Mode):
        raise PlanError(
            f"each of the `parts` is recoded by itself, and not in passes like {plan.recoding}: recode it by ",
            Say("recoding", "cells"),
            ", or leave `parts` out, so that all distinct combinations of cells are in memory",
        )
    if plan.items:
        raise PlanError("items are generalized in memory: leave `parts` out, or ", Say("items"))
    relation = find_relation(source, format, "duckdb" if engine == "auto" else engine)
    if relation is None:
        raise InputError(
            f"a {type(source).__name__} is already in memory: leave `parts` out, and use `recoding` instead"
        )
    from veil.engines.parts.recode import anonymize_in_parts  # needs Ibis

    check_people(relation, plan)
    most = None if parts is True else int(parts)
    return anonymize_in_parts(relation, plan, most_combinations=most, threads=threads, progress=progress)


_DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(anonymize).parameters.items()}
"""Defaults of the keywords, by which it is known which were given."""
