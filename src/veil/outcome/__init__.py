"""The outcome of any steps, as plain data, and `method.Method`, the base class of masking methods."""

__all__ = ["method", "outcome"]
