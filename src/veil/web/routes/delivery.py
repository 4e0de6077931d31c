"""Releases handed over: table, certificate, report, recipe and forms, and what is taken although it keeps not every promise."""

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
from veil.web.jobs import Task
from veil.web.languages import Language
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.facts import facts
from veil.web.routes.releases import look
from veil.web.session import BrowserSession, SessionRelease, plain_name

router = APIRouter(tags=["releases"])


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
    made.release = made.release.acknowledge(*accepted.concerns)
    made.reports = {}
    masked = made.recipe.get("steps") is not None
    there = made.release.arrow.column_names
    quasi = [name for name in made.recipe["quasi_identifiers"] if name in there] if masked else None
    made.facts = facts(made.release, quasi)
    return look(id, session)


@router.get("/releases/{id}/table.{ending}", response_class=FileResponse)
def table(id: str, ending: Literal["csv", "parquet", "feather", "xlsx"], session: InSession) -> FileResponse:
    """Return the released table as a file, in random order unless the plan says otherwise."""
    made = _signable(session, id)
    return _handed(session, f"release.{ending}", made, lambda release, path: release.save(path))


@router.get("/releases/{id}/report.{ending}", response_class=FileResponse)
def report(
    id: str, ending: Literal["html", "pdf", "json"], session: InSession, language: Language = "en"
) -> Response:
    """Return the report; its first page says what the plan says under `about`."""
    made = session.release(id)
    about = _about(session, made, language)
    name = f"report.{ending}" if made.not_anonymous is None else f"NOT-ANONYMOUS-report.{ending}"
    if ending == "html" and about in made.reports:
        return _shown(Response(made.reports[about], media_type="text/html"), _called(made, name))

    def write_report(release: Release, path: Path) -> None:
        release.report(path, about=about, not_anonymous=made.not_anonymous, progress=False)

    answer = _handed(session, name, made, write_report)
    return _shown(answer, _called(made, name)) if ending == "html" else answer


def _about(session: BrowserSession, made: SessionRelease, language: Language) -> About:
    """What the first page says: what the plan says, and what the table is called and the page speaks where it does not."""
    return read_about({"language": language, "data_set": made.table.name, **session.history.draft.about})


def _shown(answer: Response, name: str) -> Response:
    """Have a report shown in a frame in which nothing runs."""
    answer.headers["Content-Security-Policy"] = REPORT_POLICY
    answer.headers["Content-Disposition"] = f'inline; filename="{name}"'
    return answer


@router.post("/releases/{id}/report", status_code=HTTPStatus.ACCEPTED)
def make_report(id: str, session: InSession, language: Language = "en") -> JobTold:
    """Write the report, which may take a while; it is then there to be fetched at once."""
    made = session.release(id)
    about = _about(session, made, language)

    def work(job: Task) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=session.folder) as folder:
            known = made.reports
            path = made.release.report(
                Path(folder) / "report.html",
                about=about,
                not_anonymous=made.not_anonymous,
                progress=job.tell,
            )
            job.check()
            known[about] = path.read_bytes()  # of what the release was when it was asked for
        return {"release": made.id}

    return told(session.start("report", work))


class Reason(Body):
    """Why a table that keeps not every promise is taken all the same."""

    reason: Annotated[str, Field(min_length=10, max_length=1000)]


@router.post("/releases/{id}/anyway", response_class=FileResponse)
def anyway(id: str, why: Reason, session: InSession) -> FileResponse:
    """Return a table that is not anonymous, called so in its name and its first column, both with the reason.

    From then on its report begins with it, too.
    """
    made = session.release(id)
    if _keeps(made):
        raise Refused(
            HTTPStatus.CONFLICT, "this release keeps every promise: take it as it is", kind="Conflict"
        )
    made.not_anonymous, made.reports = why.reason, {}
    marked = made.release.arrow.add_column(0, "NOT ANONYMOUS", [[why.reason] * made.release.arrow.num_rows])
    name = "-".join(["NOT-ANONYMOUS", *_in_a_name(why.reason)])
    return _handed(session, f"{name}.csv", made, lambda _, path: write(marked, path))


def _in_a_name(reason: str) -> list[str]:
    """Return the words of a reason that a name of a file can hold everywhere: the first few, in plain letters.

    >>> _in_a_name("Prüfung 2026: <Anfrage> der Aufsicht")
    ['Prufung', '2026', 'Anfrage', 'der', 'Aufsicht']
    """
    plain = unicodedata.normalize("NFKD", reason).encode("ascii", "ignore").decode()
    return re.findall(r"[A-Za-z0-9]+", plain[:60])


