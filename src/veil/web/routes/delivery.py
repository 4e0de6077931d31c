"""Downloads of a release: table, certificate, report, recipe and forms; marked if a promise is not kept."""

from __future__ import annotations

import csv
import io
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response
from pydantic import Field, SecretStr
from starlette.background import BackgroundTask

from veil.api.release import Release
from veil.plan.plan import ASK
from veil.recipe.about import About, read_about
from veil.tables import write
from veil.web.draft import checked_recipe
from veil.web.guard import REPORT_POLICY
from veil.web.languages import Language
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, TaskStatus, status_of
from veil.web.routes.facts import facts
from veil.web.routes.releases import look
from veil.web.session import BrowserSession, SessionRelease, plain_name
from veil.web.tasks import Task

router = APIRouter(tags=["releases"])


class Accepted(Body):
    """Accepted concerns, by their keys."""

    concerns: Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=200)]


@router.post("/releases/{id}/acknowledge")
def acknowledge(id: str, accepted: Accepted, session: InSession) -> dict[str, Any]:
    """Acknowledge concerns; report and certificate then list them as accepted."""
    entry = session.release(id)
    keys = {each.key for each in entry.release.concerns}
    if strange := [key for key in accepted.concerns if key not in keys]:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"there is no concern {strange[0]!r}")
    entry.release = entry.release.acknowledge(*accepted.concerns)
    entry.reports = {}
    there = entry.release.arrow.column_names
    quasi = [name for name in entry.roles["quasi_identifiers"] if name in there] if entry.is_masked else None
    entry.facts = facts(entry.release, quasi)
    return look(id, session)


@router.get("/releases/{id}/table.{ending}", response_class=FileResponse)
def table(id: str, ending: Literal["csv", "parquet", "feather", "xlsx"], session: InSession) -> FileResponse:
    """Return the released table as a file, in random order unless the plan keeps that of the input."""
    entry = _signable(session, id)
    return _send_file(session, f"release.{ending}", entry, lambda release, path: release.save(path))


@router.get("/releases/{id}/report.{ending}", response_class=FileResponse)
def report(
    id: str, ending: Literal["html", "pdf", "json"], session: InSession, language: Language = "en"
) -> Response:
    """Return the report; its first page shows the plan's `about`."""
    entry = session.release(id)
    about = _about(session, entry, language)
    name = f"report.{ending}" if entry.not_anonymous is None else f"NOT-ANONYMOUS-report.{ending}"
    if ending == "html" and about in entry.reports:
        return _inline(Response(entry.reports[about], media_type="text/html"), _file_name(entry, name))

    def write_report(release: Release, path: Path) -> None:
        release.report(path, about=about, not_anonymous=entry.not_anonymous, progress=False)

    answer = _send_file(session, name, entry, write_report)
    return _inline(answer, _file_name(entry, name)) if ending == "html" else answer


def _about(session: BrowserSession, entry: SessionRelease, language: Language) -> About:
    """Return the first page's texts: those of the plan, with the table's name and the language by default."""
    return read_about({"language": language, "data_set": entry.table.name, **session.history.draft.about})


def _inline(answer: Response, name: str) -> Response:
    """Set the headers that show a report in a frame without scripts."""
    answer.headers["Content-Security-Policy"] = REPORT_POLICY
    answer.headers["Content-Disposition"] = f'inline; filename="{name}"'
    return answer


@router.post("/releases/{id}/report", status_code=HTTPStatus.ACCEPTED)
def make_report(id: str, session: InSession, language: Language = "en") -> TaskStatus:
    """Write the report in the background; afterwards it is returned at once."""
    entry = session.release(id)
    about = _about(session, entry, language)

    def work(task: Task) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=session.folder) as folder:
            reports = entry.reports
            path = entry.release.report(
                Path(folder) / "report.html",
                about=about,
                not_anonymous=entry.not_anonymous,
                progress=task.report_progress,
            )
            task.check()
            reports[about] = path.read_bytes()  # of the release at the time of the request
        return {"release": entry.id}

    return status_of(session.start("report", work))


class Reason(Body):
    """The reason for taking a table that does not keep every promise."""

    reason: Annotated[str, Field(min_length=10, max_length=1000)]


@router.post("/releases/{id}/anyway", response_class=FileResponse)
def anyway(id: str, why: Reason, session: InSession) -> FileResponse:
    """Return a table that is not anonymous, marked so with the reason in its name and first column.

    From then on its report begins with the reason, too.
    """
    entry = session.release(id)
    if _keeps(entry):
        raise Refused(
            HTTPStatus.CONFLICT, "this release keeps every promise: take it as it is", kind="Conflict"
        )
    entry.not_anonymous, entry.reports = why.reason, {}
    marked = entry.release.arrow.add_column(0, "NOT ANONYMOUS", [[why.reason] * entry.release.arrow.num_rows])
    name = "-".join(["NOT-ANONYMOUS", *_in_a_name(why.reason)])
    return _send_file(session, f"{name}.csv", entry, lambda _, path: write(marked, path))


def _in_a_name(reason: str) -> list[str]:
    """Return the first words of a reason in ASCII, for the name of a file.

    >>> _in_a_name("Prüfung 2026: <Anfrage> der Aufsicht")
    ['Prufung', '2026', 'Anfrage', 'der', 'Aufsicht']
    """
    plain = unicodedata.normalize("NFKD", reason).encode("ascii", "ignore").decode()
    return re.findall(r"[A-Za-z0-9]+", plain[:60])


