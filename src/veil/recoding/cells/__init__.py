"""Recoding cell by cell: every record gets one label of its own choice above it, and a bound says how good that is."""
