"""The form of everything that a request may send."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(max_length=1000)]
Cell = Annotated[str, Field(max_length=1000)]


class Body(BaseModel):
    """A request body without unknown fields."""

    model_config = ConfigDict(extra="forbid")
