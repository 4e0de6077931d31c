"""One attempt at a release under policies: pseudonyms, minimum of each record, combined guarantee, check."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.anonymize import anonymize
from veil.api.release import Release
from veil.errors import ImpossibleError, NoSolutionError, PlanError
from veil.masking.pseudonyms.methods import Pseudonyms
from veil.models import Inclusion, KAnonymity, PrivacyModel
from veil.models.implication import Implication, weakest
from veil.models.sensitive import SensitiveModel
from veil.models.subset import RowNumbers
from veil.outcome.account import Account
from veil.outcome.outcome import Outcome, under_plan, without_columns
from veil.outcome.result import Apart
from veil.plan.plan import ASK
from veil.policy.documents.elements import Policy, PseudonymizationMethod
from veil.policy.release.audit import refused_cells
from veil.policy.release.combined import (
    Joined,
    Terms,
    join,
    most_demanding,
)
from veil.policy.release.personal_minimum import CoarsenedColumn, lift
from veil.policy.release.table import (
    Integers,
    copies_of,
    describe_absent_columns,
    distributions_of,
    groups_of,
    only_listed,
    pseudonymize,
    with_columns,
    with_others,
    with_unambiguous,
)
from veil.policy.rules.decide import Request
from veil.policy.rules.names import Requirement
from veil.policy.rules.pseudonyms import Keys, masking_method
from veil.published.finding import Finding, Verification
from veil.tables import Source
from veil.tables.columns import replace_column
from veil.verification.outcome import verify_outcome

POPULATION = "the population"
"""The policy name of people who are not released."""


class Linked(NamedTuple):
    """The policy of each row."""

    names: list[str]
    number: dict[str, int]
    policy: Integers


@dataclasses.dataclass
class PolicyRun:
    """Everything that stays the same if records are omitted and the release is attempted again."""

    source: Source
    policies: Mapping[str, Policy]
    linked: Linked
    request: Request
    withdrawn: Mapping[str, date]
    terms: Mapping[str, Terms]
    keys: Keys
    hierarchies: Mapping[str, Any]
    unkeyed: bool
    secrets: bool
    population: pa.Table | None
    options: dict[str, Any]

    def release(self, allowed: NDArray[np.bool_], reasons: Mapping[str, int]) -> tuple[Release, Account]:
        """Attempt a release of the allowed rows."""
        return _Attempt(self, np.flatnonzero(allowed)).release(reasons)

    def demanding(self, allowed: NDArray[np.bool_]) -> set[str]:
        """Return the policies with the highest requirements."""
        names, _ = self.under(np.flatnonzero(allowed))
        return most_demanding(self.joined(names))

    def under(self, rows: Integers) -> tuple[list[str], Integers]:
        """Return the policies of some rows, and the number of each row's."""
        present, codes = np.unique(self.linked.policy[rows], return_inverse=True)
        return [self.linked.names[at] for at in present.tolist()], codes.astype(np.int64)

    def joined(self, names: list[str]) -> list[Joined]:
        """Return the joined requirements of some policies."""
        askers: dict[Requirement, list[str]] = {}
        groups = groups_of([self.terms[name] for name in names])
        for name in names:
            for each in self.terms[name].requirements:
                # A column that all policies withhold has no cells left.
                if each.attribute is None or each.attribute in groups:
                    askers.setdefault(each, []).append(name)
        return join(askers)

    def method(self, method: PseudonymizationMethod, column: str) -> Pseudonyms:
        """Return the masking method that makes the pseudonyms of a column."""
        return masking_method(method, column, self.keys, unkeyed=self.unkeyed, secrets=self.secrets)


