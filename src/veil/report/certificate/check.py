"""Checking a certificate: whether a table is the certified one, and keeps the promises.

A certificate is not trusted. Nothing that it states about itself makes a promise hold: the models decide what
can be checked; everything else is "not checked", and the answer begins with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from veil.base.wording import Phrase, plural
from veil.engines.fetch import Fetched
from veil.engines.relation import Relation, relation_of
from veil.errors import InputError
from veil.models.base import PrivacyModel
from veil.outcome.outcome import outcome_of
from veil.published.blank import is_blank, is_masked
from veil.published.finding import Finding, Verification
from veil.published.table import Published
from veil.report.certificate.digest import column_digests, digest_of
from veil.report.certificate.disclosed_input import read_input
from veil.report.certificate.form import Form, read_certificate
from veil.report.certificate.keys import AnyKey, PublicKey
from veil.report.certificate.linked_tables import open_tables, view_of
from veil.report.certificate.promises import check_models, published_table, read_model
from veil.report.certificate.reading import as_certified
from veil.report.certificate.signature import check_signature
from veil.risk.identify.repeats import ask_about_repeats
from veil.tables import read
from veil.tables.arrow import normalize
from veil.tables.source import Source
from veil.verification.foreign_table import check_foreign_table
from veil.verification.without_input import Input, unjudged_columns


def check_certificate(
    certificate: str | os.PathLike[str], table: Any, *, signed_by: PublicKey | AnyKey | None = None
) -> Verification:
    """Check that a table is the certified one, and verify every promise on it again.

    The answer begins with everything unchecked: promises that the table alone does not decide, the issuer of
    an unsigned certificate, and columns that no model judges. `holds`: every promise was checked and is kept.

    Parameters
    ----------
    certificate
        The file of the certificate, or of a report (HTML or JSON).
    table
        The released table: a pandas, polars or pyarrow table, the path of a file, or a table of an engine: an
        Ibis table, a Spark DataFrame, a folder or the URL of a table. An engine counts its own rows; such
        releases have no fingerprint. For a certificate of several: tables by name, their folder or database.
    signed_by
        The public key, or its file, that the certificate must be signed with.
    """
    path = Path(certificate)
    data = read_certificate(path)
    try:
        form = Form.model_validate(data)
        promises = form.promises.model_dump()
        if not promises["models"] and not promises["stated"]:
            raise InputError(
                f"{path}: the certificate promises nothing, so every table would satisfy it. Ask for one "
                "that names the privacy models"
            )
        findings, open_questions = check_signature(data, signed_by)
        look = _check_tables if form.tables else _check_table
        checked, further = look(data, promises, [each.promise for each in form.found], table)
        findings += checked
        open_questions += further
    except ValidationError as error:
        place = ".".join(str(each) for each in error.errors()[0]["loc"])
        raise InputError(f"{path}: the certificate is damaged at `{place}`. Ask for it again") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{path}: the certificate is damaged: {type(error).__name__} ({error}). Ask for it again"
        ) from None
    open_questions += [f"the table {name!r}, which is apart" for name in form.apart]
    return Verification(tuple(findings), tuple(open_questions))


def _check_table(
    data: dict[str, Any], promises: dict[str, Any], stated: list[str], table: Any
) -> tuple[list[Finding], list[str]]:
    """Check the content and the promises of one table; also return the questions that are left open."""
    content = data["content"]
    source = as_certified(_open_release(table, data), content["columns"])
    forms, beside = check_foreign_table(source)
    lacking = [name for name in promises["quasi_identifiers"] if name not in source.table.column_names]
    if lacking:
        checked: list[Finding] = _lacking(lacking)
        further: list[str] = []
    else:
        published = published_table(source.table, promises, source.weights)
        checked, further = _check_promises(promises, stated, published, {None: source})
        if promises["person"] is None:
            further += ask_about_repeats(source, promises["identifying"], promises["quasi_identifiers"])
    checked.append(_check_roles(promises, content["columns"]))
    if content["sha256"] is None:
        further.append("whether it is the very table, as a release of an engine has no fingerprint")
    return [*_check_content(content, source), *checked, *forms], [*beside, *further]


def _check_tables(
    data: dict[str, Any], promises: dict[str, Any], stated: list[str], tables: Any
) -> tuple[list[Finding], list[str]]:
    """Check the content of several tables, and the promises on all of them together."""
    certified, candidates = data["tables"], open_tables(tables, list(data["tables"]))
    findings, open_questions = [_check_names(certified, candidates)], []
    sources = {}
    for name in [each for each in certified if each in candidates]:
        content, source = certified[name], candidates[name]
        sources[name] = as_certified(source, content["columns"])
        forms, beside = check_foreign_table(sources[name])
        in_order = not isinstance(source, Fetched)
        findings += _of_table(name, (_check_content if in_order else _check_size)(content, sources[name]))
        findings += _of_table(name, forms)
        open_questions += [f"{name!r}: {each}" for each in beside]
        if not in_order:
            open_questions.append(
                f"{name!r}: whether it is the very table, as a database keeps no order of rows"
            )
    columns = {column for each in sources.values() for column in each.table.column_names}
    if promises["label"] in columns:  # the column would not be judged
        raise ValueError(f"{promises['label']!r} is a column, so it cannot say which table a row is from")
    lacking = [name for name in promises["quasi_identifiers"] if name not in columns | {promises["label"]}]
    if lacking:
        findings += _lacking(lacking)
    else:
        published, owner_finding = view_of({name: each.table for name, each in sources.items()}, promises)
        checked, further = _check_promises(promises, stated, published, sources)
        findings += [*checked, owner_finding]
        open_questions += further
    certified_columns = [{"name": promises["label"]}] + [
        {"name": name}
        for name in dict.fromkeys(each["name"] for part in certified.values() for each in part["columns"])
    ]
    return [*findings, _check_roles(promises, certified_columns)], open_questions


def _check_names(certified: Mapping[str, Any], tables: Mapping[str, Source]) -> Finding:
    differences = _differences(certified, tables)
    measured = differences or plural(len(tables), "table")
    return Finding("these are the certified tables and no others", not differences, measured)


def _differences(certified: Collection[str], names: Collection[str]) -> str:
    lacking = [f"without {name!r}" for name in certified if name not in names]
    return "; ".join([*lacking, *(f"also {name!r}" for name in names if name not in certified)])


def _of_table(name: str | None, findings: list[Finding]) -> list[Finding]:
    """Return findings with the name of their table, if there are several."""
    if name is None:
        return findings
    return [replace(each, promise=f"{name!r}: {each.promise}") for each in findings]


def _lacking(names: list[str]) -> list[Finding]:
    return [Finding("the quasi-identifiers are there", False, f"without {', '.join(map(repr, names))}")]


def _open_release(source: Any, data: dict[str, Any]) -> Source:
    """Read a released table, which may be empty if it is a frame, or let an engine count its combinations."""
    if isinstance(source, Source):
        return source
    if (outcome := outcome_of(source)) is not None:
        return Source(normalize(outcome.table), "pyarrow", weights=outcome.after.weights.counts)
    certified = data["content"]["sha256"] is not None
    if isinstance(source, Relation):
        relation: Relation | None = source
    else:
        is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
        relation = relation_of(source, engine="memory" if certified and is_file else "auto")
    if relation is None:
        return read(source, may_be_empty=True)
    if certified:
        raise InputError(
            f"{relation.name}: an engine holds it, but the certificate has a fingerprint of all rows in their "
            "order. Give the file or the frame that was certified, or check the table against the recipe"
        )
    from veil.engines.source import of_release

    columns = relation.table.columns
    needed_columns = [name for name in _columns_to_check(data["promises"]) if name in columns]
    # Without any column there is nothing to count, and a promise about columns is broken anyway.
    return of_release(relation, needed_columns or columns[:1], data["promises"]["marker"])


def _columns_to_check(promises: dict[str, Any]) -> list[str]:
    """Return the columns to read for checking promises; of removed columns the name is enough."""
    models = [model for model in map(read_model, promises["models"]) if isinstance(model, PrivacyModel)]
    masked = [name for name, treatment in promises["identifying"].items() if treatment != "remove"]
    return [
        *promises["quasi_identifiers"],
        *(name for model in models for name in model.attribute_names),
        *masked,
    ]


# --- the content ------------------------------------------------------------------------------------------


def _check_content(content: dict[str, Any], source: Source) -> list[Finding]:
    """Compare the fingerprint, and describe where it differs."""
    table = source.table
    if content["sha256"] is None:
        return _check_size(content, source)
    columns = column_digests(table)
    same = digest_of(columns, table.num_rows) == content["sha256"]
    promise = f"the table has the content with the SHA-256 {content['sha256'][:16]}…"
    if same:
        return [Finding(promise, True, "equal")]
    return [Finding(promise, False, _describe_difference(content, columns, table))]


def _check_size(content: dict[str, Any], source: Source) -> list[Finding]:
    """Compare the number of rows and the names of columns: the certified content of an engine's table."""
    rows, size = source.records, f"the table has {plural(content['rows'], 'row')}"
    certified, columns = [each["name"] for each in content["columns"]], _columns_of(source)
    names, same = "the table has the certified columns and no others", sorted(certified) == sorted(columns)
    return [
        Finding(size, content["rows"] == rows, plural(rows, "row")),
        Finding(names, same, _differences(certified, columns) or plural(len(columns), "column")),
    ]


