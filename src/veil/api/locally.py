"""Anonymizing locally from the start: a first transformation for those it suits best, and others for the rest."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from veil.api.anonymize import ProgressLike, carry_out
from veil.errors import ParameterError, PlanError
from veil.local_recoding import FastIterative, RecodedRelease
from veil.local_recoding.recode import with_factor
from veil.plan.plan import Plan
from veil.quality.factors import exact
from veil.tables import Format


def anonymize_locally(
    source: Any,
    *,
    iterations: int = 100,
    factor: float | None = 0.0,
    format: Format | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
    **options: Any,
) -> RecodedRelease:
    """Find one transformation after the other, each for a part of the records.

    The first one may suppress all but one in `iterations` of the records; each of the following recodes that many
    at least of those that are suppressed (`FastIterative`), so that there are about as many passes at most. Much
    more is kept than by one transformation for all, but the cells of a column differ in how general they are.

    Parameters
    ----------
    source, format, threads, progress, cancel
        As for `veil.anonymize`. The limits of the plan hold for each search.
    iterations
        How many transformations there are at most, more or less.
    factor
        Generalization/suppression factor of the quality model, if it has one: 0 makes suppression cheap, so that each
        transformation serves the records that need the least generalization. None leaves the model as it is.
    options
        All that `veil.anonymize` takes as well, but for `suppression_limit`, which follows from `iterations`.

    >>> import pyarrow as pa
    >>> from veil import KAnonymity, hierarchies as h
    >>> people = pa.table({"age": [21, 21, 23, 28, 35, 39]})
    >>> recoded = anonymize_locally(
    ...     people, quasi_identifiers={"age": h.intervals(10, 20)}, models=KAnonymity(2), iterations=3
    ... )
    >>> recoded.table["age"].to_pylist()
    ['21', '21', '[20, 30[', '[20, 30[', '[30, 40[', '[30, 40[']
    """
    if "suppression_limit" in options:
        raise PlanError(
            "`suppression_limit` should be left out: it is 1 - 1/iterations for the first transformation, and records "
            "stay suppressed at the end only if no transformation protects them"
        )
    return carry_out_locally(
        Plan(**options),
        source,
        iterations=iterations,
        factor=factor,
        format=format,
        threads=threads,
        progress=progress,
        cancel=cancel,
    )


def carry_out_locally(
    plan: Plan,
    source: Any,
    *,
    iterations: int = 100,
    factor: float | None = 0.0,
    format: Format | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
) -> RecodedRelease:
    """Anonymize a table locally as a plan says; its suppression limit gives way to 1 - 1/iterations."""
    if iterations < 1:
        raise ParameterError(f"`iterations` should be greater than or equal to 1, not {iterations}")
    # Decimal numbers on the safe side: a record in `iterations` is enough, and never two.
    share = _next(Fraction(1, iterations), 0.0)
    local = dataclasses.replace(
        plan,
        quality=with_factor(plan.quality, factor),
        suppression_limit=_next(Fraction(iterations - 1, iterations), 1.0),
    )
    release = carry_out(local, source, format=format, threads=threads, progress=progress, cancel=cancel)
    return release.local_recoding(FastIterative(share), threads=threads, progress=progress, cancel=cancel)


def _next(number: Fraction, to: float) -> float:
    """Return the nearest float whose decimal digits are a number between this one and `to`."""
    found = float(number)
    while (exact(found) > number) != (to > number) and exact(found) != number:
        found = math.nextafter(found, to)
    return found
