"""Releases: made, looked at, exchanged for others, and handed over."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tempfile
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response
from pydantic import Field
from starlette.background import BackgroundTask

import veil
from veil.api.relax import Relaxation
from veil.api.release import Release
from veil.api.search import SearchResult
from veil.dp.accountant import Accountant
from veil.dp.publish import safepub_of
from veil.errors import NoSolutionError
from veil.lattice.space import NodeRecord
from veil.models import KAnonymity
from veil.plan.plan import ASK, Plan
from veil.recipe import Recipe
from veil.recipe.document import document_text
from veil.tables import write
from veil.utility import Comparison, contingency
from veil.web.draft import checked_recipe, checked_steps, with_key
from veil.web.guard import REPORT_POLICY
from veil.web.jobs import Cancelled, Job
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.tables import PAGE, Name
from veil.web.session import Made, OpenTable, Session, as_text

router = APIRouter(tags=["releases"])

Level = Annotated[int, Field(ge=0, le=1000)]


class Masks(Body):
    """Masking methods in their order, what they leave out, and what an attacker may know of what they make."""

    steps: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=50)]
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    without: Annotated[list[Name], Field(max_length=5000)] = Field(default_factory=list)
    person: Name | None = ASK


class Wish(Body):
    """A table and a recipe as plain data; without them, those of the session."""

    table: Name | None = None
    recipe: dict[str, Any] | None = None
    masks: Annotated[Masks | None, Field(description="masking methods, instead of a recipe")] = None


@router.post("/releases", status_code=HTTPStatus.ACCEPTED)
def make(wish: Wish, session: InSession) -> JobTold:
    """Anonymize a table: search, apply, verify; or let masking methods change it."""
    draft = session.history.draft
    table = session.table(wish.table or draft.table or "")
    if wish.masks is not None or (wish.recipe is None and draft.way == "masks"):
        masks = wish.masks or Masks(**draft.document())
        return told(session.start("anonymize", _masking(session, table, masks)))
    asked = draft.recipe() if wish.recipe is None else wish.recipe
    recipe = checked_recipe(asked)
    plan = recipe.plan()
    plan.check_columns(list(table.arrow.column_names))
    plan = with_key(plan, session.key_file)
    budget = _budget(session, table) if safepub_of(plan) is not None else None

    def work(job: Job) -> dict[str, Any]:
        try:
            release = veil.anonymize(
                table.whole,
                plan,
                local=recipe.local_recoding,
                accountant=budget,
                progress=job.tell,
                cancel=job.asked_to_stop,
            )
        except NoSolutionError:
            if job.asked_to_stop():
                raise Cancelled from None  # before anything was found: there is no best so far
            raise
        job.tell(_LOOKING, 0, 0, "")
        return _kept(session, job, Made(release, table, asked, _facts(release)))

    return told(session.start("anonymize", work))


def _masking(session: Session, table: OpenTable, asked: Masks) -> Callable[[Job], dict[str, Any]]:
    methods = checked_steps(asked.steps, session.key_file)
    for name in (*asked.without, *asked.quasi_identifiers):
        table.require(name)

    def work(job: Job) -> dict[str, Any]:
        if table.held is not None:
            source: Any = table.held.table.drop(*asked.without) if asked.without else table.held.table
        else:
            source = table.arrow.drop_columns(asked.without)
        release = veil.mask(source, methods, person=asked.person, progress=job.tell)
        job.tell(_LOOKING, 0, 0, "")
        quasi = [name for name in asked.quasi_identifiers if name in release.arrow.column_names]
        document = asked.model_dump()
        return _kept(session, job, Made(release, table, document, _facts(release, quasi)))

    return work


def _kept(session: Session, job: Job, made: Made) -> dict[str, Any]:
    """Keep a release, unless the job that made it was stopped meanwhile."""
    return job.commit(lambda: {"release": session.keep(made).id})


_LOOKING = "looking at the release"


@router.post("/releases/relax", status_code=HTTPStatus.ACCEPTED)
def relax(wish: Wish, session: InSession) -> JobTold:
    """Tell what would have to be relaxed where nothing fulfils all promises, the cheapest first."""
    draft = session.history.draft
    table = session.table(wish.table or draft.table or "")
    recipe = checked_recipe(draft.recipe() if wish.recipe is None else wish.recipe)
    plan = recipe.plan()
    plan.check_columns(list(table.arrow.column_names))

    def work(job: Job) -> dict[str, Any]:
        found = veil.relax(table.whole, plan, progress=job.tell, cancel=job.asked_to_stop)
        return {"relaxations": [_relaxation(each, plan) for each in found]}

    return told(session.start("relax", work))


def _relaxation(each: Relaxation, plan: Plan) -> dict[str, Any]:
    """Tell a way out, with the change of the plan that it is."""
    spelled = Recipe.of(each.plan).spell()
    if each.kind == "levels":
        assert each.after is not None
        change: dict[str, Any] = {"levels": {each.name: [plan.minimum_levels.get(each.name, 0), each.after]}}
    elif each.kind == "suppression":
        change = {"suppression_limit": each.after}
    else:
        change = {"models": spelled["models"], "preset": None}
    told = {name: getattr(each, name) for name in _TOLD}
    return {**told, "keeps_promises": each.keeps_promises, "said": str(each), "set": change}


_TOLD = ("kind", "name", "parameter", "before", "after", "share", "proven")


@router.get("/releases/{id}")
def look(id: str, session: InSession) -> dict[str, Any]:
    """Tell what a release is, what it promises and what is left of risk."""
    made = session.release(id)
    draft = session.history.draft
    return {
        "id": made.id,
        "table": made.table.id,
        "name": made.table.name,
        "outdated": draft.table != made.table.id or draft.document() != made.recipe,
        "engine": None if made.table.held is None else made.table.held.kind,
        "steps": [{"name": str(each.method), "said": str(each)} for each in made.release.steps],
        "search": None if made.release.search is None else _search(made.release.search),
        **made.facts,
    }


def _facts(release: Release, quasi: list[str] | None = None) -> dict[str, Any]:
    """Find out once what may take a while to find out, and stays. Masks are told what an attacker may know."""
    before, after = release.risk(quasi_identifiers=quasi)
    return {
        "records": release.records,
        "people": release.people,
        "suppressed": release.suppressed,
        "within_limit": release.within_limit,
        "classes": release.classes,
        "ending": release.ending,
        "holds": release.verification.holds and release.within_limit,
        "findings": [
            dataclasses.asdict(each) | {"verdict": each.verdict} for each in release.verification.findings
        ],
        "open_questions": list(release.verification.open_questions),
        "concerns": [dataclasses.asdict(each) | {"key": each.key} for each in release.concerns],
        "risk": {"before": dataclasses.asdict(before), "after": dataclasses.asdict(after)},
        "measures": {name: _number(value) for name, value in release.measures().items()},
        "statement": release.statement,
    }


def _search(search: SearchResult) -> dict[str, Any]:
    hierarchies = search._outcome.hierarchies
    return {
        "transformation": search.transformation,
        "level_names": search.level_names,
        "levels": {name: list(each.level_names) for name, each in hierarchies.items()},
        "score": _score(search.score),
        "is_optimum": search.is_optimum,
        "proven_optimal": search.proven_optimal,
        "gap": search.gap,
        "ending": search.ending,
        "size": search.explored.size,
        "evaluated": len(search.explored.evaluated),
        "minimum": list(search.explored.minimum),
        "maximum": list(search.explored.maximum),
        "curve": [[seconds, checks, score[0]] for seconds, checks, score in search.curve],
    }


def _number(value: Any) -> Any:
    """JSON has no number for what is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _score(score: Any) -> Any:
    return _number(score[0] if isinstance(score, tuple) and score else score)