def _keeps(entry: SessionRelease) -> bool:
    return entry.release.verification.holds and entry.release.within_limit


@router.get("/releases/{id}/certificate", response_class=FileResponse)
def certificate(id: str, session: InSession) -> FileResponse:
    """Return the certificate, with which recipients can check the table."""
    entry = _signable(session, id)
    return _send_file(session, "certificate.json", entry, lambda release, path: release.certificate(path))


class Signer(Body):
    """A private key (PEM), used for this one signature and not stored, and its passphrase if it has one."""

    key: Annotated[SecretStr, Field(min_length=1, max_length=10_000)]
    passphrase: Annotated[SecretStr, Field(max_length=1000)] | None = None


@router.post("/releases/{id}/certificate", response_class=FileResponse)
def signed(id: str, signer: Signer, session: InSession) -> FileResponse:
    """Return the certificate with a signature, so that recipients can check its origin."""
    from veil.report import PrivateKey  # here, so that the workbench starts without it

    entry = _signable(session, id)
    passphrase = None if signer.passphrase is None else signer.passphrase.get_secret_value()
    key = PrivateKey.of_pem(signer.key.get_secret_value().encode(), passphrase)
    answer = _send_file(
        session, "certificate.json", entry, lambda release, path: release.certificate(path, sign=key)
    )
    answer.headers["Veil-Key-Fingerprint"] = key.public.fingerprint
    return answer


class Passphrase(Body):
    """The passphrase of the private key; without one, anyone with the file can sign."""

    passphrase: Annotated[SecretStr, Field(max_length=1000)] | None = None


@router.post("/keys")
def new_key(body: Passphrase, session: InSession) -> dict[str, str]:
    """Create a key for signing certificates. It is returned once and not stored."""
    from veil.report import PrivateKey

    key = PrivateKey.new()
    passphrase = None if body.passphrase is None else body.passphrase.get_secret_value()
    private, public = key.pem(passphrase)
    return {"private": private.decode(), "public": public.decode(), "fingerprint": key.public.fingerprint}


@router.get("/releases/{id}/recipe", response_class=Response)
def recipe(id: str, session: InSession) -> Response:
    """Return the recipe, with which the release can be made again."""
    entry = session.release(id)
    if entry.recipe.get("without"):
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "a recipe of masking methods leaves no column out, and this release does: take the Python code instead",
        )
    if entry.is_masked:
        default = {"steps": None, "person": ASK, "order": "random"}
        fields = {name: entry.recipe[name] for name, each in default.items() if entry.recipe[name] != each}
    else:
        fields = checked_recipe(entry.recipe).spell()
    return Response(
        session.history.draft.text_of(entry.table.name, fields),
        media_type="application/yaml",
        headers={"Content-Disposition": f'attachment; filename="{_file_name(entry, "recipe.yaml")}"'},
    )


@router.get("/releases/{id}/hierarchies.zip", response_class=FileResponse)
def hierarchies(id: str, session: InSession) -> FileResponse:
    """Return the hierarchies as CSV files, one per quasi-identifier. They list input values: keep them."""
    entry = _signable(session, id)
    if entry.table.relation is not None or entry.is_masked:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "these hierarchies cannot be written out here: the recipe says how they are made",
        )
    builders = checked_recipe(entry.recipe).generalize.quasi_identifiers

    def write_all(_: Release, path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as files:
            for number, (column, builder) in enumerate(builders.items(), 1):
                built = builder.build(*entry.table.distinct(column), column)
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(built.to_rows())
                files.writestr(f"{number:02}-{plain_name(column)}.csv", text.getvalue())

    return _send_file(session, "hierarchies.zip", entry, write_all)


@router.get("/releases/{id}/criteria.{guide}", response_class=FileResponse)
def criteria(id: str, guide: Literal["wp216", "sp800-188"], session: InSession) -> FileResponse:
    """Return the questions of a guide with the answers of the release, as Markdown."""
    entry = _signable(session, id)
    title: Literal["WP 216", "NIST SP 800-188"] = "WP 216" if guide == "wp216" else "NIST SP 800-188"
    return _send_file(session, f"{guide}.md", entry, lambda release, path: release.criteria(path, title))


def _signable(session: BrowserSession, id: str) -> SessionRelease:
    """Return a release that keeps every promise; refuse any other."""
    entry = session.release(id)
    if not _keeps(entry):
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "this release does not keep every promise, or suppresses more than the plan allows, and is not handed over",
            kind="VerificationError",
        )
    return entry


def _send_file(
    session: BrowserSession, name: str, entry: SessionRelease, write: Callable[[Release, Path], object]
) -> FileResponse:
    """Write a file into a temporary folder, send it, and remove it."""
    folder = tempfile.TemporaryDirectory(dir=session.folder)
    path = Path(folder.name) / name
    try:
        write(entry.release, path)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(path, filename=_file_name(entry, name), background=BackgroundTask(folder.cleanup))


def _file_name(entry: SessionRelease, name: str) -> str:
    """Return the name of a downloaded file, which begins with that of the table."""
    return f"{entry.table.stem}-{name}"
