"""The target for a path, a URL or a database."""

from __future__ import annotations

import hashlib
import os
from typing import cast

from veil.engines.database import Database, database_of
from veil.engines.relation import Relation
from veil.engines.write.files import file_target
from veil.engines.write.tables import table_target
from veil.engines.write.target import Target
from veil.tables.formats import Format


def target_of(
    target: str | os.PathLike[str] | Database,
    relation: Relation,
    *,
    token: str,
    overwrite: bool = False,
    format: Format | None = None,
) -> Target:
    """Return the target for a path, a URL with a table behind ``#``, or a `Database`."""
    mark = hashlib.sha256(token.encode()).hexdigest()[:12]
    if (database := database_of(target)) is not None:
        return table_target(database, relation, mark, overwrite)
    return file_target(cast("str", target), relation, mark, overwrite, format)
