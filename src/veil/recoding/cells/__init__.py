"""Recoding cell by cell: every record gets a label of its own choice."""
