"""The certificate: what is promised of a released table, for those who get the table.

It names the promises, what was found on the table, and the fingerprint of its content. Whoever has the table can
check all of it again, without the original and without trusting who wrote the certificate: the fingerprint says that
it is the same table, and every promise is verified on the table anew. It is no signature: it does not tell who made
it, and its checksum finds accidents and careless changes, not forgers.

Nothing in it is computed from anything but the released table and the plan, and there is no fingerprint of the
original, by which somebody who knows most of it could confirm a guess about the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from veil.base.version import __version__
from veil.base.wording import plural
from veil.engines.relation import Relation, relation_of
from veil.errors import InputError, VeilError
from veil.models.base import PrivacyModel
from veil.outcome.outcome import Outcome, require_outcome
from veil.published.finding import Finding, Verification
from veil.published.flag import free_flag
from veil.published.table import Published
from veil.report.certificate.digest import column_digests, digest_of
from veil.report.content.withheld import spell_models
from veil.tables import atomic, read
from veil.tables.arrow import normalize
from veil.tables.frames import frame_of
from veil.tables.source import Source

FORMAT = 1
_ALWAYS_CHECKABLE = ("KAnonymity", "SubsetKAnonymity", "DistinctLDiversity", "SampleUniqueness")
"""Models of which nobody can say that the original table is needed."""
_EMBEDDED = re.compile(r'<script type="application/json" id="certificate">(.*?)</script>', re.DOTALL)


def certificate_of(release: object) -> dict[str, Any]:
    """Return the certificate of a release as plain data."""
    outcome = require_outcome(release)
    table, flag = normalize(outcome.table), _flag_of(outcome)
    table = table.rename_columns(
        [flag if flag and name == outcome.flag else name for name in table.column_names]
    )
    promises: dict[str, Any] = {
        "quasi_identifiers": list(outcome.published.names),
        "roles": roles_of(outcome),
        "identifying": {} if outcome.plan is None else dict(outcome.plan.identifying),
        "marker": outcome.marker,
        "flag": flag,
        "models": spell_models(outcome.models, outcome.table),
    }
    if outcome.plan is None:
        found = _findings_of_mask(outcome, table, promises)
    else:
        found = _findings_of_plan(outcome, table, promises)
    made = {
        "veil_certificate": FORMAT,
        "veil": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "promises": promises,
        "found": found,
        "content": _content_of(outcome, table, flag),
    }
    if further := {name: each for name, each in outcome.apart.items() if name not in outcome.secret}:
        made["apart"] = {name: _fingerprint(normalize(each)) for name, each in further.items()}
    return {**made, "checksum": _checksum(made)}


def _findings_of_plan(outcome: Outcome, table: pa.Table, promises: dict[str, Any]) -> list[dict[str, Any]]:
    """What was found of each model, and whether anybody can find the same on the table alone."""
    found = []
    for spec, model, stated in zip(
        promises["models"], outcome.models, outcome.verification.findings, strict=False
    ):
        checked = _check_model(spec, table, promises, outcome.weights)
        if checked is not None and checked.holds:
            found.append({"promise": checked.promise, "found": checked.measured, "checkable": True})
        else:
            kind = str(getattr(model, "kind", type(model).__name__))
            found.append({"promise": stated.promise, "found": None, "checkable": False, "model": kind})
    return found


def _findings_of_mask(outcome: Outcome, table: pa.Table, promises: dict[str, Any]) -> list[dict[str, Any]]:
    """What was found of each promise of a mask. Models count if they hold at the end, after all steps."""
    promises["untouched"] = True  # no record is suppressed: what is missing is a value
    kept, found = [], []
    for spec in promises["models"]:
        checked = _check_model(spec, table, promises, outcome.weights)
        if checked is not None and checked.holds:
            kept.append(spec)
            found.append({"promise": checked.promise, "found": checked.measured, "checkable": True})
    promises["models"] = kept
    known = {each["promise"] for each in found}
    promises["stated"] = [
        {"promise": each.promise, "found": each.measured}
        for each in outcome.verification.findings
        if each.promise not in known
    ]
    return found


def _flag_of(outcome: Outcome) -> str | None:
    """Name of the flag in what is released, where columns that Veil has not seen may have had the first choice."""
    columns = outcome.source.columns
    return outcome.flag if outcome.flag is None or columns is None else free_flag(columns)


def roles_of(outcome: Outcome) -> dict[str, list[str]]:
    """Return the columns by role; those that are published without one are insensitive."""
    made: dict[str, list[str]] = {
        "quasi-identifying": [],
        "sensitive": [],
        "insensitive": [],
        "identifying": [],
    }
    if outcome.plan is None:
        made["quasi-identifying"] = list(outcome.quasi_identifiers)
    else:
        made = {str(role): list(names) for role, names in outcome.plan.roles.items()}
    named = {name for names in made.values() for name in names}
    made["insensitive"] += [
        name for name in outcome.kept_columns if name not in named and outcome.role_of(name) == "insensitive"
    ]
    return {role: names for role, names in made.items() if names}


def _content_of(outcome: Outcome, table: pa.Table, flag: str | None) -> dict[str, Any]:
    """Return the fingerprint of the released table. Of what an engine holds, Veil has seen the rows condensed only."""
    if not outcome.is_condensed:
        return _fingerprint(table)
    names = [*outcome.kept_columns, *([flag] if flag else [])]
    return {
        "sha256": None,
        "rows": outcome.published.records,
        "columns": [{"name": name} for name in names],
    }


def _fingerprint(table: pa.Table) -> dict[str, Any]:
    columns = column_digests(table)
    return {
        "sha256": digest_of(columns, table.num_rows),
        "rows": table.num_rows,
        "columns": [
            {"name": name, "type": str(table[name].type), "sha256": digest}
            for name, digest in columns.items()
        ],
    }


def write_certificate(release: object, path: Path) -> Path:
    """Write the certificate of a release as a JSON file."""
    with atomic(path) as temporary:
        temporary.write_text(
            json.dumps(certificate_of(release), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return path


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate from its own file, or from a report (HTML or JSON) that holds one."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path of the certificate") from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read as text. A certificate is a JSON file") from None
    embedded = _EMBEDDED.search(text)
    try:
        data = json.loads(embedded[1] if embedded else text)
    except json.JSONDecodeError:
        raise InputError(f"{path}: holds no certificate. Give its JSON file, or a report") from None
    if isinstance(data, dict) and isinstance(data.get("certificate"), dict):
        data = data["certificate"]
    if not isinstance(data, dict) or "veil_certificate" not in data:
        raise InputError(f"{path}: holds no certificate. Give its JSON file, or a report")
    if data["veil_certificate"] != FORMAT:
        raise InputError(
            f"{path}: a certificate of format {data['veil_certificate']!r}, which this version of Veil "
            f"({__version__}) does not know. Update Veil"
        )
    return data


def check_certificate(certificate: str | Path, table: Any) -> Verification:
    """Check that a table is the one that a certificate speaks of, and verify every promise on it again.

    Parameters
    ----------
    certificate
        The file of the certificate, or of a report (HTML or JSON).
    table
        The released table: a pandas, polars or pyarrow table, the path of a file, or what an engine holds: an Ibis
        table, a Spark DataFrame, a folder or the URL of a table. Of the latter, an engine counts what the promises are
        about; such releases have no fingerprint.
    """
    path = Path(certificate)
    data = read_certificate(path)
    try:
        released = _open_release(table, data)
        given = data.pop("checksum", None)
        findings = [
            Finding(
                "the certificate is as it was made",
                given == _checksum(data),
                "its checksum fits" if given == _checksum(data) else "it was changed",
            ),
            *_content(data["content"], released),
            *_promises(data, released),
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{path}: the certificate is damaged: {type(error).__name__} ({error}). Ask for it again"
        ) from None
    return Verification(tuple(findings))


def _open_release(source: Any, data: dict[str, Any]) -> Source:
    """Read a released table, which may be empty where it comes as a frame, or let an engine count its combinations."""
    certified = data["content"]["sha256"] is not None
    if isinstance(source, Relation):
        relation: Relation | None = source
    else:
        is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
        relation = relation_of(source, engine="memory" if certified and is_file else "auto")
    if relation is None:
        found = frame_of(source)
        return read(source) if found is None else Source(normalize(found[1].to_arrow()), "pyarrow")
    if certified:
        raise InputError(
            f"{relation.name}: an engine holds it, and the certificate has a fingerprint of all rows in their order. "
            "Give the file or the frame that was certified, or check the table against the recipe"
        )
    from veil.engines.source import of_release

    columns = relation.table.columns
    wanted = [name for name in _columns_to_check(data["promises"]) if name in columns]
    # Without any column there is nothing to count, and a promise about columns is broken anyway.
    return of_release(relation, wanted or columns[:1], data["promises"]["marker"])


def _columns_to_check(promises: dict[str, Any]) -> list[str]:
    """Columns that have to be read to check promises; of those that should be gone, the name is enough."""
    models = [model for model in map(_model_of, promises["models"]) if model is not None]
    masked = [name for name, treatment in promises["identifying"].items() if treatment == "mask"]
    return [
        *promises["quasi_identifiers"],
        *(name for model in models for name in model.attribute_names),
        *masked,
    ]


def _checksum(made: dict[str, Any]) -> str:
    text = json.dumps(made, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _content(content: dict[str, Any], released: Source) -> list[Finding]:
    """Compare the fingerprint, and say where it differs."""
    table = released.table
    if content["sha256"] is None:
        return _size(content, released)
    columns = column_digests(table)
    same = digest_of(columns, table.num_rows) == content["sha256"]
    promise = f"the table has the content with the SHA-256 {content['sha256'][:16]}…"
    if same:
        return [Finding(promise, True, "equal")]
    return [Finding(promise, False, _difference(content, columns, table))]


def _size(content: dict[str, Any], released: Source) -> list[Finding]:
    """Compare what is certified of a release that an engine has written: number of rows, and names of columns."""
    rows = released.table.num_rows if released.weights is None else int(released.weights.sum())
    named, columns = [each["name"] for each in content["columns"]], _columns(released)
    lacking = [f"without {name!r}" for name in named if name not in columns]
    further = [f"also {name!r}" for name in columns if name not in named]
    told = "; ".join([*lacking, *further]) or plural(len(columns), "column")
    return [
        Finding(
            f"the table has {plural(content['rows'], 'row')}",
            content["rows"] == rows,
            f"{plural(rows, 'row')}; the content was not checked, as the certificate has no fingerprint",
        ),
        Finding("the table has the certified columns and no others", sorted(named) == sorted(columns), told),
    ]


def _columns(released: Source) -> list[str]:
    return list(released.table.column_names if released.columns is None else released.columns)


def _difference(content: dict[str, Any], columns: dict[str, str], table: pa.Table) -> str:
    certified = {each["name"]: each for each in content["columns"]}
    if list(certified) != list(columns):
        return "other columns, or in another order"
    if content["rows"] != table.num_rows:
        return f"{plural(table.num_rows, 'row')} instead of {content['rows']:,}"
    told = []
    for name, digest in columns.items():
        if digest == certified[name]["sha256"]:
            continue
        kind, was = str(table[name].type), certified[name]["type"]
        told.append(f"column {name!r} differs")
        if kind != was:
            told[-1] += (
                f" (certified as {was}, read as {kind}: the file may only need to be read, or to have been "
                "written, in another format)"
            )
    return "; ".join(told) or "the rows and columns fit, and the fingerprint does not"


def _promises(data: dict[str, Any], released: Source) -> list[Finding]:
    promises, table = data["promises"], released.table
    lacking = [name for name in promises["quasi_identifiers"] if name not in table.column_names]
    if lacking:
        names = ", ".join(map(repr, lacking))
        return [Finding("the quasi-identifiers are there", False, f"without {names}")]
    findings = []
    for spec, stated in zip(promises["models"], data["found"], strict=True):
        checked = _check_model(spec, table, promises, released.weights)
        checkable = stated["checkable"] or spec["kind"] in _ALWAYS_CHECKABLE
        if checked is not None and (checked.holds or checkable):
            findings.append(checked)
        elif stated["checkable"]:
            findings.append(Finding(str(stated["promise"]), False, "cannot be checked on this table"))
        else:
            promise = f"the certificate states: {stated['promise']}"
            findings.append(Finding(promise, True, "not checked, as that takes the original table"))
    for stated in promises.get("stated", ()):
        promise = f"the certificate states: {stated['promise']}"
        findings.append(Finding(promise, True, "not checked, as this table alone does not tell"))
    for name, treatment in promises["identifying"].items():
        there = name in _columns(released)
        values = set(table[name].unique().to_pylist()) if there and treatment == "mask" else set()
        masked = treatment == "mask" and values <= {promises["marker"]}
        gone = "removed" if treatment == "remove" else "masked"
        told = (
            "gone" if not there else "there" if treatment == "remove" else f"{len(values)} distinct value(s)"
        )
        findings.append(Finding(f"identifying column {name!r} is {gone}", not there or masked, told))
    return findings


def _check_model(
    spec: dict[str, Any], table: pa.Table, promises: dict[str, Any], weights: Any = None
) -> Finding | None:
    """Verify one promise on the table alone; None if it says nothing without the original."""
    model = _model_of(spec)
    if model is None:
        return None
    try:
        published = Published(
            table,
            promises["quasi_identifiers"],
            marker=promises["marker"],
            flag=promises["flag"] if promises["flag"] in table.column_names else None,
            untouched=bool(promises.get("untouched")),
            weights=weights,
        )
        return model.verify(published)
    except (VeilError, KeyError):
        return None


def _model_of(spec: dict[str, Any]) -> PrivacyModel | None:
    """Return the model of a promise; None if values that it needs are withheld."""
    from veil.recipe.parts import ModelSpec

    try:
        model: PrivacyModel = TypeAdapter(ModelSpec).validate_python(spec)
    except (VeilError, ValidationError, KeyError):
        return None
    return model