# --- budgets of differential privacy


class Budget(Body):
    """The most that all private releases of a table may cost together."""

    epsilon: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
    delta: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0


def _budget(session: Session, table: OpenTable) -> Accountant | None:
    return session.budgets.get(table.fingerprint)


@router.get("/tables/{id}/budget")
def budget(id: str, session: InSession) -> dict[str, Any]:
    """Tell what may be spent on a table by differentially private releases, and what was."""
    account = _budget(session, session.table(id))
    if account is None:
        return {"budget": None, "remaining": None, "ledger": []}
    return {
        "budget": str(account.budget),
        "remaining": str(account.remaining),
        "ledger": [
            {"label": each.label, "epsilon": str(each.epsilon), "delta": float(each.delta)}
            for each in account.ledger
        ],
    }


@router.put("/tables/{id}/budget")
def set_budget(id: str, asked: Budget, session: InSession) -> dict[str, Any]:
    """Say what may be spent on a table. It is said once: what was promised is not raised afterwards."""
    table = session.table(id)
    with session.lock:
        if _budget(session, table) is not None:
            raise Refused(
                HTTPStatus.CONFLICT,
                "this table has a budget already, and it is not raised afterwards",
                kind="BudgetError",
            )
        session.budgets[table.fingerprint] = Accountant(asked.epsilon, asked.delta)
    return budget(id, session)


