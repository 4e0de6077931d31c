"""Quoting of names and texts in SQL."""

from __future__ import annotations

from typing import Any


def quote_name(dialect: Any, *names: str | None) -> str:
    """Quote the name of a column, or of a table with its schema, for an engine; `None` is left out.

    >>> quote_name("duckdb", "public", "my stays"), quote_name("mysql", None, "a`b"), quote_name("tsql", "dbo", "a]b")
    ('"public"."my stays"', '`a``b`', '[dbo].[a]]b]')
    """
    import sqlglot

    return ".".join(sqlglot.to_identifier(each, quoted=True).sql(dialect) for each in names if each)


def quote_text(text: str) -> str:
    """Quote a text.

    >>> quote_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
