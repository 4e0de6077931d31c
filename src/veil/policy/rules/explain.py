"""A policy in plain words: what it allows, to whom, for how long, and how Veil interprets it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from veil.errors import VeilError
from veil.models.implication import weakest
from veil.policy.documents.elements import Policy, Purpose
from veil.policy.rules.checks import check, group_of, sensitive_names
from veil.policy.rules.consent import is_abroad
from veil.policy.rules.levels import levels_of
from veil.policy.rules.names import requirements, title_of
from veil.policy.rules.onward_transfer import check_chain
from veil.policy.rules.pseudonyms import title_of as title_of_method
from veil.policy.rules.retention import kind_of

_GROUPS = {
    "EI": "names a person: removed, unless it becomes a pseudonym",
    "QID": "may be known to an attacker: generalized",
    "SD": "sensitive: protected by the models",
    "NSD": "not sensitive: released as it is",
}


def explain(policy: Policy, on: date | None = None) -> list[str]:
    """Explain a policy, line by line. The parts refused on a day (today) and the problems come last."""
    lines = [f"policy {policy.name!r}, version {policy.version}"]
    if policy.source is not None and policy.source.name:
        lines.append(f"given by {policy.source.name!r}")
    for purpose in policy.purposes:
        lines += ["", *_purpose(purpose)]
    for depth, under in enumerate(_chain(policy), start=1):
        lines.append(f"under policy {under.name!r} ({depth} below)")
    problems = [*check(policy, on=on), *check_chain(policy)]
    for title, refused in (("what was refused:", True), ("what is wrong:", False)):
        group = [each for each in problems if each.refused == refused]
        if group:
            lines += ["", title]
            lines += [f"  {'' if each.grave or refused else '(a gap) '}{each}" for each in group]
    return lines


def _chain(policy: Policy) -> Iterator[Policy]:
    for under in policy.underlying:
        yield under
        yield from _chain(under)


def _purpose(purpose: Purpose) -> Iterator[str]:
    accepted = (
        "refused"
        if purpose.accepted is False
        else "accepted"
        if purpose.accepted or purpose.point_of_acceptance
        else "accepted unless refused"
        if purpose.opt_out
        else "not accepted"
    )
    yield f"purpose {purpose.name!r}: {accepted}"
    for each in purpose.recipients:
        secret = ", who has to show a credential" if each.auth_info else ""
        abroad = f", in {each.country or 'a third country'}" if is_abroad(each) else ""
        refused = ": refused" if each.accepted is False else ""
        yield f"  recipient {each.name!r}{secret}{abroad}{refused}"
    if purpose.retention is not None:
        kind, point = kind_of(purpose.retention), purpose.retention.point_in_time
        ends = {"afterpurpose": f"until {point} after the purpose has ended", "fixeddate": f"until {point}"}
        yield f"  kept {ends.get(kind, 'without an end')}"
    for data in purpose.data:
        try:
            group, levels = group_of(data), levels_of(data)
        except VeilError as error:
            yield f"  {data.name!r}: {error}"
            continue
        own = f"; at least level {levels.least}" if levels.least else ""
        most = f"; at most level {levels.most}" if levels.most is not None else ""
        refused = "refused, so withheld; " if data.accepted is False else ""
        yield f"  {data.name!r}: {refused}{group}, {_GROUPS[group]}{own}{most}"
    for method in purpose.pseudonymization:
        publication = (
            f"published as {method.attr_name!r}"
            if method.attr_name
            else "not published where models are asked for"
        )
        try:
            yield f"  pseudonyms of {', '.join(map(repr, map(str, method.data)))} by {title_of_method(method)}: {publication}"
        except VeilError as error:
            yield f"  {error}"
    yield from _models(purpose)


def _models(purpose: Purpose) -> Iterator[str]:
    models = []
    for each in purpose.models:
        try:
            conditions = requirements(each, sensitive_names(purpose))
        except VeilError as error:
            yield f"  {error}"
            continue
        for requirement in conditions:
            parameters = ", ".join(f"{key} = {value}" for key, value in requirement.parameters)
            of = "" if requirement.attribute is None else f" of {requirement.attribute!r}"
            yield f"  model {title_of(each.name or '')}{of}" + (f" ({parameters})" if parameters else "")
            if requirement.note:
                yield f"    {requirement.note}"
            try:
                model = requirement.model()
            except VeilError:
                continue
            models.append(model)
            if model.attacks:
                yield f"    defends against {', '.join(model.attacks)}"
    if len(models) > 1:
        implication = weakest(models)
        for model, steps in implication.proofs:
            yield f"  {model} follows from the others:"
            for step in steps:
                yield f"    {step}"
