"""Anonymizing a table on an engine part by part, if owners may have several rows: each part has some owners.

Parts that are cut by values would separate the rows of an owner. So owners are divided by a hash of the
column `person`, and all rows of an owner are in one part (see `veil.engines.parts.owner_parts`). Each part is
searched like a whole table, with the hierarchies of the whole, so that not all different rows are prepared at
once.

Why all promises still hold. A class that a part accepts is published as it is, unless a class of another part
has the same labels: then the two are one class to every attacker. No owner is in both, so owners add up, and
so do the views of their values: a model that survives a union of such classes holds
(`PrivacyModel.survives_union_of_owners`), others are refused. With all rows of an owner known, a class has
owners with the same rows, and nothing changes. The part of an owner is nothing to protect: each part keeps
every promise by itself. No part lets a larger share of its owners lose rows than the plan allows, so neither
do all together. A part has a share of the owners of every kind, so its classes are smaller than those of the
whole table, and are generalized more. Parts are for tables that are too large otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.exact import largest_count
from veil.base.progress import Progress
from veil.base.wording import plural
from veil.engines.condense import Condensed
from veil.engines.copy import bring_over
from veil.engines.engine_source import EngineSource
from veil.engines.parts.blocks import most_that_fit, quality_with_suppressed, stack_tables
from veil.engines.parts.owner_parts import OwnerParts, OwnersPart
from veil.engines.relation import Relation, check_columns
from veil.engines.shuffle import shuffled
from veil.engines.source import columns_for_release
from veil.engines.verify import ExpectedOutput, compare_blank, released_columns, verify_people, verify_written
from veil.engines.write.writing import Piece, write_pieces
from veil.errors import PlanError
from veil.outcome.apply import blank_cells
from veil.outcome.cell_trace import CellTrace
from veil.outcome.generalize import Choice
from veil.outcome.outcome import Outcome
from veil.outcome.pseudonyms import KEY
from veil.outcome.result import Apart, Origins, Pass, Passes, Privacy, StepResult, SuppressedRows
from veil.outcome.roles import roles_of_plan
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.plan.prepare import columns_read
from veil.published.finding import Finding, Verification
from veil.published.table import Published, Suppressed
from veil.tables.rows import Owners, Rows
from veil.verification.outcome import verified
from veil.verification.release import (
    as_published,
    verify_links,
    verify_lost_rows,
    verify_models,
    verify_roles,
)

if TYPE_CHECKING:
    import ibis


def anonymize_people_in_parts(
    relation: Relation, plan: Plan, most_combinations: int | None, threads: int | None, progress: Progress
) -> Outcome:
    """Anonymize a table on an engine, some owners at a time; as `anonymize_in_parts`, if rows have owners."""
    _check_models(plan)
    columns = columns_read(plan, relation.table.columns)
    check_columns(relation, columns)
    relation = bring_over(*columns_for_release(relation, plan, columns), progress)
    progress.phase("counting the values of each column")
    owners = OwnerParts(relation, plan, columns, most_that_fit(most_combinations, "parts"), threads)
    results = []
    for part in owners.parts:
        progress.phase(f"part {part.number + 1} of {len(owners.parts)}")
        results.append(_PartResult.of(verified(owners.make(part, progress)[0]), part.trace))
    progress.phase("verifying all parts together")
    return _combine(owners, results)


def _check_models(plan: Plan) -> None:
    for model in plan.models:
        if model.survives_union_of_owners and model.reads != "levels":
            continue
        why = "what is taken for its worst view may be worse in two classes together than in each"
        if model.compares_with:
            why = "it compares with the whole table, and a part knows its own people only"
        elif model.reads == "levels" or not model.survives_union:
            why = "what holds for classes of two parts need not hold where these get the same labels"
        raise PlanError(
            f"people cannot be anonymized part by part under {model}: {why}. Use KAnonymity, DistinctLDiversity, "
            "RecursiveCLDiversity or AlphaKAnonymity, or leave `parts` out"
        )


@dataclass(frozen=True)
class _PartResult:
    """The result of a part while the next one is made: its different rows before and after, and figures."""

    before: pa.Table
    after: pa.Table
    weights: NDArray[np.int64]
    suppressed_mask: NDArray[np.bool_]
    covered: NDArray[np.float64]
    """Share of its domain that each column covers, summed over the records."""
    recoding: Pass | CellTrace

    @staticmethod
    def of(outcome: Outcome, trace: CellTrace | None) -> _PartResult:
        prepared, levels = outcome.searched, outcome.cell_levels.of_rows
        mask, weights = outcome.suppressed_mask, outcome.before.weights.array
        covered = np.zeros(len(prepared.codes))
        for j, (hierarchy, codes) in enumerate(
            zip(outcome.hierarchies.values(), prepared.codes, strict=True)
        ):
            shares = np.stack(
                [each[hierarchy.label_map(level)] for level, each in enumerate(hierarchy.shares)]
            )
            covered[j] = np.where(mask, 1.0, shares[levels[:, j], codes]) @ weights
        return _PartResult(
            outcome.original,
            outcome.table if outcome.flag is None else outcome.table.drop_columns([outcome.flag]),
            weights,
            mask,
            covered,
            _pass_of(outcome) if trace is None else trace,
        )


def _pass_of(outcome: Outcome) -> Pass:
    choice = outcome.trace(Choice)
    assert choice is not None
    factor = getattr(outcome.searched.plan.quality, "factor", None)
    recoded = outcome.records - outcome.suppressed
    return Pass(outcome.levels, recoded, choice.score, factor, choice.proven_optimal)


def _trace(results: list[_PartResult]) -> Passes | CellTrace:
    """Return how the parts were recoded."""
    traces = [each.recoding for each in results if isinstance(each.recoding, CellTrace)]
    if traces:
        return CellTrace.of_parts(traces)
    return Passes(tuple(each.recoding for each in results if isinstance(each.recoding, Pass)))


def _combine(owners: OwnerParts, results: list[_PartResult]) -> Outcome:
    """Combine all parts, and check every promise on all of them."""
    weights = np.concatenate([each.weights for each in results])
    tables = [_with_labels(owners, part, each) for part, each in zip(owners.parts, results, strict=True)]
    key = [each.table for part in owners.parts for each in part.apart]
    source = OwnersSource(
        stack_tables([each.before for each in results]),
        "engine",
        weights=weights,
        columns=tuple(owners.relation.original.table.columns),
        owners=owners,
    )
    plan, mask = owners.plan, np.concatenate([each.suppressed_mask for each in results])
    before = Rows.of(source.table, weights, Owners.of(source.table, plan.person_column, plan.knows))
    result = StepResult(
        plan,
        before.showing(stack_tables(tables)),
        Origins(mask.size),
        SuppressedRows(mask, before.weights.sum_of(mask)),
        roles_of_plan(plan, list(plan.quasi_identifiers)),
        (),
        (Apart(KEY, pa.concat_tables(key), True),) if key else (),
        {},
        Privacy(),
        (_trace(results),),
    )
    outcome = Outcome.of(source, before, result)
    covered = sum(each.covered for each in results) / weights.sum()
    outcome = outcome.changed(facts=_facts(owners, outcome, covered.tolist()))
    return replace(outcome, verification=_verify(owners, outcome))


def _with_labels(owners: OwnerParts, part: OwnersPart, result: _PartResult) -> pa.Table:
    """Return the rows of a part, with original values as text in columns where other parts show labels."""
    table = result.after
    for (name, hierarchy), level in zip(owners.hierarchies.items(), part.levels, strict=True):
        if level or name not in owners.labelled:
            continue
        cells = result.before[name].chunk(0)
        codes = hierarchy.encode(cells.dictionary, name)[np.array(cells.indices)]
        texts = pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()), pa.array(hierarchy.labels[0], pa.string())
        )
        column = blank_cells(texts, result.suppressed_mask, owners.plan.marker)
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _facts(owners: OwnerParts, outcome: Outcome, covered: list[float]) -> dict[str, Any]:
    sizes, suppressed = outcome.by_records.sizes, outcome.suppressed
    domains = [each.domain_size for each in owners.hierarchies.values()]
    figures = quality_with_suppressed(sizes, suppressed, outcome.records, covered, domains)
    several = (
        "people in parts have fewer others to hide among: if all different rows fit into memory, a release "
        "without parts is better"
    )
    return {
        **figures,
        "suppressed": suppressed,
        "parts": len(owners.parts),
        "cost": several if len(owners.parts) > 1 else "none: there is one part, which is the table",
    }


# --- checks


def _verify(owners: OwnerParts, outcome: Outcome) -> Verification:
    """Check every promise on all parts together; each part by itself has been checked already."""
    plan, before, mask = owners.plan, outcome.before, outcome.suppressed_mask
    published = _published(owners, outcome, before.showing(outcome.table), mask)
    findings = verify_models(published, plan.models) + verify_roles(outcome.table, plan)
    findings += verify_lost_rows(before, mask, largest_count(plan.suppression_limit, before.people))
    findings += verify_links(outcome.original, outcome.table, plan, Origins(outcome.table.num_rows), mask)
    promise = "each part keeps every promise by itself"
    return Verification((*findings, Finding(promise, True, plural(len(owners.parts), "part"))))


def _published(
    owners: OwnerParts,
    outcome: Outcome,
    output: Rows,
    suppressed: Suppressed,
) -> Published:
    """Return released rows as seen from outside, beside the input."""
    return as_published(
        outcome.before,
        output,
        owners.plan,
        {},
        owners.hierarchies,
        subset=None,
        flag=None,
        suppressed=suppressed,
    )


def check_staged(owners: OwnerParts, outcome: Outcome, rows: ibis.Table) -> Verification:
    """Check the written rows: the models on owners, and the frequency of every combination."""
    plan, suppressed = owners.plan, outcome.suppressed
    relation, names = owners.relation, outcome.table.column_names
    blank_in = outcome.quasi_identifiers if suppressed else None
    due = ExpectedOutput.of_plan(
        plan, released_columns(plan, relation), outcome.table, outcome.after.weights, blank_in
    )

    def judge(_: Relation, output: Condensed) -> list[Finding]:
        with_people, column = owners.union(keep=owners.person)
        return verify_people(plan, replace(relation, table=with_people), column, names, output, judge_models)

    def judge_models(output: Rows) -> list[Finding]:
        published = _published(owners, outcome, output, "by cells" if suppressed else "none")
        findings = verify_models(published, plan.models)
        if suppressed:
            findings.append(compare_blank(published.suppressed_records, suppressed))
        return findings

    def before() -> list[ibis.Table]:
        if not suppressed:
            return [owners.relation.table]
        return [owners.transform(part)[0] for part in owners.parts]

    return verify_written(relation, rows, due, judge, before)


@dataclass(frozen=True, kw_only=True)
class OwnersSource(EngineSource):
    """The different rows of all parts, to measure them together."""

    owners: OwnerParts

    def expression(self, outcome: Outcome) -> Any:
        rows, _ = self.owners.union()
        return self.owners.relation.restore(shuffled(rows) if self.owners.plan.order == "random" else rows)

    def class_sizes(self, names: list[str]) -> NDArray[np.int64]:
        owners = Owners.of(self.table, self.owners.person, self.owners.plan.knows)
        return Published(Rows.of(self.table, self.weights, owners), names, suppressed="none").sizes

    def verify_rows(self, outcome: Outcome, rows: ibis.Table) -> Verification:
        return check_staged(self.owners, outcome, rows)

    def write_rows(self, outcome: Outcome, target: Any, **options: Any) -> Written:
        """Write one part after the other; the staged rows are checked as a whole."""
        owners = self.owners

        def rows_of(part: OwnersPart) -> Callable[[], ibis.Table]:
            return lambda: owners.transform(part)[0]

        pieces = [Piece(f"part {part.number + 1}", None, rows_of(part)) for part in owners.parts]
        options["shuffle"] = owners.plan.order == "random"
        return write_pieces(owners.relation, lambda: pieces, target, **options)

    @property
    def identity(self) -> tuple[object, ...]:
        return (str(self.owners.relation.location), [part.identity for part in self.owners.parts])