def _keeps(made: SessionRelease) -> bool:
    return made.release.verification.holds and made.release.within_limit


@router.get("/releases/{id}/certificate", response_class=FileResponse)
def certificate(id: str, session: InSession) -> FileResponse:
    """Return the certificate, by which recipients can check the table."""
    made = _signable(session, id)
    return _handed(session, "certificate.json", made, lambda release, path: release.certificate(path))


class Signer(Body):
    """A private key (PEM), which is used for this one signature and kept nowhere, and its passphrase if it has one."""

    key: Annotated[SecretStr, Field(min_length=1, max_length=10_000)]
    passphrase: Annotated[SecretStr, Field(max_length=1000)] | None = None


@router.post("/releases/{id}/certificate", response_class=FileResponse)
def signed(id: str, signer: Signer, session: InSession) -> FileResponse:
    """Return the certificate, signed: recipients can tell whom it is from."""
    from veil.report import PrivateKey  # here, so that the workbench starts without it

    made = _signable(session, id)
    passphrase = None if signer.passphrase is None else signer.passphrase.get_secret_value()
    key = PrivateKey.of_pem(signer.key.get_secret_value().encode(), passphrase)
    answer = _handed(
        session, "certificate.json", made, lambda release, path: release.certificate(path, sign=key)
    )
    answer.headers["Veil-Key-Fingerprint"] = key.public.fingerprint
    return answer


class Passphrase(Body):
    """What locks the private key; without it, whoever has the file can sign."""

    passphrase: Annotated[SecretStr, Field(max_length=1000)] | None = None


@router.post("/keys")
def new_key(asked: Passphrase, session: InSession) -> dict[str, str]:
    """Draw a key to sign certificates with. It is told once, to whoever asks, and kept nowhere."""
    from veil.report import PrivateKey

    key = PrivateKey.new()
    passphrase = None if asked.passphrase is None else asked.passphrase.get_secret_value()
    private, public = key.pem(passphrase)
    return {"private": private.decode(), "public": public.decode(), "fingerprint": key.public.fingerprint}


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
        default = {"steps": None, "person": ASK, "order": "random"}
        spelled = {name: made.recipe[name] for name, each in default.items() if made.recipe[name] != each}
    else:
        spelled = checked_recipe(made.recipe).spell()
    return Response(
        session.history.draft.text_of(made.table.name, spelled),
        media_type="application/yaml",
        headers={"Content-Disposition": f'attachment; filename="{_called(made, "recipe.yaml")}"'},
    )


@router.get("/releases/{id}/hierarchies.zip", response_class=FileResponse)
def hierarchies(id: str, session: InSession) -> FileResponse:
    """Return the hierarchies as CSV files, one for each quasi-identifier. They list the values of the input: keep them."""
    made = _signable(session, id)
    if made.table.held is not None or "steps" in made.recipe:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "these hierarchies cannot be written out here: the recipe says how they are made",
        )
    builders = checked_recipe(made.recipe).quasi_identifiers

    def write_all(_: Release, path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as files:
            for number, (column, builder) in enumerate(builders.items(), 1):
                built = builder.build(*made.table.distinct(column), column)
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(built.to_rows())
                files.writestr(f"{number:02}-{plain_name(column)}.csv", text.getvalue())

    return _handed(session, "hierarchies.zip", made, write_all)


@router.get("/releases/{id}/criteria.{guide}", response_class=FileResponse)
def criteria(id: str, guide: Literal["wp216", "sp800-188"], session: InSession) -> FileResponse:
    """Return the questions of a guide with what the release says to them, as Markdown."""
    made = _signable(session, id)
    meant: Literal["WP 216", "NIST SP 800-188"] = "WP 216" if guide == "wp216" else "NIST SP 800-188"
    return _handed(session, f"{guide}.md", made, lambda release, path: release.criteria(path, meant))


def _signable(session: BrowserSession, id: str) -> SessionRelease:
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
    session: BrowserSession, name: str, made: SessionRelease, write: Callable[[Release, Path], object]
) -> FileResponse:
    """Write a file into a folder of its own, and send it; it is gone once it was sent."""
    folder = tempfile.TemporaryDirectory(dir=session.folder)
    path = Path(folder.name) / name
    try:
        write(made.release, path)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(path, filename=_called(made, name), background=BackgroundTask(folder.cleanup))


def _called(made: SessionRelease, name: str) -> str:
    """Return what a file is called that is handed over: after its table."""
    return f"{made.table.stem}-{name}"