class _Attempt:
    """An attempt at a release of some rows: the table as policies ask for it, and the models that have to hold."""

    def __init__(self, run: PolicyRun, rows: Integers) -> None:
        column = run.options["person"]
        self.run, self.rows = run, rows
        self.person: str | None = (
            None if column == ASK else column
        )  # who tells people apart, if that is needed
        self.marker = run.options.get("marker", "*")
        self.names, self.codes = run.under(rows)
        self.terms = [run.terms[name] for name in self.names]
        self.groups = groups_of(self.terms)
        self.notes = describe_absent_columns(self.groups, run.source.table.column_names)
        self.everything = run.source.table.take(pa.array(rows))
        table, self.withheld = only_listed(self.everything, self.groups, self.terms, self.codes)
        table, attribute_names, self.apart = pseudonymize(
            table, self.names, self.terms, self.codes, run.method
        )
        self.joined = run.joined(self.names)
        self.roles = self._roles(table.column_names, attribute_names)
        self.quasi_identifiers = [name for name, role in self.roles.items() if role == "QID"]
        self.copies = copies_of(table, self.groups, self.joined)
        self.subset: RowNumbers | None = None
        if any(each.strictest.speaks_of_people for each in self.joined):
            table, self.subset = with_others(
                table, self.everything, run.population, self.quasi_identifiers, self.person
            )
        others = np.full(table.num_rows - len(rows), len(self.terms), np.int64)
        policy_codes = np.concatenate([self.codes, others])
        self.owners = np.array([*self.names, None], object)[policy_codes]
        self.lifted = self._lift(table, policy_codes)
        for name, copy in self.copies.items():
            table = table.append_column(copy, table[name])
        self.table, self.translation = self._translate(with_columns(table, self.lifted))

    def _roles(self, columns: Sequence[str], attribute_names: Mapping[str, str | None]) -> dict[str, str]:
        roles: dict[str, str] = {}
        spoken_of = {each.strictest.attribute for each in self.joined}
        for name in columns:
            if name in attribute_names:
                is_named = attribute_names[name] is not None
                roles[name] = "pseudonym" if is_named or not self.joined else "dropped"
            elif self.groups.get(name) == "QID and SD":
                roles[name] = "QID"
                note = (
                    ", and what models ask of it holds for what its cells were before"
                    if name in spoken_of
                    else ""
                )
                self.notes.append(
                    f"column {name!r} is QID for some and SD for others: it is generalized{note}"
                )
            else:
                roles[name] = self.groups.get(name, "dropped")
        return roles

    def _lift(self, table: pa.Table, policy_codes: Integers) -> dict[str, CoarsenedColumn]:
        """Make the cells of each column as coarse as the policies ask; those of others as they are."""
        return {
            name: lift(
                table[name],
                name,
                [*(each.levels.get(name) for each in self.terms), None],
                [*self.names, POPULATION],
                policy_codes,
                self.run.hierarchies.get(name),
                role == "QID" and name in self.withheld,
            )
            for name, role in self.roles.items()
            if role in ("QID", "SD", "NSD")
        }

    def _translate(self, table: pa.Table) -> tuple[pa.Table, _Translation]:
        """Append the copies of columns that models are about; return how requirements become models."""
        hierarchies = {name: each.hierarchy for name, each in self.lifted.items()}
        hierarchies |= {copy: self.lifted[name].uncoarsened for name, copy in self.copies.items()}
        table, mixed = with_unambiguous(table, self.lifted, self.roles, self.joined, self.marker)
        if mixed and self.person is not None:
            raise PlanError(
                f"column {next(iter(mixed))!r} shows labels above other values, of which models have to hold for every "
                "value that they may stand for, and some people have several records. Ask for the same minimum of all "
                "its cells, or keep one record per person"
            )
        self.notes += [
            f"column {name!r} shows labels above other values: models take them for whichever value is worst"
            for name in mixed
        ]
        self.copies |= mixed
        hierarchies |= {copy: hierarchies[name] for name, copy in mixed.items()}
        return table, _Translation(self.copies, hierarchies, self.subset, frozenset(mixed.values()))

    def release(self, reasons: Mapping[str, int]) -> tuple[Release, Account]:
        """Return a release by the weakest models that imply all requirements, and its account."""
        required_models = [self.translation.model(each.strictest) for each in self.joined]
        release_of = functools.cache(self._anonymize)

        def loss(models: tuple[PrivacyModel, ...]) -> float:
            """Return the loss of a release with some models; infinite if there is none."""
            try:
                score = release_of(models).score
            except (ImpossibleError, NoSolutionError):
                return math.inf
            return float(score if isinstance(score, int | float) else score[0])

        distributions = distributions_of(self.table, required_models, len(self.rows), self.marker)
        implication = weakest(required_models, distributions, trial=loss)
        release = self._verify(release_of(implication.models), required_models)
        if self.apart is not None:
            release = Release(release.outcome.changed(apart=(Apart("pseudonyms", self.apart, True),)))
        self.notes += _above_caps(self.lifted, self.roles)
        return release, self._account(reasons, implication, release)

    def _anonymize(self, models: tuple[PrivacyModel, ...]) -> Release:
        if not self.quasi_identifiers:
            raise PlanError(
                "no policy declares a quasi-identifier, so there is nothing to anonymize: give a column "
                "the privacy group QID"
            )
        columns = [name for name, role in self.roles.items() if role not in ("dropped", "EI")]
        table = self.table.select([*columns, *self.copies.values()])
        options, person, subset = dict(self.run.options), self.person, self.subset
        if subset is not None:
            options["person"] = None  # each has one record, and the owners of the population are unknown
        elif person is not None:
            people = self.everything[person]
            table = (
                replace_column(table, person, people)
                if person in columns
                else table.append_column(person, people)
            )
            if "pseudonym" in self.roles.values():  # which show the rows that belong together
                options["knows"] = "all rows"
        frame, lifted = self.run.source.frame, self.lifted
        caps = {name: cap for name in self.quasi_identifiers if (cap := lifted[name].cap) is not None}
        # With a population, people who look alike must have one label: the highest minimum holds for all.
        floors = {}
        if subset is not None:
            floors = {name: int(lifted[name].floors.max(initial=0)) for name in self.quasi_identifiers}
        return anonymize(
            table if frame is None else frame.from_arrow(table, None),
            quasi_identifiers={name: lifted[name].hierarchy for name in self.quasi_identifiers},
            models=(*models, *(() if subset is None else (Inclusion(subset),))) or (KAnonymity(1),),
            sensitive=[*(name for name, role in self.roles.items() if role == "SD"), *self.copies.values()],
            insensitive=[name for name, role in self.roles.items() if role in ("NSD", "pseudonym")],
            minimum_levels=floors,
            maximum_levels={name: max(cap, floors.get(name, 0)) for name, cap in caps.items()},
            **options,
        )

    def _verify(self, release: Release, required_models: list[PrivacyModel]) -> Release:
        """Check on the output the requirements of every policy, and promise all of them together."""
        outcome = release.outcome
        plan = outcome.searched.plan
        every = [self.translation.model(each) for group in self.joined for each in group.askers]
        if every:
            models = tuple(dict.fromkeys([*required_models, *every, *plan.models]))
            verify_outcome(under_plan(outcome, dataclasses.replace(plan, models=models))).require()
            promises = (*required_models, *(each for each in plan.models if isinstance(each, Inclusion)))
            outcome = under_plan(outcome, dataclasses.replace(plan, models=tuple(dict.fromkeys(promises))))
        verification = verify_outcome(outcome)
        minimum = self._minimum(outcome)
        outcome = without_columns(outcome, list(self.copies.values()))
        verify_outcome(outcome).require()
        findings = (*verification.findings, minimum, self._consent(outcome))
        result = Verification(findings, verification.not_checked)
        result.require()
        return Release(dataclasses.replace(outcome, verification=result))

    def _consent(self, outcome: Outcome) -> Finding:
        """Check on the output that no cell is shown without the consent of its owner."""
        run = self.run
        table = outcome.table.select([name for name in outcome.table.column_names if name != outcome.flag])
        row_owners = self.owners[outcome.origins]
        refused = refused_cells(table, row_owners, run.policies, run.request, run.withdrawn, outcome.marker)
        measured = ", ".join(f"{count} of {name!r}" for name, count in refused.items())
        promise = "no cell is shown that the policy of its record does not allow"
        return Finding(promise, not refused, f"{measured or 0} are")

    def _minimum(self, outcome: Outcome) -> Finding:
        """Check on the output that every cell is as coarse as the policy of its record requires."""
        rows, suppressed_mask = outcome.origins, outcome.link.pick(outcome.suppressed_mask)
        broken = 0
        for name, column in self.lifted.items():
            if name in outcome.table.column_names:
                broken += column.too_fine(outcome.table[name], rows, suppressed_mask)
        promise = "every cell is at least as coarse as the policy of its record asks"
        return Finding(promise, broken == 0, f"{broken} are not")

    def _account(self, reasons: Mapping[str, int], implication: Implication, release: Release) -> Account:
        counts = dict(zip(self.names, np.bincount(self.codes, minlength=len(self.names)), strict=True))
        requirements: list[tuple[str, int]] = []
        for group in self.joined:
            for each, policies in group.askers.items():
                requirements.append((_in_words(each), int(sum(counts[name] for name in policies))))
                if each.note and each.note not in self.notes:
                    self.notes.append(each.note)
        return Account(
            *self.run.request[:3],
            int(self.run.source.table.num_rows),
            len(self.names),
            dict(reasons),
            tuple(requirements),
            tuple(str(implication).splitlines()) if implication.models else (),
            {name: role for name, role in self.roles.items() if role != "dropped"},
            self.withheld,
            {name: each.coarser for name, each in self.lifted.items() if each.coarser},
            tuple(self.notes),
            tuple(str(each) for each in release.verification.findings),
            tuple(dict.fromkeys(str(each) for terms in self.terms for each in terms.legal_bases)),
            self.rows,
        )


