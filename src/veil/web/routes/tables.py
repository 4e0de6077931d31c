"""Tables: uploaded, described, and closed."""

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
from veil.web.languages import Language, translate
from veil.web.problems import Refused, with_sent_name
from veil.web.projects import open_project
from veil.web.routes.base import Body, InSession, TaskStatus, status_of, the_session
from veil.web.session import BrowserSession, Filter, OpenTable
from veil.web.tasks import Task
from veil.web.uploads import READING, Upload, file_name, read_file

router = APIRouter(prefix="/tables", tags=["tables"])

PAGE = 100
Name = Annotated[str, Field(max_length=1000)]


class HowToRead(Body):
    """The format of a file that Veil has not detected correctly."""

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
) -> TaskStatus:
    """Send a table: the file as the body, its name, percent-encoded, as the header Veil-File-Name.

    A format that Veil does not detect is given as the header Veil-Format: JSON, as for `format`.
    """
    session, name = the_session(request), file_name(veil_file_name)
    format = None if veil_format is None else _how(veil_format).format(format_of(Path(name)))
    upload = Upload(session.folder, name)
    await upload.receive(request.stream())

    def work(task: Task) -> dict[str, Any]:
        return _adopt(session, upload.open_in(session, task, format), task)

    return status_of(upload.start(session, "read table", work))


def _how(text: str) -> HowToRead:
    try:
        return HowToRead.model_validate_json(text)
    except ValidationError as error:
        raise ParameterError(explain(error)) from None


LINES = 20


@router.post("/look")
async def look(request: Request) -> dict[str, Any]:
    """Propose the format of a CSV file from its first bytes, sent as the body, at most 128 KiB.

    Returns a format, as for `format`, and the first lines as they would be decoded.
    """
    the_session(request)
    head = await request.body()
    format = propose_format(head)
    names = ("separator", "encoding", "skip", "decimal", "thousands")
    lines = [line[:1000] for line in decoded(head, format.encoding).splitlines()[:LINES]]
    return {"format": {name: getattr(format, name) for name in names}, "lines": lines}


@router.post("/example", status_code=HTTPStatus.ACCEPTED)
def example(session: InSession) -> TaskStatus:
    """Open a synthetic table of hospital stays."""

    def work(task: Task) -> dict[str, Any]:
        task.report_progress(READING)
        session.require_room()
        return _adopt(session, OpenTable("patients.csv", _example(), again=_example), task)

    return status_of(session.start("read table", work))


def _example() -> Source:
    return read(patients())


class Place(Body):
    """A file, folder or pattern of files of the server's machine, or the address of a database.

    None for the table that the server was started with.
    """

    path: Annotated[str, Field(max_length=4000)] | None = None


@router.post("/from", status_code=HTTPStatus.ACCEPTED)
def open_path(place: Place, session: InSession) -> TaskStatus:
    """Open the table that the server was started with or, if allowed, a file of its machine."""
    if place.path is None and session.initial_table is not None:
        path: PlaceOf = session.initial_table
    elif place.path is not None and session.allow_paths:
        path = place_of(place.path)
    else:
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "files of this machine are opened only if the workbench was started with --allow-paths: send the file instead",
            kind="PathsNotAllowed",
        )

    def work(task: Task) -> dict[str, Any]:
        again = functools.partial(find_relation, path, None, "auto")
        relation = None if _is_project(path) else again()
        if relation is not None or not isinstance(path, Path):
            assert relation is not None
            task.report_progress(READING)
            return _adopt(session, session.open_relation(relation, again), task)
        if _is_project(path):
            return open_file(session, path, path.name, task)
        return _adopt(session, read_file(session, path, None, path.name, task), task)

    return status_of(session.start("read table", work))


def _is_project(place: PlaceOf) -> bool:
    return isinstance(place, Path) and place.suffix.lower() in (SUFFIX, ARX_SUFFIX)


def open_file(session: BrowserSession, path: Path, name: str, task: Task) -> dict[str, Any]:
    """Open the file of a project; messages about it contain its name, not its path."""
    task.report_progress("opening the project")
    try:
        project = CHILDREN.run(Project.read, path, name=name, check=task.check)
        return open_project(session, project, name, task)
    except VeilError as error:
        raise with_sent_name(error, path, name) from None


def _adopt(session: BrowserSession, table: OpenTable, task: Task) -> dict[str, Any]:
    """Profile an opened table, add it to the session, and make it the table of the plan."""
    table.look_at_columns(task)

    def take() -> dict[str, Any]:
        with session.lock:
            session.add(table)
            session.history.change(None, f"table {table.name}", _about(session, table))
        return {"table": table.id}

    return task.commit(take)


