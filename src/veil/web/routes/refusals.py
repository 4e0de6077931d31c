"""The documented refusals."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from veil.web.problems import MEDIA_TYPE


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