# --- other transformations


def _searched(made: Made) -> SearchResult:
    if made.release.search is None:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "this release has several transformations: there are no others to look at",
        )
    return made.release.search


def _node(record: NodeRecord) -> dict[str, Any]:
    return {
        "levels": list(record.levels),
        "state": record.state,
        "score": None if record.score is None else _score(record.score),
        "bound": _score(record.bound),
        "suppressed": record.suppressed,
        "evaluated": record.evaluated,
    }


class Listing(Body):
    """Which transformations: by state and by the levels of columns."""

    state: Literal["anonymous", "not anonymous", "pruned", "unseen"] | None = None
    levels: dict[Name, Level] | None = None
    sort: Literal["score", "levels", "suppressed"] = "score"
    limit: Annotated[int, Field(ge=1, le=5000)] = 1000


@router.post("/releases/{id}/nodes")
def nodes(id: str, asked: Listing, session: InSession) -> dict[str, Any]:
    """List transformations with what is known of them, the best first."""
    made = session.release(id)
    search = _searched(made)
    with made.lock:
        listed = search.nodes(state=asked.state, levels=asked.levels, sort=asked.sort, limit=asked.limit)
        return {"nodes": [_node(each) for each in listed], "counts": search.explored.counts()}


class Node(Body):
    """A transformation: levels by column. Columns that are not named stay as they are."""

    levels: Annotated[dict[Name, Level], Field(max_length=500)]


@router.post("/releases/{id}/nodes/evaluate")
def evaluate(id: str, node: Node, session: InSession) -> dict[str, Any]:
    """Evaluate a transformation and its neighbours: itself first, then those that keep more, then those that keep less."""
    made = session.release(id)
    search = _searched(made)
    with made.lock:
        return {"nodes": [_node(each) for each in search.explore(node.levels)]}


@router.post("/releases/{id}/prices", status_code=HTTPStatus.ACCEPTED)
def prices(id: str, node: Node, session: InSession) -> JobTold:
    """Tell what each level of each column costs, with some levels fixed."""
    made = session.release(id)
    search = _searched(made)

    def work(job: Job) -> dict[str, Any]:
        with made.lock:
            found = search.prices(node.levels, progress=job.tell, cancel=job.asked_to_stop)
        return {"prices": [dataclasses.asdict(each) | {"score": _score(each.score)} for each in found]}

    return told(session.start("prices", work))


@router.post("/releases/{id}/apply", status_code=HTTPStatus.ACCEPTED)
def apply(id: str, node: Node, session: InSession) -> JobTold:
    """Take another transformation: apply it and verify it. The promises stay."""
    made = session.release(id)
    search = _searched(made)

    def work(job: Job) -> dict[str, Any]:
        job.tell("applying and verifying", 0, 0, "")
        release = search.apply(node.levels)
        job.tell(_LOOKING, 0, 0, "")
        return _kept(session, job, Made(release, made.table, made.recipe, _facts(release)))

    return told(session.start("apply", work))


# --- looking into it


class Page(Body):
    """Which rows of the release."""

    start: Annotated[int, Field(ge=0, le=10**12)] = 0
    count: Annotated[int, Field(ge=1, le=PAGE)] = PAGE


