"""The independent verifier: it reads the output table and the plan, and trusts neither engine nor search."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.exact import largest_count
from veil.base.wording import Phrase, joined, plural
from veil.hierarchies import Hierarchy
from veil.models import PrivacyModel
from veil.outcome.result import Origins
from veil.plan.plan import Plan
from veil.published.blank import is_blank, is_masked, shows_nothing
from veil.published.finding import Finding, Verification
from veil.published.table import Published, Suppressed
from veil.tables.arrow import decode_column
from veil.tables.columns import Encoded, encode_values, is_text
from veil.tables.rows import Owners, Rows, Weights
from veil.tables.spelling import encode_people
from veil.tables.text import canonical_array
from veil.verification.aggregates import verify_aggregates
from veil.verification.items import verify_items

Mask = NDArray[np.bool_]


def verify_models(published: Published, models: Sequence[PrivacyModel]) -> list[Finding]:
    """Check each privacy model on a published table."""
    return [verify_model(published, model) for model in models]


def verify_model(published: Published, model: PrivacyModel, parts: Iterable[Published] = ()) -> Finding:
    """Check a privacy model, on records or, if the table has owners, on people.

    `parts` are the parts with different levels, if the table is made of such.
    """
    owners = published.rows.owners
    if owners.are_records:
        return _verify_parts(model, published, parts)
    parts = list(parts)
    views = [
        _verify_parts(model, published.with_view(view), (part.with_view(view) for part in parts))
        for view in model.views
    ]
    finding = next((each for each in views if not each.holds), views[0])
    template = "{promise}, counting people" + (" with the same rows" if owners.know_all_rows else "")
    promise = Phrase(template, promise=finding.promise)
    holds, measured = finding.holds, finding.measured
    for name in model.attribute_names if "one value" in model.views else ():
        if number := published.undecided(name):
            holds = False
            measured = f"in {plural(number, 'class', 'classes')} somebody shows two values of {name!r}"
    return Finding(promise, holds, measured, finding.checked)


def _verify_parts(model: PrivacyModel, whole: Published, parts: Iterable[Published]) -> Finding:
    """Check a model on a table, part by part if it reads levels and the parts have their own."""
    if model.reads != "levels":
        return model.verify(whole)
    findings = [model.verify(part) for part in parts] or [model.verify(whole)]
    return next((finding for finding in findings if not finding.holds), findings[0])


def verify_roles(table: pa.Table, plan: Plan) -> list[Finding]:
    """Check that identifying columns are removed, masked or replaced by pseudonyms."""
    findings = []
    for name, treatment in plan.identifying.items():
        columns = [table.column(i) for i, column_name in enumerate(table.column_names) if column_name == name]
        if treatment == "pseudonym":
            findings.append(_verify_pseudonyms(columns, name, plan.marker))
            continue
        if treatment == "remove" or not columns:
            gone = "removed" if treatment == "remove" else "masked"
            promise = Phrase(f"identifying column {{column!r}} is {gone}", column=name)
            findings.append(Finding(promise, not columns, "there" if columns else "gone"))
            continue
        values = [column.unique() for column in columns]
        promise = Phrase("identifying column {column!r} is masked", column=name)
        masked = all(is_masked(each, plan.marker) for each in values)
        findings.append(Finding(promise, masked, f"{max(map(len, values))} distinct value(s)"))
    return findings


def _verify_pseudonyms(columns: Sequence[pa.ChunkedArray], name: str, marker: str | None) -> Finding:
    """Check that a column holds only random digits and blank cells."""
    promise = Phrase("identifying column {column!r} holds pseudonyms", column=name)
    if not columns:
        return Finding(promise, False, "gone")
    different = [column.unique() for column in columns]
    values = [
        value for each in different for value in each.filter(pa.array(~is_blank(each, marker))).to_pylist()
    ]
    strange = [value for value in values if not re.fullmatch("[0-9a-f]{16}", str(value))]
    measured = plural(len(values), "pseudonym")
    if strange:
        measured = plural(len(strange), "value is no pseudonym", "values are no pseudonyms")
    return Finding(promise, not strange, measured)


def verify_links(
    original: pa.Table,
    table: pa.Table,
    plan: Plan,
    origins: Origins,
    suppressed_mask: Mask,
) -> list[Finding]:
    """Check that pseudonyms and people correspond one to one, on the rows that are not suppressed."""
    findings = []
    for name in [name for name, how in plan.identifying.items() if how == "pseudonym"]:
        _, owner_codes = encode_people(origins.take(original[name]), plan.person_column or name)
        values, codes = encode_values(table[name])
        pairs = np.unique(np.stack([owner_codes[~suppressed_mask], codes[~suppressed_mask]]), axis=1)
        different = np.unique(pairs[0]).size, np.unique(pairs[1]).size
        blank_mask = is_blank(values, plan.marker)[codes]
        same = pairs.shape[1] == different[0] == different[1] and bool((blank_mask == suppressed_mask).all())
        measured = joined([plural(different[0], "person", "people"), plural(different[1], "pseudonym")], ", ")
        promise = Phrase(
            "each person has one pseudonym in column {column!r}, and nobody else has it", column=name
        )
        findings.append(Finding(promise, same, measured))
    return findings


def verify_release(
    before: Rows,
    table: pa.Table,
    plan: Plan,
    levels: dict[str, int],
    hierarchies: dict[str, Hierarchy],
    *,
    origins: Origins,
    suppressed_mask: Mask,
    subset: Mask | None = None,
    flag: str | None,
    over_limit: bool = False,
) -> Verification:
    """Check a release against its input.

    `origins` are the input rows of the release. `suppressed_mask` marks suppressed rows of the release, and is not
    trusted: their cells must be blank, and the models judge those that show
    anything. With `over_limit` the caller has exceeded the suppression limit knowingly.
    """
    original = before.table

    def cells_before(name: str) -> pa.ChunkedArray:
        return origins.take(original[name])

    there = original.num_rows if subset is None else int(np.count_nonzero(subset))
    shape = _verify_shape(original, there, origins, table, plan, flag, condensed=not before.weights.are_one)
    if not all(finding.holds for finding in shape):
        return Verification((*shape, *verify_roles(table, plan)))
    published = as_published(
        before,
        before.showing(table, origins.rows),
        plan,
        levels,
        hierarchies,
        subset=subset,
        flag=flag,
        suppressed=suppressed_mask & (plan.suppressed_rows == "blank"),
    )
    findings = verify_models(published, plan.models) + verify_roles(table, plan) + shape
    columns = [name for name in hierarchies if name not in plan.microaggregated]
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def verify_column(name: str) -> list[Finding]:
            values, codes = encode_values(original[name])  # sorting codes is faster than sorting texts
            column = GeneralizedColumn(
                (values, origins.pick(codes)), published, name, hierarchies[name], levels[name]
            )
            return column.verify(plan, suppressed_mask)

        of_columns = list(pool.map(verify_column, columns))
    if not before.owners.are_records:
        limit = None if over_limit else plan.suppression_limit
        findings += _verify_people(before, suppressed_mask, origins, limit)
    elif not over_limit and not plan.over_neighbours:
        # A private release has no limit: it must not reveal how many records it omits or was drawn from.
        findings.append(_verify_limit(published, suppressed_mask, plan))
    if flag is not None:
        wrong = int(np.count_nonzero(published.flags != suppressed_mask))
        promise = Phrase("column {column!r} shows which rows are suppressed", column=flag)
        measured = plural(wrong, "row differs", "rows differ") if wrong else "every row"
        findings.append(Finding(promise, wrong == 0, measured))
    findings += [finding for of_column in of_columns for finding in of_column]
    if plan.microaggregated:
        cells = pa.table({name: cells_before(name) for name in {*hierarchies, *plan.microaggregated}})
        labels = _generalize_columns(cells, levels, hierarchies)
        findings += verify_aggregates(cells, pa.table(labels), published, plan, suppressed_mask)
    findings += verify_links(original, table, plan, origins, suppressed_mask)
    for name in plan.items:
        findings.append(verify_items(cells_before(name), table[name], name, plan, suppressed_mask))
    treated = {*hierarchies, *plan.microaggregated, *plan.identifying, *plan.items, flag}
    blanked = plan.suppressed_rows == "blank" and suppressed_mask.any()
    for name in table.column_names:
        if name not in treated and blanked:
            column = cells_before(name), table[name]
            findings.append(_verify_unchanged(*column, name, suppressed_mask, plan.marker))
        elif name not in treated:
            same = same_cells(cells_before(name), table[name])
            promise = Phrase("column {column!r} is unchanged", column=name)
            findings.append(Finding(promise, same, "equal" if same else "different"))
    return Verification(tuple(findings))


def _verify_unchanged(
    before: pa.ChunkedArray, after: pa.ChunkedArray, name: str, suppressed_mask: Mask, marker: str | None
) -> Finding:
    """Check a column that is released unchanged, except for suppressed records."""
    before, after = decode_column(before), decode_column(after)
    unprotected = int(np.count_nonzero(~shows_nothing(after.filter(pa.array(suppressed_mask)), marker)))
    same = same_cells(before.filter(pa.array(~suppressed_mask)), after.filter(pa.array(~suppressed_mask)))
    measured = "equal" if same else "different"
    if unprotected:
        measured = f"{plural(unprotected, 'row is', 'rows are')} not"
    promise = Phrase(
        "column {column!r} is blank where records are suppressed, and otherwise unchanged", column=name
    )
    return Finding(promise, same and not unprotected, measured)


def as_published(
    before: Rows,
    after: Rows,
    plan: Plan,
    levels: dict[str, int],
    hierarchies: dict[str, Hierarchy],
    *,
    subset: Mask | None,
    flag: str | None,
    suppressed: Suppressed,
) -> Published:
    """Return a released table as published, with the input that the models compare it with."""
    population = None
    if subset is not None:
        population = before.showing(_population(before.table, plan, levels, hierarchies))
    return Published(
        after,
        [*hierarchies, *plan.aggregated],
        marker=plan.marker,
        flag=flag,
        suppressed=suppressed,
        baseline=before if subset is None else before.take(subset),
        population=population,
        members=subset,
        hierarchies=hierarchies,
        levels=levels,
    )


def rows_of(table: pa.Table, weights: Weights, plan: Plan) -> Rows:
    """Return the rows of an input with the owners by the plan, encoded anew."""
    return Rows.of(table, weights, Owners.of(table, plan.person_column, plan.knows))


def _verify_shape(
    original: pa.Table,
    there: int,
    origins: Origins,
    table: pa.Table,
    plan: Plan,
    flag: str | None,
    *,
    condensed: bool,
) -> list[Finding]:
    """Check that the table has the planned columns and rows, so that cells can be compared.

    `there` is the largest number of rows. No record is there twice: a class of two would be one person.
    """
    planned = [
        name
        for name in original.column_names
        if plan.role_of(name) != "dropped" and plan.identifying.get(name) != "remove"
    ]
    planned += [flag] if flag is not None else []
    columns = table.column_names
    lacking = [name for name in planned if name not in columns]
    further = [name for name in columns if name not in planned]
    of_plan = " that the plan looks at" if condensed else ""
    measured: str = Phrase(f"{{count}} columns{of_plan}", count=len(columns))
    if lacking or further:
        measured = "; ".join(
            f"{what} {', '.join(map(repr, names))}"
            for what, names in (("without", lacking), ("also", further))
            if names
        )
    fits = sorted(columns) == sorted(planned)
    rows = origins.among(original.num_rows)
    planned_rows = min(there, rows.size) if plan.suppressed_rows == "drop" else there
    # The number of combinations of cells in the input is confidential: a release does not show it.
    promise = Phrase("the table has {rows:,} rows, as planned", rows=planned_rows)
    measured_rows: str = Phrase("{count:,} rows", count=table.num_rows)
    same_length = table.num_rows == planned_rows
    if condensed:
        promise = Phrase("the table has as many combinations of cells as planned")
        measured_rows = f"{table.num_rows:,} combinations of cells"
    # Without row numbers, all rows are there, so that a wrong number says all.
    if (same_length and rows.size != table.num_rows) or not each_once(rows, original.num_rows):
        measured_rows, same_length = f"{measured_rows}, and not each of another record", False
    return [
        Finding("the table has the columns of the plan and no others", fits, measured),
        Finding(promise, same_length, measured_rows),
    ]


def each_once(rows: NDArray[np.int64], number: int) -> bool:
    """Whether row numbers are those of different rows of a table."""
    if not rows.size:
        return True
    inside = rows.min() >= 0 and rows.max() < number
    return bool(inside) and int(np.bincount(rows).max()) == 1


def _verify_people(
    before: Rows,
    suppressed_mask: Mask,
    origins: Origins,
    limit: float | None,
) -> list[Finding]:
    """Count the people who lose a row, to a blank one or entirely."""
    lost_mask = np.ones(before.table.num_rows, np.bool_)
    lost_mask[origins.among(lost_mask.size)[~suppressed_mask]] = False
    return verify_lost_rows(before, lost_mask, None if limit is None else largest_count(limit, before.people))


def _verify_limit(published: Published, suppressed_mask: Mask, plan: Plan) -> Finding:
    """Count the suppressed records, including those that are not in the table."""
    records = published.baseline.records
    count = published.rows.weights.sum_of(suppressed_mask) + records - published.records
    return verify_suppressed(count, largest_count(plan.suppression_limit, records))


def verify_suppressed(count: int, allowed: int) -> Finding:
    """Check that no more records are suppressed than may be."""
    verb = "record is" if allowed == 1 else "records are"
    promise = Phrase(f"at most {{allowed:,}} {verb} suppressed", allowed=allowed)
    return Finding(promise, count <= allowed, f"{count:,}")


def verify_lost_rows(before: Rows, lost_mask: Mask, allowed: int | None) -> list[Finding]:
    """Count the people who lose rows, given a mask of lost rows; `allowed` is None if any number may.

    Where attackers know all rows, a person who loses a row must lose all of them: the rest would distinguish
    them from people with the same rows.
    """
    findings = []
    if before.owners.codes is not None and before.owners.know_all_rows:
        partly = int(np.intersect1d(before.owners.codes[lost_mask], before.owners.codes[~lost_mask]).size)
        promise = "people who lose a row lose all their rows"
        findings.append(Finding(promise, partly == 0, Phrase("{people} lose only some", people=partly)))
    if allowed is not None:
        number = before.people_in(lost_mask)
        verb = "person loses" if allowed == 1 else "people lose"
        promise = Phrase(f"at most {{allowed:,}} {verb} a row", allowed=allowed)
        findings.append(Finding(promise, number <= allowed, f"{number:,}"))
    return findings


class GeneralizedColumn:
    """A quasi-identifier before and after, compared by distinct pairs of cells."""

    def __init__(
        self, before: Encoded, published: Published, name: str, hierarchy: Hierarchy, level: int
    ) -> None:
        self.name, self.level, self.height = name, level, hierarchy.height
        values, self.codes = before
        new_values, self.value_codes = published.encode(name)
        self.blank = published.marker if is_text(new_values.type) else None
        # The hierarchy's own table decides; a value that it does not list must not be in the release.
        row, labels = _rows_of(values, hierarchy), pa.array(hierarchy.labels[level], pa.string())
        label = hierarchy.label_map(level)[row].astype(np.int64)
        if level > 0:  # labels with the same text are one label to a reader
            label = _first_places(labels, labels)[label]
        self.expected = np.where(row < 0, -1, label)
        self.texts = canonical_array(new_values).cast(pa.string())
        places = _first_places(self.texts, labels)
        self.label_places = np.where(places < 0, -2, places)

    def verify(self, plan: Plan, suppressed_mask: Mask) -> list[Finding]:
        """Check the level and every cell."""
        findings = []
        least, most = plan.minimum_levels.get(self.name, 0), plan.maximum_levels.get(self.name, self.height)
        if (least, most) != (0, self.height):
            template = "column {column!r} is generalized to a level from {least} to {most}"
            promise = Phrase(template, column=self.name, least=least, most=most)
            measured: str = Phrase("level {level}", level=self.level)
            findings.append(Finding(promise, least <= self.level <= most, measured))
        wrong = int(np.count_nonzero(self.wrong_cells(suppressed_mask)))
        template = "column {column!r} is " + ("generalized to level {level}" if self.level else "unchanged")
        promise = Phrase(template, column=self.name, level=self.level)
        measured = plural(wrong, "cell differs", "cells differ") if wrong else "every cell"
        findings.append(Finding(promise, wrong == 0, measured))
        return findings

    def wrong_cells(self, suppressed_mask: Mask, rows: slice | NDArray[np.int64] = slice(None)) -> Mask:
        """Return which of some rows do not show the label of their original value."""
        codes, suppressed_mask = self.value_codes[rows], suppressed_mask[rows]
        right_mask: Mask = self.label_places[codes] == self.expected[self.codes[rows]]
        right_mask[suppressed_mask] = shows_nothing(self.texts, self.blank)[codes[suppressed_mask]]
        return ~right_mask


def _rows_of(values: pa.Array, hierarchy: Hierarchy) -> NDArray[np.int64]:
    """Return the row of each value's text in the hierarchy's own table; -1 if there is none."""
    return _first_places(
        canonical_array(values).cast(pa.string()), pa.array(hierarchy.labels[0], pa.string())
    )


def _first_places(texts: pa.Array, value_set: pa.Array) -> NDArray[np.int64]:
    """Return the first place of each text in a list, a missing one included; -1 if there is none."""
    return np.asarray(pc.index_in(texts, value_set=value_set).fill_null(-1)).astype(np.int64)


def _population(
    table: pa.Table, plan: Plan, levels: dict[str, int], hierarchies: dict[str, Hierarchy]
) -> pa.Table:
    """Return the population with generalized quasi-identifiers, looked up in the hierarchy's own table."""
    sensitive = {name: table[name] for name in plan.sensitive if name in table.column_names}
    return pa.table(sensitive | _generalize_columns(table, levels, hierarchies))


def _generalize_columns(
    table: pa.Table, levels: dict[str, int], hierarchies: dict[str, Hierarchy]
) -> dict[str, pa.Array]:
    columns = {}
    for name, hierarchy in hierarchies.items():
        values, codes = encode_values(table[name])
        columns[name] = labels_at(values, hierarchy, levels[name]).take(pa.array(codes))
    return columns


def labels_at(values: pa.Array, hierarchy: Hierarchy, level: int) -> pa.Array:
    """Return the label of each value on a level, by the hierarchy's own table; unlisted values stay."""
    row = _rows_of(values, hierarchy)
    labels = pa.array(hierarchy.labels[level], pa.string()).take(pa.array(hierarchy.label_map(level)[row]))
    return pc.if_else(pa.array(row >= 0), labels, canonical_array(values).cast(pa.string()))


def same_cells(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Whether two columns hold the same cells. Not-a-number equals itself here, unlike in Arrow."""
    before, after = decode_column(before), decode_column(after)  # codes may have another width
    if before.equals(after):
        return True
    if before.type != after.type or not pa.types.is_floating(before.type):
        return False
    return pc.is_null(before).equals(pc.is_null(after)) and np.array_equal(
        before.to_numpy(), after.to_numpy(), equal_nan=True
    )
