"""One attempt at a release under policies: pseudonyms, minimum of each record, combined guarantee, check."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
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
from veil.policy.audit import refused_cells
from veil.policy.combined import (
    Joined,
    Terms,
    join,
    most_demanding,
)
from veil.policy.decide import Request
from veil.policy.elements import Policy, PseudonymizationMethod
from veil.policy.names import Requirement
from veil.policy.personal_minimum import CoarsenedColumn, lift
from veil.policy.pseudonyms import Keys, masking_method
from veil.policy.table import (
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

    def release(self, allowed: NDArray[np.bool_], reasons: dict[str, int]) -> tuple[Release, Account]:
        rows = np.flatnonzero(allowed)
        names, codes = self._under(rows)
        terms = [self.terms[name] for name in names]
        groups = groups_of(terms)
        notes = describe_absent_columns(groups, self.source.table.column_names)
        everything = self.source.table.take(pa.array(rows))
        table, withheld = only_listed(everything, groups, terms, codes)
        table, attribute_names, apart = pseudonymize(table, names, terms, codes, self._method)
        joined = self._joined(names)
        roles = self._roles(table, groups, attribute_names, joined, notes)
        copies = copies_of(table, groups, joined)
        subset, levels, codes_of_all = None, [*terms], codes
        if any(each.strictest.speaks_of_people for each in joined):
            quasi_identifiers = [name for name, role in roles.items() if role == "QID"]
            table, subset = with_others(table, everything, self.population, quasi_identifiers, self.person)
            others = np.full(table.num_rows - len(rows), len(terms), np.int64)
            codes_of_all = np.concatenate([codes, others])
        lifted = {
            name: lift(
                table[name],
                name,
                [*(each.levels.get(name) for each in levels), None],
                [*names, POPULATION],
                codes_of_all,
                self.hierarchies.get(name),
                role == "QID" and name in withheld,
            )
            for name, role in roles.items()
            if role in ("QID", "SD", "NSD")
        }
        for name, copy in copies.items():
            table = table.append_column(copy, table[name])
        table = with_columns(table, lifted)
        hierarchies = {name: each.hierarchy for name, each in lifted.items()}
        hierarchies |= {copy: lifted[name].uncoarsened for name, copy in copies.items()}
        table, mixed = with_unambiguous(table, lifted, roles, joined, self.options.get("marker", "*"))
        if mixed and self.person is not None:
            raise PlanError(
                f"column {next(iter(mixed))!r} shows labels above other values, of which models have to hold for every "
                "value that they may stand for, and some people have several records. Ask for the same minimum of all "
                "its cells, or keep one record per person"
            )
        notes += [
            f"column {name!r} shows labels above other values: models take them for whichever value is worst"
            for name in mixed
        ]
        copies |= mixed
        translation = _Translation(
            copies,
            hierarchies | {copy: hierarchies[name] for name, copy in mixed.items()},
            subset,
            frozenset(mixed.values()),
        )
        required_models = [translation.model(each.strictest) for each in joined]
        tries = _Tries(
            lambda models: self._anonymize(table, everything, roles, copies, lifted, models, subset)
        )
        distributions = distributions_of(table, required_models, len(rows), self.options.get("marker", "*"))
        implication = weakest(required_models, distributions, trial=tries.loss)
        release = tries.release(implication.models)
        owners = np.array([*names, None], object)[codes_of_all]
        release = self._verify(release, joined, required_models, lifted, translation, owners)
        if apart is not None:
            release = Release(release.outcome.changed(apart=(Apart("pseudonyms", apart, True),)))
        notes += _above_caps(lifted, roles)
        account = self._account(
            reasons, names, codes, joined, implication, roles, withheld, lifted, notes, release, rows
        )
        return release, account

    def _under(self, rows: Integers) -> tuple[list[str], Integers]:
        """Return the policies of some rows, and the number of each row's."""
        present, codes = np.unique(self.linked.policy[rows], return_inverse=True)
        return [self.linked.names[at] for at in present.tolist()], codes.astype(np.int64)

    def _joined(self, names: list[str]) -> list[Joined]:
        askers: dict[Requirement, list[str]] = {}
        groups = groups_of([self.terms[name] for name in names])
        for name in names:
            for each in self.terms[name].requirements:
                # A column that all policies withhold has no cells left.
                if each.attribute is None or each.attribute in groups:
                    askers.setdefault(each, []).append(name)
        return join(askers)

    def demanding(self, allowed: NDArray[np.bool_]) -> set[str]:
        """Return the policies with the highest requirements."""
        names, _ = self._under(np.flatnonzero(allowed))
        return most_demanding(self._joined(names))

    @property
    def person(self) -> str | None:
        """The column that distinguishes people, if one is given or needed."""
        column = self.options["person"]
        return None if column == ASK else column

    def _method(self, method: PseudonymizationMethod, column: str) -> Pseudonyms:
        return masking_method(method, column, self.keys, unkeyed=self.unkeyed, secrets=self.secrets)

    # The combined guarantee

    def _roles(
        self,
        table: pa.Table,
        groups: Mapping[str, str],
        attribute_names: Mapping[str, str | None],
        joined: list[Joined],
        notes: list[str],
    ) -> dict[str, str]:
        roles: dict[str, str] = {}
        spoken_of = {each.strictest.attribute for each in joined}
        for name in table.column_names:
            if name in attribute_names:
                is_named = attribute_names[name] is not None
                roles[name] = "pseudonym" if is_named or not joined else "dropped"
            elif name not in groups:
                roles[name] = "dropped"
            elif groups[name] == "EI":
                roles[name] = "EI"
            elif groups[name] == "QID and SD":
                roles[name] = "QID"
                note = (
                    ""
                    if name not in spoken_of
                    else ", and what models ask of it holds for what its cells were before"
                )
                notes.append(f"column {name!r} is QID for some and SD for others: it is generalized{note}")
            else:
                roles[name] = groups[name]
        return roles

    def _anonymize(
        self,
        table: pa.Table,
        everything: pa.Table,
        roles: Mapping[str, str],
        copies: Mapping[str, str],
        lifted: Mapping[str, CoarsenedColumn],
        models: tuple[PrivacyModel, ...],
        subset: RowNumbers | None,
    ) -> Release:
        quasi_identifiers = [name for name, role in roles.items() if role == "QID"]
        if not quasi_identifiers:
            raise PlanError(
                "no policy declares a quasi-identifier, so there is nothing to anonymize: give a column "
                "the privacy group QID"
            )
        columns = [name for name, role in roles.items() if role not in ("dropped", "EI")]
        table = table.select([*columns, *copies.values()])
        options = dict(self.options)
        person = self.person
        if subset is not None:
            options["person"] = None  # each has one record, and the owners of the population are unknown
        elif person is not None:
            people = everything[person]
            table = (
                replace_column(table, person, people)
                if person in columns
                else table.append_column(person, people)
            )
            if "pseudonym" in roles.values():  # which show the rows that belong together
                options["knows"] = "all rows"
        frame = self.source.frame
        caps = {name: cap for name in quasi_identifiers if (cap := lifted[name].cap) is not None}
        # With a population, people who look alike must have one label: the highest minimum holds for all.
        floors = {}
        if subset is not None:
            floors = {name: int(lifted[name].floors.max(initial=0)) for name in quasi_identifiers}
        return anonymize(
            table if frame is None else frame.from_arrow(table, None),
            quasi_identifiers={name: lifted[name].hierarchy for name in quasi_identifiers},
            models=(*models, *(() if subset is None else (Inclusion(subset),))) or (KAnonymity(1),),
            sensitive=[*(name for name, role in roles.items() if role == "SD"), *copies.values()],
            insensitive=[name for name, role in roles.items() if role in ("NSD", "pseudonym")],
            minimum_levels=floors,
            maximum_levels={name: max(cap, floors.get(name, 0)) for name, cap in caps.items()},
            **options,
        )

    def _verify(
        self,
        release: Release,
        joined: list[Joined],
        required_models: list[PrivacyModel],
        lifted: Mapping[str, CoarsenedColumn],
        translation: _Translation,
        owners: NDArray[Any],
    ) -> Release:
        """Check on the output the requirements of every policy, and promise all of them together."""
        outcome = release.outcome
        plan = outcome.searched.plan
        every = [translation.model(each) for group in joined for each in group.askers]
        if every:
            models = tuple(dict.fromkeys([*required_models, *every, *plan.models]))
            verify_outcome(under_plan(outcome, dataclasses.replace(plan, models=models))).require()
            promises = (*required_models, *(each for each in plan.models if isinstance(each, Inclusion)))
            outcome = under_plan(outcome, dataclasses.replace(plan, models=tuple(dict.fromkeys(promises))))
        verification = verify_outcome(outcome)
        minimum = self._minimum(outcome, lifted)
        outcome = without_columns(outcome, list(translation.copies.values()))
        verify_outcome(outcome).require()
        consent = self._consent(outcome, owners)
        result = Verification((*verification.findings, minimum, consent), verification.not_checked)
        result.require()
        return Release(dataclasses.replace(outcome, verification=result))

    def _consent(self, outcome: Outcome, owners: NDArray[Any]) -> Finding:
        """Check on the output that no cell is shown without the consent of its owner."""
        table = outcome.table.select([name for name in outcome.table.column_names if name != outcome.flag])
        row_owners = owners[outcome.origins]
        refused = refused_cells(
            table, row_owners, self.policies, self.request, self.withdrawn, outcome.marker
        )
        measured = ", ".join(f"{count} of {name!r}" for name, count in refused.items())
        promise = "no cell is shown that the policy of its record does not allow"
        return Finding(promise, not refused, f"{measured or 0} are")

    def _minimum(self, outcome: Any, lifted: Mapping[str, CoarsenedColumn]) -> Finding:
        """Check on the output that every cell is as coarse as the policy of its record requires."""
        rows, suppressed_mask = outcome.origins, outcome.link.pick(outcome.suppressed_mask)
        broken = 0
        for name, column in lifted.items():
            if name in outcome.table.column_names:
                broken += column.too_fine(outcome.table[name], rows, suppressed_mask)
        promise = "every cell is at least as coarse as the policy of its record asks"
        return Finding(promise, broken == 0, f"{broken} are not")

    # The account

    def _account(
        self,
        reasons: Mapping[str, int],
        names: list[str],
        codes: Integers,
        joined: list[Joined],
        implication: Implication,
        roles: Mapping[str, str],
        withheld: Mapping[str, int],
        lifted: Mapping[str, CoarsenedColumn],
        notes: list[str],
        release: Release,
        rows: Integers,
    ) -> Account:
        number = {name: at for at, name in enumerate(names)}
        counts = np.bincount(codes, minlength=len(names))
        requirements: list[tuple[str, int]] = []
        for group in joined:
            for each, policies in group.askers.items():
                how_many = int(counts[[number[name] for name in policies]].sum())
                requirements.append((_in_words(each), how_many))
                if each.note and each.note not in notes:
                    notes.append(each.note)
        return Account(
            *self.request[:3],
            int(self.source.table.num_rows),
            len(names),
            dict(reasons),
            tuple(requirements),
            tuple(str(implication).splitlines()) if implication.models else (),
            {name: role for name, role in roles.items() if role != "dropped"},
            withheld,
            {name: each.coarser for name, each in lifted.items() if each.coarser},
            tuple(notes),
            tuple(str(each) for each in release.verification.findings),
            tuple(dict.fromkeys(str(each) for name in names for each in self.terms[name].legal_bases)),
            rows,
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


@dataclasses.dataclass
class _Tries:
    """Releases by their models, each made once."""

    make: Callable[[tuple[PrivacyModel, ...]], Release]
    made: dict[tuple[PrivacyModel, ...], Release] = dataclasses.field(default_factory=dict)

    def release(self, models: tuple[PrivacyModel, ...]) -> Release:
        """Return the release of some models."""
        if models not in self.made:
            self.made[models] = self.make(models)
        return self.made[models]

    def loss(self, models: tuple[PrivacyModel, ...]) -> float:
        """Return the loss of a release with these models; infinite if there is none."""
        try:
            score = self.release(models).score
        except (ImpossibleError, NoSolutionError):
            return math.inf
        return float(score if isinstance(score, int | float) else score[0])


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
