"""Tables: uploaded, described, and closed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request
from pydantic import Field, ValidationError

from veil.api.open import Place, place_of
from veil.base.declare import explain
from veil.errors import ParameterError
from veil.plan.plan import ASK
from veil.recipe.project import ARX_SUFFIX, SUFFIX
from veil.risk.identify.repeats import Repeated
from veil.risk.identify.roles import Proposal
from veil.risk.singling_out import SingledOut
from veil.synthetic import patients
from veil.tables import Csv, Excel, Format, read
from veil.tables.csv.bad_cells import Mistakes
from veil.tables.csv.proposal import decoded, propose_format
from veil.tables.formats import TypeName, format_of
from veil.tables.profile import ColumnProfile
from veil.tables.spelling import PERSON
from veil.web.body import Body, Name
from veil.web.languages import Language, translate
from veil.web.open_table import OpenTable, Page, RowFilter, TableRows, TableSummary, open_relation
from veil.web.problems import Refused
from veil.web.projects import open_file
from veil.web.routes.base import InSession, OfTable, the_session
from veil.web.session import BrowserSession
from veil.web.tasks import Task, TaskStatus
from veil.web.uploads import READING, Upload, file_name, read_file

router = APIRouter(prefix="/tables", tags=["tables"])


class HowToRead(Body):
    """The format of a file that Veil has not detected correctly."""

    separator: Literal[",", ";", "\t", "|"] | None = None
    encoding: Annotated[str, Field(max_length=40)] | None = None
    skip: Annotated[int, Field(ge=0, le=10_000)] = 0
    header: bool = True
    decimal: Literal[".", ","] = "."
    thousands: Literal[".", ",", "'", " "] | None = None
    missing: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=50)] = ("",)
    types: Annotated[dict[Name, TypeName], Field(max_length=5000)] = Field(default_factory=dict)
    sheet: Annotated[str, Field(max_length=100)] | None = None

    def format(self, like: Format | None) -> Format:
        """Return the format of a file of the same kind."""
        if not isinstance(like, Csv | Excel):
            raise Refused("only CSV and Excel files can be read in another way")
        return type(like)(**{name: value for name, value in self if hasattr(like, name)})


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

    def work(task: Task) -> dict[str, str]:
        return _adopt(session, upload.open_in(session, task, format), task)

    return upload.start(session, "read table", work)


def _how(text: str) -> HowToRead:
    try:
        return HowToRead.model_validate_json(text)
    except ValidationError as error:
        raise ParameterError(explain(error)) from None


LINES = 20


@router.post("/look")
async def look(request: Request) -> dict[str, dict[str, Any] | list[str]]:
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

    def work(task: Task) -> dict[str, str]:
        task.report_progress(READING)
        session.require_room()
        return _adopt(session, _example(), task)

    return session.start("read table", work)


def _example() -> OpenTable:
    return OpenTable("patients.csv", read(patients()), again=_example)


class PlaceBody(Body):
    """A file, folder or pattern of files of the server's machine, or the address of a database.

    None for the table that the server was started with.
    """

    path: Annotated[str, Field(max_length=4000)] | None = None


@router.post("/from", status_code=HTTPStatus.ACCEPTED)
def open_path(place: PlaceBody, session: InSession) -> TaskStatus:
    """Open the table that the server was started with or, if allowed, a file of its machine."""
    if place.path is None and session.initial_table is not None:
        path: Place = session.initial_table
    elif place.path is not None and session.allow_paths:
        path = place_of(place.path)
    else:
        raise Refused(
            "files of this machine are opened only if the workbench was started with --allow-paths: send the file instead",
            HTTPStatus.FORBIDDEN,
            "PathsNotAllowed",
        )

    def work(task: Task) -> object:
        if isinstance(path, Path) and path.suffix.lower() in (SUFFIX, ARX_SUFFIX):
            return open_file(session, path, path.name, task)
        table = open_relation(path)
        task.report_progress(READING)
        if table is None:
            assert isinstance(path, Path)
            table = read_file(session, path, None, path.name, task)
        return _adopt(session, table, task)

    return session.start("read table", work)


def _adopt(session: BrowserSession, table: OpenTable, task: Task) -> dict[str, str]:
    """Profile an opened table, add it to the session, and make it the table of the plan."""
    table.look_at_columns(task)

    def take() -> dict[str, str]:
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
def one(table: OfTable) -> TableSummary:
    """Return name, size and format of a table."""
    return table.summary()


@router.delete("/{id}")
def close(table: OfTable, session: InSession) -> dict[str, bool]:
    """Close a table and forget its releases."""
    session.close_table(table)
    return {"closed": True}


@dataclass(frozen=True)
class TableProfile:
    """The columns of a table, the cells that seem to be mistakes, and rows about the same people."""

    rows: int
    all_rows: int
    columns: Sequence[ColumnProfile]
    mistakes: Sequence[Mistakes]
    repeated: Sequence[Repeated]


@router.get("/{id}/profile")
def profile(table: OfTable) -> TableProfile:
    """Profile the columns, the cells that seem to be mistakes, and rows about the same people."""
    return TableProfile(table.arrow.num_rows, table.rows, table.profile, table.mistakes, table.repeated)


class RowsPage(Page):
    """A selection and order of rows, sent as a body: filters contain values, which must not be in a URL."""

    sort: Name | None = None
    descending: bool = False
    filters: Annotated[list[RowFilter], Field(max_length=20)] = Field(default_factory=list)


@router.post("/{id}/rows")
def rows(page: RowsPage, table: OfTable) -> TableRows:
    """Return some rows as text."""
    cells, total = table.page(page.start, page.count, page.sort, page.descending, page.filters)
    return TableRows(page.start, total, list(table.arrow.column_names), cells)


@router.get("/{id}/roles")
def roles(table: OfTable, language: Language = "en") -> list[Proposal]:
    """Propose a role for each column, with the reasons."""
    return [
        dataclasses.replace(each, reasons=tuple(translate(reason, language) for reason in each.reasons))
        for each in table.proposals
    ]


class Columns(Body):
    """Columns that an attacker may know, and the `person` column."""

    columns: Annotated[list[Name], Field(min_length=1, max_length=500)]
    person: Annotated[Name | None, *PERSON] = None


@router.post("/{id}/singling-out")
def singling_out(body: Columns, table: OfTable) -> SingledOut:
    """Return the share of people that some columns single out together."""
    return table.singled_out(body.columns, body.person)


@router.patch("/{id}/format", status_code=HTTPStatus.ACCEPTED)
def read_again(how: HowToRead, old: OfTable, session: InSession) -> TaskStatus:
    """Read the file of a table again in another format, as a new table."""
    path = old.source.path
    format = how.format(None if path is None else old.source.format)

    def work(task: Task) -> dict[str, str]:
        assert path is not None
        table = read_file(session, path, format, old.name, task)
        table.beneath = old.source  # the owner of the file
        return _adopt(session, table, task)

    return session.start("read table", work)
