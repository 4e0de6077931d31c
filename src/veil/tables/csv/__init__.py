"""CSV: detecting the dialect, parsing, choosing types that lose nothing, and writing it back."""
