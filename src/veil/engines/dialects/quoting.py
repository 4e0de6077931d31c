"""Names and texts as they are spelled in statements."""

from __future__ import annotations

from typing import Any


def quote_name(dialect: Any, *names: str | None) -> str:
    """Spell the name of a column, or of a table with its schema, as an engine wants it; `None` is left out.

    >>> quote_name("duckdb", "public", "my stays"), quote_name("mysql", None, "a`b"), quote_name("tsql", "dbo", "a]b")
    ('"public"."my stays"', '`a``b`', '[dbo].[a]]b]')
    """
    import sqlglot

    return ".".join(sqlglot.to_identifier(each, quoted=True).sql(dialect) for each in names if each)


def text(value: str) -> str:
    """Spell a text.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
