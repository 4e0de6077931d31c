"""Gaps of a plan: columns without a model, unread or emptied ones, pseudonyms, people with several rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veil.base.wording import Phrase
from veil.errors import Say
from veil.models import KAnonymity
from veil.risk.concerns.concern import Concern, percent, quoted
from veil.risk.concerns.context import ReleaseContext, can_be_compared, count_alone
from veil.risk.identify.detection import match_name
from veil.risk.identify.vocabulary import COLUMN_NAMES
from veil.tables.columns import encode_values, number_rows

_PERSONS = ("identifier", "name", "social security", "health plan", "account", "email", "phone")
"""Categories of columns that identify a person, by their name."""

_LIKENESS = 0.5
"""Minimum share of a column's name that matches: "patient id" does, "occupation id" does not."""

_MOST_ROWS = 100
"""Mean number of rows a value above which a value is no person."""

_REPEATED = 0.2
"""Share of records with a repeated value from which on people have several rows; namesakes are fewer."""


def without_model(context: ReleaseContext) -> Iterator[Concern]:
    """Find sensitive columns without a model in the plan."""
    covered = {name for model in context.outcome.models for name in model.attribute_names}
    names = tuple(name for name in context.outcome.roles.sensitive if name not in covered)
    if not names or context.is_private:
        return
    models, (are, them) = f"DistinctLDiversity({names[0]!r}, 2)", _verb_and_pronoun(names)
    yield Concern(
        "no model",
        names,
        Phrase(
            f"{{columns}} {are} sensitive, but no model of the plan covers {them}: all records of a class may have the "
            "same value, and anyone who finds the class learns it.",
            columns=quoted(names),
        ),
        Phrase("Add a model for {columns}, such as {models}.", columns=quoted(names), models=models),
    )


def empty_promise(context: ReleaseContext) -> Iterator[Concern]:
    """Find a plan whose promise every table keeps."""
    plan = context.outcome.plan
    if plan is None or not all(isinstance(model, KAnonymity) and model.k == 1 for model in plan.models):
        return
    yield Concern(
        "no model",
        (),
        "KAnonymity(k=1) holds for every table: nobody is protected by it.",
        "Ask for more, such as KAnonymity(k=5).",
    )


def not_looked_at(context: ReleaseContext) -> Iterator[Concern]:
    """Find columns of structures, and unchanged columns of an engine, whose values Veil has not read."""
    outcome = context.outcome
    if not outcome.is_condensed:
        yield from _structures(context)
        return
    masked = outcome.roles.identifying
    names = tuple(
        name for name in outcome.kept_columns if name not in outcome.table.column_names and name not in masked
    )
    if not names:
        return
    are, them = _verb_and_pronoun(names)
    yield Concern(
        "not looked at",
        names,
        Phrase(
            f"{{columns}} {are} published by the engine as stored: Veil has read no value of {them}, so nothing here is "
            f"about {them}.",
            columns=quoted(names),
        ),
        "Remove what nobody needs, and examine the rest with `veil risk` before you release it.",
    )


def _structures(context: ReleaseContext) -> Iterator[Concern]:
    """Find published columns of structures or maps, whose fields are not examined."""
    table, roles = context.outcome.table, ("sensitive", "insensitive")
    nested = [name for name in table.column_names if not can_be_compared(table[name].type)]
    names = tuple(name for name in nested if context.outcome.role_of(name) in roles)
    if not names or context.is_private:
        return
    yield Concern(
        "not looked at",
        names,
        Phrase(
            f"{{columns}} {'holds' if len(names) == 1 else 'hold'} structures or maps, and nothing inside them is "
            "examined: one field may name a person, or be different for everybody.",
            columns=quoted(names),
        ),
        "Turn each field into a column of its own, or remove what nobody needs.",
    )


def aggregates_of_two(context: ReleaseContext) -> Iterator[Concern]:
    """Find aggregates of classes of two, where each person can compute the value of the other."""
    aggregated, outcome = context.outcome.roles.microaggregated, context.outcome
    pairs = int(np.count_nonzero(outcome.by_people.by_one_row().sizes == 2))
    if not aggregated or not pairs:
        return
    yield Concern(
        "aggregates of two",
        aggregated,
        Phrase(
            f"{{pairs:,}} {'class has' if pairs == 1 else 'classes have'} {outcome.after.spell(2)}, and the aggregate of {{columns}} "
            "is that of both: each of the two people can compute the value of the other.",
            pairs=pairs,
            columns=quoted(aggregated),
        ),
        "Ask for classes of at least three (k = 3), or generalize instead.",
    )


