"""Refusals as `application/problem+json`: the kind of error, and the sentence that Veil says in any case."""

from __future__ import annotations

import re
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from veil.errors import InputError, MissingDependencyError, Say, VeilError, what_happened
from veil.tables.spelling import Person, read_person

PRIVATE = "veil-workbench-"
"""How the name of the folder begins that the workbench keeps its files in."""

MEDIA_TYPE = "application/problem+json"

TOO_LARGE = (
    "needs more memory than this machine has left. Send fewer rows or columns, or close other tables first"
)
CRASHED = (
    "what computed this has crashed, or took more memory than there is. The table and the plan are kept; releases of this "
    "session have to be made again"
)
_OWN = re.compile(rf"({re.escape(tempfile.gettempdir())}[/\\])?{PRIVATE}[^\s'\":]*[/\\]")


class Refused(Exception):
    """A request that cannot be served, and why, in one sentence."""

    def __init__(self, status: HTTPStatus, detail: str, kind: str = "Refused") -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind = status, detail, kind


def not_found(what: str) -> Refused:
    """Return the refusal of what is not there, or belongs to another session: nobody learns which."""
    return Refused(HTTPStatus.NOT_FOUND, f"there is no such {what} in this session", kind="NotFound")


def problem(status: int, kind: str, detail: str, **further: Any) -> dict[str, Any]:
    """Describe a refusal; see RFC 9457. Where the workbench keeps its files is in none."""
    told = {
        "type": kind,
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": _OWN.sub("", detail),
    }
    return told | {name: value for name, value in further.items() if value is not None}


def sentence(error: Exception) -> str:
    """Return what an error says, with ways out as recipes write them: the workbench shows recipes, and no Python."""
    from veil.recipe.base import spell_field  # which helpers that only read tables need not load

    return str(error.spell_ways(spell_field) if isinstance(error, VeilError) else error)


def renamed(error: VeilError, path: Path, name: str) -> VeilError:
    """Return an error about a file as its sender calls it."""
    words = (each.replace(str(path), name) if isinstance(each, str) else each for each in error.words)
    return type(error)(*words)


def problem_of(error: Exception) -> dict[str, Any]:
    """Describe what went wrong, with the column that the sentence names, if it does."""
    if isinstance(error, Refused):
        return problem(error.status, error.kind, error.detail)
    if isinstance(error, VeilError):
        status = _STATUS.get(type(error).__name__, HTTPStatus.UNPROCESSABLE_ENTITY)
        said = sentence(error)
        named = re.search(r"column '([^']+)'", said)
        # Whether values are spellings of one is a question that a page can ask.
        ways = [each.value for each in error.words if isinstance(each, Say) and each.field == "person"]
        spelled = [each for each in ways if isinstance(read_person(each), Person)]
        column = named and named.group(1)
        return problem(status, type(error).__name__, said, column=column, spellings=spelled or None)
    if isinstance(error, MemoryError):
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "MemoryError", f"this {TOO_LARGE}")
    # What it says may hold a value of the table, so that nobody is told more than this.
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "Unexpected",
        f"Veil has made a mistake ({what_happened(error)}); nothing was released. Please report what you did",
    )


_STATUS = {
    InputError.__name__: HTTPStatus.UNPROCESSABLE_ENTITY,
    MissingDependencyError.__name__: HTTPStatus.NOT_IMPLEMENTED,
}


def answer(told: dict[str, Any]) -> JSONResponse:
    """Answer with a refusal."""
    return JSONResponse(told, told["status"], media_type=MEDIA_TYPE)


async def refuse(request: Request, error: Exception) -> JSONResponse:
    """Turn an error of Veil or of a request into an answer."""
    return answer(problem_of(error))


async def refuse_form(request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with the form of a request: where, and what is expected; never what was sent."""
    assert isinstance(error, RequestValidationError)
    told = [
        f"{'.'.join(str(part) for part in each['loc'][1:]) or 'the body'}: {each['msg']}"
        for each in error.errors()
    ]
    return answer(problem(HTTPStatus.UNPROCESSABLE_ENTITY, "RequestError", "; ".join(told[:5])))


async def refuse_address(request: Request, error: Exception) -> JSONResponse:
    """Refuse what is at no address, or a method that an address does not know."""
    assert isinstance(error, HTTPException)
    return answer(problem(error.status_code, "RequestError", str(error.detail)))
