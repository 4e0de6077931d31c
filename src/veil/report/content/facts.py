"""The facts of a release as plain data: the content of a report. They hold no cell of the original table."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from veil.base.describe import definition, help_on, parameters
from veil.base.spell import spell_value
from veil.base.version import __version__
from veil.base.wording import Phrase
from veil.hierarchies import reads_data
from veil.models.base import monotonicity
from veil.outcome.account import Account
from veil.outcome.cell_trace import CellTrace
from veil.outcome.generalize import Choice
from veil.outcome.measures import measures_of
from veil.outcome.outcome import Outcome, require_outcome
from veil.outcome.price_table import NAME as BOUND_TABLE
from veil.plan.linked_tables import Stacked
from veil.plan.plan import Plan
from veil.published.finding import BY_CONSTRUCTION
from veil.recipe.about import ABOUT, NOTHING, About
from veil.recipe.document import document_text
from veil.report.certificate.certificate import certificate_of, roles_of
from veil.report.certificate.digest import content_digest, file_digest
from veil.report.content.disclosure import hides_records
from veil.report.content.linked_tables import further_columns, output_of, recipe_of, tables_of
from veil.report.content.measured import Findings
from veil.report.content.sample import sample_of
from veil.report.content.steps import describe_step, spell_step
from veil.report.content.withheld import spell_models, spell_recipe
from veil.report.texts import methods_in_order, text
from veil.risk.concerns.collect import acknowledged_by, concerns_of

MOST_PARTS = 100
"""Parts with levels of their own that are listed: the largest."""

MOST_EXAMPLES = 3
"""Released values shown as examples of a level."""

OnPhase = Callable[[str], None]


def collect_facts(
    release: object,
    *,
    private: bool | None = None,
    exact: bool = False,
    about: About = NOTHING,
    not_anonymous: str | None = None,
    advice: dict[str, Any] | None = None,
    bound: Phrase | None = None,
    on_phase: OnPhase = lambda _: None,
) -> dict[str, Any]:
    """Return everything a reader needs to understand, judge and repeat a release.

    Parameters
    ----------
    private
        Leave out every exact figure about the input. By default only for differentially private releases.
    exact
        Include figures that depend on sensitive and insensitive cells of suppressed records, and the SHA-256
        of the input: for the data holder only.
    about
        Free text of the data holder for the first page.
    not_anonymous
        The reason to release a table that breaks a promise.
    advice
        Alternative releases: see `veil.api.advice`.
    bound
        What no recoding loses less than, beside the loss of the release: for the data holder only.
    on_phase
        Called with the name of each phase.
    """
    outcome = require_outcome(release)
    is_dp = outcome.statement is not None
    private = is_dp if private is None else private
    findings = Findings(outcome, private=private, exact=exact)
    on_phase("certificate")
    certificate = certificate_of(outcome)
    on_phase("what no model judges")
    concerns = [
        dataclasses.asdict(each) | {"columns": list(each.columns), "key": each.key}
        for each in concerns_of(outcome)
    ]
    on_phase("risks")
    risks = findings.risks
    on_phase("utility")
    utility = findings.utility.facts()
    on_phase("distributions")
    distributions, associations = findings.distributions, findings.associations
    recipe, account = _recipe(outcome), outcome.trace(Account)
    on_phase("fingerprints")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "about": {name: getattr(about, name) for name in ABOUT},
        "sample": sample_of(outcome, about.sample_rows),
        "private": private,
        "not_anonymous": not_anonymous,
        "notice": text("notice.left_out" if private else "notice.exact") if is_dp else None,
        "statement": outcome.statement,
        "concerns": concerns,
        "summary": _summary(outcome, private, exact, findings.hides_search, bound),
        "asked": _request(outcome),
        # The requirements of policies and how they were met, without names, keys or values of people.
        "policies": None if private or account is None else account.as_data(),
        "done": _with_examples(treatment_of_columns(outcome, private), distributions),
        "verification": _verification(outcome, certificate, private, exact),
        "advice": None if private else advice,
        "risks": risks,
        "utility": utility,
        "distributions": distributions,
        "associations": associations,
        "space": findings.space,
        "curve": findings.curve,
        "versions": versions(),
        "input": None if private else _input(outcome, exact),
        "tables": tables_of(outcome, certificate),
        "output": {
            "rows": outcome.by_records.records,
            **output_of(certificate),
            "apart": [
                {"name": name, "rows": table.num_rows, "secret": name in outcome.secret}
                for name, table in outcome.apart.items()
                # It has a row for each combination of cells of the input, whose number is confidential.
                if exact or name != BOUND_TABLE
            ],
        },
        "recipe": recipe,
        "recipe_text": document_text(recipe),
        "certificate": certificate,
    }


def _recipe(outcome: Outcome) -> dict[str, Any]:
    path = None if outcome.source.path is None else outcome.source.path.name
    recipe: dict[str, Any]
    masks = [spell_step(method, outcome.columns) for method in outcome.methods]
    if outcome.plan is None:
        recipe = {"input": path, "steps": []} if path else {"steps": []}
    elif isinstance(outcome.source, Stacked):
        recipe = recipe_of(outcome.source, outcome)
    else:
        recipe = spell_recipe(outcome.plan, outcome.table, input=path, format=outcome.source.format)
    recipe["steps"] = [*masks, *recipe["steps"]]
    if outcome.recoding is not None:
        recipe["steps"][-1]["recoding"] = spell_value(outcome.recoding)
    if acknowledged := acknowledged_by(outcome):
        recipe["acknowledge"] = acknowledged
    return recipe


def _summary(
    outcome: Outcome, private: bool, exact: bool, hides_search: bool, bound: Phrase | None
) -> dict[str, Any]:
    sizes = outcome.by_people.sizes
    summary: dict[str, Any] = {
        "released_rows": outcome.by_records.records,
        "classes": int(sizes.size),
        "smallest_class": int(sizes.min()) if sizes.size else None,
        "holds": outcome.verification.holds,
    }
    before = outcome.before
    if not before.owners.are_records:
        affected_count = before.people_in(outcome.suppressed_mask)
        summary["people"] = {"all": before.people, "lose_a_row": affected_count}
    if private:
        return summary
    prepared, choice, cells = outcome.prepared, outcome.trace(Choice), outcome.trace(CellTrace)
    if cells is not None:
        # Bound and gap are figures of the input.
        summary["cells"] = cells.sentence if exact else cells.published_sentence
    if exact and bound is not None:
        summary["bound"] = bound
    summary |= {
        "records": outcome.records,
        "chosen": outcome.records if prepared is None else prepared.records(prepared.subset),
        "suppressed": outcome.suppressed,
        "suppression_limit": None if outcome.plan is None else outcome.plan.suppression_limit,
        "within_limit": outcome.within_limit,
        "ending": outcome.facts.get("ending"),
    }
    if choice is not None:
        summary |= {
            "is_optimum": choice.is_optimum,
            "proven_optimal": choice.proven_optimal,
            "gap": None if hides_search else choice.gap,
        }
        if outcome.plan is None or not (hides_search and outcome.plan.quality.attribute_names):
            summary["score"] = list(choice.score) if isinstance(choice.score, tuple) else choice.score
        if not hides_search:
            summary["nodes"] = {"all": choice.found.space.size, "checked": len(choice.found.space.evaluated)}
    else:
        summary["measures"] = {name: float(value) for name, value in measures_of(outcome).items()}
    return summary


def _request(outcome: Outcome) -> dict[str, Any]:
    plan = outcome.plan
    specs = spell_models(outcome.models, outcome.table)
    findings = outcome.verification.findings
    request: dict[str, Any] = {
        "models": [
            {
                "kind": spec["kind"],
                "given": {name: value for name, value in spec.items() if name != "kind"},
                "text": spell_out(spec),
                "definition": _definition(model),
                "attacks": list(model.attacks),
                "monotone": monotonicity(model),
                "parameters": [dataclasses.asdict(each) for each in parameters(type(model))],
                "promise": finding.promise,
            }
            for spec, model, finding in zip(specs, outcome.models, findings, strict=False)
        ],
        "steps": [describe_step(method, outcome) for method in outcome.methods],
        "roles": roles_of(outcome),
        "subset": any(model.subset is not None for model in outcome.models),
    }
    return request if plan is None else {**request, **_request_of_plan(plan)}


def _request_of_plan(plan: Plan) -> dict[str, Any]:
    return {
        "quality": {"kind": str(getattr(plan.quality, "kind", "")), "definition": _definition(plan.quality)},
        "suppression_limit": plan.suppression_limit,
        "suppressed_rows": plan.suppressed_rows,
        "order": plan.order,
        "choose_by": plan.choose_by,
        "person": plan.person_column,
        "knows": plan.knows,
        "strategy": str(getattr(plan.strategy, "kind", type(plan.strategy).__name__)),
        "time_limit": plan.time_limit,
        "check_limit": plan.check_limit,
        "marker": plan.marker,
    }


def spell_out(spec: dict[str, Any]) -> str:
    """Return a model in readable notation.

    >>> spell_out({"kind": "KAnonymity", "k": 5}), spell_out({"kind": "RowNumbers", "withheld": {"values": 3}})
    ('KAnonymity(k = 5)', 'RowNumbers(3 values withheld)')
    """
    parts = []
    for name, value in spec.items():
        if name == "kind":
            continue
        if name == "withheld":
            numbers = [f"{number:,} {what}" for what, number in value.items()]
            parts.append(" ".join([*numbers, "withheld"]))
        elif isinstance(value, dict):
            inner = spell_out({"kind": "", **value}) if "kind" not in value else spell_out(value)
            parts.append(f"{name} = {inner}")
        else:
            parts.append(f"{name} = {value}")
    return f"{spec['kind']}({', '.join(parts)})" if parts else str(spec["kind"])


def _definition(declared: Any) -> str:
    """Return the definition of a model or quality model."""
    return help_on(type(declared).__name__, "definition", definition(type(declared)))


def treatment_of_columns(outcome: Outcome, private: bool) -> dict[str, Any]:
    """Return the treatment of each column and, after local recoding, of each part of the records."""
    treatment = _treatment_by_methods if outcome.plan is None else _treatment_after_masks
    columns: list[dict[str, Any]] = [
        {"column": name, "role": outcome.role_of(name), **treatment(outcome, name)}
        for name in outcome.columns
    ]
    columns += further_columns(outcome)
    facts: dict[str, Any] = {"columns": columns, "flag": outcome.flag, "from_data": _from_data(outcome)}
    if private or not (outcome.recoding or outcome.passes):
        return facts
    prepared, names = outcome.prepared, outcome.quasi_identifiers
    parts = [(each.recoded, each.transformation) for each in outcome.passes]
    if prepared is not None:
        vectors, records = outcome.cell_levels.vectors, outcome.records_by_part
        largest = np.sort(np.argsort(-records, kind="stable")[:MOST_PARTS])
        levels = [dict(zip(names, each, strict=False)) for each in vectors[largest].tolist()]
        parts = list(zip(records[largest].tolist(), levels, strict=True))
        facts["all_parts"] = len(vectors)
    facts["parts"] = [{"records": records, "levels": levels} for records, levels in parts]
    facts["passes"] = len(outcome.passes)
    return facts


def _with_examples(done: dict[str, Any], distributions: list[dict[str, Any]]) -> dict[str, Any]:
    """Add to each generalized column a few of its most frequent released values, as examples of the level."""
    values = {each["column"]: _examples(each) for each in distributions}
    for each in done["columns"]:
        if "level" in each and (examples := values.get(each["column"])):
            each["examples"] = examples
    return done


def _examples(column: dict[str, Any]) -> list[str]:
    times = [(-count, at) for at, count in enumerate(column["after"])]
    most = sorted(at for _, at in sorted(times)[:MOST_EXAMPLES])
    texts = [column["values"][at] or "·" for at in most]
    return [text if len(text) <= 30 else text[:29] + "…" for text in texts]


def _from_data(outcome: Outcome) -> dict[str, str]:
    """Return for each generalized column the values that its hierarchy takes from the data."""
    builders = {} if outcome.plan is None else outcome.plan.quasi_identifiers
    dependencies = {name: reads_data(each) for name, each in builders.items()}
    return {name: what for name, what in dependencies.items() if what is not None}


def _treatment_after_masks(outcome: Outcome, name: str) -> dict[str, Any]:
    """Return the treatment of a column by a plan, and by masking methods before it."""
    facts = _treatment_by_plan(outcome, name)
    if not (by := _methods_of(outcome, name)) or outcome.role_of(name) in ("identifying", "dropped"):
        return facts
    unchanged = facts["treatment"] in (text("treatment.published"), text("treatment.kept"))
    way = "treatment.changed" if unchanged else "treatment.changed_before"
    return facts | {"treatment": text(way, methods=by, treatment=facts["treatment"])}


def _methods_of(outcome: Outcome, name: str) -> str:
    """Return the masking methods that change a column, in their order; empty if none does."""
    by = [type(method).__name__ for method in outcome.methods if name in method.column_names]
    return methods_in_order(by) if by else ""


def _treatment_by_plan(outcome: Outcome, name: str) -> dict[str, Any]:
    """Return the treatment of a column by a plan."""
    plan = outcome.plan
    assert plan is not None
    role = outcome.role_of(name)
    if name in plan.microaggregated:
        return {"treatment": text("treatment.aggregated", aggregate=plan.microaggregated[name])}
    if name in outcome.hierarchies:
        at = list(outcome.hierarchies).index(name)
        cells = outcome.cell_levels
        used = cells.vectors[cells.counts > 0, at]
        used = used if used.size else cells.vectors[:1, at]
        return _generalization(outcome.hierarchies[name], np.unique(used).tolist())
    if name in plan.quasi_identifiers:
        levels = [each.transformation[name] for each in outcome.passes]
        return {"treatment": text("treatment.part_by_part", low=min(levels), high=max(levels))}
    if name in plan.items:
        return {"treatment": text("treatment.items")}
    if role == "identifying":
        return {"treatment": text(f"treatment.{plan.identifying[name]}")}
    return {"treatment": text("treatment.remove" if role == "dropped" else "treatment.published")}


def _treatment_by_methods(outcome: Outcome, name: str) -> dict[str, Any]:
    """Return the treatment of a column by masking methods."""
    if name not in outcome.kept_columns:
        apart = any(name in table.column_names for table in outcome.apart.values())
        return {"treatment": text("treatment.apart" if apart else "treatment.remove")}
    by = _methods_of(outcome, name)
    return {"treatment": text("treatment.changed", methods=by) if by else text("treatment.published")}


def _generalization(hierarchy: Any, levels: list[int]) -> dict[str, Any]:
    facts: dict[str, Any] = {"level": min(levels), "highest_level": max(levels), "of": hierarchy.height}
    if len(set(levels)) > 1:
        facts["treatment"] = text("treatment.record_by_record", low=min(levels), high=max(levels))
        return facts
    level = levels[0]
    facts["name"] = hierarchy.level_names[level]
    everything = level == hierarchy.height and len(hierarchy.labels[level]) == 1
    treatment = "kept" if level == 0 else "suppressed" if everything else "generalized"
    facts["treatment"] = text(f"treatment.{treatment}")
    return facts


def _verification(
    outcome: Outcome, certificate: dict[str, Any], private: bool, exact: bool
) -> list[dict[str, Any]]:
    """Return every promise with its independent finding; if private, with the finding on the release alone.

    Findings that compare with the input depend on suppressed records, unless recipients can find the same.
    """
    findings = outcome.verification.findings
    if not private:
        texts = [f.measured for f in findings]
        if outcome.plan is not None and not exact and hides_records(outcome):
            pairs = zip(outcome.models, certificate["found"], strict=True)
            for at, (model, stated) in enumerate(pairs):
                texts[at] = (
                    stated["found"] or text("verified.by_how_much_not_shown")
                    if model.compares_with
                    else texts[at]
                )
        entries = [
            {"promise": f.promise, "found": measured, "holds": f.holds}
            for f, measured in zip(findings, texts, strict=True)
        ]
        plan = outcome.plan
        declared = outcome.verification.open_questions if plan is None else plan.recoding.by_construction
        return [*entries, *({"promise": each, "found": BY_CONSTRUCTION, "holds": None} for each in declared)]
    checked = [
        {"promise": each["promise"], "found": each["found"] or "not checked", "holds": True}
        for each in certificate["found"]
    ]
    identifying = [f for f in findings if f.promise.startswith("identifying column")]
    return checked + [{"promise": f.promise, "found": f.measured, "holds": f.holds} for f in identifying]


def _input(outcome: Outcome, exact: bool) -> dict[str, Any]:
    """Describe the input; fingerprints are for the data holder only, as guesses can be tested on them."""
    table, path = outcome.source.table, outcome.source.path
    facts: dict[str, Any] = {"rows": outcome.records, "columns": len(outcome.columns)}
    if path is not None:
        facts["file"] = path.name
    if exact and not outcome.is_condensed:
        facts["sha256"] = content_digest(table)
    if exact and path is not None:
        facts["file_sha256"] = file_digest(path)
    return facts


def versions() -> dict[str, str]:
    """Return the versions of Veil, Python and their installed dependencies."""
    result = {"veil": __version__, "python": platform.python_version()}
    for name in [
        "numpy",
        "numba",
        "pyarrow",
        "pydantic",
        "scipy",
        "scikit-learn",
        "python-flint",
        "matplotlib",
    ]:
        try:
            result[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return result
