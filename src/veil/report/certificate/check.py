"""Checking a certificate: whether a table is the one that it speaks of, and keeps what it promises.

A certificate may come from anybody. Nothing that it says about itself makes a promise hold: what can be checked is
decided by the models, what cannot is called "not checked", and the answer begins with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from veil.base.wording import plural
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
    """Check that a table is the one that a certificate speaks of, and verify every promise on it again.

    The answer begins with what was not checked: promises that the table alone does not decide, who made the certificate
    if it is not signed, and columns that no model judges. `holds` says that every promise was checked and is kept.

    Parameters
    ----------
    certificate
        The file of the certificate, or of a report (HTML or JSON).
    table
        The released table: a pandas, polars or pyarrow table, the path of a file, or what an engine holds: an Ibis
        table, a Spark DataFrame, a folder or the URL of a table. Of the latter, an engine counts what the promises are
        about; such releases have no fingerprint. Several tables by name, or the folder or database that holds them, for a
        certificate of several.
    signed_by
        The public key, or its file, of whoever must have signed the certificate.
    """
    path = Path(certificate)
    data = read_certificate(path)
    try:
        form = Form.model_validate(data)
        promises = form.promises.model_dump()
        if not promises["models"] and not promises["stated"]:
            raise InputError(
                f"{path}: the certificate promises nothing, so every table would satisfy it. Ask for one "
                "that names the "
                "privacy models"
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
    released = as_certified(_open_release(table, data), content["columns"])
    forms, beside = check_foreign_table(released)
    lacking = [name for name in promises["quasi_identifiers"] if name not in released.table.column_names]
    if lacking:
        checked: list[Finding] = _lacking(lacking)
        further: list[str] = []
    else:
        published = published_table(released.table, promises, released.weights)
        checked, further = _check_promises(promises, stated, published, {None: released})
        if promises["person"] is None:
            further += ask_about_repeats(released, promises["identifying"], promises["quasi_identifiers"])
    findings = [*_content(content, released), *checked, _check_roles(promises, content["columns"]), *forms]
    if content["sha256"] is None:
        further.append("whether it is the very table, as a release of an engine has no fingerprint")
    return findings, [*beside, *further]


def _check_tables(
    data: dict[str, Any], promises: dict[str, Any], stated: list[str], tables: Any
) -> tuple[list[Finding], list[str]]:
    """Check the content of several tables, and the promises on what they tell together."""
    certified, opened = data["tables"], open_tables(tables, list(data["tables"]))
    findings, open_questions = [_names(certified, opened)], []
    released = {}
    for name in [each for each in certified if each in opened]:
        content, source = certified[name], opened[name]
        released[name] = as_certified(source, content["columns"])
        forms, beside = check_foreign_table(released[name])
        in_order = not isinstance(source, Fetched)
        found = [*(_content if in_order else _size)(content, released[name]), *forms]
        findings += [replace(each, promise=f"{name!r}: {each.promise}") for each in found]
        open_questions += [f"{name!r}: {each}" for each in beside]
        if not in_order:
            open_questions.append(
                f"{name!r}: whether it is the very table, as a database keeps no order of rows"
            )
    columns = {column for each in released.values() for column in each.table.column_names}
    if promises["label"] in columns:  # which would not be judged
        raise ValueError(f"{promises['label']!r} is a column, so it cannot say which table a row is from")
    lacking = [name for name in promises["quasi_identifiers"] if name not in columns | {promises["label"]}]
    if lacking:
        findings += _lacking(lacking)
    else:
        published, nobody = view_of({name: each.table for name, each in released.items()}, promises)
        checked, further = _check_promises(promises, stated, published, released)
        findings += [*checked, nobody]
        open_questions += further
    named = [{"name": promises["label"]}] + [
        {"name": name}
        for name in dict.fromkeys(each["name"] for part in certified.values() for each in part["columns"])
    ]
    return [*findings, _check_roles(promises, named)], open_questions


def _names(certified: Mapping[str, Any], opened: Mapping[str, Source]) -> Finding:
    lacking = [f"without {name!r}" for name in certified if name not in opened]
    further = [f"also {name!r}" for name in opened if name not in certified]
    told = "; ".join([*lacking, *further])
    return Finding(
        "these are the certified tables and no others", not told, told or plural(len(opened), "table")
    )


def _lacking(names: list[str]) -> list[Finding]:
    return [Finding("the quasi-identifiers are there", False, f"without {', '.join(map(repr, names))}")]


def _open_release(source: Any, data: dict[str, Any]) -> Source:
    """Read a released table, which may be empty where it comes as a frame, or let an engine count its combinations."""
    if isinstance(source, Source):
        return source
    if (released := outcome_of(source)) is not None:
        return Source(normalize(released.table), "pyarrow", weights=released.weights)
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
            f"{relation.name}: an engine holds it, but the certificate has a fingerprint of all rows in "
            "their order. Give the file or the frame that was certified, or check the table against the "
            "recipe"
        )
    from veil.engines.source import of_release

    columns = relation.table.columns
    wanted = [name for name in _columns_to_check(data["promises"]) if name in columns]
    # Without any column there is nothing to count, and a promise about columns is broken anyway.
    return of_release(relation, wanted or columns[:1], data["promises"]["marker"])


def _columns_to_check(promises: dict[str, Any]) -> list[str]:
    """Columns that have to be read to check promises; of those that should be gone, the name is enough."""
    models = [model for model in map(read_model, promises["models"]) if isinstance(model, PrivacyModel)]
    masked = [name for name, treatment in promises["identifying"].items() if treatment != "remove"]
    return [
        *promises["quasi_identifiers"],
        *(name for model in models for name in model.attribute_names),
        *masked,
    ]


# --- the content ------------------------------------------------------------------------------------------


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
    rows = released.records
    named, columns = [each["name"] for each in content["columns"]], _columns(released)
    lacking = [f"without {name!r}" for name in named if name not in columns]
    further = [f"also {name!r}" for name in columns if name not in named]
    told = "; ".join([*lacking, *further]) or plural(len(columns), "column")
    return [
        Finding(
            f"the table has {plural(content['rows'], 'row')}",
            content["rows"] == rows,
            plural(rows, "row"),
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


# --- the promises -----------------------------------------------------------------------------------------


def _check_promises(
    promises: dict[str, Any], stated: list[str], published: Published, released: Mapping[Any, Source]
) -> tuple[list[Finding], list[str]]:
    """Verify what is promised, on the table or on several together; also return the questions that the promises leave open."""
    known = Input() if promises["input"] is None else read_input(promises["input"], published)
    if sum(each.records for each in released.values()) > published.records:
        known = replace(known, whole=False)  # some of several tables show nothing
    several = promises["person"] is not None
    findings = check_models(promises["models"], stated, published, known, several=several)
    for each in promises["stated"]:
        promise = f"the certificate states: {each['promise']}"
        findings.append(Finding.not_checked(promise, "this table alone does not tell"))
    for name, source in released.items():
        found = [
            _check_identifying(source, column, how, promises)
            for column, how in promises["identifying"].items()
        ]
        findings += (
            found if name is None else [replace(each, promise=f"{name!r}: {each.promise}") for each in found]
        )
    models = [model for model in map(read_model, promises["models"]) if isinstance(model, PrivacyModel)]
    judged = [*published.names, *(name for model in models for name in model.attribute_names)]
    columns = dict.fromkeys(column for each in released.values() for column in _columns(each))
    open_questions = [
        *unjudged_columns(
            [name for name in columns if name != promises["flag"]], [*judged, *promises["identifying"]]
        ),
        *(model.unverifiable for model in models if model.unverifiable is not None),
    ]
    if any({"distribution", "records"} & set(model.compares_with) for model in models) and known != Input():
        open_questions.append("what the certificate says of the input, which models compare with")
    return findings, open_questions


def _check_identifying(released: Source, name: str, treatment: str, promises: dict[str, Any]) -> Finding:
    """Check that a column which names people is gone, or shows nothing of them."""
    table, there = released.table, name in _columns(released)
    if treatment == "pseudonym":
        return _check_pseudonyms(table, name, promises["marker"])
    values = table[name].unique() if there and treatment == "mask" else pa.nulls(0)
    masked = treatment == "mask" and is_masked(values, promises["marker"])
    gone = "removed" if treatment == "remove" else "masked"
    told = "gone" if not there else "there" if treatment == "remove" else f"{len(values)} distinct value(s)"
    return Finding(f"identifying column {name!r} is {gone}", not there or masked, told)


def _check_pseudonyms(table: pa.Table, name: str, marker: str | None) -> Finding:
    """Check that a column looks like pseudonyms; whether it tells nothing of people, no table can show."""
    promise = f"identifying column {name!r} holds pseudonyms"
    if name not in table.column_names:
        return Finding(promise, False, "gone")
    values = table[name].unique()
    values = values.filter(pa.array(~is_blank(values, marker))).to_pylist()
    strange = sum(re.fullmatch("[0-9a-f]{16}", str(value)) is None for value in values)
    told = f"{strange} values are none" if strange else plural(len(values), "pseudonym")
    return Finding(promise, not strange, told)


def _check_roles(promises: dict[str, Any], columns: list[dict[str, Any]]) -> Finding:
    """Check that models speak of the columns that the roles say, and that every certified column has one role."""
    roles = promises["roles"]
    named = [name for names in roles.values() for name in names]
    certified = [each["name"] for each in columns if each["name"] != promises["flag"]]
    gone = [name for name, treatment in promises["identifying"].items() if treatment == "remove"]
    wrong = [f"{name!r} has two roles" for name in sorted({each for each in named if named.count(each) > 1})]
    wrong += [f"{name!r} has no role" for name in certified if name not in named]
    wrong += [
        f"{name!r} is not certified" for name in named if name not in [*certified, *promises["identifying"]]
    ]
    wrong += [f"{name!r} is certified and should be gone" for name in gone if name in certified]
    if sorted(promises["quasi_identifiers"]) != sorted(roles.get("quasi-identifying", [])):
        wrong.append("the quasi-identifiers that are judged are others")
    if sorted(promises["identifying"]) != sorted(roles.get("identifying", [])):
        wrong.append("the identifying columns are others")
    person = promises["person"]
    if person is not None and person["column"] not in promises["identifying"]:
        wrong.append(f"{person['column']!r} tells people apart, and is not identifying")
    wrong += [
        f"pseudonyms of {name!r} show which rows are of one person, and people are not counted by it"
        for name, treatment in promises["identifying"].items()
        if treatment == "pseudonym" and person != {"column": name, "knows": "all rows"}
    ]
    if promises["untouched"] and (roles.get("sensitive") or promises["identifying"]):
        wrong.append("masks know no such roles")
    secret = roles.get("insensitive" if promises["untouched"] else "sensitive", [])
    for model in map(read_model, promises["models"]):
        if isinstance(model, str):
            continue
        # Of a mask: the model itself takes a part of what the column shows for known.
        in_part = (
            promises["quasi_identifiers"] if promises["untouched"] and model.attribute_may_be_known else ()
        )
        for name in model.attribute_names:
            if name not in secret and name not in in_part:
                wrong.append(f"{type(model).__name__} judges {name!r}, which is not sensitive")
    told = "; ".join(dict.fromkeys(wrong))
    return Finding("models and roles of columns agree", not wrong, told or plural(len(named), "column"))