@dataclasses.dataclass(frozen=True)
class _Translation:
    """The translation of requirements to models: hierarchies, released rows, and copies of columns.

    Copies have the original cells of columns that are both generalized and sensitive, or cells without
    ambiguous labels, whose blanks are judged by the worst value.
    """

    copies: Mapping[str, str]
    hierarchies: Mapping[str, Any]
    subset: RowNumbers | None
    worst: frozenset[str]

    def model(self, requirement: Requirement) -> PrivacyModel:
        """Return the model of a requirement."""
        if (name := requirement.attribute) is not None:
            requirement = requirement._replace(attribute=self.copies.get(name, name))
        model = requirement.model(self.hierarchies, self.subset)
        if requirement.attribute not in self.worst:
            return model
        assert isinstance(model, SensitiveModel)
        return dataclasses.replace(model, missing="worst")  # type: ignore[type-var]


def _above_caps(lifted: Mapping[str, CoarsenedColumn], roles: Mapping[str, str]) -> list[str]:
    return [
        f"column {name!r}: {each.above_cap} records must be coarser than other policies allow: privacy wins"
        for name, each in lifted.items()
        if each.above_cap and roles[name] == "QID"
    ]


def _in_words(requirement: Requirement) -> str:
    parameters = ", ".join(f"{key} = {value}" for key, value in requirement.parameters)
    of = f" of {requirement.attribute!r}" if requirement.attribute is not None else ""
    return f"{requirement.kind}{of} ({parameters})" if parameters else f"{requirement.kind}{of}"
