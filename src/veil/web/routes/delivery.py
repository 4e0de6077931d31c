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
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import FileResponse, Response
from pydantic import Field, SecretStr

from veil.plan.plan import ASK
from veil.recipe.about import About, read_about
from veil.tables import write
from veil.web.body import Body
from veil.web.draft import checked_recipe
from veil.web.guard import REPORT_POLICY
from veil.web.languages import Language
from veil.web.open_table import plain_name
from veil.web.problems import Refused
from veil.web.routes.base import InSession, OfRelease, send_file
from veil.web.routes.releases import ReleaseStatus, look
from veil.web.session import BrowserSession, SessionRelease
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["releases"])


def _signable(entry: OfRelease) -> SessionRelease:
    """Return a release that keeps every promise; refuse any other."""
    if not entry.keeps_promises:
        raise Refused(
            "this release does not keep every promise, or suppresses more than the plan allows, and is not handed over",
            kind="VerificationError",
        )
    return entry


Signable = Annotated[SessionRelease, Depends(_signable)]


class Accepted(Body):
    """Accepted concerns, by their keys."""

    concerns: Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=200)]


@router.post("/releases/{id}/acknowledge")
def acknowledge(accepted: Accepted, entry: OfRelease, session: InSession) -> ReleaseStatus:
    """Acknowledge concerns; report and certificate then list them as accepted."""
    keys = {each.key for each in entry.release.concerns}
    if strange := [key for key in accepted.concerns if key not in keys]:
        raise Refused(f"there is no concern {strange[0]!r}")
    entry.acknowledge(accepted.concerns)
    return look(entry, session)


@router.get("/releases/{id}/table.{ending}", response_class=FileResponse)
def table(
    ending: Literal["csv", "parquet", "feather", "xlsx"], entry: Signable, session: InSession
) -> FileResponse:
    """Return the released table as a file, in random order unless the plan keeps that of the input."""
    return _send(session, entry, f"release.{ending}", entry.release.save)


@router.get("/releases/{id}/report.{ending}", response_class=FileResponse)
def report(
    ending: Literal["html", "pdf", "json"], entry: OfRelease, session: InSession, language: Language = "en"
) -> Response:
    """Return the report; its first page shows the plan's `about`."""
    about = _about(session, entry, language)
    name = f"report.{ending}" if entry.not_anonymous is None else f"NOT-ANONYMOUS-report.{ending}"
    if ending == "html" and about in entry.reports:
        return _inline(Response(entry.reports[about], media_type="text/html"), _file_name(entry, name))

    def write_report(path: Path) -> None:
        entry.release.report(path, about=about, not_anonymous=entry.not_anonymous, progress=False)

    answer = _send(session, entry, name, write_report)
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
def make_report(entry: OfRelease, session: InSession, language: Language = "en") -> TaskStatus:
    """Write the report in the background; afterwards it is returned at once."""
    about = _about(session, entry, language)

    def work(task: Task) -> dict[str, str]:
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

    return session.start("report", work)


class Reason(Body):
    """The reason for taking a table that does not keep every promise."""

    reason: Annotated[str, Field(min_length=10, max_length=1000)]


@router.post("/releases/{id}/anyway", response_class=FileResponse)
def anyway(why: Reason, entry: OfRelease, session: InSession) -> FileResponse:
    """Return a table that is not anonymous, marked so with the reason in its name and first column.

    From then on its report begins with the reason, too.
    """
    if entry.keeps_promises:
        raise Refused("this release keeps every promise: take it as it is", HTTPStatus.CONFLICT, "Conflict")
    entry.not_anonymous, entry.reports = why.reason, {}
    marked = entry.release.arrow.add_column(0, "NOT ANONYMOUS", [[why.reason] * entry.release.arrow.num_rows])
    name = "-".join(["NOT-ANONYMOUS", *_in_a_name(why.reason)])
    return _send(session, entry, f"{name}.csv", lambda path: write(marked, path))


