"""Tables: sent, looked at, and closed."""

from __future__ import annotations

import functools
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request
from pydantic import Field, ValidationError

from veil.api.open import Place as PlaceOf
from veil.api.open import find_relation, place_of
from veil.base.declare import explain
from veil.errors import ParameterError, VeilError
from veil.plan.plan import ASK
from veil.recipe import Project
from veil.recipe.project import ARX_SUFFIX, SUFFIX
from veil.synthetic import patients
from veil.tables import Csv, Excel, Format, Source, read
from veil.tables.csv.proposal import decoded, propose_format
from veil.tables.formats import TypeName, format_of
from veil.tables.spelling import PERSON
from veil.web.child import CHILDREN
from veil.web.jobs import Task
from veil.web.languages import Language, say
from veil.web.problems import Refused, renamed
from veil.web.projects import open_project
from veil.web.routes.base import Body, InSession, JobTold, the_session, told
from veil.web.session import BrowserSession, Filter, OpenTable
from veil.web.uploads import READING, Upload, file_name, read_file

router = APIRouter(prefix="/tables", tags=["tables"])

PAGE = 100
Name = Annotated[str, Field(max_length=1000)]


class HowToRead(Body):
    """How a file is to be read, where Veil has not understood it."""

    separator: Literal[",", ";", "\t", "|"] | None = None
    encoding: Annotated[str, Field(max_length=40)] | None = None
    skip: Annotated[int, Field(ge=0, le=10_000)] = 0
    header: bool = True
    decimal: Literal[".", ","] = "."
    thousands: Literal[".", ",", "'", " "] | None = None
    missing: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=50)] = Field(
        default_factory=lambda: [""]
    )
    types: Annotated[dict[Name, TypeName], Field(max_length=5000)] = Field(default_factory=dict)
    sheet: Annotated[str, Field(max_length=100)] | None = None

    def format(self, like: Format) -> Format:
        """Return the format of a file of the same kind."""
        if isinstance(like, Excel):
            return Excel(sheet=self.sheet, header=self.header, skip=self.skip)
        if isinstance(like, Csv):
            return Csv(
                separator=self.separator,
                encoding=self.encoding,
                skip=self.skip,
                header=self.header,
                decimal=self.decimal,
                thousands=self.thousands,
                missing=tuple(self.missing),
                types=self.types,
            )
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "only CSV and Excel files can be read in another way")


@router.post("", status_code=HTTPStatus.ACCEPTED)
async def send(
    request: Request,
    veil_file_name: Annotated[str, Header()],
    veil_format: Annotated[str | None, Header(max_length=10_000)] = None,
) -> JobTold:
    """Send a table: the file as the body, its name, percent-encoded, as the header Veil-File-Name.

    How to read it, where Veil does not understand it by itself, is the header Veil-Format: JSON, as for `format`.
    """
    session, name = the_session(request), file_name(veil_file_name)
    format = None if veil_format is None else _how(veil_format).format(format_of(Path(name)))
    upload = Upload(session.folder, name)
    await upload.receive(request.stream())

    def work(job: Task) -> dict[str, Any]:
        return _opened(session, upload.open_in(session, job, format), job)

    return told(upload.start(session, "read table", work))


def _how(text: str) -> HowToRead:
    try:
        return HowToRead.model_validate_json(text)
    except ValidationError as error:
        raise ParameterError(explain(error)) from None


LINES = 20


@router.post("/look")
async def look(request: Request) -> dict[str, Any]:
    """Propose how to read a CSV file that was not understood: its first bytes as the body, at most 128 KiB.

    Answers with a format, as for `format`, and with the first lines as they would be read.
    """
    the_session(request)
    head = await request.body()
    found = propose_format(head)
    names = ("separator", "encoding", "skip", "decimal", "thousands")
    lines = [line[:1000] for line in decoded(head, found.encoding).splitlines()[:LINES]]
    return {"format": {name: getattr(found, name) for name in names}, "lines": lines}


@router.post("/example", status_code=HTTPStatus.ACCEPTED)
def example(session: InSession) -> JobTold:
    """Open a table of hospital stays that Veil has made up."""

    def work(job: Task) -> dict[str, Any]:
        job.tell(READING, 0, 0, "")
        session.require_room()
        return _opened(session, OpenTable("patients.csv", _example(), again=_example), job)

    return told(session.start("read table", work))


def _example() -> Source:
    return read(patients())


class Place(Body):
    """A file, folder or pattern of files of the machine that the server runs on, or the address of a database.

    None for what the server was started with.
    """

    path: Annotated[str, Field(max_length=4000)] | None = None


@router.post("/from", status_code=HTTPStatus.ACCEPTED)
def open_path(place: Place, session: InSession) -> JobTold:
    """Open the table that the server was started with or, if it may, a file of its machine."""
    if place.path is None and session.given is not None:
        path: PlaceOf = session.given
    elif place.path is not None and session.allow_paths:
        path = place_of(place.path)
    else:
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "files of this machine are opened only if the workbench was started with --allow-paths: send the file instead",
            kind="PathsNotAllowed",
        )

    def work(job: Task) -> dict[str, Any]:
        again = functools.partial(find_relation, path, None, "auto")
        relation = None if _is_project(path) else again()
        if relation is not None or not isinstance(path, Path):
            assert relation is not None
            job.tell(READING, 0, 0, "")
            return _opened(session, session.open_held(relation, again), job)
        if _is_project(path):
            return open_file(session, path, path.name, job)
        return _opened(session, read_file(session, path, None, path.name, job), job)

    return told(session.start("read table", work))


