"""The verb that carries out policies: `veil.policy.apply`.

The order is fixed, because each step rests on those before: consent for records, then for cells, pseudonyms,
minimum of each record, combined guarantee of all policies, anonymization, check of all requirements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.release import Release
from veil.base.progress import ProgressLike
from veil.base.wording import plural
from veil.errors import (
    ImpossibleError,
    InputError,
    NoSolutionError,
    ParameterError,
    PlanError,
    did_you_mean,
)
from veil.models import KAnonymity
from veil.outcome.account import Account
from veil.outcome.result import UsedRows
from veil.plan.plan import ASK
from veil.policy.documents.documents import as_policies
from veil.policy.documents.elements import Policy
from veil.policy.release.combined import terms_of
from veil.policy.release.run import Linked, PolicyRun
from veil.policy.rules.checks import check_to_run
from veil.policy.rules.decide import PolicyVerdict, Request, decide_all
from veil.policy.rules.onward_transfer import check_chain
from veil.policy.rules.pseudonyms import Keys
from veil.policy.rules.retention import as_day, withdrawals
from veil.risk.difference import differencing
from veil.risk.identify.repeats import check_people
from veil.tables import Source, read
from veil.tables.columns import encode_values
from veil.tables.spelling import read_person
from veil.tables.text import canonical_text

_OPTIONS = (
    *("quality", "suppression_limit", "strategy", "time_limit", "check_limit", "suppressed_rows", "marker"),
    *("order", "threads", "choose_by", "local"),
)
_EMPTY = "no record may be used: "


def apply(
    table: Any,
    policies: Any,
    *,
    purpose: str,
    recipient: str,
    link: str = "policy_id",
    person: str | None = ASK,
    credential: str | None = None,
    on: date | None = None,
    ended: date | None = None,
    withdrawn: Mapping[str, date] | None = None,
    keys: Keys | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    population: Any = None,
    if_impossible: Literal["stop", "leave out"] = "stop",
    previous: Any = None,
    although_differences_tell: bool = False,
    although_values_can_be_guessed: bool = False,
    allow_secrets: bool = False,
    progress: ProgressLike = None,
    **options: Any,
) -> Release:
    """Anonymize a table as the policies of the people in it require.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table, or the path of a file.
    policies
        Policies by their ids; or a list of them, whose names are the ids; or the path of a folder or file.
    purpose, recipient
        What the table is for, and who gets it. Records whose policy forbids that are omitted and counted.
    link
        The column with the id of each record's policy.
    person
        The column that distinguishes people, to count people, not records. By default, a policy is the
        consent of one person, who owns all records under it. None: every record is a person of its own.
    credential
        Evidence that the request comes from the recipient; compared with `authInfo` where policies have it.
    on
        The day of the release; by default today. Consent, withdrawal and retention are judged by it alone.
    ended
        The day on which the purpose ended, from which `afterPurpose` counts. By default it goes on.
    withdrawn
        Ids of policies whose consent was withdrawn, each with the day.
    keys
        Where the keys are that policies name (`keyRef`): the path of a file, "env:NAME", or bytes.
    hierarchies
        Hierarchies of columns, for values that no policy lists.
    population
        The population that the table was chosen from, including it, with quasi-identifiers: a table or the
        path of a file. For policies that require k-map, δ-presence or inclusion.
    if_impossible
        What to do if no release satisfies all policies: "stop", or "leave out" the records with the highest
        requirements, again and again. Requirements are never weakened.
    previous
        One or more earlier releases of the table. If a class differs by fewer records than the smallest class
        may have, that would reveal values of people who left or joined, and nothing is released.
    although_differences_tell
        Release nevertheless; `release.account` has the number of classes that differ so.
    although_values_can_be_guessed
        Whether policies may require hashes without a key.
    allow_secrets
        Whether policies may contain keys.
    options
        Keywords of `veil.anonymize`: quality, suppression_limit, strategy, time_limit and others.

    The requirements and how they were met are in `release.account`.
    """
    for name in options:
        if name not in _OPTIONS:
            raise ParameterError(f"`{name}` is not an option of policies.{did_you_mean(name, _OPTIONS)}")
    if if_impossible not in ("stop", "leave out"):
        raise ParameterError(f'`if_impossible` should be "stop" or "leave out", not {if_impossible!r}')
    source = table if isinstance(table, Source) else read(table)
    source.check_index()
    policies_by_id = as_policies(policies)
    request = Request(
        purpose,
        recipient,
        date.today() if on is None else as_day(on),
        credential,
        None if ended is None else as_day(ended),
    )
    withdrawal_days = withdrawals(withdrawn, policies_by_id)
    linked = _link(source.table, link, policies_by_id)
    for name in linked.names:
        check_to_run(policies_by_id[name], name, secrets=allow_secrets)
        for problem in check_chain(policies_by_id[name]):
            raise PlanError(f"policy {name!r}, {problem}")
    verdicts = decide_all({name: policies_by_id[name] for name in linked.names}, request, withdrawal_days)
    reasons: dict[str, int] = {}
    allowed = _allowed(linked, verdicts, reasons)
    if not allowed.any():
        counts = ", ".join(f"{reason} ({count})" for reason, count in reasons.items())
        raise PlanError(
            f"{_EMPTY}{counts}. Choose a purpose that was accepted and a recipient that the policies name"
        )
    people = _people(linked, allowed, link, read_person(person), source.table)
    terms = {
        name: terms_of(verdict.purpose, verdict.withheld)
        for name, verdict in verdicts.items()
        if verdict.purpose is not None
    }
    policy_run = PolicyRun(
        source,
        policies_by_id,
        linked,
        request,
        withdrawal_days,
        terms,
        keys or {},
        hierarchies or {},
        although_values_can_be_guessed,
        allow_secrets,
        None if population is None else read(population).table,
        {**options, "person": people, "progress": progress},
    )
    demanding = 0
    while True:
        try:
            release, account = policy_run.release(allowed, dict(reasons))
        except (ImpossibleError, NoSolutionError):
            if if_impossible == "stop":
                raise
            dropped = policy_run.demanding(allowed)
            if not dropped:
                raise
            dropped_mask = allowed & np.isin(linked.policy, [linked.number[name] for name in dropped])
            demanding += int(dropped_mask.sum())
            reasons["they ask for more than can be met together"] = demanding
            allowed = allowed & ~dropped_mask
            if not allowed.any():
                raise
            continue
        account = _compare(release, account, previous, although_differences_tell)
        assert account.rows is not None
        return Release(
            release.outcome.changed(traces=(*release.outcome.last.traces, account, UsedRows(account.rows)))
        )


def _people(
    linked: Linked, allowed: NDArray[np.bool_], link: str, person: str | None, table: pa.Table
) -> str | None:
    """Return the column that distinguishes people: that of the policies, if some have several records."""
    if person is None or person == ASK:
        several = np.bincount(linked.policy[allowed], minlength=1).max() > 1
        if several and person == ASK:
            return link
        check_people(table.filter(pa.array(allowed)), person)  # before identifying columns are removed
        return None
    if person not in table.column_names:
        raise PlanError(
            f"the table has no column {person!r} that tells people apart.{did_you_mean(person, table.column_names)}"
        )
    return person


def _compare(release: Release, account: Account, previous: Any, although: bool) -> Account:
    """Refuse a release that differs so little from an earlier one that it reveals values of a person."""
    earlier = [] if previous is None else previous if isinstance(previous, list | tuple) else [previous]
    plan = release.plan
    assert plan is not None
    sizes = [each.k for each in plan.models if isinstance(each, KAnonymity)]
    m, notes = max([2, *sizes]), list(account.notes)
    for each in earlier:
        for name in plan.sensitive:
            difference = differencing(
                each, release, sensitive=name, m=m, quasi_identifiers=list(plan.quasi_identifiers)
            )
            if difference.exposed and not although:
                raise PlanError(
                    f"{plural(len(difference.exposed), 'class differs', 'classes differ')} from an earlier release by fewer than "
                    f"{release.outcome.after.spell(m)}: anyone who compares them learns {name!r} of the people who left or "
                    "joined. Wait until there are more of them, use MInvariance from the first release on, or say "
                    "although_differences_tell=True"
                )
            if difference.exposed:
                notes.append(
                    plural(len(difference.exposed), "class tells by its", "classes tell by their")
                    + f" difference what somebody has in {name!r}"
                )
    return dataclasses.replace(account, notes=tuple(notes))


def _link(table: pa.Table, link: str, policies: Mapping[str, Policy]) -> Linked:
    if link not in table.column_names:
        raise PlanError(
            f"the table has no column {link!r} that says which policy each record is under: name it with `link`."
            f"{did_you_mean(link, table.column_names)}"
        )
    column = table[link]
    if pa.types.is_nested(column.type):
        longest = max((len(each or ()) for each in column.to_pylist()), default=0)
        if longest > 1:
            raise InputError(f"column {link!r}: a record has {longest} policies. Keep one, or merge them")
        raise InputError(f"column {link!r} holds lists. Write the id of one policy into each cell")
    values, codes = encode_values(column)
    names = canonical_text(values, column=link)
    for at, name in enumerate(names):
        if name is None or name not in policies:
            row = int(np.argmax(codes == at)) + 1
            what = "has no policy" if name is None else f"is under policy {name!r}, which is not given"
            hint = "" if name is None else did_you_mean(name, list(policies)[:50])
            raise InputError(
                f"column {link!r}, row {row}: the record {what}. Add the policy, or leave the record out.{hint}"
            )
    present = [str(name) for name in names]
    return Linked(present, {name: at for at, name in enumerate(present)}, codes.astype(np.int64))


def _allowed(
    linked: Linked, verdicts: Mapping[str, PolicyVerdict], reasons: dict[str, int]
) -> NDArray[np.bool_]:
    """Return a mask of the rows that may be used, and count the others by reason."""
    counts = np.bincount(linked.policy, minlength=len(linked.names))
    allowed_mask = np.zeros(len(linked.names), np.bool_)
    for at, name in enumerate(linked.names):
        reason = verdicts[name].reason
        allowed_mask[at] = reason is None
        if reason is not None:
            reasons[reason] = reasons.get(reason, 0) + int(counts[at])
    return allowed_mask[linked.policy]