@router.post("/releases/{id}/rows")
def rows(id: str, page: Page, session: InSession) -> dict[str, Any]:
    """Return some rows of the release as text, each beside the row of the input that it was made of."""
    made = session.release(id)
    outcome, table = made.release.outcome, made.release.arrow
    if made.table.held is not None:
        return {
            "start": page.start,
            "total": table.num_rows,
            "columns": list(table.column_names),
            "rows": as_text(table.slice(page.start, page.count)),
            "input_columns": [],
            "input": [],
            "suppressed": [False] * max(0, min(page.count, table.num_rows - page.start)),
        }
    picked = outcome.origins[page.start : page.start + page.count]
    return {
        "start": page.start,
        "total": table.num_rows,
        "columns": list(table.column_names),
        "rows": as_text(table.slice(page.start, page.count)),
        "input_columns": list(made.table.arrow.column_names),
        "input": as_text(made.table.arrow.take(picked)),
        "suppressed": [bool(made.release.suppressed_rows[row]) for row in picked],
    }


class Threshold(Body):
    """The risk above which a record is at risk; and the people the table was drawn from, as a number or a region."""

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.2
    population: Annotated[int, Field(ge=1, le=10**11)] | Annotated[str, Field(max_length=100)] | None = None
    weights: Annotated[Name | None, Field(description="column of sampling weights")] = None
    household: Annotated[Name | None, Field(description="column that tells who lives together")] = None


@router.post("/releases/{id}/risk", status_code=HTTPStatus.ACCEPTED)
def risk(id: str, asked: Threshold, session: InSession) -> JobTold:
    """Tell what could still go wrong: three attackers, the distribution of risk, and which columns do it."""
    made = session.release(id)

    def work(job: Job) -> dict[str, Any]:
        job.tell("measuring the risks of the input", 0, 2, "")
        masked = made.recipe.get("steps") is not None
        quasi = list(made.recipe["quasi_identifiers"])
        whole = made.table.arrow if made.table.held is None else made.table.held.table
        drawn: Any = {"weights": asked.weights, "household": asked.household}
        before = veil.risk.analyze(
            whole, quasi, threshold=asked.threshold, population=asked.population, untouched=True, **drawn
        )
        job.tell("measuring the risks of the release", 1, 2, "")
        left = [name for name in quasi if name in made.release.arrow.column_names]
        after = veil.risk.analyze(
            made.release,
            left if masked else None,
            threshold=asked.threshold,
            population=asked.population,
            **drawn,
        )
        return {"before": _plain(before.to_dict()), "after": _plain(after.to_dict())}

    return told(session.start("risk", work))


@router.post("/releases/{id}/attack", status_code=HTTPStatus.ACCEPTED)
def attack(id: str, session: InSession) -> JobTold:
    """Try to find the people of the input in the release: link each record with the nearest by what an attacker knows."""
    made = session.release(id)

    def work(job: Job) -> dict[str, Any]:
        job.tell("linking records", 0, 0, "")
        if made.table.held is not None:
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows, and linking needs them in memory"
            )
        outcome = made.release.outcome
        columns = [
            name for name in made.recipe["quasi_identifiers"] if name in made.release.arrow.column_names
        ]
        found = veil.risk.linkage_experiment(
            made.table.arrow,
            made.release.arrow,
            columns,
            hierarchies=outcome.hierarchies if outcome.prepared is not None else None,
            origins=outcome.origins,
            marker=outcome.marker,
        )
        return {"linkage": _plain(dataclasses.asdict(found))}

    return told(session.start("attack", work))


class Pair(Body):
    """Two columns."""

    row: Name
    column: Name


@router.post("/releases/{id}/pairs")
def pairs(id: str, asked: Pair, session: InSession) -> dict[str, Any]:
    """Count the pairs of values of two columns, before and after, neighbours together where there are many."""
    made = session.release(id)
    if made.table.held is not None:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows, and comparing needs them in memory"
        )
    comparison = Comparison.of(made.release.outcome)
    before, after = contingency(comparison, asked.row, asked.column, at_most=12)
    return {"before": _plain(dataclasses.asdict(before)), "after": _plain(dataclasses.asdict(after))}