def exact_values(context: ReleaseContext) -> Iterator[Concern]:
    """Find labels made of the values of a class: intervals that end at two of them, and sets that list them."""
    outcome = context.outcome
    aggregates = {} if outcome.plan is None else outcome.plan.microaggregated
    names = [name for name, how in aggregates.items() if how in ("interval", "set")]
    names += [name for method in outcome.methods for name in method.columns_of_exact_values]
    columns = tuple(dict.fromkeys(name for name in names if name in outcome.table.column_names))
    if not columns:
        return
    yield Concern(
        "exact values of classes",
        columns,
        Phrase(
            "Labels of {columns} consist of values of their class: each end of an "
            "interval, and each value of a set, is an exact value of somebody in it.",
            columns=quoted(columns),
        ),
        "Use public labels (Mondrian does by default), a hierarchy, or the mean or median.",
    )


def emptied(context: ReleaseContext) -> Iterator[Concern]:
    """Find columns with at most one value, of which the input had several."""
    masked = context.outcome.roles.identifying
    names = []
    for name in [*context.published.names, *context.unchanged]:
        if name in masked or context.sampled(name).different > 1 or context.column(name).different > 1:
            continue
        if context.has_input and not _had_several_values(context, name):
            continue
        names.append(name)
    if not names:
        return
    yield Concern(
        "emptied",
        tuple(names),
        Phrase(
            f"{{columns}} {'has' if len(names) == 1 else 'have'} a single value, or none, in all rows that are not suppressed.",
            columns=quoted(names),
        ),
        f"Leave {'it' if len(names) == 1 else 'them'} out, or {_how_to_keep_more(context)}.",
    )


def _how_to_keep_more(context: ReleaseContext) -> str:
    if context.is_private:
        return "spend a larger ε"
    if context.outcome.plan is None:
        return "mask less"
    return "raise the suppression limit, so that less has to be generalized"


def _had_several_values(context: ReleaseContext, name: str) -> bool:
    """Whether a column has several values in the input, in records that are not suppressed."""
    if name not in context.outcome.original.column_names:
        return False
    return len(encode_values(context.original(name, context.visible_rows))[0]) > 1


def pseudonyms(context: ReleaseContext) -> Iterator[Concern]:
    """Find pseudonyms, which link rows with each other and with other tables."""
    for name in context.pseudonyms:
        column = context.column(name)
        alone = column.alone / context.records
        how = Phrase(
            "{share} of the records have one of their own"
            if alone >= 1 - _REPEATED
            else "{different:,} of them stand for {records:,} records, whose rows are linked by them",
            share=percent(alone),
            different=column.different,
            records=context.records,
        )
        yield Concern(
            "pseudonyms",
            (name,),
            Phrase(
                "{column!r} holds pseudonyms: {how}, and tables with the same pseudonyms can be joined.",
                column=name,
                how=how,
            ),
            Phrase(
                "Remove {column!r} if no rows have to be joined; otherwise use a key or a context for this recipient alone.",
                column=name,
            ),
        )


def several_rows(context: ReleaseContext) -> Iterator[Concern]:
    """Find columns by which people have several rows, so that large classes may have few people."""
    if not context.has_single_rows or not context.published.names or not context.visible_rows.size:
        return
    if context.outcome.person_column is not None:
        return  # people are counted
    classes, sizes = context.published.classes, context.published.sizes
    for name in context.outcome.original.column_names:
        likely = match_name(name, _NAMES)
        if name in context.published.names or likely is None or likely[1] < _LIKENESS:
            continue
        some = encode_values(context.original(name, context.visible_rows[context.sample]))[1]
        if np.bincount(some).max() < 2:
            continue
        _, people = encode_values(context.original(name, context.visible_rows))
        number = int(people.max()) + 1
        alone = count_alone(people.astype(np.int64))
        if alone > (1 - _REPEATED) * context.records or number * _MOST_ROWS < context.records:
            continue
        pairs = number_rows(classes.astype(np.int64) * number + people)
        first = np.zeros(int(pairs.max()) + 1, np.int32)
        first[pairs] = classes
        fewest = int(np.bincount(first, minlength=sizes.size).min())
        if fewest >= sizes.min():
            continue
        yield Concern(
            "several rows a person",
            (name,),
            Phrase(
                "Judging by {column!r}, {rows:,} rows belong to {people:,} people. Classes count rows: the smallest has "
                "{smallest:,}, but one has rows of only {fewest:,} of these people.",
                column=name,
                rows=context.records,
                people=number,
                smallest=int(sizes.min()),
                fewest=fewest,
            ),
            Phrase(
                "Count people instead ({option}), or turn the rows of each person into one before you anonymize.",
                option=str(Say("person", name)),
            ),
        )


_NAMES = {category: COLUMN_NAMES[category] for category in _PERSONS}


def _verb_and_pronoun(names: tuple[str, ...]) -> tuple[str, str]:
    return ("is", "it") if len(names) == 1 else ("are", "them")
