"""A table as anybody sees it: `table.Published` groups its rows, and `finding.Finding` says what was found."""

__all__ = ["finding", "table"]