def _columns_of(source: Source) -> list[str]:
    return list(source.table.column_names if source.columns is None else source.columns)


def _describe_difference(content: dict[str, Any], columns: dict[str, str], table: pa.Table) -> str:
    certified = {each["name"]: each for each in content["columns"]}
    if list(certified) != list(columns):
        return "other columns, or in another order"
    if content["rows"] != table.num_rows:
        return f"{plural(table.num_rows, 'row')} instead of {content['rows']:,}"
    differences = []
    for name, digest in columns.items():
        if digest == certified[name]["sha256"]:
            continue
        kind, was = str(table[name].type), certified[name]["type"]
        differences.append(f"column {name!r} differs")
        if kind != was:
            differences[-1] += (
                f" (certified as {was}, read as {kind}: the file may only need to be read, or to have been "
                "written, in another format)"
            )
    return "; ".join(differences) or "the rows and columns fit, and the fingerprint does not"


# --- the promises -----------------------------------------------------------------------------------------


def _check_promises(
    promises: dict[str, Any], stated: list[str], published: Published, sources: Mapping[Any, Source]
) -> tuple[list[Finding], list[str]]:
    """Verify the promises, on one table or several together; also return the questions left open."""
    facts = Input() if promises["input"] is None else read_input(promises["input"], published)
    if sum(each.records for each in sources.values()) > published.records:
        facts = replace(facts, whole=False)  # some of several tables show nothing
    several = promises["person"] is not None
    findings = check_models(promises["models"], stated, published, facts, several=several)
    for each in promises["stated"]:
        promise = f"the certificate states: {each['promise']}"
        findings.append(Finding.not_checked(promise, "this table alone does not tell"))
    for name, source in sources.items():
        columns = promises["identifying"].items()
        checks = [_check_identifying(source, column, how, promises) for column, how in columns]
        findings += _of_table(name, checks)
    models = [model for model in map(read_model, promises["models"]) if isinstance(model, PrivacyModel)]
    covered = [*published.names, *promises["identifying"], promises["flag"]]
    covered += [name for model in models for name in model.attribute_names]
    published_columns = dict.fromkeys(column for each in sources.values() for column in _columns_of(each))
    open_questions = [
        *unjudged_columns([*published_columns], covered),
        *(model.unverifiable for model in models if model.unverifiable is not None),
    ]
    if any({"distribution", "records"} & set(model.compares_with) for model in models) and facts != Input():
        open_questions.append("what the certificate says of the input, which models compare with")
    return findings, open_questions