def _is_project(place: PlaceOf) -> bool:
    return isinstance(place, Path) and place.suffix.lower() in (SUFFIX, ARX_SUFFIX)


def open_file(session: BrowserSession, path: Path, name: str, job: Task) -> dict[str, Any]:
    """Open the file of a project; what is wrong with it is told by its name alone."""
    job.tell("opening the project", 0, 0, "")
    try:
        project = CHILDREN.run(Project.read, path, name=name, check=job.check)
        return open_project(session, project, name, job)
    except VeilError as error:
        raise renamed(error, path, name) from None


def _opened(session: BrowserSession, table: OpenTable, job: Task) -> dict[str, Any]:
    """Look at a table that was opened, and let the plan be about it."""
    table.look_at_columns(job)

    def take() -> dict[str, Any]:
        with session.lock:
            session.add(table)
            session.history.change(None, f"table {table.name}", _about(session, table))
        return {"table": table.id}

    return job.commit(take)


def _about(session: BrowserSession, table: OpenTable) -> dict[str, Any]:
    """Return the change by which the plan is about a table; what was decided of columns that it has too stays."""
    there, draft = set(table.arrow.column_names), session.history.draft
    decided = [*draft.roles, *draft.hierarchies, *draft.levels, *draft.treatments]
    gone: dict[str, None] = {name: None for name in decided if name not in there}
    made: dict[str, Any] = {"table": table.id}
    made |= dict.fromkeys(("roles", "hierarchies", "levels", "treatments"), gone)
    made["linked"] = {name: None for name, to in draft.linked.items() if not {name, to} <= there}
    for what in ("weights", "household", "response"):
        if getattr(draft, what) not in there:
            made[what] = None
    if draft.person not in there and gone:  # who the rows of another table are about is asked anew
        made["person"] = ASK
    return made | {"models": [each for each in draft.models if each.get("attribute") in {None, *there}]}


@router.get("/{id}")
def one(id: str, session: InSession) -> dict[str, Any]:
    """Tell what a table is called, how large it is and how it was read."""
    return session.table(id).told()


@router.delete("/{id}")
def close(id: str, session: InSession) -> dict[str, Any]:
    """Close a table, and forget everything that was made from it."""
    session.close_table(session.table(id))
    return {"closed": True}


@router.get("/{id}/profile")
def profile(id: str, session: InSession) -> dict[str, Any]:
    """Tell what the columns hold, which cells seem to be mistakes, and whether rows are about the same people."""
    table = session.table(id)
    return {
        "rows": table.arrow.num_rows,
        "all_rows": table.rows,
        "columns": [each.to_dict() for each in table.profile],
        "mistakes": [asdict(each) for each in table.mistakes],
        "repeated": [{**asdict(each), "said": str(each)} for each in table.repeated],
    }


class RowFilter(Body):
    """Rows whose value in a column lies from `first` to `last`, as the bars of the profile do, or is missing."""

    column: Name
    first: Annotated[str, Field(max_length=10_000)] = ""
    last: Annotated[str, Field(max_length=10_000)] = ""
    missing: bool = False


class RowsPage(Body):
    """Which rows, in which order. Sent as a body, as a filter would hold values, which belong into no address."""

    start: Annotated[int, Field(ge=0, le=10**12)] = 0
    count: Annotated[int, Field(ge=1, le=PAGE)] = PAGE
    sort: Name | None = None
    descending: bool = False
    filters: Annotated[list[RowFilter], Field(max_length=20)] = Field(default_factory=list)


@router.post("/{id}/rows")
def rows(id: str, page: RowsPage, session: InSession) -> dict[str, Any]:
    """Return some rows as text."""
    table = session.table(id)
    wanted = [Filter(**each.model_dump()) for each in page.filters]
    shown, total = table.page(page.start, page.count, page.sort, page.descending, wanted)
    return {
        "start": page.start,
        "total": total,
        "columns": list(table.arrow.column_names),
        "rows": shown,
    }


@router.get("/{id}/roles")
def roles(id: str, session: InSession, language: Language = "en") -> list[dict[str, Any]]:
    """Propose a role for each column, with the reasons."""
    return [
        asdict(each) | {"reasons": [say(reason, language) for reason in each.reasons]}
        for each in session.table(id).proposals
    ]


class Columns(Body):
    """Columns that an attacker may know, and the one that tells people apart."""

    columns: Annotated[list[Name], Field(min_length=1, max_length=500)]
    person: Annotated[Name | None, *PERSON] = None


@router.post("/{id}/singling-out")
def singling_out(id: str, asked: Columns, session: InSession) -> dict[str, Any]:
    """Tell which share of the people some columns single out together."""
    return asdict(session.table(id).singled_out(asked.columns, asked.person))


@router.patch("/{id}/format", status_code=HTTPStatus.ACCEPTED)
def read_again(id: str, how: HowToRead, session: InSession) -> JobTold:
    """Read the file of a table again, in another way: a new table takes its place."""
    old = session.table(id)
    path, kind = old.source.path, old.source.format
    if path is None or kind is None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "only CSV and Excel files can be read in another way")
    format = how.format(kind)

    def work(job: Task) -> dict[str, Any]:
        table = read_file(session, path, format, old.name, job)
        table.beneath = old.source  # whose file it is
        return _opened(session, table, job)

    return told(session.start("read table", work))
