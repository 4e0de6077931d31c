"""Projects in the workbench: sessions saved to files and restored from them."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from veil.base.declare import explain
from veil.errors import InputError, VeilError
from veil.recipe import Project
from veil.recipe.project import Attached
from veil.tables import Csv, write
from veil.web.child import CHILDREN
from veil.web.draft import Draft, draft_of_recipe
from veil.web.open_table import OpenTable
from veil.web.problems import with_sent_name
from veil.web.session import BrowserSession
from veil.web.tasks import Task
from veil.web.uploads import Upload, removed_on_failure


def project_of(session: BrowserSession, *, with_table: bool) -> Project:
    """Return the project of a session, with the certificate of the newest release that keeps its promises."""
    draft = session.history.draft
    page = draft.model_dump(mode="json", exclude={"table", "notes"})
    newest = next(
        (each for each in reversed(session.releases.values()) if each.release.verification.holds), None
    )
    certificate = None
    if newest is not None:
        with tempfile.TemporaryDirectory(dir=session.folder) as folder:
            certificate = json.loads(
                newest.release.certificate(Path(folder) / "certificate.json").read_bytes()
            )
    table = session.current_table
    attached = None if table is None or not with_table else _attach(session, table)
    return Project(draft.recipe(), draft.notes, session.history.changes, certificate, attached, page)


def _attach(session: BrowserSession, table: OpenTable) -> Attached:
    """Return the file of a table; without a binary file, write Parquet, which keeps every type."""
    path, format = table.source.path, table.source.format
    if path is not None and (format is None or not isinstance(format, Csv)):
        return Attached(table.name, path.read_bytes())
    with tempfile.TemporaryDirectory(dir=session.folder) as folder:
        file = Path(folder) / "table.parquet"
        write(table.arrow, file)
        return Attached(f"{Path(table.name).stem}.parquet", file.read_bytes())


@dataclass(frozen=True)
class OpenedProject:
    """The table of a project, the parts that could not be converted, and its notes."""

    table: str | None
    left_out: tuple[str, ...]
    notes: str


def open_file(session: BrowserSession, path: Path, name: str, task: Task) -> OpenedProject:
    """Open the file of a project; messages about it contain its name, not its path."""
    task.report_progress("opening the project")
    try:
        project = CHILDREN.run(Project.read, path, name=name, check=task.check)
        return _open_project(session, project, name, task)
    except VeilError as error:
        raise with_sent_name(error, path, name) from None


def _open_project(session: BrowserSession, project: Project, name: str, task: Task) -> OpenedProject:
    """Replace the draft of the session by a project, and open its table if it has one."""
    table = None
    if project.table is not None:
        table = _open_table(session, project.table, task)
        table.look_at_columns(task)
    fields = _draft_of(project).model_dump()

    def take() -> OpenedProject:
        with session.lock:
            id = session.history.draft.table if table is None else session.add(table).id
            session.history.replace(f"project {name}", {**fields, "table": id})
        return OpenedProject(id, tuple(project.left_out), project.notes)

    return task.commit(take)


def _open_table(session: BrowserSession, attached: Attached, task: Task) -> OpenTable:
    upload = Upload(session.folder, attached.name)
    with removed_on_failure(upload.folder):
        try:
            upload.path.write_bytes(attached.content)
        except OSError as error:
            raise InputError(f"the table of the project cannot be kept: {error.strerror}") from None
    return upload.open_in(session, task)


def _draft_of(project: Project) -> Draft:
    """Return the draft of a project: as the page has saved it, or from its recipe."""
    fields = project.page or draft_of_recipe(project.recipe)
    try:
        return Draft.model_validate({**fields, "notes": project.notes})
    except ValidationError as error:
        raise InputError(f"the project says what this workbench does not know: {explain(error)}") from None
