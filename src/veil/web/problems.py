"""Refusals as `application/problem+json` (RFC 9457): the kind of error and its message."""

from __future__ import annotations

import re
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from veil.errors import MissingDependencyError, Say, VeilError, what_happened
from veil.tables.spelling import Person, read_person

PRIVATE = "veil-workbench-"
"""Prefix of the name of the workbench's folder."""

MEDIA_TYPE = "application/problem+json"

TOO_LARGE = (
    "needs more memory than this machine has left. Send fewer rows or columns, or close other tables first"
)
CRASHED = (
    "what computed this has crashed, or took more memory than there is. The table and the plan are kept; releases of this "
    "session have to be made again"
)
_OWN = re.compile(rf"({re.escape(tempfile.gettempdir())}[/\\])?{PRIVATE}[^\s'\":]*[/\\]")


class Problem(BaseModel):
    """The reason of a refusal."""

    type: str
    title: str
    status: int
    detail: str
    column: str | None = None
    spellings: list[str] | None = None


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": description}
    for status, description in {
        400: "not understood",
        403: "wrong token, host or origin",
        404: "not in this session",
        405: "not at this address",
        409: "changed meanwhile",
        413: "too large",
        415: "a kind of file that is not read",
        422: "refused by the plan or the table",
        429: "too many at a time",
        501: "a library is not installed",
    }.items()
}
"""The documented refusals."""


class Refused(Exception):
    """Refusal of a request, with the reason in one sentence."""

    def __init__(
        self, detail: str, status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY, kind: str = "Refused"
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind = status, detail, kind


def not_found(what: str) -> Refused:
    """Return the same refusal for an id that does not exist and for one of another session."""
    return Refused(f"there is no such {what} in this session", HTTPStatus.NOT_FOUND, "NotFound")


def problem(status: int, kind: str, detail: str, **further: Any) -> Problem:
    """Describe a refusal, without the path of the workbench's folder."""
    title = HTTPStatus(status).phrase
    return Problem(type=kind, title=title, status=status, detail=_OWN.sub("", detail), **further)


def sentence(error: Exception) -> str:
    """Return the message of an error, with ways out as recipes write them."""
    from veil.recipe.document import spell_field  # here, as processes that only read tables do not need it

    return str(error.spell_ways(spell_field) if isinstance(error, VeilError) else error)


def with_sent_name(error: VeilError, path: Path, name: str) -> VeilError:
    """Return an error about a file with the name that its sender uses."""
    words = (each.replace(str(path), name) if isinstance(each, str) else each for each in error.words)
    return type(error)(*words)


def problem_of(error: Exception) -> Problem:
    """Describe an error, with the column that its message names, if any."""
    if isinstance(error, Refused):
        return problem(error.status, error.kind, error.detail)
    if isinstance(error, VeilError):
        is_missing = isinstance(error, MissingDependencyError)
        status = HTTPStatus.NOT_IMPLEMENTED if is_missing else HTTPStatus.UNPROCESSABLE_ENTITY
        message = sentence(error)
        match = re.search(r"column '([^']+)'", message)
        # The page can ask whether values are spellings of the same person.
        ways = [each.value for each in error.words if isinstance(each, Say) and each.field == "person"]
        spellings = [each for each in ways if isinstance(read_person(each), Person)]
        column = match and match.group(1)
        return problem(status, type(error).__name__, message, column=column, spellings=spellings or None)
    if isinstance(error, HTTPException):  # an unknown address, or a method that the address does not have
        return problem(error.status_code, "RequestError", str(error.detail))
    if isinstance(error, RequestValidationError):
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "RequestError", _malformed(error))
    if isinstance(error, MemoryError):
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "MemoryError", f"this {TOO_LARGE}")
    # The message may contain a value of the table, so it is not shown.
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "Unexpected",
        f"Veil has made a mistake ({what_happened(error)}); nothing was released. Please report what you did",
    )


def _malformed(error: RequestValidationError) -> str:
    """Name the places of a malformed request and what is expected there, never the data sent."""
    messages = [
        f"{'.'.join(str(part) for part in each['loc'][1:]) or 'the body'}: {each['msg']}"
        for each in error.errors()
    ]
    return "; ".join(messages[:5])


def answer(refusal: Problem) -> JSONResponse:
    """Return the answer for a refusal."""
    return JSONResponse(refusal.model_dump(exclude_none=True), refusal.status, media_type=MEDIA_TYPE)


async def refuse(request: Request, error: Exception) -> JSONResponse:
    """Turn an error of Veil or of a request into an answer."""
    return answer(problem_of(error))