class Use(Body):
    """What is to be predicted, if anything."""

    targets: Annotated[list[Name], Field(max_length=5)] = Field(default_factory=list)


@router.post("/releases/{id}/utility", status_code=HTTPStatus.ACCEPTED)
def utility(id: str, asked: Use, session: InSession) -> JobTold:
    """Tell what the release is still good for."""
    made = session.release(id)

    def work(job: Job) -> dict[str, Any]:
        job.tell("comparing before and after", 0, 0, "")
        if made.table.held is not None:
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "an engine holds the rows, and comparing them before and after needs all of them in memory",
            )
        return {"utility": _plain(made.release.utility(targets=asked.targets).to_dict())}

    return told(session.start("utility", work))


def _plain(value: Any) -> Any:
    """Return what JSON can hold: not-a-number and infinity are null."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)


class Estimate(Body):
    """Values of k to try with the plan."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=10**6)]], Field(min_length=1, max_length=20)]


@router.post("/frontier", status_code=HTTPStatus.ACCEPTED)
def estimate(asked: Estimate, session: InSession) -> JobTold:
    """Tell what the plan would cost with other values of k: each a search of two seconds at most."""
    draft = session.history.draft
    table = session.table(draft.table or "")
    plan = dataclasses.replace(checked_recipe(draft.recipe()).plan(), time_limit=2.0)
    if not any(isinstance(model, KAnonymity) for model in plan.models):
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "no promise has a k to try other values of")
    plan = with_key(plan, session.key_file)
    if table.held is not None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows: search once instead")

    def work(job: Job) -> dict[str, Any]:
        found = veil.frontier(
            table.source, plan, over={"KAnonymity.k": sorted(set(asked.k))}, progress=job.tell
        )
        return {"frontier": _plain(found.to_dict())}

    return told(session.start("estimate", work))


class Question(Body):
    """What the table is asked for as it is."""

    table: Name
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    sensitive: Annotated[list[Name], Field(max_length=500)] = Field(default_factory=list)
    person: Name | None = None


@router.post("/assess", status_code=HTTPStatus.ACCEPTED)
def assess(asked: Question, session: InSession) -> JobTold:
    """Find the strongest parameter of every privacy model that the table fulfils now."""
    table = session.table(asked.table)
    whole = table.arrow if table.held is None else table.held.table
    person = None if asked.person == ASK else asked.person

    def work(job: Job) -> dict[str, Any]:
        job.tell("assessing the table", 0, 0, "")
        found = veil.assess(
            whole, quasi_identifiers=asked.quasi_identifiers, sensitive=asked.sensitive, person=person
        )
        said = [{"said": str(each)} for each in found]
        made = found.to_dict()
        made["strengths"] = [a | b for a, b in zip(made["strengths"], said, strict=True)]
        return {"assessment": _plain(made)}

    return told(session.start("assess", work))


# --- handing over


class Accepted(Body):
    """Concerns that are known and accepted, by their keys."""

    concerns: Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=200)]


@router.post("/releases/{id}/acknowledge")
def acknowledge(id: str, accepted: Accepted, session: InSession) -> dict[str, Any]:
    """Say that concerns are known and accepted, which report and certificate then tell."""
    made = session.release(id)
    known = {each.key for each in made.release.concerns}
    if strange := [key for key in accepted.concerns if key not in known]:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"there is no concern {strange[0]!r}")
    made.release, made.report = made.release.acknowledge(*accepted.concerns), None
    made.facts = _facts(made.release)
    return look(id, session)


@router.get("/releases/{id}/table.{ending}", response_class=FileResponse)
def table(id: str, ending: Literal["csv", "parquet", "feather", "xlsx"], session: InSession) -> FileResponse:
    """Return the released table as a file, in random order unless the plan says otherwise."""
    made = _signable(session, id)
    return _handed(session, f"release.{ending}", made, lambda release, path: release.save(path))


@router.get("/releases/{id}/report.{ending}", response_class=FileResponse)
def report(id: str, ending: Literal["html", "pdf", "json"], session: InSession) -> Response:
    """Return the report."""
    made = session.release(id)
    if ending == "html" and made.report is not None:
        return _shown(Response(made.report, media_type="text/html"))
    answer = _handed(
        session, f"report.{ending}", made, lambda release, path: release.report(path, progress=False)
    )
    return _shown(answer) if ending == "html" else answer


