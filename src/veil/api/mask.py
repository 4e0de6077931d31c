"""The verb mask: one or more masking methods on any table, with the same summary for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from veil.api.deliver import unused_name
from veil.api.open import Engine, find_relation
from veil.api.owners import check_repeats, rows_to_mask
from veil.api.release import Release
from veil.base.keywords import own_keywords
from veil.base.progress import Progress, ProgressLike, following
from veil.base.randomness import Randomness
from veil.base.wording import Phrase
from veil.dp.accountant import Accountant
from veil.dp.symbolic import Symbolic
from veil.errors import ParameterError, PlanError, Say, VerificationError
from veil.masking.pseudonyms.methods import Pseudonyms
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.outcome.result import Origins, Privacy, StepResult
from veil.outcome.roles import roles_of_masks
from veil.plan.plan import ASK
from veil.published.finding import Finding, Verification
from veil.tables import Format, Source, read
from veil.tables.arrow import in_new_memory, normalize
from veil.tables.rows import Rows
from veil.tables.spelling import read_person
from veil.utility.step import StepSummary, summarize
from veil.verification.outcome import verified
from veil.verification.steps.step import verify_step


@own_keywords
def mask(
    source: Any,
    steps: Method | Iterable[Method],
    *,
    format: Format | None = None,
    engine: Engine = "auto",
    most_combinations: int | None = None,
    order: Literal["random", "input"] = "random",
    person: str | None = ASK,
    accountant: Accountant | None = None,
    for_testing_seed: int | None = None,
    progress: ProgressLike = None,
) -> Release:
    """Apply masking methods to a table, one after the other.

    Parameters
    ----------
    source
        A pandas, polars or pyarrow table, a release, or the path of a CSV, Parquet, Feather or Excel file.
        For `Mondrian` also a table in an engine, as for `veil.anonymize`. For `ItemGeneralization`, all rows
        of such a table are read into memory, and the result is a pyarrow table.
    steps
        One method, or several in the order in which they run (see `veil.masking`).
    format
        How to read the file, if that is not clear from its name and content.
    engine
        As for `veil.anonymize`.
    most_combinations
        For a table in an engine: how many distinct combinations of cells to have in memory at a time. The
        result does not depend on it. By default as many as fit.
    order
        As for `veil.anonymize`.
    person
        The column that distinguishes people, if they may have several rows: methods with a promise then count
        people, or refuse. It is removed, unless a step changes it. None: every row is a different person. By
        default, a method with a promise refuses a table in which people seem to have several rows.
    accountant
        With `RandomizedResponse`: the account that is charged with the sum of ε over all such columns, before
        anything is drawn.
    for_testing_seed
        Makes all draws repeatable, for tests and reproductions. The seed undoes the randomness: the release
        has `is_private = False` and must not be published.
    progress
        As for `veil.anonymize`.

    The promises of a method are checked on its output; if the check fails, there is no release.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from veil.masking import RandomSampling
    >>> mask(pa.table({"age": [30, 41, 52, 63]}), RandomSampling(size=3))
    Release(4 records, 3 released, 3 classes, by RandomSampling)
    """
    methods = [steps] if isinstance(steps, Method) else list(steps)
    for each in methods:
        if not isinstance(each, Method):
            raise PlanError(
                f"a step should be a masking method, such as RankSwapping(['age'], p=10), not {each!r}"
            )
    if not methods:
        raise PlanError(
            "there is no step: give at least one masking method, such as RankSwapping(['age'], p=10)"
        )
    check_masks(methods, order)
    person = read_person(person)
    person_column = None if person == ASK else person
    randomness = Randomness() if for_testing_seed is None else Randomness.for_testing(for_testing_seed)
    if isinstance(source, Release):
        source = source.table
    with following(progress) as tracker:
        tracker.phase("reading the table")
        relation = None if isinstance(source, Source) else find_relation(source, format, engine)
        if relation is None:
            source = source if isinstance(source, Source) else read(source, format=format)
            rows = rows_to_mask(source.table, person, methods, order)
            if accountant is not None:
                _charge(accountant, source, methods)
            return Release(
                verified(apply_masks(source, rows, methods, person_column, order, randomness, tracker))
            )
        whole_rows = person_column is not None or any(method.takes_rows_of_engines for method in methods)
        if whole_rows and accountant is None:
            from veil.engines.fetch import fetch_rows  # people are counted in memory

            source = fetch_rows(relation, tracker)
            rows = rows_to_mask(source.table, person, methods, order)
            return Release(
                verified(apply_masks(source, rows, methods, person_column, order, randomness, tracker))
            )
        check_repeats(relation, person, methods)
        if accountant is not None:
            raise PlanError("`accountant` is only for tables in memory")
        from veil.engines.parts.mondrian import mask_on_engine  # needs Ibis

        return Release(verified(mask_on_engine(relation, methods, most_combinations, order, tracker)))


def check_masks(methods: Sequence[Method], order: str) -> None:
    """Refuse an order of rows that a method cannot have, and one of methods that would harm pseudonyms.

    Equal values that another step has made would share a pseudonym.
    """
    if order not in ("random", "input"):
        raise ParameterError(f'`order` should be "random" or "input", not {order!r}')
    for each in methods:
        if each.shuffles and order == "input":
            raise PlanError(
                f"{each}: the order of the input would reveal what the method hides. Use a random order (",
                Say("order", "random"),
                ")",
            )
    changed: dict[str, Method] = {}
    for method in methods:
        if isinstance(method, Pseudonyms):
            for name in method.column_names:
                if name in changed:
                    raise PlanError(
                        f"{type(method).__name__} comes after {type(changed[name]).__name__}, which changes "
                        f"{name!r}: people who look alike after that step would share a pseudonym. Make "
                        "pseudonyms first"
                    )
        changed |= dict.fromkeys(method.column_names, method)


def _charge(accountant: Accountant, source: Source, methods: list[Method]) -> None:
    """Charge an account with the cost of all steps."""
    costly = [method for method in methods if method.local_epsilon is not None]
    if not costly:
        raise PlanError(
            "`accountant` is only for RandomizedResponse: the other methods have no privacy cost that "
            "could be accounted for"
        )
    for method in costly:
        method.check_columns(source.table)
    accountant.check_data(source)
    columns = ", ".join(name for method in costly for name in method.column_names)
    # Each person has one row in the output, so the number of people is public.
    accountant.spend(f"randomized response of {columns}", _sum_of_losses(costly), neighbours="one changed")


def _sum_of_losses(methods: Iterable[Method]) -> Symbolic:
    """Add up the losses of some columns: each person is in all of them (sequential composition)."""
    return sum((Symbolic.read(each.local_epsilon or 0) for each in methods), start=Symbolic(Fraction(0)))


_AFTER_STEP = "after step {step}, {method}: {promise}"


def _combine(steps: list[StepSummary], *, is_last: bool) -> Verification:
    """Combine the findings of all steps, labelled by step if others follow, which may undo a promise."""
    if len(steps) == 1 and is_last:
        return steps[0].verification
    findings: list[Finding] = []
    open_questions: list[str] = []
    for number, step in enumerate(steps, start=1):
        label = {"step": number, "method": type(step.method).__name__}
        findings += [
            replace(each, promise=Phrase(_AFTER_STEP, promise=each.promise, **label))
            for each in step.verification.findings
        ]
        open_questions += [
            Phrase(_AFTER_STEP, promise=each, **label) for each in step.verification.open_questions
        ]
    costly = [step.method for step in steps if step.method.local_epsilon is not None]
    if len(costly) > 1:
        promise = "all randomized columns of a person together have a local ε of at most"
        open_questions.append(f"{promise} {_sum_of_losses(costly)}")
    return Verification(tuple(findings), tuple(open_questions))


def apply_masks(
    source: Source,
    rows: Rows,
    methods: Sequence[Method],
    person: str | None,
    order: str,
    randomness: Randomness,
    progress: Progress,
    *,
    is_last: bool = True,
) -> Outcome:
    """Apply one method after the other, each to the output of the one before.

    The rows of the last are put in order, without the column `person` unless a method changes it; not if another
    step follows.
    """
    source.check_index()
    removed = None if any(person in method.column_names for method in methods) else person
    declared_owners = None if rows.owners.are_records else person
    before, steps = rows, []
    results: list[StepResult] = []
    names: set[str] = set()
    for number, method in enumerate(methods, start=1):
        progress.phase(f"step {number} of {len(methods)}: {type(method).__name__}")
        outcome = method.mask(rows, randomness)
        progress.phase(f"step {number} of {len(methods)}: measuring loss and risk")
        summary = summarize(rows.table, outcome.table, method.column_names, outcome.link.rows)
        after, origins = outcome.after, outcome.link
        after = after.showing(normalize(after.table))  # rounding makes -0.0, which would reveal a sign
        if is_last and number == len(methods):
            after, origins = _finish(after, origins, removed, order, randomness)
        verification = verify_step(
            method,
            rows,
            after.table,
            origins=origins,
            apart=outcome.apart,
            removed=person,
        )
        for finding in verification.broken:
            raise VerificationError(
                f"{method}: the output does not keep its promise. {finding}. {method.if_broken}".rstrip(". ")
            )
        steps.append(StepSummary(method, summary, verification, outcome.facts))
        apart = tuple(each._replace(name=unused_name(each.name, names)) for each in outcome.last.apart)
        names |= {each.name for each in apart}
        columns = before.table.column_names, after.table.column_names
        result = replace(
            outcome.last,
            rows=after,
            origins=origins,
            roles=roles_of_masks(methods[:number], *columns, declared_owners, "dropped"),
            apart=apart,
            privacy=Privacy(is_private=randomness.is_private),
            traces=(steps[-1],),
        )
        results.append(result)
        rows = after
    return Outcome.of(source, before, *results, verification=_combine(steps, is_last=is_last))


def _finish(
    rows: Rows, origins: Origins, removed: str | None, order: str, randomness: Randomness
) -> tuple[Rows, Origins]:
    """Return the output of the last step as it is released, and the input row of each of its rows."""
    if order == "random":
        permutation = randomness.permutation(rows.table.num_rows)
        rows, origins = rows.take(permutation), Origins.of(permutation, permutation.size).after(origins)
    if removed in rows.table.column_names:
        rows = rows.showing(rows.table.drop_columns(removed))
    return rows.showing(in_new_memory(rows.table)), origins
