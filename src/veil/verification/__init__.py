"""The independent check of an outcome."""

__all__ = ["outcome"]