def _shown(answer: Response) -> Response:
    """Have a report shown in a frame in which nothing runs."""
    answer.headers["Content-Security-Policy"] = REPORT_POLICY
    answer.headers["Content-Disposition"] = "inline"
    return answer


@router.post("/releases/{id}/report", status_code=HTTPStatus.ACCEPTED)
def make_report(id: str, session: InSession) -> JobTold:
    """Write the report, which may take a while; it is then there to be fetched at once."""
    made = session.release(id)

    def work(job: Job) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=session.folder) as folder:
            path = made.release.report(Path(folder) / "report.html", progress=job.tell)
            job.check()
            made.report = path.read_bytes()
        return {"release": made.id}

    return told(session.start("report", work))


class Reason(Body):
    """Why a table that keeps not every promise is taken all the same."""

    reason: Annotated[str, Field(min_length=10, max_length=1000)]


@router.post("/releases/{id}/anyway", response_class=FileResponse)
def anyway(id: str, why: Reason, session: InSession) -> FileResponse:
    """Return a table that is not anonymous, called so in its name, in its first column and with the reason beside it."""
    made = session.release(id)
    if _keeps(made):
        raise Refused(
            HTTPStatus.CONFLICT, "this release keeps every promise: take it as it is", kind="Conflict"
        )
    marked = made.release.arrow.add_column(0, "NOT ANONYMOUS", [[why.reason] * made.release.arrow.num_rows])
    return _handed(session, "NOT-ANONYMOUS.csv", made, lambda _, path: write(marked, path))


def _keeps(made: Made) -> bool:
    return made.release.verification.holds and made.release.within_limit


@router.get("/releases/{id}/certificate", response_class=FileResponse)
def certificate(id: str, session: InSession) -> FileResponse:
    """Return the certificate, by which recipients can check the table."""
    made = _signable(session, id)
    return _handed(session, "certificate.json", made, lambda release, path: release.certificate(path))


@router.get("/releases/{id}/recipe", response_class=Response)
def recipe(id: str, session: InSession) -> Response:
    """Return the recipe, by which the release can be made again."""
    made = session.release(id)
    if made.recipe.get("without"):
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "a recipe of masking methods leaves no column out, and this release does: take the Python code instead",
        )
    if "steps" in made.recipe:
        spelled = {name: made.recipe[name] for name in ("steps", "person") if made.recipe[name] != ASK}
    else:
        spelled = checked_recipe(made.recipe).spell()
    text = document_text({"input": made.table.name, "output": "release.csv", **spelled})
    return Response(
        text,
        media_type="application/yaml",
        headers={"Content-Disposition": 'attachment; filename="recipe.yaml"'},
    )


@router.get("/releases/{id}/criteria.{guide}", response_class=FileResponse)
def criteria(id: str, guide: Literal["wp216", "sp800-188"], session: InSession) -> FileResponse:
    """Return the questions of a guide with what the release says to them, as Markdown."""
    made = _signable(session, id)
    meant: Literal["WP 216", "NIST SP 800-188"] = "WP 216" if guide == "wp216" else "NIST SP 800-188"
    return _handed(session, f"{guide}.md", made, lambda release, path: release.criteria(path, meant))


def _signable(session: Session, id: str) -> Made:
    """Return a release that keeps every promise; no other one is handed over."""
    made = session.release(id)
    if not _keeps(made):
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "this release does not keep every promise, or suppresses more than the plan allows, and is not handed over",
            kind="VerificationError",
        )
    return made


def _handed(
    session: Session, name: str, made: Made, write: Callable[[Release, Path], object]
) -> FileResponse:
    """Write a file into a folder of its own, and send it; it is gone once it was sent."""
    folder = tempfile.TemporaryDirectory(dir=session.folder)
    path = Path(folder.name) / name
    try:
        write(made.release, path)
    except BaseException:
        folder.cleanup()
        raise
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(made.table.name).stem) or "table"
    return FileResponse(path, filename=f"{stem}-{name}", background=BackgroundTask(folder.cleanup))
