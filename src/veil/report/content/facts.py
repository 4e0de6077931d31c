"""The facts of a release as plain data: everything that a report tells. No cell of the original table is among them."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from veil.base.describe import definition, parameters
from veil.base.spell import spelled
from veil.base.version import __version__
from veil.local_recoding import RecodedRelease
from veil.models.base import monotonicity
from veil.recipe.document import document_text
from veil.report.certificate.certificate import certificate_of, roles_of
from veil.report.certificate.digest import content_digest, file_digest
from veil.report.content.measured import Findings
from veil.report.content.withheld import spell_models, spell_recipe

if TYPE_CHECKING:
    from veil.api.face import Anonymized

Tell = Callable[[str], None]

LEFT_OUT = (
    "The release is differentially private: the promise covers the released table, and every exact figure about the "
    "original records would weaken it. So this report leaves out the number of original and of suppressed records, "
    "the score, the risks and the utility compared with the input, and the SHA-256 of the input. "
    "The data holder gets them with report(…, for_the_data_holder=True)."
)
EXACT = (
    "This report holds exact figures about the original records, which the promise of differential privacy does not "
    "cover. It is for the data holder alone: publish the table, not the report."
)


def facts(release: Anonymized, *, private: bool | None = None, tell: Tell = lambda _: None) -> dict[str, Any]:
    """Collect everything a reader needs in order to understand, judge and repeat a release.

    Parameters
    ----------
    private
        Leave out every exact figure about the input. By default only for differentially private releases.
    tell
        Called with the name of each phase.
    """
    is_dp = hasattr(release, "statement")
    private = is_dp if private is None else private
    found = Findings(release, private=private)
    tell("certificate")
    certificate = certificate_of(release)
    tell("risks")
    risks = found.risks
    tell("utility")
    utility = found.worth.facts()
    tell("distributions")
    distributions, associations = found.distributions, found.associations
    plan = release.plan
    path = None if release._source.path is None else str(release._source.path)
    recipe = spell_recipe(plan, release.arrow, input=path, format=release._source.format)
    if isinstance(release, RecodedRelease):
        recipe["local_recoding"] = spelled(release.mode)
    tell("fingerprints")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "private": private,
        "notice": None if not is_dp else LEFT_OUT if private else EXACT,
        "statement": getattr(release, "statement", None),
        "summary": _summary(release, private),
        "asked": _asked(release),
        "done": done_to(release, private),
        "verification": _verification(release, certificate, private),
        "risks": risks,
        "utility": utility,
        "distributions": distributions,
        "associations": associations,
        "space": found.space,
        "curve": found.curve,
        "versions": versions(),
        "input": None if private else _input(release),
        "output": {
            "rows": release._published.records,
            "columns": len(certificate["content"]["columns"]),
            "sha256": certificate["content"]["sha256"],
        },
        "recipe": recipe,
        "recipe_text": document_text(recipe),
        "certificate": certificate,
    }


def _summary(release: Anonymized, private: bool) -> dict[str, Any]:
    sizes = release._published.sizes
    made: dict[str, Any] = {
        "released_rows": release._published.records,
        "classes": int(sizes.size),
        "smallest_class": int(sizes.min()) if sizes.size else None,
        "holds": release.verification.holds,
    }
    if private:
        return made
    relevant = release._prepared.records(release._prepared.subset)
    made |= {
        "records": release.records,
        "chosen": relevant,
        "suppressed": release.suppressed,
        "suppression_limit": release.plan.suppression_limit,
        "within_limit": release.within_limit,
        "ending": getattr(release, "ending", None),
    }
    if hasattr(release, "score"):
        score = release.score
        made |= {
            "score": list(score) if isinstance(score, tuple) else score,
            "is_optimum": getattr(release, "is_optimum", None),
            "proven_optimal": getattr(release, "proven_optimal", False),
            "gap": getattr(release, "gap", None),
        }
    else:
        made["measures"] = {name: float(value) for name, value in release.measures().items()}
    explored = getattr(release, "explored", None)
    if explored is not None:
        made["nodes"] = {"all": explored.size, "checked": len(explored.evaluated)}
    return made


def _asked(release: Anonymized) -> dict[str, Any]:
    plan = release.plan
    specs = spell_models(plan, release.arrow)
    return {
        "models": [
            {
                "kind": spec["kind"],
                "text": spelled_out(spec),
                "definition": _definition(model),
                "attacks": list(model.attacks),
                "monotone": monotonicity(model),
                "parameters": [
                    {"name": each.name, "values": each.values, "default": each.default, "about": each.about}
                    for each in parameters(type(model))
                ],
                "promise": finding.promise,
            }
            for spec, model, finding in zip(specs, plan.models, release.verification.findings, strict=False)
        ],
        "quality": {"kind": str(getattr(plan.quality, "kind", "")), "definition": _definition(plan.quality)},
        "suppression_limit": plan.suppression_limit,
        "suppressed_rows": plan.suppressed_rows,
        "strategy": str(getattr(plan.strategy, "kind", type(plan.strategy).__name__)),
        "time_limit": plan.time_limit,
        "check_limit": plan.check_limit,
        "marker": plan.marker,
        "roles": roles_of(release),
        "subset": any(model.subset is not None for model in plan.models),
    }


def spelled_out(spec: dict[str, Any]) -> str:
    """Write a model as people write it.

    >>> spelled_out({"kind": "KAnonymity", "k": 5}), spelled_out({"kind": "Rows", "withheld": {"values": 3}})
    ('KAnonymity(k = 5)', 'Rows(withheld)')
    """
    parts = []
    for name, value in spec.items():
        if name == "kind":
            continue
        if name == "withheld":
            parts.append("withheld")
        elif isinstance(value, dict):
            inner = spelled_out({"kind": "", **value}) if "kind" not in value else spelled_out(value)
            parts.append(f"{name} = {inner}")
        else:
            parts.append(f"{name} = {value}")
    return f"{spec['kind']}({', '.join(parts)})" if parts else str(spec["kind"])


def _definition(declared: Any) -> str:
    """Return the definition that a model or quality model states of itself."""
    return definition(type(declared)).replace("`", "")


def done_to(release: Anonymized, private: bool) -> dict[str, Any]:
    """Say what was done to each column, and by local recoding to which part of the records."""
    prepared, plan = release._prepared, release.plan
    names, hierarchies = prepared.encoding.names, prepared.encoding.hierarchies
    parts = [part for part in release._parts if part.rows.size] or release._parts[:1]
    columns = []
    for name in release._source.columns or prepared.table.column_names:
        role = plan.role_of(name)
        row: dict[str, Any] = {"column": name, "role": role}
        if name in plan.microaggregated:
            row["treatment"] = f"replaced by the {plan.microaggregated[name]} of its class"
        elif name in names:
            row |= _generalization(
                hierarchies[names.index(name)], [part.levels[names.index(name)] for part in parts]
            )
        elif role == "identifying":
            row["treatment"] = "removed" if plan.identifying[name] == "remove" else "masked"
        else:
            row["treatment"] = "removed" if role == "dropped" else "published as it is"
        columns.append(row)
    made: dict[str, Any] = {"columns": columns, "flag": release._flag}
    passes = getattr(release, "passes", None)
    if passes is not None and not private:
        made["parts"] = [
            {
                "records": prepared.records(part.rows),
                "levels": dict(zip(names, map(int, part.levels), strict=True)),
            }
            for part in release._parts
        ]
        made["passes"] = len(passes)
    return made


def _generalization(hierarchy: Any, levels: list[int]) -> dict[str, Any]:
    made: dict[str, Any] = {"level": min(levels), "highest_level": max(levels), "of": hierarchy.height}
    if len(set(levels)) > 1:
        made["treatment"] = f"generalized to levels {min(levels)} to {max(levels)}, record by record"
        return made
    level = levels[0]
    made["name"] = hierarchy.level_names[level]
    everything = level == hierarchy.height and len(hierarchy.labels[level]) == 1
    made["treatment"] = (
        "kept as it is" if level == 0 else "suppressed altogether" if everything else "generalized"
    )
    return made


def _verification(release: Anonymized, certificate: dict[str, Any], private: bool) -> list[dict[str, Any]]:
    """Every promise with what the independent check found; if private, what it found on the release alone."""
    findings = release.verification.findings
    if not private:
        return [{"promise": f.promise, "found": f.measured, "holds": f.holds} for f in findings]
    checked = [
        {"promise": each["promise"], "found": each["found"] or "not checked", "holds": True}
        for each in certificate["found"]
    ]
    identifying = [f for f in findings if f.promise.startswith("identifying column")]
    return checked + [{"promise": f.promise, "found": f.measured, "holds": f.holds} for f in identifying]


def _input(release: Anonymized) -> dict[str, Any]:
    table, path = release._source.table, release._source.path
    condensed = release._prepared.weights is not None
    made: dict[str, Any] = {
        "rows": release.records,
        "columns": len(release._source.columns or table.column_names),
        "sha256": None if condensed else content_digest(table),
    }
    if path is not None:
        made |= {"file": path.name, "file_sha256": file_digest(path)}
    return made


def versions() -> dict[str, str]:
    """Return the versions of Veil, Python and what they rest on, as far as installed."""
    found = {"veil": __version__, "python": platform.python_version()}
    for name in (
        "numpy",
        "numba",
        "pyarrow",
        "pydantic",
        "scipy",
        "scikit-learn",
        "python-flint",
        "matplotlib",
    ):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
