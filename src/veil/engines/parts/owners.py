"""Anonymizing a table that an engine holds part by part, where people may have several rows: each part has some people.

Parts that are cut by what rows show would tear people apart. So people are dealt out, by a hash of what tells them apart,
and all rows of a person are in one part (see `veil.engines.parts.owner_parts`). Each part is searched as if it were the whole
table, with the hierarchies of the whole, so that not all different rows have to be prepared for a search at once.

Why all promises still hold. A class that a part accepts is published as it is, unless a class of another part has the same
labels, and for everybody who looks, the two are one. Nobody is in both, so that people add up, and so do the views of what
they show: a model that survives a union of such classes (`PrivacyModel.survives_union_of_owners`) holds, others are
refused. With all rows of a person known, a class has people with the same rows, and nothing changes. Who learns in which
part somebody is learns nothing that is not protected: each part keeps every promise by itself. No part lets a larger
share of its people lose rows than the plan allows, so neither do all together.

A part has a share of the people of every kind, so its classes are smaller than those of the whole table, and are
generalized more. Parts are for tables that are too large otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.exact import largest_count
from veil.base.progress import Progress, following
from veil.base.wording import plural
from veil.engines.condense import Condensed
from veil.engines.copy import bring_over
from veil.engines.engine_rows import EngineRows
from veil.engines.parts.blocks import most_that_fit, stack_tables
from veil.engines.parts.owner_parts import OwnerParts, OwnersPart
from veil.engines.relation import Relation, check_columns
from veil.engines.shuffle import shuffled
from veil.engines.source import columns_for_release
from veil.engines.verify import ExpectedOutput, compare_blank, verify_people, verify_written
from veil.engines.write.writing import Piece, write_pieces
from veil.errors import PlanError
from veil.outcome.apply import blank_cells
from veil.outcome.generalize import Choice
from veil.outcome.outcome import Outcome, Pass
from veil.outcome.pseudonyms import KEY
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.plan.prepare import columns_read
from veil.published.finding import Finding, Verification
from veil.published.table import Published, Suppressed
from veil.quality.figures import quality
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
    relation: Relation,
    plan: Plan,
    *,
    most_combinations: int | None = None,
    threads: int | None = None,
    progress: Progress,
) -> Outcome:
    """Anonymize a table that an engine holds, some people at a time; as `anonymize_in_parts`, where people are rows."""
    _check_models(plan)
    read = columns_read(plan, relation.table.columns)
    check_columns(relation, read)
    relation = bring_over(*columns_for_release(relation, plan, read), progress)
    progress.phase("counting the values of each column")
    crowd = OwnerParts(relation, plan, read, most_that_fit(most_combinations, "parts"), threads)
    made = []
    for part in crowd.parts:
        progress.phase(f"part {part.number + 1} of {len(crowd.parts)}")
        made.append(_Made.of(verified(crowd.make(part, progress)[0])))
    progress.phase("verifying all parts together")
    return _together(crowd, made)


def _check_models(plan: Plan) -> None:
    for model in plan.models:
        if model.survives_union_of_owners and not model.reads_levels:
            continue
        why = "what is taken for its worst view may be worse in two classes together than in each"
        if model.compares_with:
            why = "it compares with the whole table, and a part knows its own people only"
        elif model.reads_levels or not model.survives_union:
            why = "what holds for classes of two parts need not hold where these get the same labels"
        raise PlanError(
            f"people cannot be anonymized part by part under {model}: {why}. Use KAnonymity, DistinctLDiversity, "
            "RecursiveCLDiversity or AlphaKAnonymity, or leave `parts` out"
        )


@dataclass(frozen=True)
class _Made:
    """What is remembered of a part when the next one is made: its different rows before and after, and figures."""

    before: pa.Table
    after: pa.Table
    weights: NDArray[np.int64]
    hidden: NDArray[np.bool_]
    covered: NDArray[np.float64]
    """How much of its domain each column covers, added up over the records."""
    told: Pass

    @staticmethod
    def of(outcome: Outcome) -> _Made:
        prepared, hidden, weights = outcome.prepared, outcome.hidden, outcome.weights
        assert prepared is not None
        assert hidden is not None
        assert weights is not None
        assert isinstance(outcome.story, Choice)
        levels, choice = outcome.parts[0].levels, outcome.story
        covered = [
            np.where(hidden, 1.0, hierarchy.shares[level][hierarchy.label_map(level)[codes]]) @ weights
            for hierarchy, level, codes in zip(
                outcome.hierarchies.values(), levels, prepared.codes, strict=True
            )
        ]
        factor, shown = getattr(prepared.plan.quality, "factor", None), outcome.records - outcome.suppressed
        return _Made(
            outcome.original,
            outcome.table if outcome.flag is None else outcome.table.drop_columns([outcome.flag]),
            weights,
            hidden,
            np.array(covered),
            Pass(outcome.levels, shown, choice.score, factor, choice.proven_optimal),
        )


def _together(crowd: OwnerParts, made: list[_Made]) -> Outcome:
    """Put all parts together, and check every promise on all of them."""
    weights = np.concatenate([each.weights for each in made])
    tables = [_in_one_form(crowd, part, each) for part, each in zip(crowd.parts, made, strict=True)]
    key = [part.apart[KEY] for part in crowd.parts if KEY in part.apart]
    outcome = Outcome(
        CrowdSource(
            stack_tables([each.before for each in made]),
            "engine",
            weights=weights,
            columns=tuple(crowd.relation.original.table.columns),
            crowd=crowd,
        ),
        crowd.plan,
        stack_tables(tables),
        weights=weights,
        hidden=np.concatenate([each.hidden for each in made]),
        apart={KEY: pa.concat_tables(key)} if key else {},
        secret=frozenset([KEY] if key else []),
        passes=tuple(each.told for each in made),
    )
    covered = sum(each.covered for each in made) / weights.sum()
    outcome = replace(outcome, facts=_facts(crowd, outcome, covered.tolist()))
    return replace(outcome, verification=_verify(crowd, outcome))


def _in_one_form(crowd: OwnerParts, part: OwnersPart, made: _Made) -> pa.Table:
    """Spell original values as text where other parts show labels."""
    table = made.after
    for (name, hierarchy), level in zip(crowd.hierarchies.items(), part.levels, strict=True):
        if level or name not in crowd.labelled:
            continue
        cells = made.before[name].chunk(0)
        codes = hierarchy.encode(cells.dictionary, name)[np.array(cells.indices)]
        texts = pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()), pa.array(hierarchy.labels[0], pa.string())
        )
        spelled = blank_cells(texts, made.hidden, crowd.plan.marker)
        table = table.set_column(table.column_names.index(name), name, spelled)
    return table


def _facts(crowd: OwnerParts, outcome: Outcome, covered: list[float]) -> dict[str, Any]:
    assert outcome.weights is not None
    assert outcome.hidden is not None
    sizes, bare = outcome.by_records.sizes, int(outcome.weights[outcome.hidden].sum())
    domains = [each.domain_size for each in crowd.hierarchies.values()]
    found = quality(np.append(sizes, bare) if bare else sizes, covered, domains)
    found["discernibility"] = int(found["discernibility"]) + bare * (outcome.records - bare)
    several = (
        "people in parts have fewer others to hide among: if all different rows fit into memory, a release without parts "
        "is better"
    )
    return {
        **found,
        "suppressed": bare,
        "parts": len(crowd.parts),
        "cost": several if len(crowd.parts) > 1 else "none: there is one part, which is the table",
    }


# --- checks


def _verify(crowd: OwnerParts, outcome: Outcome) -> Verification:
    """Check every promise on all parts together; of each part by itself, everything has been checked."""
    plan, before, hidden = crowd.plan, outcome.before, outcome.hidden
    assert hidden is not None
    published = _published(crowd, outcome, before.showing(outcome.table), hidden)
    findings = verify_models(published, plan.models) + verify_roles(outcome.table, plan)
    findings += verify_lost_rows(before, hidden, largest_count(plan.suppression_limit, before.people))
    findings += verify_links(outcome.original, outcome.table, plan, None, hidden)
    promise = "each part keeps every promise by itself"
    return Verification((*findings, Finding(promise, True, plural(len(crowd.parts), "part"))))


def _published(
    crowd: OwnerParts,
    outcome: Outcome,
    released: Rows,
    suppressed: Suppressed,
) -> Published:
    """Return released rows as seen from outside, beside the input."""
    return as_published(
        outcome.before,
        released,
        crowd.plan,
        {},
        crowd.hierarchies,
        subset=None,
        flag=None,
        suppressed=suppressed,
    )


def check_staged(crowd: OwnerParts, outcome: Outcome, staged: ibis.Table) -> Verification:
    """Check the written rows: the models on people, and that every combination is there as often as it should."""
    plan, suppressed = crowd.plan, outcome.suppressed
    planned = [
        name
        for name in crowd.relation.table.columns
        if plan.role_of(name) != "dropped" and plan.identifying.get(name) != "remove"
    ]
    relation, names = crowd.relation, outcome.table.column_names

    def judge(_: Relation, written: Condensed) -> list[Finding]:
        with_people, whose = crowd.union(keep=crowd.person)
        return verify_people(plan, replace(relation, table=with_people), whose, names, written, judge_models)

    def judge_models(rows: Rows) -> list[Finding]:
        seen = _published(crowd, outcome, rows, "by cells" if suppressed else "none")
        found = verify_models(seen, plan.models)
        return [*found, compare_blank(seen.suppressed_records, suppressed)] if suppressed else found

    def before() -> list[ibis.Table]:
        if not suppressed:
            return [crowd.relation.table]
        return [crowd.transform(part)[0] for part in crowd.parts]

    promise, known = "the table has the columns of the plan and no others", outcome.quasi_identifiers
    return verify_written(
        relation,
        staged,
        ExpectedOutput(promise, planned, outcome.table, known if suppressed else None, plan.marker),
        outcome.weights,
        judge,
        before,
        [name for name in planned if name not in names and name not in plan.identifying],
    )


@dataclass(frozen=True, kw_only=True)
class CrowdSource(EngineRows):
    """The different rows of all parts, for what is measured on all of them."""

    crowd: OwnerParts

    def expression(self, outcome: Outcome) -> Any:
        rows, _ = self.crowd.union()
        return self.crowd.relation.restore(shuffled(rows) if self.crowd.plan.order == "random" else rows)

    def class_sizes(self, names: list[str]) -> NDArray[np.int64]:
        plan = self.crowd.plan
        owners = Owners.of(self.table, self.crowd.person, plan.knows)
        return Published(Rows.of(self.table, self.weights, owners), names, suppressed="none").sizes

    def write(self, outcome: Outcome, target: Any, *, progress: Any = None, **options: Any) -> Written:
        """Write one part after the other; what is staged is checked as a whole."""
        crowd, found = self.crowd, Verification(())

        def check(staged: ibis.Table) -> None:
            nonlocal found
            found = check_staged(crowd, outcome, staged)
            found.require()

        def rows_of(part: OwnersPart) -> Callable[[], ibis.Table]:
            return lambda: crowd.transform(part)[0]

        pieces = [Piece(f"part {part.number + 1}", None, rows_of(part)) for part in crowd.parts]
        with following(progress) as shown:
            made = write_pieces(
                crowd.relation,
                lambda: pieces,
                pieces[0].make,
                target,
                check=check,
                token=self._token(outcome),
                shuffle=crowd.plan.order == "random",
                progress=shown,
                **options,
            )
        return replace(made, verification=found, note=crowd.relation.note)

    def _token(self, outcome: Outcome) -> str:
        """Tell outcomes apart: what one has written, only the same one may go on with."""
        levels = [part.levels for part in self.crowd.parts]
        digest = hashlib.sha256(repr((outcome.plan, str(self.crowd.relation.location), levels)).encode())
        for table in (
            self.table,
            outcome.table,
            *outcome.apart.values(),
        ):  # pseudonyms of another run are others
            for column in table.columns:
                digest.update(repr(column.unique().to_pylist()).encode())
        for numbers in (outcome.weights, outcome.hidden):
            assert numbers is not None
            digest.update(numbers.tobytes())
        return digest.hexdigest()[:24]