def _check_identifying(source: Source, name: str, treatment: str, promises: dict[str, Any]) -> Finding:
    """Check that an identifying column is removed, masked or pseudonymized."""
    table, there = source.table, name in _columns_of(source)
    if treatment == "pseudonym":
        return _check_pseudonyms(table, name, promises["marker"])
    values = table[name].unique() if there and treatment == "mask" else pa.nulls(0)
    masked = treatment == "mask" and is_masked(values, promises["marker"])
    gone = "removed" if treatment == "remove" else "masked"
    left = "there" if treatment == "remove" else f"{len(values)} distinct value(s)"
    promise = Phrase(f"identifying column {{column!r}} is {gone}", column=name)
    return Finding(promise, not there or masked, left if there else "gone")


def _check_pseudonyms(table: pa.Table, name: str, marker: str | None) -> Finding:
    """Check that a column looks like pseudonyms; no table can show that they reveal nothing about people."""
    promise = Phrase("identifying column {column!r} holds pseudonyms", column=name)
    if name not in table.column_names:
        return Finding(promise, False, "gone")
    values = table[name].unique()
    values = values.filter(pa.array(~is_blank(values, marker))).to_pylist()
    strange = sum(re.fullmatch("[0-9a-f]{16}", str(value)) is None for value in values)
    if strange:
        return Finding(promise, False, plural(strange, "value is no pseudonym", "values are no pseudonyms"))
    return Finding(promise, True, plural(len(values), "pseudonym"))