def _about(session: BrowserSession, table: OpenTable) -> dict[str, Any]:
    """Return the change that makes the plan about a table; choices for columns that it has, too, stay."""
    there, draft = set(table.arrow.column_names), session.history.draft
    decided = [*draft.roles, *draft.hierarchies, *draft.levels, *draft.treatments]
    gone: dict[str, None] = {name: None for name in decided if name not in there}
    change: dict[str, Any] = {"table": table.id}
    change |= dict.fromkeys(("roles", "hierarchies", "levels", "treatments"), gone)
    change["linked"] = {name: None for name, to in draft.linked.items() if not {name, to} <= there}
    for what in ("weights", "household", "response"):
        if getattr(draft, what) not in there:
            change[what] = None
    if draft.person not in there and gone:  # another table: ask again for its `person`
        change["person"] = ASK
    return change | {"models": [each for each in draft.models if each.get("attribute") in {None, *there}]}


@router.get("/{id}")
def one(id: str, session: InSession) -> dict[str, Any]:
    """Return name, size and format of a table."""
    return session.table(id).summary()


@router.delete("/{id}")
def close(id: str, session: InSession) -> dict[str, Any]:
    """Close a table and forget its releases."""
    session.close_table(session.table(id))
    return {"closed": True}


@router.get("/{id}/profile")
def profile(id: str, session: InSession) -> dict[str, Any]:
    """Profile the columns, the cells that seem to be mistakes, and rows about the same people."""
    table = session.table(id)
    return {
        "rows": table.arrow.num_rows,
        "all_rows": table.rows,
        "columns": [each.to_dict() for each in table.profile],
        "mistakes": [asdict(each) for each in table.mistakes],
        "repeated": [{**asdict(each), "said": str(each)} for each in table.repeated],
    }


class RowFilter(Body):
    """Rows whose value in a column is from `first` to `last`, like a bar of the profile, or missing."""

    column: Name
    first: Annotated[str, Field(max_length=10_000)] = ""
    last: Annotated[str, Field(max_length=10_000)] = ""
    missing: bool = False


class RowsPage(Body):
    """A selection and order of rows, sent as a body: filters contain values, which must not be in a URL."""

    start: Annotated[int, Field(ge=0, le=10**12)] = 0
    count: Annotated[int, Field(ge=1, le=PAGE)] = PAGE
    sort: Name | None = None
    descending: bool = False
    filters: Annotated[list[RowFilter], Field(max_length=20)] = Field(default_factory=list)


@router.post("/{id}/rows")
def rows(id: str, page: RowsPage, session: InSession) -> dict[str, Any]:
    """Return some rows as text."""
    table = session.table(id)
    filters = [Filter(**each.model_dump()) for each in page.filters]
    cells, total = table.page(page.start, page.count, page.sort, page.descending, filters)
    return {"start": page.start, "total": total, "columns": list(table.arrow.column_names), "rows": cells}


@router.get("/{id}/roles")
def roles(id: str, session: InSession, language: Language = "en") -> list[dict[str, Any]]:
    """Propose a role for each column, with the reasons."""
    return [
        asdict(each) | {"reasons": [translate(reason, language) for reason in each.reasons]}
        for each in session.table(id).proposals
    ]


class Columns(Body):
    """Columns that an attacker may know, and the `person` column."""

    columns: Annotated[list[Name], Field(min_length=1, max_length=500)]
    person: Annotated[Name | None, *PERSON] = None


@router.post("/{id}/singling-out")
def singling_out(id: str, body: Columns, session: InSession) -> dict[str, Any]:
    """Return the share of people that some columns single out together."""
    return asdict(session.table(id).singled_out(body.columns, body.person))


@router.patch("/{id}/format", status_code=HTTPStatus.ACCEPTED)
def read_again(id: str, how: HowToRead, session: InSession) -> TaskStatus:
    """Read the file of a table again in another format, as a new table."""
    old = session.table(id)
    path, kind = old.source.path, old.source.format
    if path is None or kind is None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "only CSV and Excel files can be read in another way")
    format = how.format(kind)

    def work(task: Task) -> dict[str, Any]:
        table = read_file(session, path, format, old.name, task)
        table.beneath = old.source  # the owner of the file
        return _adopt(session, table, task)

    return status_of(session.start("read table", work))
