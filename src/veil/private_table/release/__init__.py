"""The release of a private table."""
