"""The verb verify: whether a published table keeps the promises of a plan or of its certificate."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from veil.api.lower_bound import check_lower_bound
from veil.api.open import Engine, fetch_all, find_relation, open_source
from veil.base.keywords import own_keywords
from veil.engines.relation import Relation
from veil.errors import PlanError, Say
from veil.outcome.lower_bound import LowerBound
from veil.outcome.outcome import outcome_of
from veil.plan.plan import Plan
from veil.published.finding import Finding, Verification
from veil.published.flag import find_flag
from veil.published.linked_tables import free_label, joined_view
from veil.published.owners import owners_shown
from veil.published.table import Published
from veil.risk.identify.repeats import ask_about_repeats
from veil.tables import Format, Source
from veil.tables.rows import Rows
from veil.verification.foreign_table import check_foreign_table
from veil.verification.lower_bound import verify_lower_bound
from veil.verification.outcome import verify_outcome
from veil.verification.release import verify_roles
from veil.verification.without_input import Input, unjudged_columns, verify_columns, verify_without_input


@own_keywords
def verify(
    source: Any,
    plan: Plan | None = None,
    *,
    certificate: str | os.PathLike[str] | None = None,
    signed_by: Any = None,
    original: Any = None,
    lower_bound: Any = None,
    format: Format | None = None,
    engine: Engine = "auto",
) -> Verification:
    """Check on a published table that it keeps the promises of a plan or a certificate, without the input.

    The first line of the result lists what was not checked. A model that compares with the input, such as
    t-closeness, needs the sensitive cells of every record in the table, or their distribution in the
    certificate. Otherwise it is not checked, which means neither kept nor broken. The same applies to
    promises that count people with several rows, unless the table has pseudonyms of them. If promises count
    rows, and people seem to have several, that is an open question. A release has its plan and its input.

    A value with two forms (missing and not-a-number, 1.5 and 1.50 in a CSV file) can be distinguished by
    readers, so the promise is broken. Other contents of a frame or a file (metadata, attributes, memory under
    blank cells, comments) are reported in the first line.

    Parameters
    ----------
    source
        As for `veil.anonymize`. Several tables are given by name and checked together or, with their
        certificate, as the folder or database that holds them.
    certificate
        The file of a certificate, or of a report that contains one, instead of a plan.
    signed_by
        The public key, or its file, that must have signed the certificate.
    original, lower_bound
        The input, and the secret table with the prices of its lower bound (or its CSV file): whether they prove that
        no recoding with these hierarchies loses less. Only the data holder has them. A release has them itself.

    >>> import pyarrow as pa
    >>> from veil import KAnonymity
    >>> plan = Plan({"age": "suppression"}, KAnonymity(2))
    >>> print(verify(pa.table({"age": ["20-29", "20-29", "30-39"], "id": [7, 8, 9]}), plan))
    NOT CHECKED: what no model judges: 'id'
    BROKEN: 2-anonymity (found: k = 1)
    BROKEN: the table has the columns of the plan and no others (found: also has 'id')
    """
    outcome = outcome_of(source)
    if lower_bound is not None:
        if plan is None or original is None or certificate is not None:
            raise PlanError(
                "a lower bound is checked with a `plan` and the `original` table: give both, and no certificate"
            )
        verification = verify(source, plan, format=format, engine=engine)
        return _with(verification, check_lower_bound(original, plan, lower_bound))
    if original is not None:
        raise PlanError(
            "only a lower bound is compared with the original table: leave ", Say("original"), " out"
        )
    if certificate is not None:
        if plan is not None:
            raise PlanError("`verify` checks a plan or a certificate, not both: leave one out")
        from veil.report import check_certificate, names_of_tables

        if names_of_tables(certificate):
            return check_certificate(certificate, source, signed_by=signed_by)
        if isinstance(source, Mapping):
            raise PlanError(
                "the certificate is for a single table, and several were given: give that table only"
            )
        relation = None if outcome is not None else find_relation(source, format, engine)
        table = (
            open_source(source, format, "memory", _refuse, may_be_empty=True)
            if relation is None
            else relation
        )
        return check_certificate(certificate, table, signed_by=signed_by)
    if signed_by is not None:
        raise PlanError("a plan is not signed: ", Say("signed_by"), " goes with ", Say("certificate"))
    if outcome is not None and outcome.plan is not None and (plan is None or plan is outcome.plan):
        verification, proof = verify_outcome(outcome), outcome.trace(LowerBound)
        if proof is None or outcome.prepared is None:
            return verification
        return _with(verification, verify_lower_bound(outcome.prepared, proof))
    if plan is None:
        raise PlanError("`verify` needs to know what the table promises. Give a `plan` or a `certificate`")
    if isinstance(source, Mapping):
        return _several_against_plan(source, plan)
    return _against_plan(source, plan, format, engine)


def _with(verification: Verification, finding: Finding) -> Verification:
    return dataclasses.replace(verification, findings=(*verification.findings, finding))


def _several_against_plan(sources: Mapping[str, Any], plan: Plan) -> Verification:
    """Check several tables together, without the input."""
    if plan.person_column is None:
        raise PlanError(
            "several tables about the same people need a column that tells people apart: name it in ",
            Say("person"),
        )
    sources_read = {
        name: open_source(each, None, "auto", fetch_all, may_be_empty=True) for name, each in sources.items()
    }
    tables = {name: each.table for name, each in sources_read.items()}
    columns = list(dict.fromkeys(name for table in tables.values() for name in table.column_names))
    plan.check_columns([*columns, *plan.identifying])
    sensitive = list(dict.fromkeys(name for model in plan.models for name in model.attribute_names))
    published, ownerless = joined_view(
        tables,
        free_label(columns),
        quasi_identifiers=plan.quasi_identifiers,
        sensitive=sensitive,
        person=plan.person_column,
        treatment=plan.identifying[plan.person_column],
        marker=plan.marker,
    )
    foreign_checks = {name: check_foreign_table(each) for name, each in sources_read.items()}
    findings = [
        *verify_without_input(published, plan.models, Input(several=published.rows.owners.are_records)),
        *(_of(name, finding) for name, table in tables.items() for finding in verify_roles(table, plan)),
        verify_columns(columns, plan, None),
        ownerless,
        *(_of(name, finding) for name, (forms, _) in foreign_checks.items() for finding in forms),
    ]
    open_questions = [
        *(f"{name!r}: {each}" for name, (_, beside) in foreign_checks.items() for each in beside),
        *unjudged_columns(columns, [*published.names, *sensitive, *plan.identifying]),
    ]
    return Verification(tuple(findings), tuple(open_questions))


def _of(table: str, finding: Finding) -> Finding:
    return dataclasses.replace(finding, promise=f"{table!r}: {finding.promise}")


def _refuse(relation: Relation) -> Source:
    raise AssertionError("it was asked before whether an engine holds it")


def _against_plan(source: Any, plan: Plan, format: Format | None, engine: Engine) -> Verification:
    def condense(relation: Relation) -> Source:
        from veil.engines.source import for_verifying  # needs Ibis

        return for_verifying(relation, plan)

    source = open_source(source, format, engine, condense, may_be_empty=True)
    source.check_index()
    table = source.table
    columns = list(table.column_names if source.columns is None else source.columns)
    for name in plan.roles["quasi-identifying"]:
        if name not in table.column_names:
            plan.check_columns(columns)
    assigned = {name for names in plan.roles.values() for name in names}
    flag = find_flag(table, assigned)
    person = plan.person_column
    treatment = None if person is None else plan.identifying[person]
    published = Published(
        Rows.of(table, source.weights, owners_shown(table, person, treatment, plan.knows)),
        list(plan.roles["quasi-identifying"]),
        marker=plan.marker,
        flag=flag,
        # Where suppressed records keep some cells, every row is judged.
        suppressed="none" if plan.suppressed_rows == "keep cells" else "by cells",
    )
    forms, beside = check_foreign_table(source)
    findings = [
        *verify_without_input(published, plan.models, Input.behind(published, plan)),
        *verify_roles(table, plan),
        verify_columns(columns, plan, flag),
        *forms,
    ]
    model_columns = [*published.names, *(name for model in plan.models for name in model.attribute_names)]
    repeats = [] if person is not None else ask_about_repeats(source, plan.identifying, published.names)
    open_questions = [
        *beside,
        *repeats,
        *unjudged_columns([name for name in columns if name != flag], [*model_columns, *plan.identifying]),
        *(model.unverifiable for model in plan.models if model.unverifiable is not None),
    ]
    return Verification(tuple(findings), tuple(open_questions))
