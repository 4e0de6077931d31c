"""The verb that carries policies out: `veil.policy.apply`.

The order is fixed, as each step rests on those before: who may have which records, which cells of them, pseudonyms, each
record's own minimum, the guarantee that all policies ask together, the anonymization, and the check of all that was asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.anonymize import anonymize
from veil.api.release import Release
from veil.base.progress import ProgressLike
from veil.base.randomness import Randomness
from veil.base.wording import plural
from veil.errors import (
    NOTHING,
    ImpossibleError,
    InputError,
    NoSolutionError,
    ParameterError,
    PlanError,
    Say,
    did_you_mean,
)
from veil.models import KAnonymity, PrivacyModel
from veil.plan.plan import ASK
from veil.policy.account import Account, digests_of
from veil.policy.checks import check_to_run
from veil.policy.decide import Request, Verdict, decide_all
from veil.policy.documents import as_policies
from veil.policy.elements import Policy
from veil.policy.guarantee import (
    Joined,
    Terms,
    join,
    join_pseudonyms,
    most_demanding,
    strictest_group,
    terms_of,
)
from veil.policy.minimum import Column, lift
from veil.policy.names import Requirement
from veil.policy.pseudonyms import Keys, masking_method
from veil.policy.substitution import Distribution, Substitution, weakest
from veil.published.finding import Finding, Verification
from veil.risk.difference import differencing
from veil.tables import Source, read
from veil.tables.columns import encode_values, replace_column
from veil.tables.text import canonical_text
from veil.verification.outcome import verify_outcome

Rows = NDArray[np.int64]

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
    if_impossible: Literal["stop", "leave out"] = "stop",
    previous: Any = None,
    although_differences_tell: bool = False,
    although_values_can_be_guessed: bool = False,
    allow_secrets: bool = False,
    progress: ProgressLike = None,
    **options: Any,
) -> Release:
    """Anonymize a table as the policies of the people in it ask.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table, or the path of a file.
    policies
        Policies by their ids; or a list of them, whose names are the ids; or the path of a folder or file.
    purpose, recipient
        What the table is for, and who gets it. Records whose policy does not allow that are left out and counted.
    link
        The column with the id of each record's policy.
    person
        None says that every record is a person of its own, also where several are under one policy. Without it, such a table
        is refused: a policy is what one person allows, and several records of one person are no crowd to hide in.
    credential
        What shows that it is the recipient who asks; compared with `authInfo` where policies have it.
    on
        The day; by default today.
    ended
        The day on which the purpose ended, from which `afterPurpose` counts. By default it goes on.
    withdrawn
        Ids of policies whose consent was withdrawn, each with the day.
    keys
        Where the keys are that policies name (`keyRef`): the path of a file, "env:NAME", or bytes.
    hierarchies
        Hierarchies of columns, for values that no policy lists.
    if_impossible
        What to do if nothing can be released as all policies ask: "stop", or "leave out" the records of those who ask for
        most, again and again. What is asked is never weakened.
    previous
        An earlier release of the same table, or several. If a class differs from it by fewer records than the smallest class
        may have, the difference tells what somebody has who has left or come, and nothing is released.
    although_differences_tell
        Release all the same; `release.account` tells how many classes differ so.
    although_values_can_be_guessed
        Whether policies may ask for hashes without a key.
    allow_secrets
        Whether policies may hold keys.
    options
        Keywords of `veil.anonymize`: quality, suppression_limit, strategy, time_limit and others.

    What was asked and how it was met is `release.account`.
    """
    for name in options:
        if name not in _OPTIONS:
            raise ParameterError(f"`{name}` is no option of policies.{did_you_mean(name, _OPTIONS)}")
    if if_impossible not in ("stop", "leave out"):
        raise ParameterError(f'`if_impossible` should be "stop" or "leave out", not {if_impossible!r}')
    source = table if isinstance(table, Source) else read(table)
    source.check_index()
    known = as_policies(policies)
    request = Request(purpose, recipient, date.today() if on is None else on, credential, ended)
    linked = _link(source.table, link, known)
    for name in linked.names:
        check_to_run(known[name], name, secrets=allow_secrets)
    verdicts = decide_all({name: known[name] for name in linked.names}, request, withdrawn)
    reasons: dict[str, int] = {}
    allowed = _allowed(linked, verdicts, reasons)
    if not allowed.any():
        told = ", ".join(f"{reason} ({count})" for reason, count in reasons.items())
        raise PlanError(
            f"{_EMPTY}{told}. Ask for a purpose that was accepted, as a recipient that policies name"
        )
    _check_people(linked, allowed, link, person)
    terms = {
        name: terms_of(verdict.purpose) for name, verdict in verdicts.items() if verdict.purpose is not None
    }
    made = _Run(
        source,
        known,
        linked,
        terms,
        keys or {},
        hierarchies or {},
        although_values_can_be_guessed,
        allow_secrets,
        {**options, "person": person, "progress": progress},
    )
    demanding = 0
    while True:
        try:
            release, account = made.release(allowed, request, dict(reasons))
        except (ImpossibleError, NoSolutionError):
            if if_impossible == "stop":
                raise
            dropped = made.demanding(allowed)
            if not dropped:
                raise
            out = allowed & np.isin(linked.policy, [linked.number[name] for name in dropped])
            demanding += int(out.sum())
            reasons["they ask for more than can be met together"] = demanding
            allowed = allowed & ~out
            if not allowed.any():
                raise
            continue
        account = _compare(release, account, previous, although_differences_tell)
        return Release(dataclasses.replace(release.outcome, account=account))


def _check_people(linked: _Linked, allowed: NDArray[np.bool_], link: str, person: str | None) -> None:
    """Refuse several records of one person, which models would count as so many people."""
    if person is None:
        return
    if person != ASK:
        raise PlanError(
            "policies are carried out for tables with one record of each person, so far: `person` can be None only, which says "
            "that every record is a person of its own"
        )
    most = np.bincount(linked.policy[allowed], minlength=1)
    if most.max() > 1:
        raise PlanError(
            f"column {link!r}: {plural(int((most > 1).sum()), 'policy has', 'policies have')} several records. A policy is what "
            "one person allows, and several records of one person are no crowd to hide in: leave one of each, or, if every "
            "record is a person of its own all the same, say ",
            Say("person", NOTHING),
        )


def _compare(release: Release, account: Account, previous: Any, although: bool) -> Account:
    """Refuse a release that differs from an earlier one by so little that the difference tells of a person."""
    earlier = [] if previous is None else previous if isinstance(previous, list | tuple) else [previous]
    plan = release.plan
    assert plan is not None
    sizes = [each.k for each in plan.models if isinstance(each, KAnonymity)]
    m, notes = max([2, *sizes]), list(account.notes)
    for each in earlier:
        for name in plan.sensitive:
            found = differencing(
                each, release, sensitive=name, m=m, quasi_identifiers=list(plan.quasi_identifiers)
            )
            if found.exposed and not although:
                raise PlanError(
                    f"{len(found.exposed)} classes differ from an earlier release by fewer than {m} records: who compares them "
                    f"learns {name!r} of those who have left or come. Wait until more have, use MInvariance from the first "
                    "release on, or say although_differences_tell=True"
                )
            if found.exposed:
                notes.append(
                    f"{len(found.exposed)} classes tell by their difference what somebody has in {name!r}"
                )
    return dataclasses.replace(account, notes=tuple(notes))


class _Linked(NamedTuple):
    """Which policy each row is under."""

    names: list[str]
    number: dict[str, int]
    policy: Rows


def _link(table: pa.Table, link: str, known: Mapping[str, Policy]) -> _Linked:
    if link not in table.column_names:
        raise PlanError(
            f"the table has no column {link!r} that says which policy each record is under: name it with `link`."
            f"{did_you_mean(link, table.column_names)}"
        )
    column = table[link]
    if pa.types.is_nested(column.type):
        longest = max((len(each or ()) for each in column.to_pylist()), default=0)
        if longest > 1:
            raise InputError(f"column {link!r}: a record has {longest} policies. Leave one, or join them")
        raise InputError(f"column {link!r} holds lists. Write the id of one policy into each cell")
    values, codes = encode_values(column)
    names = canonical_text(values, column=link)
    for at, name in enumerate(names):
        if name is None or name not in known:
            row = int(np.argmax(codes == at)) + 1
            what = "has no policy" if name is None else f"is under policy {name!r}, which is not given"
            hint = "" if name is None else did_you_mean(name, list(known)[:50])
            raise InputError(
                f"column {link!r}, row {row}: the record {what}. Add the policy, or leave the record out.{hint}"
            )
    present = [str(name) for name in names]
    return _Linked(present, {name: at for at, name in enumerate(present)}, codes.astype(np.int64))


def _allowed(linked: _Linked, verdicts: Mapping[str, Verdict], reasons: dict[str, int]) -> NDArray[np.bool_]:
    """Say which rows may be used, and count the others by reason."""
    counts = np.bincount(linked.policy, minlength=len(linked.names))
    fine = np.zeros(len(linked.names), np.bool_)
    for at, name in enumerate(linked.names):
        reason = verdicts[name].reason
        fine[at] = reason is None
        if reason is not None:
            reasons[reason] = reasons.get(reason, 0) + int(counts[at])
    return fine[linked.policy]


@dataclasses.dataclass
class _Run:
    """Everything that stays the same if records are left out and it is tried again."""

    source: Source
    policies: Mapping[str, Policy]
    linked: _Linked
    terms: Mapping[str, Terms]
    keys: Keys
    hierarchies: Mapping[str, Any]
    unkeyed: bool
    secrets: bool
    options: dict[str, Any]

    def release(
        self, allowed: NDArray[np.bool_], request: Request, reasons: dict[str, int]
    ) -> tuple[Release, Account]:
        rows = np.flatnonzero(allowed)
        names, codes = self._under(rows)
        terms = [self.terms[name] for name in names]
        notes: list[str] = []
        groups = _groups(terms)
        table = _only_listed(self.source.table.take(pa.array(rows)), groups, terms, codes)
        table, kept, apart = self._pseudonymize(table, names, terms, codes)
        joined = self._joined(names)
        roles = self._roles(table, groups, kept, joined, notes)
        lifted = {
            name: lift(
                table[name],
                name,
                [each.levels.get(name) for each in terms],
                names,
                codes,
                self.hierarchies.get(name),
            )
            for name, role in roles.items()
            if role in ("QID", "SD", "NSD")
        }
        table = _with_columns(table, lifted)
        hierarchies = {name: each.hierarchy for name, each in lifted.items()}
        asked = [each.strictest.model(hierarchies) for each in joined]
        found = weakest(asked, _distributions(table, asked, hierarchies))
        release = self._anonymize(table, roles, lifted, found.models, notes)
        release = self._verify(release, joined, asked, lifted, hierarchies)
        if apart is not None:
            outcome = dataclasses.replace(
                release.outcome, apart={"pseudonyms": apart}, secret=frozenset({"pseudonyms"})
            )
            release = Release(outcome)
        account = self._account(
            request, reasons, names, codes, joined, asked, found, roles, lifted, notes, release, rows
        )
        return release, account

    def _under(self, rows: Rows) -> tuple[list[str], Rows]:
        """Return the policies of some rows, and which of them each row is under."""
        present, codes = np.unique(self.linked.policy[rows], return_inverse=True)
        return [self.linked.names[at] for at in present.tolist()], codes.astype(np.int64)

    def _joined(self, names: list[str]) -> list[Joined]:
        asked: dict[Requirement, list[str]] = {}
        for name in names:
            for each in self.terms[name].requirements:
                asked.setdefault(each, []).append(name)
        return join(asked)

    def demanding(self, allowed: NDArray[np.bool_]) -> set[str]:
        """Return the policies that ask for most."""
        names, _ = self._under(np.flatnonzero(allowed))
        return most_demanding(self._joined(names))

    # Pseudonyms

    def _pseudonymize(
        self, table: pa.Table, names: list[str], terms: list[Terms], codes: Rows
    ) -> tuple[pa.Table, dict[str, str | None], pa.Table | None]:
        """Replace names by pseudonyms. Also return the column that holds those of each, and the mapping if it is kept."""
        methods = join_pseudonyms({name: each.pseudonyms for name, each in zip(names, terms, strict=True)})
        kept: dict[str, str | None] = {}
        mappings: list[pa.Table] = []
        done: list[Any] = []
        for method in methods.values():
            if method in done:
                continue
            done.append(method)
            columns = [str(each) for each in method.data]
            for column in columns:
                if column not in table.column_names:
                    raise PlanError(
                        f"policies ask for pseudonyms of {column!r}, and the table has no such column."
                        f"{did_you_mean(column, table.column_names)}"
                    )
            asks = np.array([method in each.pseudonyms for each in terms])[codes]
            values = _joint_values(table, columns)
            values = pa.array([v if a else None for v, a in zip(values, asks, strict=True)], pa.string())
            target = method.attr_name or columns[0]
            if target in table.column_names and target not in columns:
                raise PlanError(
                    f"pseudonyms go to {target!r}, which the table has already. Choose another attrName"
                )
            masked = masking_method(
                method, target, self.keys, unkeyed=self.unkeyed, secrets=self.secrets
            ).mask(pa.table({target: values}), Randomness())
            table = table.drop_columns(columns).append_column(target, masked.table[target])
            kept[target] = method.attr_name
            mappings += [each for name, each in masked.apart.items() if name in masked.secret]
        return table, kept, pa.concat_tables(mappings) if mappings else None

    # The common guarantee

    def _roles(
        self,
        table: pa.Table,
        groups: Mapping[str, str],
        kept: Mapping[str, str | None],
        joined: list[Joined],
        notes: list[str],
    ) -> dict[str, str]:
        roles: dict[str, str] = {}
        spoken_of = {each.strictest.attribute for each in joined}
        for name in table.column_names:
            if name in kept:
                asked_for = kept[name] is not None
                roles[name] = "pseudonym" if asked_for or not joined else "dropped"
            elif name not in groups:
                roles[name] = "dropped"
            elif groups[name] == "EI":
                roles[name] = "EI"
            elif groups[name] == "QID and SD":
                if name in spoken_of:
                    raise PlanError(
                        f"column {name!r} is QID for some policies and SD for others, and a model speaks of it: it cannot be "
                        "generalized and protected as it is at once. Name other columns in the model (nameOfData)"
                    )
                roles[name] = "QID"
                notes.append(
                    f"column {name!r} is QID for some and SD for others: it is treated as a quasi-identifier"
                )
            else:
                roles[name] = groups[name]
        return roles

    def _anonymize(
        self,
        table: pa.Table,
        roles: Mapping[str, str],
        lifted: Mapping[str, Column],
        models: tuple[PrivacyModel, ...],
        notes: list[str],
    ) -> Release:
        known = [name for name, role in roles.items() if role == "QID"]
        if not known:
            raise PlanError(
                "no policy calls a column a quasi-identifier, so that there is nothing to anonymize by: give one the privacy "
                "group QID"
            )
        caps = {name: cap for name in known if (cap := lifted[name].cap) is not None}
        for name in known:
            above = lifted[name].above_cap
            if above:
                notes.append(
                    f"column {name!r}: {above} records must be coarser than other policies allow: privacy wins"
                )
        frame = self.source.frame
        kept = [name for name, role in roles.items() if role not in ("dropped", "EI")]
        table = table.select(kept)
        return anonymize(
            table if frame is None else frame.from_arrow(table, None),
            quasi_identifiers={name: lifted[name].hierarchy for name in known},
            models=models or (KAnonymity(1),),
            sensitive=[name for name, role in roles.items() if role == "SD"],
            insensitive=[name for name, role in roles.items() if role in ("NSD", "pseudonym")],
            maximum_levels=caps,
            **self.options,
        )

    def _verify(
        self,
        release: Release,
        joined: list[Joined],
        asked: list[PrivacyModel],
        lifted: Mapping[str, Column],
        hierarchies: Mapping[str, Any],
    ) -> Release:
        """Check on the output everything that any policy asks, and promise all that they ask together."""
        outcome = release.outcome
        plan = outcome.plan
        assert plan is not None
        every = [each.model(hierarchies) for group in joined for each in group.askers]
        if every:
            models = tuple(dict.fromkeys([*asked, *every]))
            verify_outcome(
                dataclasses.replace(outcome, asked=dataclasses.replace(plan, models=models))
            ).require()
            outcome = dataclasses.replace(outcome, asked=dataclasses.replace(plan, models=tuple(asked)))
        found = verify_outcome(outcome)
        minimum = self._minimum(outcome, lifted)
        checked = Verification((*found.findings, minimum), found.not_checked)
        checked.require()
        return Release(dataclasses.replace(outcome, verification=checked))

    def _minimum(self, outcome: Any, lifted: Mapping[str, Column]) -> Finding:
        """Check on the output that every cell is as coarse as its own policy asks."""
        rows = np.arange(outcome.table.num_rows) if outcome.rows is None else outcome.rows
        hidden = (
            np.zeros(outcome.table.num_rows, np.bool_) if outcome.hidden_rows is None else outcome.hidden_rows
        )
        broken = 0
        for name, column in lifted.items():
            if name in outcome.table.column_names:
                broken += column.too_fine(outcome.table[name], rows, hidden)
        return Finding(
            "every cell is at least as coarse as the policy of its record asks",
            broken == 0,
            f"{broken} are not",
        )

    # What is told

    def _account(
        self,
        request: Request,
        reasons: Mapping[str, int],
        names: list[str],
        codes: Rows,
        joined: list[Joined],
        asked: list[PrivacyModel],
        found: Substitution,
        roles: Mapping[str, str],
        lifted: Mapping[str, Column],
        notes: list[str],
        release: Release,
        rows: Rows,
    ) -> Account:
        number = {name: at for at, name in enumerate(names)}
        counts = np.bincount(codes, minlength=len(names))
        told: list[tuple[str, int]] = []
        for group in joined:
            for each, policies in group.askers.items():
                how_many = int(counts[[number[name] for name in policies]].sum())
                told.append((_in_words(each), how_many))
                if each.note and each.note not in notes:
                    notes.append(each.note)
        chains: dict[tuple[str, ...], int] = {}
        for name in names:
            chain = digests_of(self.policies[name])
            chains[chain] = chains.get(chain, 0) + int(counts[number[name]])
        return Account(
            request.purpose,
            request.recipient,
            request.on,
            int(self.source.table.num_rows),
            len(names),
            dict(reasons),
            tuple(told),
            tuple(str(found).splitlines()) if found.models else (),
            {name: role for name, role in roles.items() if role != "dropped"},
            {name: each.coarser for name, each in lifted.items() if each.coarser},
            tuple(notes),
            tuple(sorted(chains.items(), key=lambda item: -item[1])),
            tuple(str(each) for each in release.verification.findings),
            rows,
        )


def _in_words(asked: Requirement) -> str:
    given = ", ".join(f"{key} = {value}" for key, value in asked.parameters)
    of = f" of {asked.attribute!r}" if asked.attribute is not None else ""
    return f"{asked.kind}{of} ({given})" if given else f"{asked.kind}{of}"


def _groups(terms: list[Terms]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for each in terms:
        for name, group in each.groups.items():
            found.setdefault(name, set()).add(group)
    return {name: strictest_group(each) for name, each in found.items()}


def _only_listed(table: pa.Table, groups: Mapping[str, str], terms: list[Terms], codes: Rows) -> pa.Table:
    """Keep the columns that some policy lists, and of each record those that its own lists."""
    table = table.select([name for name in table.column_names if name in groups])
    for name in table.column_names:
        listed = np.fromiter((name in each.groups for each in terms), np.bool_, len(terms))[codes]
        if not listed.all():
            places = pa.array(np.arange(table.num_rows), mask=~listed)
            table = replace_column(table, name, table[name].take(places))
    return table


def _joint_values(table: pa.Table, columns: list[str]) -> list[str | None]:
    """Return one text for the values of several columns, which no other values have."""
    texts = [canonical_text(table[name], column=name) for name in columns]
    if len(columns) == 1:
        return texts[0]
    return [
        None
        if all(each is None for each in row)
        else "".join("-" if each is None else f"{len(each)}:{each}" for each in row)
        for row in zip(*texts, strict=True)
    ]


def _with_columns(table: pa.Table, lifted: Mapping[str, Column]) -> pa.Table:
    for name, column in lifted.items():
        if column.values is not None:
            table = replace_column(table, name, column.values)
    return table


def _distributions(
    table: pa.Table, asked: list[PrivacyModel], hierarchies: Mapping[str, Any]
) -> dict[str, Distribution]:
    """Count the values of sensitive columns before anything is suppressed."""
    names = {name for model in asked for name in model.attribute_names}
    made = {}
    for name in names:
        if name in table.column_names and table.num_rows:
            _, codes = encode_values(table[name])
            made[name] = Distribution(tuple(int(each) for each in np.bincount(codes) if each))
    return made
