"""One try at a release under policies: pseudonyms, each record's minimum, the common guarantee, and the check of it all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.anonymize import anonymize
from veil.api.release import Release
from veil.base.randomness import Randomness
from veil.errors import PlanError, did_you_mean
from veil.models import KAnonymity, PrivacyModel
from veil.policy.account import Account, digests_of
from veil.policy.decide import Request
from veil.policy.elements import Policy
from veil.policy.guarantee import (
    Joined,
    Terms,
    join,
    join_pseudonyms,
    most_demanding,
    strictest_group,
)
from veil.policy.minimum import Column, lift
from veil.policy.names import Requirement
from veil.policy.pseudonyms import Keys, masking_method
from veil.policy.substitution import Distribution, Substitution, weakest
from veil.published.finding import Finding, Verification
from veil.tables import Source
from veil.tables.columns import encode_values, replace_column
from veil.tables.text import canonical_text
from veil.verification.outcome import verify_outcome

Rows = NDArray[np.int64]


class Linked(NamedTuple):
    """Which policy each row is under."""

    names: list[str]
    number: dict[str, int]
    policy: Rows


@dataclasses.dataclass
class PolicyRun:
    """Everything that stays the same if records are left out and it is tried again."""

    source: Source
    policies: Mapping[str, Policy]
    linked: Linked
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