def _check_roles(promises: dict[str, Any], columns: list[dict[str, Any]]) -> Finding:
    """Check that models judge columns of the right roles, and that every certified column has one role."""
    roles = promises["roles"]
    assigned = [name for names in roles.values() for name in names]
    certified = [each["name"] for each in columns if each["name"] != promises["flag"]]
    gone = [name for name, treatment in promises["identifying"].items() if treatment == "remove"]
    expected = [*certified, *promises["identifying"]]
    issues = [f"{name!r} has two roles" for name in sorted(set(assigned)) if assigned.count(name) > 1]
    issues += [f"{name!r} has no role" for name in certified if name not in assigned]
    issues += [f"{name!r} is not certified" for name in assigned if name not in expected]
    issues += [f"{name!r} is certified and should be gone" for name in gone if name in certified]
    if sorted(promises["quasi_identifiers"]) != sorted(roles.get("quasi-identifying", [])):
        issues.append("the quasi-identifiers that are judged are others")
    if sorted(promises["identifying"]) != sorted(roles.get("identifying", [])):
        issues.append("the identifying columns are others")
    person = promises["person"]
    if person is not None and person["column"] not in promises["identifying"]:
        issues.append(f"{person['column']!r} tells people apart, and is not identifying")
    issues += [
        f"pseudonyms of {name!r} show which rows are of one person, and people are not counted by it"
        for name, treatment in promises["identifying"].items()
        if treatment == "pseudonym" and person != {"column": name, "knows": "all rows"}
    ]
    if promises["untouched"] and (roles.get("sensitive") or promises["identifying"]):
        issues.append("masks know no such roles")
    secret = roles.get("insensitive" if promises["untouched"] else "sensitive", [])
    for model in map(read_model, promises["models"]):
        if isinstance(model, str):
            continue
        # With masks, the model itself may count a part of the column's values as known.
        in_part = (
            promises["quasi_identifiers"] if promises["untouched"] and model.attribute_may_be_known else ()
        )
        for name in model.attribute_names:
            if name not in secret and name not in in_part:
                issues.append(f"{type(model).__name__} judges {name!r}, which is not sensitive")
    measured = "; ".join(dict.fromkeys(issues)) or plural(len(assigned), "column")
    return Finding("models and roles of columns agree", not issues, measured)
