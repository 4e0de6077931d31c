"""Fuzzing: documents that are nearly right, handed to Veil at every door by which documents come in."""
