"""One validated plan, and the plan applied to a table."""

__all__ = ["plan"]