def _in_a_name(reason: str) -> list[str]:
    """Return the first words of a reason in ASCII, for the name of a file.

    >>> _in_a_name("Prüfung 2026: <Anfrage> der Aufsicht")
    ['Prufung', '2026', 'Anfrage', 'der', 'Aufsicht']
    """
    plain = unicodedata.normalize("NFKD", reason).encode("ascii", "ignore").decode()
    return re.findall(r"[A-Za-z0-9]+", plain[:60])


@router.get("/releases/{id}/certificate", response_class=FileResponse)
def certificate(entry: Signable, session: InSession) -> FileResponse:
    """Return the certificate, with which recipients can check the table."""
    return _send(session, entry, "certificate.json", entry.release.certificate)


class Passphrase(Body):
    """The passphrase of the private key; without one, anyone with the file can sign."""

    passphrase: Annotated[SecretStr, Field(max_length=1000)] | None = None

    @property
    def secret(self) -> str | None:
        """The passphrase itself."""
        return None if self.passphrase is None else self.passphrase.get_secret_value()


class Signer(Passphrase):
    """A private key (PEM), used for this one signature and not stored, and its passphrase if it has one."""

    key: Annotated[SecretStr, Field(min_length=1, max_length=10_000)]


@router.post("/releases/{id}/certificate", response_class=FileResponse)
def signed(signer: Signer, entry: Signable, session: InSession) -> FileResponse:
    """Return the certificate with a signature, so that recipients can check its origin."""
    from veil.report import PrivateKey  # here, so that the workbench starts without it

    key = PrivateKey.of_pem(signer.key.get_secret_value().encode(), signer.secret)
    answer = _send(session, entry, "certificate.json", lambda path: entry.release.certificate(path, sign=key))
    answer.headers["Veil-Key-Fingerprint"] = key.public.fingerprint
    return answer


@router.post("/keys")
def new_key(body: Passphrase, session: InSession) -> dict[str, str]:
    """Create a key for signing certificates. It is returned once and not stored."""
    from veil.report import PrivateKey

    key = PrivateKey.new()
    private, public = key.pem(body.secret)
    return {"private": private.decode(), "public": public.decode(), "fingerprint": key.public.fingerprint}


@router.get("/releases/{id}/recipe", response_class=Response)
def recipe(entry: OfRelease, session: InSession) -> Response:
    """Return the recipe, with which the release can be made again."""
    if entry.recipe.get("without"):
        raise Refused(
            "a recipe of masking methods leaves no column out, and this release does: take the Python code instead"
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
def hierarchies(entry: Signable, session: InSession) -> FileResponse:
    """Return the hierarchies as CSV files, one per quasi-identifier. They list input values: keep them."""
    if entry.table.engine is not None or entry.is_masked:
        raise Refused("these hierarchies cannot be written out here: the recipe says how they are made")
    builders = checked_recipe(entry.recipe).generalize.quasi_identifiers

    def write_all(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as files:
            for number, (column, builder) in enumerate(builders.items(), 1):
                built = builder.build(*entry.table.distinct(column), column)
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(built.to_rows())
                files.writestr(f"{number:02}-{plain_name(column)}.csv", text.getvalue())

    return _send(session, entry, "hierarchies.zip", write_all)


@router.get("/releases/{id}/criteria.{guide}", response_class=FileResponse)
def criteria(guide: Literal["wp216", "sp800-188"], entry: Signable, session: InSession) -> FileResponse:
    """Return the questions of a guide with the answers of the release, as Markdown."""
    title: Literal["WP 216", "NIST SP 800-188"] = "WP 216" if guide == "wp216" else "NIST SP 800-188"
    return _send(session, entry, f"{guide}.md", lambda path: entry.release.criteria(path, title))


def _send(
    session: BrowserSession, entry: SessionRelease, name: str, write: Callable[[Path], object]
) -> FileResponse:
    return send_file(session, name, write, _file_name(entry, name))


def _file_name(entry: SessionRelease, name: str) -> str:
    """Return the name of a downloaded file, which begins with that of the table."""
    return f"{entry.table.stem}-{name}"
